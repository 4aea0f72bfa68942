#include "graph/layer/chain.hpp"

#include <algorithm>

#include "graph/attributes.hpp"
#include "graph/layer/convolution.hpp"
#include "graph/logical_tensor.hpp"
#include "graph/refusal.hpp"

namespace dynquant::graph::core {

bool is_float(const c_logical_tensor &t) {
    return t.data_type == dnnl_f32 || t.data_type == dnnl_f16 || t.data_type == dnnl_bf16;
}

std::string label(const chain &c) {
    auto text = label(*c.product);
    std::string around;
    for (const auto &op : c.ops)
        if (op != c.product) around += concat(around.empty() ? "" : ", ", label(*op));
    return concat(text, " with ", around);
}

bool transposes(const op_record &product, dnnl_graph_op_attr_t attr) {
    const auto *flag = find_attribute<bool>(product, attr);
    return flag && *flag;
}

std::optional<std::vector<bool>> varying_dims(const op_record &op, const c_logical_tensor &src) {
    if (!is_grouped(op) && !is_per_channel(op)) return std::vector<bool> {};
    if (!rank_known(src)) return std::nullopt;
    std::vector<bool> result(static_cast<size_t>(src.ndims));
    if (!is_grouped(op)) {
        const auto axis = axis_of(op) < 0 ? axis_of(op) + src.ndims : axis_of(op);
        result.at(static_cast<size_t>(axis)) = true;
        return result;
    }
    const auto stated = grouping_of(op, src.ndims);
    for (int d = 0; d < src.ndims; ++d) {
        if (!stated.varies_along(d)) continue;
        const bool is_unknown = src.dims[d] == unknown;
        if (is_unknown && stated.at(d) != 1) return std::nullopt; // one group or several
        result[static_cast<size_t>(d)] = is_unknown || stated.at(d) < src.dims[d];
    }
    return result;
}

matrix_parameters::matrix_parameters(const op_record &product, const op_record &dequantize_w) {
    const auto &w = dequantize_w.inputs.front();
    const auto varying = varying_dims(dequantize_w, w).value_or(std::vector<bool> {});
    const auto block_along = [&](int dim) -> std::int64_t {
        if (varying.empty() || !varying[static_cast<size_t>(dim)]) return 0;
        return is_grouped(dequantize_w) ? grouping_of(dequantize_w, w.ndims).at(dim) : 1;
    };
    const int column = column_dim(product, w.ndims);
    const int row = 2 * w.ndims - 3 - column;
    block = block_along(row);
    by_column = block_along(column) != 0;
    column_group = std::max<std::int64_t>(block_along(column), 1);
    if (column_group > 1) // groups divide dims: check_shapes() refuses others
        counts = {w.dims[row] / (block == 0 ? std::max<std::int64_t>(w.dims[row], 1) : block),
                w.dims[column] / column_group};
    else if (block > 1 || (block == 1 && by_column))
        counts = {w.dims[row] / block, w.dims[column]};
    else if (block == 1)
        counts = {w.dims[row]};
    else if (by_column)
        counts = {w.dims[column]};
    if (block != 0 || column_group > 1) along.push_back(static_cast<size_t>(row));
    if (by_column || block > 1) along.push_back(static_cast<size_t>(column));
}

bool has_several_zps(const op_record &op) {
    const auto *zps = find_attribute<std::vector<std::int64_t>>(op, dnnl_graph_op_attr_zps);
    return zps && std::ranges::any_of(*zps, [&](std::int64_t zp) { return zp != zps->front(); });
}

} // namespace dynquant::graph::core
