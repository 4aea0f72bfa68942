// Weights that stay narrow between floats of 16 bits: x, what Dequantize or TypeCast gives, and the result.
#include "oracle/elements.hpp"
#include "small_convolution.hpp"

namespace dynquant::test {
namespace {

struct narrow_float {
    type of;
    data_type as;
};
const narrow_float narrow_floats[] = {{type::f16, data_type::f16}, {type::bf16, data_type::bf16}};

/// x, 2 x 3, times w, 1 -3, 3 3, -5 5 by the scales 2 and 0.25 of its columns, as in narrow_weights.cpp; all floats but
/// the scales are of 16 bits.
struct narrow_chain : program {
    narrow_float floats_are;
    lt x, w, w_scales = f32(11, {2}), w_zps = s32(12, {2}), w_real, product;

    explicit narrow_chain(narrow_float f, property of_w = property::constant)
        : floats_are(f)
        , x(narrow(0, {2, 3}))
        , w(s8(10, {3, 2}, of_w))
        , w_real(narrow(13, {3, 2}))
        , product(narrow(20, {2, 2})) {
        set_up();
        give_narrow(x, {1, 2, 3, 0.5F, -1, 4});
        give(w, std::vector<std::int8_t> {1, -2, 3, 4, -5, 6});
        give(w_scales, floats {2, 0.25F}).give(w_zps, std::vector<std::int32_t> {0, 1});
    }

