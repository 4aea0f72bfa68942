// Random chains of floats times weights that stay narrow. Their sums are such that f32 holds them exactly in any order.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "by_hand.hpp"
#include "oracle/elements.hpp"
#include "random_data.hpp"
#include "support/environment.hpp"

namespace dynquant::test {

struct narrow_type {
    type of;
    int bits;
    bool is_signed, is_float8;
    int mantissa; // of float8
};

inline const narrow_type narrow_types[] = {{type::s8, 8, true, false, 0}, {type::u8, 8, false, false, 0},
        {dynquant::graph::newer::s4, 4, true, false, 0}, {dynquant::graph::newer::u4, 4, false, false, 0},
        {dynquant::graph::newer::f8_e4m3, 8, true, true, 3}, {dynquant::graph::newer::f8_e5m2, 8, true, true, 2}};

#if defined(DYNQUANT_TEST_DROP_IN) // which leaves DynamicDequantize of floats to oneDNN
inline constexpr std::int64_t last_type = 3;
#else
inline constexpr std::int64_t last_type = 5;
#endif

/// Codes and what they stand for. Those of float8 are of 1 to 8, and their negatives.
struct code {
    std::uint8_t bits;
    double value;
};
inline code draw_code(number_source &n, const narrow_type &t) {
    if (t.is_float8) {
        const auto sign = n.within(0, 1), exponent = n.within(0, 2), fraction = n.within(0, (1 << t.mantissa) - 1);
        const auto bias = t.mantissa == 3 ? 7 : 15;
        const double value = std::ldexp(1 + std::ldexp(double(fraction), -t.mantissa), static_cast<int>(exponent));
        return {static_cast<std::uint8_t>(sign << 7 | (exponent + bias) << t.mantissa | fraction),
                sign != 0 ? -value : value};
    }
    const auto count = std::int64_t {1} << t.bits;
    const auto value = t.is_signed ? n.within(-count / 2, count / 2 - 1) : n.within(0, count - 1);
    return {static_cast<std::uint8_t>(value & (count - 1)), static_cast<double>(value)};
}

/// Bytes of a tensor of codes with strides.
inline bytes laid_out(const std::vector<code> &codes, int bits, const dims &extents, const dims &strides) {
    std::int64_t last = -1;
    if (!codes.empty()) {
        last = 0;
        for (std::size_t d = 0; d < extents.size(); ++d)
            last += (extents[d] - 1) * strides[d];
    }
    bytes result(static_cast<std::size_t>(((last + 1) * bits + 7) / 8));
    for (std::size_t i = 0; i < codes.size(); ++i) {
        auto rest = static_cast<std::int64_t>(i);
        std::int64_t at = 0;
        for (std::size_t d = extents.size(); d-- > 0; rest /= extents[d])
            at += rest % extents[d] * strides[d];
        result[static_cast<std::size_t>(at * bits / 8)] |=
                static_cast<std::byte>(codes[i].bits << static_cast<unsigned>(at * bits % 8));
    }
    return result;
}

/// The types of x, of what Dequantize gives, and of dst; x has few bits, so that each type has it.
struct float_type {
    type of;
    data_type as;
};
inline const float_type float_types[] = {
        {type::f32, data_type::f32}, {type::f16, data_type::f16}, {type::bf16, data_type::bf16}};

class random_narrow_chain {
  public:
    explicit random_narrow_chain(const number_source &drawn)
        : n_(drawn)
        , t_(narrow_types[n_.within(0, last_type)])
        , floats_(float_types[n_.chance(40) ? 0 : n_.within(1, 2)])
        , result_(floats_)
        , has_cast_(floats_.of != type::f32 && n_.chance(40)) {
        draw_shapes();
        add_weights();
        add_product();
        if (floats_.of == type::f32 && n_.chance(40)) add_step();
        if (floats_.of == type::f32 && n_.chance(20)) add_cast();
        p_.y = lt(id_, result_.of, y_, n_.chance(40) ? layout::any : layout::strided);
    }

