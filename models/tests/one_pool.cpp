// With a oneDNN that uses OpenMP all stages of a model run on OpenMP's threads, whether libdynquant (such as
// QuantizeLinear) or libdynquant_model computes them. The program links both libraries as users do.
#include <filesystem>
#include <numeric>

#include <gtest/gtest.h>
#include <oneapi/dnnl/dnnl.h>

#include "dynquant/model.hpp"
#include "onnx.pb.h"

extern "C" int omp_get_max_threads();

namespace dynquant::test {
namespace {

constexpr int rows = 1024, inner = 1024, columns = 64; // enough for a part for each thread

::onnx::TensorProto *add_constant(::onnx::GraphProto &graph, const char *name, int type) {
    auto *tensor = graph.add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(type);
    return tensor;
}

void set_port(::onnx::ValueInfoProto &port, const char *name, int type, std::initializer_list<int> shape) {
    port.set_name(name);
    auto *tensor = port.mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    for (const int extent : shape)
        tensor->mutable_shape()->add_dim()->set_dim_value(extent);
}

void add_node(
        ::onnx::GraphProto &graph, const char *type, std::initializer_list<const char *> inputs, const char *output) {
    auto *node = graph.add_node();
    node->set_op_type(type);
    for (const auto *input : inputs)
        node->add_input(input);
    node->add_output(output);
}

/// y = MatMulInteger(QuantizeLinear(x, 0.5), ones)
std::string quantize_and_multiply() {
    using ::onnx::TensorProto;
    ::onnx::ModelProto model;
    model.set_ir_version(8);
    model.add_opset_import()->set_version(13);
    auto &graph = *model.mutable_graph();
    add_constant(graph, "scale", TensorProto::FLOAT)->add_float_data(0.5F);
    add_constant(graph, "zero_point", TensorProto::UINT8)->add_int32_data(0);
    auto *w = add_constant(graph, "w", TensorProto::INT8);
    w->add_dims(inner);
    w->add_dims(columns);
    w->set_raw_data(std::string(std::size_t {inner} * columns, '\1'));
    set_port(*graph.add_input(), "x", TensorProto::FLOAT, {rows, inner});
    set_port(*graph.add_output(), "y", TensorProto::INT32, {rows, columns});
    add_node(graph, "QuantizeLinear", {"x", "scale", "zero_point"}, "q");
    add_node(graph, "MatMulInteger", {"q", "w"}, "y");
    return model.SerializeAsString();
}

long threads_of_this_process() {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
}

TEST(one_pool, all_stages_run_on_the_threads_of_openmp) {
    ASSERT_EQ(dnnl_version()->cpu_runtime, DNNL_RUNTIME_OMP) << "expected a oneDNN that uses OpenMP";
    ASSERT_EQ(omp_get_max_threads(), 3) << "expected OMP_NUM_THREADS=3";
    const auto m = model::parse(quantize_and_multiply(), "one_pool");
    ASSERT_EQ(m.stages().size(), 2U);
    std::vector<float> x(std::size_t {rows} * inner, 1.0F); // 2 once quantized
    std::vector<std::int32_t> y(std::size_t {rows} * columns);
    for (int i = 0; i < 3; ++i)
        m.run({x.data()}, {y.data()});
    EXPECT_EQ(y, std::vector(y.size(), 2 * inner));
    EXPECT_EQ(threads_of_this_process(), 3) << "expected this thread, two more of OpenMP and none of TBB";
}

} // namespace
} // namespace dynquant::test
