// Layers refuse wrong logical tensors at compile and missing buffers at execute, by status and message, and write
// nothing. What DYNQUANT_VERBOSE=1, which ctest sets, prints of them: with the drop-in it also has the messages.
#include "small_convolution.hpp"
#include "support/onednn_isa.hpp"
#include "support/program.hpp"

namespace dynquant::test {
namespace {

const std::string line = "dynquant_verbose,graph,";

/// Whether f() throws with this status, and says this: in the error, or in the drop-in's line.
template <typename F>
testing::AssertionResult refuses(F &&f, dnnl_status_t status, const std::string &message) {
    std::optional<dnnl_status_t> given;
    std::string said;
    const auto printed = printed_by([&] {
        try {
            f();
        } catch (const dnnl::error &e) {
            given = e.status;
            said = e.message;
        }
    });
#if defined(DYNQUANT_TEST_DROP_IN)
    const auto start = printed.rfind(line + "error,cpu,");
    said = start == std::string::npos ? "" : printed.substr(start + line.size() + 10);
    if (!said.empty()) said.pop_back();
#endif
    if (given == status && said == message) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "expected status " << status << ": " << message << "\n   given status "
                                       << (given ? *given : dnnl_success) << ": " << said << "\n"
                                       << printed;
}

const std::string dx = "op 100 'dx' (DynamicDequantize): ", dw = "op 101 'dw' (DynamicDequantize): ",
                  product = "op 102 'product' (MatMul): ";

/// Whether compile refuses the small chain, of which only ranks are known before, with one logical tensor changed.
testing::AssertionResult compile_refuses(
        const std::vector<lt> &changed, dnnl_status_t status, const std::string &message) {
    small_chain p;
    p.x = lt(0, type::u8, 2, layout::strided);
    p.x_real = lt(3, type::f32, 2, layout::strided);
    p.x_scale = lt(1, type::f32, 1, layout::strided);
    p.x_zp = lt(2, type::s32, 1, layout::strided);
    p.w_scales = lt(11, type::f32, 1, layout::strided);
    p.w_zps = lt(12, type::s32, 1, layout::strided);
    p.product = lt(20, type::f32, 2, layout::strided);
    p.set_up();
    p.then({103, kind::Add, {p.product, f32(30, {2})}, {}, "add"}, f32(21, {unknown, 2}));
    p.give_data().give(small_chain().x_scale, floats {0.5F}).give(small_chain().x_zp, std::vector<std::int32_t> {3});
    p.give(small_chain().w_scales, floats {2, 0.25F}).give(small_chain().w_zps, std::vector<std::int32_t> {0, 1});
    p.give(f32(30, {2}), floats {0, 0});
    const auto partitions = partitions_of(p);
    if (partitions.size() != 1) return testing::AssertionFailure() << partitions.size() << " partitions";
    if (compile(partitions.front(), p).run(p.data) != bytes_of(small_product))
        return testing::AssertionFailure() << "the unchanged chain is wrong";
    for (const auto &t : changed)
        (t.get_id() == 21 ? p.y : p.inputs[t.get_id()]) = t;
    return refuses([&] { compile(partitions.front(), p); }, status, message);
}

TEST(layers_refusals, dims_that_do_not_multiply) {
    EXPECT_TRUE(compile_refuses({u8(0, {2, 4})}, dnnl_invalid_shape,
            product + "weights: expected 4 rows, as many as src has columns (2x4), given 3 (3x2)"));
    EXPECT_TRUE(compile_refuses({u8(0, {3})}, dnnl_invalid_shape, dx + "dst: expected rank 1, given 2"));
}

/// Whether compile refuses small chains of these batches, which get_partitions takes.
testing::AssertionResult batches_refuse(
        const dims &of_x, const dims &of_w, const lt &product_of_batches, const std::string &message) {
    const auto with = [](const dims &batch, std::int64_t rows, std::int64_t columns) {
        auto extents = batch;
        extents.insert(extents.end(), {rows, columns});
        return extents;
    };
    small_chain p;
    p.x = u8(0, with(of_x, 2, 3));
    p.x_real = f32(3, with(of_x, 2, 3));
    p.w = s8(10, with(of_w, 3, 2));
    p.w_real = f32(13, with(of_w, 3, 2));
    p.product = product_of_batches;
    p.ops = {p.dequantize_x(), by_channel(p.dequantize_w(), std::ssize(of_w) + 1), p.matmul()};
    p.y = p.product;
    p.give_data();
    p.inputs[0] = p.x;
    p.inputs[10] = p.w;
    const auto partitions = partitions_of(p);
    if (partitions.size() != 1) return testing::AssertionFailure() << partitions.size() << " partitions";
    return refuses([&] { compile(partitions.front(), p); }, dnnl_invalid_shape, product + message);
}

TEST(layers_refusals, batches_that_do_not_broadcast) {
    EXPECT_TRUE(batches_refuse({2}, {3}, lt(20, type::f32, 3, layout::strided),
            "weights: expected batch dims that broadcast with those of src, 2, given 3"));
}

/// Whether compile refuses the small convolution, of which only ranks are known before, with one logical tensor
/// changed.
testing::AssertionResult convolution_refuses(const lt &changed, const std::string &message) {
    small_convolution p(true);
    const lt x(0, type::u8, 4, layout::strided), x_real(3, type::f32, 4, layout::strided),
            y(20, type::f32, 4, layout::strided);
    p.ops[0] = {100, kind::DynamicDequantize, {x, p.x_scale, p.x_zp}, {x_real}, "dx"};
    p.ops[2] = p.with_attributes({102, kind::Convolution, {x_real, p.w_real()}, {y}, "conv"});
    const auto partitions = partitions_of(p);
    if (partitions.size() != 1) return testing::AssertionFailure() << partitions.size() << " partitions";
    if (compile(partitions.front(), p).run(p.data) != bytes_of(small_result))
        return testing::AssertionFailure() << "the unchanged chain is wrong";
    (changed.get_id() == 20 ? p.y : p.inputs[changed.get_id()]) = changed;
    return refuses(
            [&] { compile(partitions.front(), p); }, dnnl_invalid_shape, "op 102 'conv' (Convolution): " + message);
}

TEST(layers_refusals, padding_beyond_any_memory) {
    small_convolution p(true);
    p.pads_end = {1 << 23, 1 << 23};
    p.y = f32(20, p.dims_of(2, 3, 3));
    p.ops.back() = p.with_attributes({102, kind::Convolution, {p.x_real(), p.w_real()}, {p.y}, "conv"});
    p.ops.back().set_attr(attr::strides, numbers {1 << 22, 1 << 22});
    const auto partitions = partitions_of(p);
    ASSERT_EQ(partitions.size(), 1U);
    EXPECT_TRUE(refuses([&] { compile(partitions.front(), p); }, dnnl_invalid_shape,
            "op 102 'conv' (Convolution): src with its padding: expected fewer than 2^44 elements"));
}

TEST(layers_refusals, dims_that_a_convolution_does_not_take) {
    EXPECT_TRUE(convolution_refuses(u8(0, {1, 3, 3, 3}),
            "weights: expected filters of 3 / 1 channels, those of a group of src (1x3x3x3), given 1 (2x1x2x2)"));
    EXPECT_TRUE(convolution_refuses(
            u8(0, {1, 1, 1, 3}), "expected a window no larger than the padded tensor, given one of 2x2 over 1x3"));
    EXPECT_TRUE(convolution_refuses(f32(20, {1, 2, 3, 2}), "dst: expected dims 1x2x2x2, given 1x2x3x2"));
    EXPECT_TRUE(convolution_refuses(lt(20, type::f32, {1, 2, 2, 2}, dims {8, 0, 2, 1}),
            "dst: expected strides by which no two elements overlap, given 8x0x2x1"));
    EXPECT_TRUE(convolution_refuses(
            u8(0, {1 << 15, 1, 1 << 15, 1 << 15}), "expected fewer than 2^44 elements in src and in weights"));
}

// Each side is small, so that compile knows only by the product that a list of its matrices would not fit in memory.
TEST(layers_refusals, a_dst_of_too_many_matrices) {
    constexpr std::int64_t many = 1 << 20;
    EXPECT_TRUE(batches_refuse({many, 1}, {1, 4 * many}, f32(20, {many, 4 * many, 2, 2}),
            "dst: expected fewer than 2^44 elements, given dims 1048576x4194304x2x2"));
}

// The graph tells ranks of what Dequantize reads, not of what it gives, and compile has others.
TEST(layers_refusals, other_ranks_of_a_product_at_compile) {
    small_chain p;
    p.x_real = lt(3, type::f32, layout::strided);
    p.w_real = lt(13, type::f32, layout::strided);
    p.product = lt(20, type::f32, layout::strided);
    p.w_scales = f32(11, {1});
    p.w_zps = s32(12, {1});
    p.ops = {p.dequantize_x(), p.dequantize_w(), p.matmul()};
    p.give_data();
    for (const auto &t : {p.w_scales, p.w_zps})
        p.inputs[t.get_id()] = t;
    const auto partitions = partitions_of(p);
    ASSERT_EQ(partitions.size(), 1U);
    p.y = f32(20, {2, 2});
    const auto with = [&](const lt &changed) {
        auto q = p;
        q.inputs[changed.get_id()] = changed;
        return q;
    };
    for (const int rank : {0, 1}) {
        const dims extents(static_cast<std::size_t>(rank), 3);
        const auto message = ": expected rank 2 or more, given " + std::to_string(rank);
        EXPECT_TRUE(refuses([&] { compile(partitions.front(), with(u8(0, extents))); }, dnnl_invalid_shape,
                product + "src" + message));
        EXPECT_TRUE(refuses([&] { compile(partitions.front(), with(s8(10, extents))); }, dnnl_invalid_shape,
                product + "weights" + message));
    }
    program narrow; // floats times weights that stay narrow
    narrow.ops = {{101, kind::DynamicDequantize, {s8(10, {3, 2}), f32(11, {1})}, {f32(13, {3, 2})}, "dw"},
            {102, kind::MatMul, {lt(0, type::f32, 2, layout::strided), f32(13, {3, 2})},
                    {lt(20, type::f32, layout::strided)}, "product"}};
    narrow.inputs = {{0, f32(0, {3})}, {10, s8(10, {3, 2})}, {11, f32(11, {1})}};
    narrow.y = f32(20, {2});
    const auto layer = partitions_of(narrow).front();
    EXPECT_TRUE(refuses(
            [&] { compile(layer, narrow); }, dnnl_invalid_shape, product + "src: expected rank 2 or more, given 1"));
}

TEST(layers_refusals, other_ranks_of_a_convolution_at_compile) {
    small_convolution p(true);
    const lt x(0, type::u8, 4, layout::strided), x_real(3, type::f32, layout::strided),
            w_real(13, type::f32, layout::strided), y(20, type::f32, layout::strided);
    p.ops = {{100, kind::DynamicDequantize, {x, p.x_scale, p.x_zp}, {x_real}, "dx"},
            {101, kind::DynamicDequantize, {p.w, f32(11, {1})}, {w_real}, "dw"},
            p.with_attributes({102, kind::Convolution, {x_real, w_real}, {y}, "conv"})};
    p.inputs[11] = f32(11, {1});
    const auto partition = partitions_of(p).front();
    ASSERT_EQ(partition.get_ops_num(), 3U);
    const auto refuses_ranks = [&](const dims &of_x, const dims &of_w, dnnl_status_t status,
                                       const std::string &message) {
        auto q = p;
        q.inputs[0] = u8(0, of_x);
        q.inputs[10] = s8(10, of_w);
        return refuses([&] { compile(partition, q); }, status, "op 102 'conv' (Convolution): " + message);
    };
    const std::string as_many = "weights: expected as many dims as src has (", or_more = "), 3 or more, given ";
    EXPECT_TRUE(refuses_ranks({}, {2, 1, 2, 2}, dnnl_invalid_shape, as_many + "scalar" + or_more + "2x1x2x2"));
    EXPECT_TRUE(refuses_ranks({1, 1, 3, 3}, {2, 1}, dnnl_invalid_shape, as_many + "1x1x3x3" + or_more + "2x1"));
    EXPECT_TRUE(refuses_ranks({1, 1}, {2, 1}, dnnl_invalid_shape, as_many + "1x1" + or_more + "2x1"));
    EXPECT_TRUE(refuses_ranks({1, 1, 3}, {2, 1, 2}, dnnl_invalid_arguments, "strides: expected 1 values, given 2"));
}

TEST(layers_refusals, groups_that_do_not_divide_a_convolution) {
    const auto groups_refuse = [](std::int64_t groups, std::int64_t channels, std::int64_t filters,
                                       const std::string &message) {
        small_convolution p(true);
        const lt x(0, type::u8, 4, layout::strided), x_real(3, type::f32, 4, layout::strided),
                y(20, type::f32, 4, layout::strided);
        p.w = s8(10, {filters, 1, 2, 2});
        p.ops = {{100, kind::DynamicDequantize, {x, p.x_scale, p.x_zp}, {x_real}, "dx"},
                {101, kind::DynamicDequantize, {p.w, p.x_scale}, {p.w_real()}, "dw"},
                p.with_attributes({102, kind::Convolution, {x_real, p.w_real()}, {y}, "conv"})};
        p.ops.back().set_attr(attr::groups, groups);
        const auto partitions = partitions_of(p);
        if (partitions.size() != 1) return testing::AssertionFailure() << partitions.size() << " partitions";
        p.inputs[0] = u8(0, {1, channels, 3, 3});
        p.inputs[10] = p.w;
        p.y = f32(20, {1, filters, 2, 2});
        return refuses(
                [&] { compile(partitions.front(), p); }, dnnl_invalid_shape, "op 102 'conv' (Convolution): " + message);
    };
    EXPECT_TRUE(groups_refuse(3, 3, 4, "groups: expected a divisor of the 4 filters, given 3"));
    EXPECT_TRUE(groups_refuse(0, 3, 4, "groups: expected a divisor of the 4 filters, given 0"));
    EXPECT_TRUE(groups_refuse(2, 3, 4,
            "weights: expected filters of 3 / 2 channels, those of a group of src (1x3x3x3), given 1 (4x1x2x2)"));
}

TEST(layers_refusals, dims_of_dst_other_than_the_product_gives) {
    EXPECT_TRUE(compile_refuses(
            {f32(21, {3, 2})}, dnnl_invalid_shape, "op 103 'add' (Add): dst: expected dims 2x2, given 3x2"));
    EXPECT_TRUE(compile_refuses(
            {f32(21, {2, 2, 1})}, dnnl_invalid_shape, "op 103 'add' (Add): dst: expected rank 2, given 3"));
    EXPECT_TRUE(compile_refuses({lt(21, type::f32, {2, 2}, dims {1, 1})}, dnnl_invalid_shape,
            "op 103 'add' (Add): dst: expected strides by which no two elements overlap, given 1x1"));
    EXPECT_TRUE(compile_refuses({s8(21, {2, 2})}, dnnl_invalid_data_type,
            "op 103 'add' (Add): dst: expected data type f32, as the op has it, given s8"));
}

TEST(layers_refusals, counts_of_scales_and_zps) {
    EXPECT_TRUE(compile_refuses(
            {f32(1, {2})}, dnnl_invalid_shape, dx + "scales: expected 1 element (qtype per_tensor), given 2"));
    EXPECT_TRUE(compile_refuses(
            {s32(2, {3})}, dnnl_invalid_shape, dx + "zps: expected 1 element (qtype per_tensor), given 3"));
    EXPECT_TRUE(compile_refuses(
            {f32(11, {3})}, dnnl_invalid_shape, dw + "scales: expected 2 elements (dims[1] of src), given 3"));
    EXPECT_TRUE(compile_refuses(
            {s32(12, {1})}, dnnl_invalid_shape, dw + "zps: expected 2 elements (dims[1] of src), given 1"));
}

TEST(layers_refusals, other_data_types_at_compile) {
    EXPECT_TRUE(compile_refuses(
            {s8(0, {2, 3})}, dnnl_invalid_data_type, dx + "src: expected data type u8, as the op has it, given s8"));
    EXPECT_TRUE(compile_refuses(
            {u8(10, {3, 2})}, dnnl_invalid_data_type, dw + "src: expected data type s8, as the op has it, given u8"));
    EXPECT_TRUE(compile_refuses({s32(30, {2})}, dnnl_invalid_data_type,
            "op 103 'add' (Add): input 1: expected data type f32, as the op has it, given s32"));
}

TEST(layers_refusals, other_floats_than_those_of_16_bits_at_compile) {
    for (const auto &[of, name] : {std::pair(type::f16, "f16"), {type::bf16, "bf16"}}) {
        program p;
        const lt x(0, of, dims {2, 3}, layout::strided), real(13, of, dims {3, 2}, layout::strided),
                bias(30, of, dims {2}, layout::strided);
        p.y = lt(20, of, dims {2, 2}, layout::strided);
        p.ops = {{101, kind::DynamicDequantize, {s8(10, {3, 2}), f32(11, {1})}, {real}, "dw"},
                {102, kind::MatMul, {x, real, bias}, {p.y}, "product"}};
        p.inputs = {{0, x}, {10, s8(10, {3, 2})}, {11, f32(11, {1})}, {30, bias}};
        const auto partition = partitions_of(p).front();
        const auto expected = std::string(": expected data type ") + name + ", as the op has it, given f32";
        for (const auto &[wrong, where] :
                {std::pair(f32(0, {2, 3}), "src"), {f32(30, {2}), "bias"}, {f32(20, {2, 2}), "dst"}}) {
            auto changed = p;
            (wrong.get_id() == 20 ? changed.y : changed.inputs[wrong.get_id()]) = wrong;
            EXPECT_TRUE(
                    refuses([&] { compile(partition, changed); }, dnnl_invalid_data_type, product + where + expected));
        }
    }
}

TEST(layers_refusals, other_dims_of_operands_at_compile) {
    EXPECT_TRUE(compile_refuses({f32(30, {3})}, dnnl_invalid_shape,
            product
                    + "node '103 'add'' (Add): 'input 1': expected one value, or one for each channel of shape 2x2, "
                      "given "
                      "shape 3"));
    EXPECT_TRUE(compile_refuses({lt(30, type::f32, dims {unknown}, layout::strided)}, dnnl_invalid_shape,
            "op 103 'add' (Add): input 1: expected known dims, given ?"));
    EXPECT_TRUE(compile_refuses({f32(30, {3, 2})}, dnnl_invalid_shape,
            product
                    + "node '103 'add'' (Add): 'input 1': expected one value, or one for each channel of shape 2x2, "
                      "given "
                      "shape 3x2"));
}

TEST(layers_refusals, strides_below_zero_or_unknown) {
    EXPECT_TRUE(compile_refuses({lt(30, type::f32, dims {2}, dims {-1})}, dnnl_invalid_shape,
            "op 103 'add' (Add): input 1: expected strides of 0 or more, given -1"));
    EXPECT_TRUE(compile_refuses({lt(30, type::f32, dims {2}, dims {unknown})}, dnnl_invalid_shape,
            "op 103 'add' (Add): input 1: expected known strides, given unknown ones"));
}

TEST(layers_refusals, a_name_is_not_told_where_there_is_none) {
    small_chain p;
    p.product = lt(20, type::f32, 2, layout::strided);
    p.set_up();
    p.then({103, kind::Add, {p.product, f32(30, {2})}, {}, ""}, lt(21, type::f32, 2, layout::strided));
    p.give_data().give(f32(30, {3}), floats(3)).y = f32(21, {2, 2});
    const auto partitions = partitions_of(p);
    ASSERT_EQ(ops_of(partitions), (std::vector<id_list> {{100, 101, 102, 103}}));
    EXPECT_TRUE(refuses([&] { compile(partitions.front(), p); }, dnnl_invalid_shape,
            product
                    + "node '103' (Add): 'input 1': expected one value, or one for each channel of shape 2x2, given "
                      "shape 3"));
}

TEST(layers_refusals, other_dims_of_a_bias_at_compile) {
    auto p = small_chain().give_data();
    p.ops.back().add_input(f32(30, {2}));
    p.give(f32(30, {3}), floats(3));
    const auto partitions = partitions_of(p);
    ASSERT_EQ(ops_of(partitions), (std::vector<id_list> {{100, 101, 102}}));
    EXPECT_TRUE(refuses([&] { compile(partitions.front(), p); }, dnnl_invalid_shape,
            product
                    + "node '102 'product'' (MatMul): 'input 2': expected one value, or one for each channel of an "
                      "unknown shape, given shape 3"));
}

// oneDNN gives opaque layouts for GPUs only, where it may block. 5 stands for none of its layouts.
TEST(layers_refusals, opaque_layouts) {
    const auto opaque = [](std::size_t id, type of, const dims &extents) {
        return lt(id, of, extents, std::size_t {5});
    };
    const std::string strided = ": expected layout strided, given opaque";
    EXPECT_TRUE(compile_refuses({opaque(0, type::u8, {2, 3})}, dnnl_invalid_arguments, dx + "src" + strided));
    EXPECT_TRUE(compile_refuses({opaque(1, type::f32, {1})}, dnnl_invalid_arguments, dx + "scales" + strided));
    EXPECT_TRUE(compile_refuses({opaque(10, type::s8, {3, 2})}, dnnl_invalid_arguments, dw + "src" + strided));
    EXPECT_TRUE(compile_refuses({opaque(12, type::s32, {2})}, dnnl_invalid_arguments, dw + "zps" + strided));
    EXPECT_TRUE(compile_refuses(
            {opaque(30, type::f32, {2})}, dnnl_invalid_arguments, "op 103 'add' (Add): input 1" + strided));
    EXPECT_TRUE(compile_refuses({opaque(21, type::f32, {2, 2})}, dnnl_invalid_arguments,
            "op 103 'add' (Add): dst: expected layout strided or any, given opaque"));
}

TEST(layers_refusals, logical_tensors_that_compile_is_not_given) {
    const small_chain p = small_chain().give_data();
    const auto partition = partitions_of(p).front();
    for (const auto &[id, where] : {std::pair<std::size_t, std::string> {0, dx + "src"}, {1, dx + "scales"},
                 {2, dx + "zps"}, {10, dw + "src"}, {11, dw + "scales"}, {12, dw + "zps"}}) {
        std::vector<lt> inputs;
        std::string ids;
        for (const auto &port : partition.get_input_ports())
            if (port.get_id() != id) {
                inputs.push_back(p.inputs.at(port.get_id()));
                ids += (ids.empty() ? "" : ", ") + std::to_string(port.get_id());
            }
        const auto expected = where + ": expected logical tensor " + std::to_string(id)
                + " among the inputs of compile, given " + ids;
        EXPECT_TRUE(refuses([&] { partition.compile(inputs, {p.y}, cpu()); }, dnnl_invalid_arguments, expected));
    }
    EXPECT_TRUE(refuses([&] { partition.compile(compile(partition, p).inputs, {}, cpu()); }, dnnl_invalid_arguments,
            product + "dst: expected logical tensor 20 among the outputs of compile, given none"));
}

TEST(layers_refusals, null_buffers_of_each_port) {
    auto p = small_chain(property::constant).give_data();
    const lt bias = f32(30, {2}), factor = f32(31, {1}), scaled = f32(21, {2, 2}), codes = s8(22, {2, 2}),
             y_scale = f32(32, {1}), y_zp = s32(33, {1}), raw = f32(70, {2, 3});
    p.ops.back().add_input(bias);
    p.ops.insert(p.ops.begin(), {99, kind::DynamicQuantize, {raw, p.x_scale, p.x_zp}, {p.x}, "qx"});
    p.then({103, kind::Multiply, {p.product, factor}, {}, "times"}, scaled);
    p.then({104, kind::DynamicQuantize, {scaled, y_scale, y_zp}, {}, "qy"}, codes);
    p.give(bias, floats {1, 2}).give(factor, floats {2}).give(y_scale, floats {0.25F}).give(raw, floats(6, 1.0F));
    p.give(y_zp, std::vector<std::int32_t> {-1});
    const auto c = compile_layer(p);
    const std::string qx = "op 99 'qx' (DynamicQuantize): ", qy = "op 104 'qy' (DynamicQuantize): ";
    const std::map<std::size_t, std::string> ports = {{70, qx + "src"}, {1, qx + "scales"}, {2, qx + "zps"},
            {10, dw + "src"}, {11, dw + "scales"}, {12, dw + "zps"}, {30, product + "bias"},
            {31, "op 103 'times' (Multiply): input 1"}, {32, qy + "scales"}, {33, qy + "zps"}, {22, qy + "dst"}};
    ASSERT_EQ(c.inputs.size() + 1, ports.size());
    for (const bool has_run : {false, true})
        for (const auto &[missing, where] : ports) {
            auto data = p.data;
            bytes y(4, std::byte {0x77});
            const auto run = [&](std::optional<std::size_t> without) {
                std::vector<dg::tensor> in, out;
                const auto add = [&](auto &list, const lt &t, bytes &buffer) {
                    list.emplace_back(t, cpu(), t.get_id() == without ? nullptr : buffer.data());
                };
                for (const auto &t : c.inputs)
                    add(in, t, data.at(t.get_id()));
                add(out, codes, y);
                dg::stream stream(const_cast<dg::engine &>(cpu()));
                c.partition.execute(stream, in, out);
            };
            if (has_run) run({});
            std::ranges::fill(y, std::byte {0x77});
            EXPECT_TRUE(refuses([&, port = missing] { run(port); }, dnnl_invalid_arguments,
                    where + ": expected a buffer, given a null pointer"
                            + (missing == 10 ? " for a constant tensor" : "")));
            EXPECT_EQ(y, bytes(4, std::byte {0x77})) << where << " was missed too late";
        }
}

TEST(layers_refusals, wrong_counts_of_tensors_at_execute) {
    const auto p = small_chain().give_data();
    const auto c = compile_layer(p);
    dg::stream stream(const_cast<dg::engine &>(cpu()));
    std::vector<float> value(4, 9);
    const std::vector<dg::tensor> one = {{p.y, cpu(), value.data()}}, two = {one[0], one[0]};
    const std::vector<dg::tensor> all(6, one[0]);
    const std::string where =
            "op 102 'product' (MatMul) with op 100 'dx' (DynamicDequantize), op 101 'dw' (DynamicDequantize): ";
    EXPECT_TRUE(refuses([&] { c.partition.execute(stream, one, one); }, dnnl_invalid_arguments,
            where + "inputs: expected 6 tensors, as compile was given, given 1"));
    EXPECT_TRUE(refuses([&] { c.partition.execute(stream, all, two); }, dnnl_invalid_arguments,
            where + "outputs: expected 1 tensor, as compile was given, given 2"));
    EXPECT_EQ(value, floats(4, 9));
}

// ---- Lines of DYNQUANT_VERBOSE=1 ----

TEST(layers_verbose, each_op_of_a_layer_is_claimed) {
    const auto p = small_chain().give_data();
    const std::string in_layer = ": in the layer of op 102 'product' (MatMul)\n";
    std::string expected = line + "claim,cpu,op 100 'dx' (DynamicDequantize)" + in_layer + line
            + "claim,cpu,op 101 'dw' (DynamicDequantize)" + in_layer;
    expected += line
            + "claim,cpu,op 102 'product' (MatMul) with op 100 'dx' (DynamicDequantize), op 101 'dw' "
              "(DynamicDequantize)\n";
    EXPECT_EQ(printed_by([&] { partitions_of(p); }), expected);
}

/// What get_partitions prints of a graph.
std::string printed_of(const program &p, dg::partition::policy policy = dg::partition::policy::fusion) {
    return printed_by([&] { partitions_of(p, policy); });
}

TEST(layers_verbose, ops_that_are_no_layer_say_why) {
    auto p = small_chain();
    p.x_real = lt(3, type::bf16, {2, 3}, layout::strided);
    p.w_real = lt(13, type::bf16, {3, 2}, layout::strided);
    p.product = lt(20, type::bf16, {2, 2}, layout::strided);
    p.set_up();
    EXPECT_TRUE(contains(printed_of(p),
            line + "leave,cpu," + product + "oneDNN multiplies floats, as it is no layer: " + dx
                    + "dst: expected f32, given bf16\n"));
    p = small_chain();
    p.ops[1] = by_channel(p.dequantize_w(), 0); // along the terms of a sum
    p.ops[1] = dg::op(101, kind::DynamicDequantize, {p.w, f32(11, {3})}, {p.w_real}, "dw");
    p.ops[1] = by_channel(p.ops[1], 0);
    EXPECT_TRUE(contains(printed_of(p),
            line + "leave,cpu," + product + "oneDNN multiplies floats, as it is no layer: op 101 'dw' "
                    + "(DynamicDequantize): expected one scale for all of a column of MatMul's weights, given "
                      "several\n"));
    p = small_chain();
    p.x = lt(0, type::u8, layout::strided);
    p.x_real = lt(3, type::f32, layout::strided);
    p.product = lt(20, type::f32, layout::strided);
    p.set_up();
    const std::string no_rank = line + "leave,cpu," + product
            + "oneDNN multiplies floats, as it is no layer: src: expected a known rank of 2 or more, given ?\n";
    EXPECT_TRUE(contains(printed_of(p), no_rank));
    // oneDNN fuses what follows, and multiplies floats as well.
    p.set_up();
    p.then({103, kind::ReLU, {p.product}, {}, "relu"}, lt(21, type::f32, layout::strided));
    std::vector<id_list> ops;
    EXPECT_TRUE(contains(printed_by([&] { ops = ops_of(partitions_of(p)); }), no_rank));
    EXPECT_EQ(ops, (std::vector<id_list> {{100}, {101}, {102, 103}}));
    p = small_chain();
    p.ops = {with_mask({101, kind::DynamicDequantize, {p.w, f32(11, {3, 1})}, {p.w_real}, "dw"}, 3)
                     .set_attr(dynquant::graph::newer::group_shape, numbers {1, 2}),
            {102, kind::MatMul, {f32(0, {2, 3}), p.w_real}, {p.product}, "product"}};
    EXPECT_EQ(printed_of(p).find("leave"), std::string::npos); // groups of whole rows: one scale for each
    p = small_chain();
    p.ops.erase(p.ops.begin() + 1); // floats as weights
    EXPECT_TRUE(contains(printed_of(p),
            line + "leave,cpu," + product + "oneDNN multiplies floats, as it is no layer: weights: expected the result "
                    + "of Dequantize or DynamicDequantize\n"));
}

TEST(layers_verbose, operands_that_no_layer_reads_say_why) {
    const auto says = [](small_chain p, const std::string &why) {
        return contains(printed_of(p),
                line + "leave,cpu," + product + "oneDNN multiplies floats, as it is no layer: " + why + "\n");
    };
    small_chain p;
    p.x = lt(0, dynquant::graph::newer::s4, {2, 3}, layout::strided);
    p.set_up();
    EXPECT_TRUE(says(p, dx + "src: expected s8 or u8, given s4"));
    p = small_chain();
    p.x_zp = lt(2, type::undef, dims {1}, layout::strided);
    p.set_up();
    EXPECT_TRUE(says(p, dx + "zps: expected s8, u8 or s32, given undef"));
    p = small_chain();
    p.x_scale = lt(1, type::undef, dims {1}, layout::strided);
    p.set_up();
    EXPECT_TRUE(says(p, dx + "scales: expected f32, f16 or bf16, given undef"));
    p = small_chain();
    p.w = s8(10, {unknown, 2});
    p.w_real = f32(13, {unknown, 2});
    p.set_up();
    EXPECT_TRUE(says(p, "weights: expected known dims, at least 2, given ?x2"));
    p.ops = {p.ops[1], {102, kind::MatMul, {f32(0, {2, 3}), p.w_real}, {p.product}, "product"}}; // x of floats
    EXPECT_TRUE(says(p, "weights: expected known dims, at least 2, given ?x2"));
    p = small_chain();
    p.ops[0] = by_channel({100, kind::DynamicDequantize, {p.x, f32(1, {3})}, {p.x_real}, "dx"}, 1);
    EXPECT_TRUE(says(p, dx + "expected one scale for all of a row of MatMul's src, given several"));
    p = small_chain();
    p.x = lt(0, type::u8, 2, layout::strided);
    p.x_real = lt(3, type::f32, 2, layout::strided);
    p.set_up();
    p.ops[0] = with_mask({100, kind::DynamicDequantize, {p.x, f32(1, {2, 2})}, {p.x_real}, "dx"}, 3)
                       .set_attr(dynquant::graph::newer::group_shape, numbers {2, 1});
    EXPECT_TRUE(says(p, dx + "expected known dims of src, given ?x?"));
    p = small_chain();
    p.x = lt(0, type::u8, layout::strided);
    p.x_real = lt(3, type::f32, layout::strided);
    p.ops[0] = by_channel({100, kind::DynamicDequantize, {p.x, f32(1, {2})}, {p.x_real}, "dx"}, -2);
    p.ops[2] = p.matmul();
    EXPECT_TRUE(says(p, "src: expected a known rank of 2 or more, given ?"));
    p = small_chain();
    p.w = s8(10, {});
    p.w_real = f32(13, {});
    p.w_scales = f32(11, {1});
    p.ops = {p.dequantize_x(), {101, kind::DynamicDequantize, {p.w, p.w_scales}, {p.w_real}, "dw"}, p.matmul()};
    EXPECT_TRUE(says(p, "weights: expected known dims, at least 2, given scalar"));
    for (const auto &bias : {f32(30, {unknown}), lt(30, type::f32, layout::strided)}) {
        p = small_chain();
        p.ops.back().add_input(bias);
        EXPECT_TRUE(says(p, "bias: expected known dims, given ?"));
    }
    p = small_chain();
    p.ops.back().add_input(f32(30, {2}));
    p.ops.push_back({110, kind::MatMul, {f32(30, {2}), f32(31, {2, 2})}, {f32(32, {2})}, "of_the_bias"});
    EXPECT_TRUE(says(p, "node '102 'product'' (MatMul): expected a constant beside '20', given '30'"));
}

TEST(layers_verbose, weights_that_no_layer_reads_say_why) {
    const auto says = [](const lt &w, const lt &zps, const std::string &why) {
        program p;
        p.ops = {by_channel({101, kind::DynamicDequantize, {w, f32(11, {2}), zps}, {f32(13, {3, 2})}, "dw"}, 1),
                {102, kind::MatMul, {f32(0, {2, 3}), f32(13, {3, 2})}, {f32(20, {2, 2})}, "product"}};
        return contains(printed_of(p),
                line + "leave,cpu," + product + "oneDNN multiplies floats, as it is no layer: " + dw + why
                        + ", given undef\n");
    };
    const auto undefined = [](const lt &t) { return lt(t.get_id(), type::undef, t.get_dims(), layout::strided); };
    const auto w = s8(10, {3, 2}), zps = s32(12, {2});
    EXPECT_TRUE(says(undefined(w), zps, "src: expected 8 or 4 bits"));
    EXPECT_TRUE(says(w, undefined(zps), "zps: expected 8 or 4 bits, or s32"));
}

TEST(layers_verbose, weights_that_multiply_themselves_say_why) {
    program p; // the layer would have no x
    const lt real = f32(13, {2, 2}), cast(14, type::bf16, {2, 2}, layout::strided);
    p.ops = {{101, kind::DynamicDequantize, {s8(10, {2, 2}), f32(11, {1})}, {real}, "dw"},
            {103, kind::TypeCast, {real}, {cast}, "cast"},
            {102, kind::MatMul, {cast, cast}, {lt(20, type::bf16, {2, 2}, layout::strided)}, "product"}};
    EXPECT_TRUE(contains(printed_of(p),
            line + "leave,cpu," + product
                    + "oneDNN multiplies floats, as it is no layer: src: expected other floats than the weights "
                      "themselves\n"));
}

TEST(layers_verbose, convolutions_that_are_no_layer_say_why) {
    const auto says = [](const small_convolution &p, const std::string &why) {
        return contains(printed_of(p),
                line + "leave,cpu,op 102 'conv' (Convolution): oneDNN multiplies floats, as it is no layer: " + why
                        + "\n");
    };
    small_convolution p(true);
    p.ops[0] = by_channel({100, kind::DynamicDequantize, {p.x(), f32(1, {3})}, {p.x_real()}, "dx"}, 2);
    EXPECT_TRUE(says(p, dx + "expected one scale for all of an image, given several"));
    p.set_up();
    p.ops[1] = by_channel({101, kind::DynamicDequantize, {p.w, f32(11, {2})}, {p.w_real()}, "dw"}, 3);
    EXPECT_TRUE(says(p, dw + "expected one scale for all of a filter, given several"));
    const auto attribute_says = [&]<typename Value>(attr name, const Value &value, const std::string &why) {
        p.set_up();
        p.ops[2].set_attr(name, value);
        try {
            EXPECT_TRUE(says(p, why));
        } catch (const dnnl::error &e) { // oneDNN 3.7 takes no such op
            EXPECT_EQ(e.status, dnnl_invalid_graph_op);
        }
    };
    attribute_says(attr::pads_begin, numbers {-1, 0}, "pads_begin: expected values of 0 to 1073741824, given -1");
    attribute_says(attr::strides, numbers {1}, "strides: expected 2 values, given 1");
    attribute_says(attr::strides, numbers {1, 0}, "strides: expected values of 1 to 1073741824, given 0");
    attribute_says(attr::dilations, numbers {1, (1 << 30) + 1},
            "dilations: expected values of 1 to 1073741824, given 1073741825");
    attribute_says(attr::pads_end, numbers {0}, "pads_end: expected 2 values, given 1");
    attribute_says(attr::auto_pad, std::string("SAME"),
            "auto_pad: expected None, SAME_UPPER, SAME_LOWER or VALID, given SAME");
    attribute_says(attr::data_format, std::string("XNC"), "data_format: expected NXC or NCX, given XNC");
    attribute_says(attr::weights_format, std::string("IXO"), "weights_format: expected XIO or OIX, given IXO");
    p.set_up();
    const auto bf16 = [](const lt &t) { return lt(t.get_id(), type::bf16, t.get_dims(), layout::strided); };
    p.ops = {{100, kind::DynamicDequantize, {p.x(), p.x_scale, p.x_zp}, {bf16(p.x_real())}, "dx"},
            by_channel({101, kind::DynamicDequantize, {p.w, p.w_scales, p.w_zps}, {bf16(p.w_real())}, "dw"}, 0),
            p.with_attributes(
                    {102, kind::Convolution, {bf16(p.x_real()), bf16(p.w_real())}, {bf16(p.product())}, "conv"})};
    EXPECT_TRUE(says(p, dx + "dst: expected f32, given bf16"));
    p.set_up();
    p.ops.erase(p.ops.begin());
    EXPECT_TRUE(says(p, "src: expected the result of Dequantize or DynamicDequantize"));
    p.set_up();
    p.ops.erase(p.ops.begin() + 1);
    EXPECT_TRUE(says(p, "weights: expected the result of Dequantize or DynamicDequantize"));
    p.w = s8(10, {2, unknown, 2, 2});
    p.set_up();
    EXPECT_TRUE(says(p, "weights: expected known dims, at least 3, given 2x?x2x2"));
    p.w = s8(10, {2, 2});
    p.set_up();
    EXPECT_TRUE(says(p, "weights: expected known dims, at least 3, given 2x2"));
    p = small_convolution(true);
    const lt x(0, type::u8, 4, layout::strided), x_real(3, type::f32, 4, layout::strided);
    p.ops[0] = with_mask({100, kind::DynamicDequantize, {x, f32(1, {1, 1, 3, 1})}, {x_real}, "dx"}, 15)
                       .set_attr(dynquant::graph::newer::group_shape, numbers {1, 1, 1, 3});
    p.ops[2] = p.with_attributes({102, kind::Convolution, {x_real, p.w_real()}, {p.product()}, "conv"});
    EXPECT_TRUE(says(p, dx + "expected known dims of src, given ?x?x?x?"));
    p = small_convolution(true);
    p.ops = {{100, kind::DynamicDequantize, {lt(0, type::u8, layout::strided), p.x_scale, p.x_zp},
                     {lt(3, type::f32, layout::strided)}, "dx"},
            p.ops[1],
            p.with_attributes({102, kind::Convolution, {lt(3, type::f32, layout::strided), p.w_real()},
                    {lt(20, type::f32, layout::strided)}, "conv"})};
    EXPECT_TRUE(says(p, "src: expected rank 4, that of weights, given ?"));
}

TEST(layers_verbose, ops_that_onednn_fuses_right_are_left) {
    program p;
    const lt x = u8(0, {2, 3}), w = s8(1, {3, 2}, property::constant), x_real = f32(2, {2, 3}), w_real = f32(3, {3, 2}),
             sums = f32(4, {2, 2});
    const auto ops = [&](const numbers &zps) {
        p.ops = {with_scales({10, kind::Dequantize, {x}, {x_real}, "dx"}, {0.5F}, {3}),
                with_scales(by_channel({11, kind::Dequantize, {w}, {w_real}, "dw"}, 1), {1, 2}, zps),
                {12, kind::MatMul, {x_real, w_real}, {sums}, "product"},
                with_scales({13, kind::Quantize, {sums}, {u8(5, {2, 2})}, "q"}, {0.25F}, {1})};
    };
    const std::string behind = "; partition::policy::debug fuses none\n";
    const std::string in_layer = ": in the layer of op 12 'product' (MatMul)\n";
    const std::string taken = line + "claim,cpu,op 10 'dx' (Dequantize)" + in_layer + line
            + "claim,cpu,op 11 'dw' (Dequantize)" + in_layer + line + "claim,cpu,op 13 'q' (Quantize)" + in_layer + line
            + "claim,cpu,op 12 'product' (MatMul) with op 10 'dx' (Dequantize), op 11 'dw' (Dequantize), op 13 'q' "
              "(Quantize)\n";
    ops({0, 0});
    EXPECT_EQ(printed_of(p),
            onednn_has_vnni() ? line + "leave,cpu,op 10 'dx' (Dequantize): oneDNN fuses it with other ops" + behind
                            + line + "leave,cpu,op 11 'dw' (Dequantize): oneDNN fuses it with other ops" + behind + line
                            + "leave,cpu,op 13 'q' (Quantize): oneDNN fuses it with other ops, and multiplies by 1 / "
                              "scale, so that results next to ties may differ by 1"
                            + behind
                              : taken); // its sums would saturate
    ops({0, 1});
    EXPECT_EQ(printed_of(p), taken);
    ops({0, 1});
    EXPECT_EQ(printed_of(p, dg::partition::policy::debug),
            line + "claim,cpu,op 10 'dx' (Dequantize)\n" + line + "claim,cpu,op 11 'dw' (Dequantize)\n" + line
                    + "claim,cpu,op 13 'q' (Quantize)\n");
}

TEST(layers_verbose, ops_that_onednn_fuses_wrong_are_told) {
    program p; // no layer, as the rows of w are unknown
    const lt x = u8(0, {2, 3}), w(1, type::s8, dims {unknown, 2}, layout::strided, property::constant),
             x_real = f32(2, {2, 3}), w_real = f32(3, {unknown, 2}), sums = f32(4, {2, 2});
    p.ops = {with_scales({10, kind::Dequantize, {x}, {x_real}, "dx"}, {0.5F}, {3}),
            with_scales(by_channel({11, kind::Dequantize, {w}, {w_real}, "dw"}, 1), {1, 2}, {0, 1}),
            {12, kind::MatMul, {x_real, w_real}, {sums}, "product"},
            with_scales({13, kind::Quantize, {sums}, {u8(5, {2, 2})}, "q"}, {0.25F}, {1})};
    const std::string fuses = ": oneDNN fuses it with other ops", behind = "; partition::policy::debug fuses none\n";
    EXPECT_EQ(printed_of(p),
            line + "leave,cpu,op 10 'dx' (Dequantize)" + fuses + behind + line + "leave,cpu,op 11 'dw' (Dequantize)"
                    + fuses + ", and takes the first of its zps for all channels" + behind + line
                    + "leave,cpu,op 13 'q' (Quantize)" + fuses
                    + ", and multiplies by 1 / scale, so that results next to ties may differ by 1" + behind);
}

TEST(layers_verbose, an_op_is_either_claimed_or_left) {
    program p;
    const lt x = u8(0, {2, 3}), w = s8(1, {3, 2}, property::constant), x_real = f32(2, {2, 3}), w_real = f32(3, {3, 2}),
             made = f32(4, {2, 2}), other = u8(6, {1, 1}), other_real = f32(7, {1, 1}), sum = f32(8, {2, 2});
    p.ops = {with_scales({10, kind::Dequantize, {x}, {x_real}, "dx"}, {0.5F}, {3}),
            with_scales(by_channel({11, kind::Dequantize, {w}, {w_real}, "dw"}, 1), {1, 2}, {0, 1}),
            {12, kind::MatMul, {x_real, w_real}, {made}, "product"},
            with_scales({13, kind::Dequantize, {other}, {other_real}, "other"}, {0.25F}, {0}),
            {14, kind::Add, {made, other_real}, {sum}, "add"},
            with_scales({15, kind::Quantize, {sum}, {u8(5, {2, 2})}, "q"}, {0.25F}, {1})};
    const auto printed = printed_of(p); // without the layer oneDNN has nothing to fuse `other` with
    EXPECT_TRUE(contains(printed, line + "claim,cpu,op 13 'other' (Dequantize)\n")) << printed;
    EXPECT_FALSE(contains(printed, line + "leave,cpu,")) << printed;
}

} // namespace
} // namespace dynquant::test