    lt narrow(std::size_t id, const dims &extents) const { return {id, floats_are.of, extents, layout::strided}; }
    void set_up() {
        ops = {dequantize(w_real), {102, kind::MatMul, {x, w_real}, {product}, "product"}};
        y = product;
    }
    dg::op dequantize(const lt &to) const {
        return by_channel({101, kind::DynamicDequantize, {w, w_scales, w_zps}, {to}, "dw"}, 1);
    }
    void give_narrow(const lt &t, const floats &values) {
        inputs[t.get_id()] = t;
        data[t.get_id()] = encode_reals(floats_are.as, values);
    }
    floats gives() const { return decode_reals(floats_are.as, compile_layer(*this).run(data)); }
};

const floats narrow_product = {-16, 4.5F, -45, 3.875F};

TEST(floats_of_16_bits, are_multiplied) {
    for (const auto &f : narrow_floats)
        for (const auto of_w : {property::constant, property::variable}) {
            const narrow_chain p(f, of_w);
            const auto c = compile_layer(p);
            EXPECT_EQ(ids_of(c.inputs), (id_list {10, 11, 12, 0}));
            EXPECT_EQ(decode_reals(f.as, c.run(p.data)), narrow_product);
        }
}

TEST(floats_of_16_bits, between_tensors_with_strides) {
    for (const auto &f : narrow_floats) {
        narrow_chain p(f);
        p.x = lt(0, f.of, {2, 3}, dims {1, 2}); // column by column
        p.set_up();
        p.y = lt(20, f.of, {2, 2}, dims {3, 1});
        p.give_narrow(p.x, {1, 0.5F, 2, -1, 3, 4});
        const auto y = p.gives();
        EXPECT_EQ((floats {y[0], y[1], y[3], y[4]}), narrow_product);
    }
}

// f16 has the even numbers from 2048 to 4096, bf16 those from 256 to 512.
TEST(floats_of_16_bits, are_rounded_once_behind_the_bias) {
    for (const auto &f : narrow_floats) {
        const bool is_f16 = f.of == type::f16;
        narrow_chain p(f);
        const lt bias = p.narrow(30, {1}), scale = f32(11, {1});
        p.x = p.narrow(0, {1, 2});
        p.w = s8(10, {2, 1}, property::constant);
        p.w_real = p.narrow(13, {2, 1});
        p.y = p.product = p.narrow(20, {1, 1});
        p.ops = {{101, kind::DynamicDequantize, {p.w, scale}, {p.w_real}, "dw"},
                {102, kind::MatMul, {p.x, p.w_real, bias}, {p.product}, "product"}};
        p.give_narrow(p.x, is_f16 ? floats {16, 1} : floats {2, 1});
        p.give(p.w, std::vector<std::int8_t> {127, static_cast<std::int8_t>(is_f16 ? 17 : 3)}).give(scale, floats {1});
        p.give_narrow(bias, {0.5F});
        EXPECT_EQ(p.gives(), floats {is_f16 ? 2050.0F : 258.0F}); // 2049.5 and 257.5; the sums alone would be ties
    }
}

// 129 * (1 + 2^-7) is 130 + 2^-7, which either type would round to 130.
TEST(floats_of_16_bits, that_weights_would_be_rounded_to_are_left_out) {
    for (const auto &f : narrow_floats)
        for (const bool is_cast : {false, true}) {
            narrow_chain p(f);
            const lt scales = f32(11, {2}), between = f32(14, {2, 1});
            p.x = p.narrow(0, {1, 2});
            p.w = lt(10, type::u8, dims {2, 1}, layout::strided, property::constant);
            p.w_real = p.narrow(13, {2, 1});
            p.y = p.product = p.narrow(20, {1, 1});
            p.ops = {
                    by_channel({101, kind::DynamicDequantize, {p.w, scales}, {is_cast ? between : p.w_real}, "dw"}, 0)};
            if (is_cast) p.ops.push_back({110, kind::TypeCast, {between}, {p.w_real}, "cast"});
            p.ops.push_back({102, kind::MatMul, {p.x, p.w_real}, {p.product}, "product"});
            p.give_narrow(p.x, {1, -1});
            p.give(p.w, std::vector<std::uint8_t> {129, 130}).give(scales, floats {1.0078125F, 1});
            EXPECT_EQ(p.gives(), floats {0.0078125F});
        }
}

TEST(floats_of_16_bits, that_a_type_cast_makes_of_weights) {
    for (const auto &f : narrow_floats)
        for (const bool is_shared : {false, true}) {
            narrow_chain p(f);
            const lt between = f32(14, {3, 2});
            p.ops = {p.dequantize(between), {110, kind::TypeCast, {between}, {p.w_real}, "cast"},
                    {102, kind::MatMul, {p.x, p.w_real}, {p.product}, "product"}};
            if (!is_shared) {
                EXPECT_EQ(p.gives(), narrow_product);
                continue;
            }
            const lt x2 = p.narrow(50, {1, 3}), y2 = p.narrow(51, {1, 2});
            p.ops.push_back({103, kind::MatMul, {x2, p.w_real}, {y2}, "product2"});
            p.give_narrow(x2, {1, 1, 1});
            const auto partitions = partitions_of(p);
            EXPECT_EQ(sorted_ops_of(partitions), (std::vector<id_list> {{101, 110, 102}, {103}}));
            run_in_order(partitions, p);
            EXPECT_EQ(decode_reals(f.as, p.data.at(20)), narrow_product);
            EXPECT_EQ(decode_reals(f.as, p.data.at(51)), (floats {-2, 1.25F}));
        }
}

TEST(floats_of_16_bits, that_others_read_before_the_product) {
    for (const auto &f : narrow_floats) {
        narrow_chain p(f);
        const lt between = f32(14, {3, 2}), other = p.narrow(15, {3, 2});
        p.ops = {p.dequantize(between), {110, kind::TypeCast, {between}, {p.w_real}, "cast"},
                {102, kind::MatMul, {p.x, p.w_real}, {p.product}, "product"},
                {120, kind::ReLU, {p.w_real}, {other}, "relu"}};
        auto ops = ops_of(partitions_of(p));
        std::ranges::sort(ops);
        EXPECT_EQ(ops, (std::vector<id_list> {{101}, {102}, {110}, {120}}));
    }
}

TEST(floats_of_16_bits, that_a_type_cast_makes_of_results) {
    for (const auto &f : narrow_floats) {
        narrow_chain p(f);
        const lt x = f32(0, {2, 3}), w_real = f32(13, {3, 2}), product = f32(20, {2, 2}), relu = f32(21, {2, 2});
        p.ops = {p.dequantize(w_real), {102, kind::MatMul, {x, w_real}, {product}, "product"},
                {103, kind::ReLU, {product}, {relu}, "relu"}, {104, kind::TypeCast, {relu}, {}, "cast"}};
        p.y = p.narrow(22, {2, 2});
        p.ops.back().add_output(p.y);
        p.give(x, floats {1, 2, 3, 0.5F, -1, 4});
        EXPECT_EQ(p.gives(), (floats {0, 4.5F, 0, 3.875F}));
        small_chain of_integers;
        const lt y(22, f.of, {2, 2}, layout::strided);
        of_integers.then({104, kind::TypeCast, {of_integers.product}, {}, "cast"}, y).give_data();
        EXPECT_EQ(decode_reals(f.as, compile_layer(of_integers).run(of_integers.data)), small_product);
    }
}

TEST(floats_of_16_bits, that_a_type_cast_makes_of_a_convolution) {
    for (const auto &f : narrow_floats)
        for (const bool is_ncx : {false, true}) {
            small_convolution p(is_ncx);
            const auto extents = p.y.get_dims();
            const lt rounded(21, f.of, extents, layout::strided);
            p.ops.push_back({103, kind::TypeCast, {p.y}, {rounded}, "cast"});
            p.y = rounded;
            const auto partition = partitions_of(p).front();
            EXPECT_EQ(partition.get_ops_num(), p.ops.size());
            const auto gives = [&] { return decode_reals(f.as, compile(partition, p).run(p.data)); };
            EXPECT_EQ(gives(), p.in_order(small_result)) << is_ncx;
            if (!is_ncx) continue;
            p.y = lt(21, f.of, extents, dims {8, 1, 4, 2}); // channels last in memory
            EXPECT_EQ(gives(), (floats {0, 0.5F, 2, 0.625F, 6, 0.875F, 8, 1}));
        }
}

// What is cast of x is floats to the layer.
TEST(floats_of_16_bits, that_type_casts_make_of_both_sides) {
    for (const auto &f : narrow_floats) {
        narrow_chain p(f);
        const lt codes = u8(2, {2, 3}), real = f32(3, {2, 3}), between = f32(14, {3, 2});
        p.ops = {{100, kind::DynamicDequantize, {codes, f32(1, {1})}, {real}, "dx"},
                {105, kind::TypeCast, {real}, {p.x}, "cast of x"}, p.dequantize(between),
                {110, kind::TypeCast, {between}, {p.w_real}, "cast"},
                {102, kind::MatMul, {p.x, p.w_real}, {p.product}, "product"}};
        auto ops = ops_of(partitions_of(p));
        std::ranges::sort(ops);
        EXPECT_EQ(ops, (std::vector<id_list> {{100}, {101, 110, 102}, {105}}));
    }
}

// Each op behind would round, too.
TEST(floats_of_16_bits, end_a_layer) {
    for (const auto &f : narrow_floats) {
        narrow_chain p(f);
        p.ops.push_back({103, kind::ReLU, {p.product}, {p.narrow(21, {2, 2})}, "relu"});
        EXPECT_EQ(ops_of(partitions_of(p)), (std::vector<id_list> {{101, 102}, {103}}));
    }
}

} // namespace
} // namespace dynquant::test