    const program &graph() const { return p_; }
    /// Rounded to y's type.
    floats expected() const { return decode_reals(result_.as, encode_reals(result_.as, expected_)); }
    floats values_of_y(const bytes &y) const { return decode_reals(result_.as, y); }
    std::string describe() const {
        std::string text = "type " + std::to_string(static_cast<int>(t_.of)) + " between "
                + std::to_string(static_cast<int>(floats_.of)) + ", " + std::to_string(rows_) + " rows";
        for (const auto &[name, list] : {std::pair("w", &w_extents_), {"groups", &block_}, {"y", &y_}}) {
            text += std::string("; ") + name + (transposes_w_ ? " transposed" : "");
            for (const auto extent : *list)
                text += " " + std::to_string(extent);
        }
        return text;
    }

  private:
    void draw_shapes() {
        rows_ = n_.chance(4) ? 0 : n_.within(1, n_.chance(20) ? 30 : 5);
        inner_ = n_.chance(4) ? 0 : n_.within(1, n_.chance(50) ? 40 : 9);
        columns_ = n_.chance(4) ? 0 : n_.within(1, n_.chance(20) ? 90 : 20);
        transposes_x_ = n_.chance(25);
        transposes_w_ = n_.chance(40);
        for (auto rank = n_.chance(60) ? 0 : n_.within(1, 2); rank > 0; --rank)
            batch_.push_back(n_.within(1, 3));
        for (auto *of : {&of_x_, &of_w_}) {
            *of = batch_;
            for (auto &extent : *of)
                if (n_.chance(35)) extent = 1;
            if (n_.chance(30)) of->erase(of->begin(), of->begin() + n_.within(0, std::ssize(*of)));
        }
        for (std::size_t d = 0; d < batch_.size(); ++d) {
            const auto of = [&](const dims &side) {
                const auto from_end = batch_.size() - d;
                return from_end <= side.size() ? side[side.size() - from_end] : 1;
            };
            batch_[d] = std::max(of(of_x_), of(of_w_));
        }
        const auto rank = std::max(of_x_.size(), of_w_.size());
        batch_.erase(batch_.begin(), batch_.end() - static_cast<std::ptrdiff_t>(rank));
        y_ = batch_;
        y_.insert(y_.end(), {rows_, columns_});
    }

    void add_weights() {
        auto extents = of_w_;
        extents.insert(extents.end(), {transposes_w_ ? columns_ : inner_, transposes_w_ ? inner_ : columns_});
        const auto rank = extents.size();
        for (auto i = volume(extents); i > 0; --i)
            codes_.push_back(draw_code(n_, t_));
        auto strides = row_major(extents);
        if (t_.bits == 8 && n_.chance(15)) {
            auto padded = extents;
            padded.back() += n_.within(1, 5);
            strides = row_major(padded);
        }
        const lt w(id_++, t_.of, extents, strides, n_.chance(60) ? property::constant : property::variable);
        p_.inputs[w.get_id()] = w;
        p_.data[w.get_id()] = laid_out(codes_, t_.bits, extents, strides);
        // Groups along both dims; scales of columns and of batches.
        block_ = extents;
        const std::size_t inner_dim = rank - (transposes_w_ ? 1 : 2), column_dim = 2 * rank - 3 - inner_dim;
        if (n_.chance(50) && inner_ > 0) block_[inner_dim] = draw_divisor(inner_);
        if (n_.chance(60))
            block_[column_dim] = 1;
        else if (n_.chance(60) && columns_ > 0)
            block_[column_dim] = draw_divisor(columns_);
        for (std::size_t d = 0; d + 2 < rank; ++d)
            if (n_.chance(20)) block_[d] = 1;
        bool has_groups = false;
        for (std::size_t d = 0; d < rank; ++d)
            has_groups |= block_[d] != extents[d] && block_[d] != 1;
        std::int64_t mask = 0;
        for (std::size_t d = 0; d < rank; ++d) {
            const bool is_one = extents[d] == 1 && block_[d] == 1; // the dim may be in the mask or not
            const bool varies = (has_groups && d + 2 >= rank) || (is_one ? n_.chance(20) : block_[d] != extents[d]);
            mask |= std::int64_t {varies} << d;
            counts_.push_back(extents[d] == 0 ? 0 : extents[d] / std::max<std::int64_t>(block_[d], 1));
        }
        dims listed; // dims of scales: along the dims of the mask
        for (std::size_t d = 0; d < rank; ++d)
            if (mask >> d & 1) listed.push_back(counts_[d]);
        for (auto i = std::max<std::int64_t>(volume(counts_), volume(listed)); i > 0; --i) {
            scales_.push_back(std::ldexp(1.0F, static_cast<int>(n_.within(-3, 0))));
            zps_.push_back(t_.bits == 4    ? n_.within(t_.is_signed ? -8 : 0, t_.is_signed ? 7 : 15)
                            : t_.is_signed ? n_.within(-128, 127)
                                           : n_.within(0, 255));
        }
        const bool has_zps = !t_.is_float8 && n_.chance(60);
        if (!has_zps) std::fill(zps_.begin(), zps_.end(), 0);
        real_ = lt(id_++, has_cast_ ? type::f32 : floats_.of, extents, layout::strided);
        dg::op op(id_++, kind::DynamicDequantize, "dw");
        op.add_input(w);
        op.add_output(real_);
        op.set_attr<std::int64_t>(dynquant::graph::newer::mask, mask);
        auto group = block_;
        for (std::size_t d = 0; d < rank; ++d)
            group[d] = mask >> d & 1 ? std::max<std::int64_t>(group[d], 1) : 1;
        if (has_groups) op.set_attr(dynquant::graph::newer::group_shape, group);
        const lt scales(id_++, type::f32, listed, layout::strided);
        p_.give(scales, scales_);
        op.add_input(scales);
        if (has_zps) {
            const auto [of, as] = n_.chance(50) ? std::pair(type::s32, data_type::s32)
                    : t_.is_signed              ? std::pair(type::s8, data_type::s8)
                                                : std::pair(type::u8, data_type::u8); // of 8 bits beside 4, too
            const lt zps(id_++, of, listed, layout::strided);
            p_.inputs[zps.get_id()] = zps;
            p_.data[zps.get_id()] = encode(as, zps_);
            op.add_input(zps);
        }
        p_.ops.push_back(op);
        if (has_cast_) {
            const lt rounded(id_ + 1, floats_.of, extents, layout::strided);
            p_.ops.push_back({id_, kind::TypeCast, {real_}, {rounded}, "cast"});
            real_ = rounded;
            id_ += 2;
        }
        w_extents_ = extents;
    }

