#include "graph/logical_tensor.hpp"

#include <algorithm>
#include <numeric>

#include "quantization/onednn_type.hpp"

namespace dynquant::graph::core {
namespace {

std::string describe(std::int64_t value) {
    return value == unknown ? "?" : std::to_string(value);
}

std::string describe(const dims &values) {
    if (values.empty()) return "scalar";
    std::string text;
    for (const auto value : values) {
        if (!text.empty()) text += 'x';
        text += describe(value);
    }
    return text;
}

bool contradict(const dims &a, const dims &b) {
    for (size_t d = 0; d < a.size(); ++d)
        if (a[d] != unknown && b[d] != unknown && a[d] != b[d]) return true;
    return false;
}

bool is_strided(const c_logical_tensor &t) {
    return t.layout_type == dnnl_graph_layout_type_strided;
}

} // namespace

bool dims_known(const c_logical_tensor &t) {
    if (!rank_known(t)) return false;
    const auto extents = dims_of(t);
    return std::ranges::find(extents, unknown) == extents.end();
}

bool strides_known(const c_logical_tensor &t) {
    if (!rank_known(t) || !is_strided(t)) return false;
    const auto strides = strides_of(t);
    return std::ranges::find(strides, unknown) == strides.end();
}

dims dims_of(const c_logical_tensor &t) {
    return {t.dims, t.dims + t.ndims};
}

dims strides_of(const c_logical_tensor &t) {
    return {t.layout.strides, t.layout.strides + t.ndims};
}

size_t bytes_of_element(const c_logical_tensor &t) {
    return static_cast<size_t>(traits(*from_onednn(t.data_type)).bits / 8);
}

std::string describe_dims(const c_logical_tensor &t) {
    return rank_known(t) ? describe(dims_of(t)) : "?";
}

const char *to_string(dnnl_graph_layout_type_t layout) {
    switch (layout) {
        case dnnl_graph_layout_type_any: return "any";
        case dnnl_graph_layout_type_strided: return "strided";
        case dnnl_graph_layout_type_opaque: return "opaque";
        case dnnl_graph_layout_type_undef: break;
    }
    return "undef";
}

std::optional<contradiction> find_contradiction(const c_logical_tensor &a, const c_logical_tensor &b) {
    if (a.data_type != dnnl_data_type_undef && b.data_type != dnnl_data_type_undef && a.data_type != b.data_type)
        return contradiction {dnnl_invalid_data_type, "data type", name_of(a.data_type), name_of(b.data_type)};
    if (!rank_known(a) || !rank_known(b)) return std::nullopt;
    if (a.ndims != b.ndims)
        return contradiction {dnnl_invalid_shape, "rank", std::to_string(a.ndims), std::to_string(b.ndims)};
    if (contradict(dims_of(a), dims_of(b)))
        return contradiction {dnnl_invalid_shape, "dims", describe_dims(a), describe_dims(b)};
    if (is_strided(a) && is_strided(b) && contradict(strides_of(a), strides_of(b)))
        return contradiction {dnnl_invalid_shape, "strides", describe(strides_of(a)), describe(strides_of(b))};
    return std::nullopt;
}

c_logical_tensor with_dims_from(c_logical_tensor t, const c_logical_tensor &other) {
    if (!rank_known(other)) return t;
    for (int d = 0; d < other.ndims; ++d)
        if (!rank_known(t) || t.dims[d] == unknown) t.dims[d] = other.dims[d];
    t.ndims = other.ndims;
    return t;
}

dims dense_strides_like(const dynquant::tensor &t) {
    const auto &given = t.strides;
    std::vector<size_t> outermost_first(given.size());
    std::iota(outermost_first.begin(), outermost_first.end(), 0);
    // A dim of 1 may have the stride of its neighbour. It sorts inside, so that its stride is kept.
    std::ranges::sort(
            outermost_first, std::ranges::greater {}, [&](size_t d) { return std::pair(given[d], t.dims[d]); });

    dims strides(given.size());
    std::int64_t stride = 1;
    for (size_t i = given.size(); i-- > 0;) {
        const auto d = outermost_first[i];
        strides[d] = stride;
        if (t.dims[d] > 1 && given[d] != stride) return {};
        if (__builtin_mul_overflow(stride, std::max<std::int64_t>(t.dims[d], 1), &stride)) return {};
    }
    return strides;
}

} // namespace dynquant::graph::core
