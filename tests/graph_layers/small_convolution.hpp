// A Convolution of a few elements, whose results are worked out by hand.
#pragma once

#include "by_hand.hpp"

namespace dynquant::test {

/// x is 3 x 3 of u8, with the scale 0.5 and the zero point 3: less it -2 -1 0, 1 2 3, 4 5 6. w has two filters of 2 x 2
/// of s8, with the scales 2, 0.25 and the zero points 0, 1: less them 1 0, 0 1 and 1 -2, 0 2. The sums are 0 2, 6 8 and
/// 4 5, 7 8, which make 0 2, 6 8 and 0.5 0.625, 0.875 1.
struct small_convolution : program {
    bool is_ncx, is_oix;
    std::int64_t images = 1;
    numbers pads_end = {0, 0};
    std::string auto_pad = "None";
    lt x_scale = f32(1, {1}), x_zp = s32(2, {1}), w = s8(10, {2, 1, 2, 2}), w_scales = f32(11, {2}),
       w_zps = s32(12, {2});

    explicit small_convolution(bool is_ncx, bool is_oix = true, property of_w = property::variable)
        : is_ncx(is_ncx)
        , is_oix(is_oix)
        , w(s8(10, is_oix ? dims {2, 1, 2, 2} : dims {2, 2, 1, 2}, of_w)) {
        set_up();
        give(u8(0, dims_of(1, 3, 3)), std::vector<std::uint8_t> {1, 2, 3, 4, 5, 6, 7, 8, 9});
        give(x_scale, floats {0.5F}).give(x_zp, std::vector<std::int32_t> {3});
        give(w,
                is_oix ? std::vector<std::int8_t> {1, 0, 0, 1, 2, -1, 1, 3}
                       : std::vector<std::int8_t> {1, 2, 0, -1, 0, 1, 1, 3});
        give(w_scales, floats {2, 0.25F}).give(w_zps, std::vector<std::int32_t> {0, 1});
    }

    dims dims_of(std::int64_t channels, std::int64_t rows, std::int64_t columns) const {
        return is_ncx ? dims {images, channels, rows, columns} : dims {images, rows, columns, channels};
    }
    lt x() const { return u8(0, dims_of(1, 3, 3)); }
    lt product() const {
        const auto side = pads_end[0] + 2;
        return f32(20, dims_of(2, side, side));
    }

    /// Describes the ops anew, as the members now say.
    void set_up() {
        ops = {dequantize_x(),
                by_channel({101, kind::DynamicDequantize, {w, w_scales, w_zps}, {w_real()}, "dw"}, is_oix ? 0 : 3),
                convolution()};
        y = product();
    }
    lt x_real() const { return f32(3, dims_of(1, 3, 3)); }
    lt w_real() const { return f32(13, w.get_dims()); }
    dg::op dequantize_x() const { return {100, kind::DynamicDequantize, {x(), x_scale, x_zp}, {x_real()}, "dx"}; }
    dg::op convolution() const {
        return with_attributes({102, kind::Convolution, {x_real(), w_real()}, {product()}, "conv"});
    }
    dg::op with_attributes(dg::op op) const {
        op.set_attr(attr::strides, numbers {1, 1}).set_attr(attr::dilations, numbers {1, 1});
        op.set_attr(attr::pads_begin, numbers {0, 0}).set_attr(attr::pads_end, pads_end);
        op.set_attr<std::string>(attr::auto_pad, auto_pad);
        op.set_attr<std::string>(attr::data_format, is_ncx ? "NCX" : "NXC");
        op.set_attr<std::string>(attr::weights_format, is_oix ? "OIX" : "XIO");
        return op;
    }

    /// What is by filter, then by position, in the order of dst.
    template <typename T>
    std::vector<T> in_order(const std::vector<T> &by_filter) const {
        if (is_ncx) return by_filter;
        std::vector<T> result;
        const auto positions = by_filter.size() / 2;
        for (std::size_t i = 0; i < positions; ++i)
            result.insert(result.end(), {by_filter[i], by_filter[positions + i]});
        return result;
    }

    small_convolution &then(dg::op op, const lt &result) {
        op.add_output(result);
        ops.push_back(std::move(op));
        y = result;
        return *this;
    }
};

inline const floats small_result = {0, 2, 6, 8, 0.5F, 0.625F, 0.875F, 1};

} // namespace dynquant::test