    std::int64_t draw_divisor(std::int64_t extent) {
        std::vector<std::int64_t> divisors;
        for (std::int64_t d = 1; d <= extent; ++d)
            if (extent % d == 0) divisors.push_back(d);
        return divisors[static_cast<std::size_t>(n_.within(0, std::ssize(divisors) - 1))];
    }

    double weight(const dims &index) const {
        std::int64_t at = 0, parameter = 0;
        for (std::size_t d = 0; d < index.size(); ++d) {
            at = at * w_extents_[d] + index[d];
            parameter = parameter * counts_[d] + index[d] / block_[d];
        }
        return (codes_[static_cast<std::size_t>(at)].value
                       - static_cast<double>(zps_[static_cast<std::size_t>(parameter)]))
                * static_cast<double>(scales_[static_cast<std::size_t>(parameter)]);
    }

    void add_product() {
        auto extents = of_x_;
        extents.insert(extents.end(), {transposes_x_ ? inner_ : rows_, transposes_x_ ? rows_ : inner_});
        floats x;
        for (auto i = volume(extents); i > 0; --i)
            x.push_back(static_cast<float>(n_.within(-15, 15)) / 2);
        auto strides = row_major(extents);
        if (n_.chance(20)) { // which lie as the transposed matrix does
            strides.back() = std::max<std::int64_t>(extents.end()[-2], 1);
            strides.end()[-2] = 1;
        }
        const lt src(id_++, floats_.of, extents, strides);
        give_x(src, x, extents, strides);
        const auto index_of = [](const dims &index, const dims &side, std::int64_t row, std::int64_t column) {
            dims result;
            for (std::size_t d = 0; d < side.size(); ++d)
                result.push_back(side[d] == 1 ? 0 : index[index.size() - side.size() + d]);
            result.insert(result.end(), {row, column});
            return result;
        };
        for (std::int64_t b = 0; b < volume(batch_); ++b) {
            dims index(batch_.size());
            auto rest = b;
            for (std::size_t d = batch_.size(); d-- > 0; rest /= batch_[d])
                index[d] = rest % batch_[d];
            for (std::int64_t m = 0; m < rows_; ++m)
                for (std::int64_t c = 0; c < columns_; ++c) {
                    double sum = 0;
                    for (std::int64_t k = 0; k < inner_; ++k) {
                        const auto at = index_of(index, of_x_, transposes_x_ ? k : m, transposes_x_ ? m : k);
                        std::int64_t position = 0;
                        for (std::size_t d = 0; d < at.size(); ++d)
                            position = position * extents[d] + at[d];
                        sum += static_cast<double>(x[static_cast<std::size_t>(position)])
                                * weight(index_of(index, of_w_, transposes_w_ ? c : k, transposes_w_ ? k : c));
                    }
                    expected_.push_back(static_cast<float>(sum));
                }
        }
        dg::op op(id_++, kind::MatMul, "product");
        op.add_inputs({src, real_});
        if (transposes_x_) op.set_attr<bool>(attr::transpose_a, true);
        if (transposes_w_) op.set_attr<bool>(attr::transpose_b, true);
        op.add_output(lt(++id_, floats_.of, y_, layout::strided));
        p_.ops.push_back(op);
    }

