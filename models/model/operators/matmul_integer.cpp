#include "model/layer_stage.hpp"
#include "model/operators/operators.hpp"
#include "model/operators/products.hpp"

namespace dynquant::models {

tensor_type infer_matmul_integer(const op_node &n) {
    return {onnx::type::int32, plan_matmul(n).y};
}

prepared_node prepare_matmul_integer(const op_node &n, const settings &s) {
    return {make_layer_stage(n, describe_product(n, s)).work, {0}};
}

} // namespace dynquant::models
