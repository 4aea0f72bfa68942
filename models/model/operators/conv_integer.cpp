#include "model/layer_stage.hpp"
#include "model/operators/operators.hpp"
#include "model/operators/products.hpp"

namespace dynquant::models {

tensor_type infer_conv_integer(const op_node &n) {
    const auto p = plan_convolution(n);
    dims shape {p.batch, p.filters};
    shape.insert(shape.end(), p.window.y.begin(), p.window.y.end());
    return {onnx::type::int32, shape};
}

prepared_node prepare_conv_integer(const op_node &n, const settings &s) {
    return {make_layer_stage(n, describe_product(n, s)).work, {0}};
}

} // namespace dynquant::models