    void give_x(const lt &src, const floats &x, const dims &extents, const dims &strides) {
        p_.inputs[src.get_id()] = src;
        p_.data[src.get_id()] = encode_reals(floats_.as, values_of<float>(test::laid_out(x, extents, strides)));
    }

    /// Rounds what a layer of f32 gives.
    void add_cast() {
        result_ = float_types[n_.within(1, 2)];
        const lt before(id_, type::f32, y_, layout::strided);
        p_.ops.push_back({id_ + 1, kind::TypeCast, {before}, {lt(id_ + 2, result_.of, y_, layout::strided)}, "round"});
        id_ += 2;
    }

    /// Adds a residual, or doubles.
    void add_step() {
        const lt before(id_, type::f32, y_, layout::strided);
        const bool is_residual = n_.chance(50);
        const lt operand(id_ + 1, type::f32, is_residual ? y_ : dims {1}, layout::strided);
        floats values(static_cast<std::size_t>(is_residual ? volume(y_) : 1), 2);
        for (auto &value : values)
            if (is_residual) value = static_cast<float>(n_.within(-64, 64)) / 4;
        p_.give(operand, values);
        for (std::size_t i = 0; i < expected_.size(); ++i)
            expected_[i] = is_residual ? expected_[i] + values[i] : expected_[i] * 2;
        dg::op op(id_ + 2, is_residual ? kind::Add : kind::Multiply, "step");
        op.add_inputs({before, operand});
        op.add_output(lt(id_ + 3, type::f32, y_, layout::strided));
        p_.ops.push_back(op);
        id_ += 3;
    }

    number_source n_;
    narrow_type t_;
    float_type floats_, result_; // of the product; of y
    bool has_cast_;              // of weights
    std::size_t id_ = 0;
    std::int64_t rows_ = 0, inner_ = 0, columns_ = 0;
    bool transposes_x_ = false, transposes_w_ = false;
    dims batch_, of_x_, of_w_, y_, w_extents_, block_, counts_;
    std::vector<code> codes_;
    floats scales_, expected_;
    std::vector<std::int64_t> zps_;
    lt real_;
    program p_;
};

inline void run_narrow_chain(const random_narrow_chain &c) {
    SCOPED_TRACE(c.describe());
    const auto partitions = partitions_of(c.graph());
    ASSERT_EQ(partitions.size(), 1U);
    ASSERT_EQ(partitions.front().get_ops_num(), c.graph().ops.size());
    const auto expected = c.expected();
    for (const char *isa : {"", "avx2", "scalar"}) {
        const scoped_variable cap("DYNQUANT_MAX_ISA", isa[0] ? std::optional<std::string>(isa) : std::nullopt);
        const auto compiled = compile(partitions.front(), c.graph());
        for (int i = 0; i < 2; ++i) {
            auto y = c.values_of_y(compiled.run(c.graph().data));
            y.resize(expected.size()); // a tensor without elements may have a buffer
            for (std::size_t k = 0; k < y.size(); ++k)
                ASSERT_EQ(y[k], expected[k]) << isa << ", run " << i << ", element " << k << " of " << c.describe();
        }
    }
}

} // namespace dynquant::test
