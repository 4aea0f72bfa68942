// Random chains of ops around a product, and what they give: exact integers and then f32, step by step. Programs of
// MatMul and of Convolution derive from them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "dynquant/newer_names.hpp"

#include "by_hand.hpp"
#include "random_data.hpp"
#include "support/environment.hpp"
#include "support/sampling.hpp"

namespace dynquant::test {

__extension__ using wide = __int128; // zero points of 31 bits

/// A tensor of bytes that is dequantized, and its values less zero points.
struct side {
    dims extents, strides;
    bool is_signed = false, is_dynamic = false, has_zps = false;
    dims varying;                    // 1 along each dim along which scales differ, else 0
    std::vector<std::int32_t> codes; // row-major
    std::vector<float> scales;       // row-major along the dims that vary
    std::vector<std::int64_t> zps;
    type zps_type = type::s32;

    std::size_t parameter_of(std::int64_t i) const {
        std::int64_t at = 0;
        dims index(extents.size());
        for (std::size_t d = extents.size(); d-- > 0; i /= extents[d])
            index[d] = i % extents[d];
        for (std::size_t d = 0; d < extents.size(); ++d)
            if (varying[d]) at = at * extents[d] + index[d];
        return static_cast<std::size_t>(at);
    }
    std::int64_t difference(std::int64_t i) const {
        return codes[static_cast<std::size_t>(i)] - (has_zps ? zps[parameter_of(i)] : 0);
    }
};

inline type byte_type(bool is_signed) {
    return is_signed ? type::s8 : type::u8;
}

/// Half, exact for the scales that are drawn: at most 8 significant bits.
inline std::uint16_t half_of(float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    const auto exponent = (bits >> 23 & 0xff) - 127 + 15;
    return static_cast<std::uint16_t>(exponent << 10 | (bits >> 13 & 0x3ff));
}
inline std::uint16_t bfloat_of(float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return static_cast<std::uint16_t>(bits >> 16);
}

/// A chain, whose constructor the derived class ends with add_steps().
class random_chain {
  public:
    /// tells_ranks: else the program leaves ranks of what Dequantize gives to oneDNN.
    random_chain(const number_source &drawn, bool tells_ranks)
        : n_(drawn)
        , tells_ranks_(tells_ranks) {}
    random_chain(const random_chain &) = delete;
    random_chain &operator=(const random_chain &) = delete;

    const program &graph() const { return p_; }
    /// Ids of ops that are not in the layer.
    const id_list &others() const { return others_; }
    const bytes &expected() const { return expected_; }

    /// The elements of y, row-major.
    bytes dense(const bytes &y) const {
        const std::size_t element = is_quantized_ ? 1 : 4;
        if (strides_.empty()) return bytes(y.begin(), y.begin() + static_cast<std::ptrdiff_t>(expected_.size()));
        bytes result;
        for (std::int64_t i = 0; i < volume(y_); ++i) {
            auto rest = i;
            std::int64_t at = 0;
            for (std::size_t d = y_.size(); d-- > 0; rest /= y_[d])
                at += rest % y_[d] * strides_[d];
            const auto *const from = y.data() + static_cast<std::size_t>(at) * element;
            result.insert(result.end(), from, from + element);
        }
        return result;
    }

  protected:
    ~random_chain() = default;

    using step = std::function<float(float, float)>;

    std::size_t id() { return next_id_++; }

    std::int64_t channels() const { return y_[channel_dim_]; }
    /// The channel of element i of y.
    std::size_t channel_of(std::size_t i) const {
        const auto behind = volume({y_.begin() + static_cast<std::ptrdiff_t>(channel_dim_) + 1, y_.end()});
        return i / static_cast<std::size_t>(behind) % static_cast<std::size_t>(channels());
    }
    bool are_channels_last() const { return channel_dim_ + 1 == y_.size(); }

    /// What is behind the product.
    void add_steps() {
        const auto steps = n_.within(0, 4);
        for (std::int64_t i = 0; i < steps; ++i)
            add_step();
        if (n_.chance(40))
            add_quantize();
        else if (volume(y_) > 0 && n_.chance(25))
            add_behind();
        finish();
    }

    /// Both sides, of which one at least is dynamic: others may be oneDNN's.
    void add_sides() {
        if (!x_.is_dynamic && !w_.is_dynamic) (n_.chance(50) ? x_ : w_).is_dynamic = true;
        for (auto *s : {&x_, &w_}) {
            // A static op has no mask, and no empty list of scales.
            if (std::count(s->varying.begin(), s->varying.end(), 1) > 1 || volume(s->extents) == 0)
                s->is_dynamic = true;
            draw_parameters(*s);
        }
        quantizes_x_ = x_is_tame_ && n_.chance(30);
        add_dequantize(x_, 0, "x");
        if (quantizes_x_) add_quantize_of_x();
        add_dequantize(w_, 1, "w");
    }

    /// Perhaps a gap behind each row. last: the percentage of those whose second dim is the last one in memory.
    dims draw_strides(const dims &extents, int last) {
        auto in_memory = extents;
        const bool is_rotated = extents.size() > 2 && n_.chance(last);
        if (is_rotated) std::rotate(in_memory.begin() + 1, in_memory.begin() + 2, in_memory.end());
        if (n_.chance(30)) in_memory.back() += n_.within(1, 5);
        auto strides = row_major(in_memory);
        if (is_rotated) std::rotate(strides.begin() + 1, strides.end() - 1, strides.end());
        return strides;
    }

    void draw_codes(side &s) {
        const auto count = volume(s.extents);
        for (std::int64_t i = 0; i < count; ++i)
            s.codes.push_back(static_cast<std::int32_t>(s.is_signed ? n_.within(-128, 127) : n_.within(0, 255)));
    }

    void draw_parameters(side &s) {
        std::int64_t count = 1;
        for (std::size_t d = 0; d < s.extents.size(); ++d)
            if (s.varying[d]) count *= s.extents[d];
        s.has_zps = n_.chance(60);
        const auto choice = n_.within(0, 2);
        s.zps_type = choice == 0 ? type::s32 : choice == 1 ? type::u8 : type::s8;
        const bool are_wild = choice == 0 && s.is_dynamic && n_.chance(10);
        if (&s == &x_) x_is_tame_ = !are_wild;
        static constexpr std::int64_t far[] = {300, 40000, 2000000000};
        const auto most = far[n_.within(0, 2)];
        for (std::int64_t i = 0; i < count; ++i) {
            s.scales.push_back(random_scale(n_));
            s.zps.push_back(are_wild ? n_.within(-most, most) : choice == 1 ? n_.within(0, 255) : n_.within(-128, 127));
        }
    }

    void add_dequantize(const side &s, std::size_t which, const char *name) {
        const lt src(id(), byte_type(s.is_signed), s.extents, s.strides,
                which == 1 && n_.chance(60) ? property::constant : property::variable);
        const auto made = id();
        const lt dst =
                tells_ranks_ ? lt(made, type::f32, s.extents, layout::strided) : lt(made, type::f32, layout::strided);
        dequantized_.push_back(dst);
        if (which == 0) codes_of_x_ = src;
        if (s.is_signed)
            give<std::int8_t>(src, s);
        else
            give<std::uint8_t>(src, s);
        dg::op op(id(), s.is_dynamic ? kind::DynamicDequantize : kind::Dequantize, std::string("dq_") + name);
        op.add_input(src);
        op.add_output(dst);
        const auto parameters = add_parameters(op, s, s.is_dynamic, {});
        if (which == 0) parameters_of_x_ = parameters;
        p_.ops.push_back(op);
    }

    /// Adds what quantizes x to its codes, and perhaps an op of oneDNN before it.
    void add_quantize_of_x() {
        p_.inputs.erase(codes_of_x_.get_id());
        p_.data.erase(codes_of_x_.get_id());
        const std::int32_t lowest = x_.is_signed ? -128 : 0, highest = x_.is_signed ? 127 : 255;
        std::vector<float> values;
        const bool is_halved = volume(x_.extents) > 0 && n_.chance(30);
        for (std::int64_t i = 0; i < std::ssize(x_.codes); ++i) {
            // At most 21 bits, so that all is exact; what is far beyond the range saturates.
            auto sixteenths = 16 * x_.difference(i) + n_.within(-7, 7);
            const auto code = x_.codes[static_cast<std::size_t>(i)];
            if (code == highest && n_.chance(50)) sixteenths += n_.within(0, 2000);
            if (code == lowest && n_.chance(50)) sixteenths -= n_.within(0, 2000);
            const auto value = static_cast<float>(sixteenths) / 16 * x_.scales[x_.parameter_of(i)];
            values.push_back(is_halved ? value / 2 : value);
        }
        const auto count = std::count(x_.varying.begin(), x_.varying.end(), 1);
        const bool is_dynamic = volume(x_.extents) == 0 || count > 1 || n_.chance(50);
        lt real(id(), type::f32, x_.extents, layout::strided);
        dg::op op(id(), is_dynamic ? kind::DynamicQuantize : kind::Quantize, "q_x");
        op.add_input(real);
        op.add_output(codes_of_x_);
        add_parameters(op, x_, is_dynamic, n_.chance(70) ? parameters_of_x_ : std::vector<lt>());
        p_.ops.push_back(op);
        if (is_halved) {
            const lt half(id(), type::f32, x_.extents, layout::strided),
                    two(id(), type::f32, dims {1}, layout::strided);
            others_.push_back(id());
            p_.ops.insert(p_.ops.begin() + n_.within(0, 2),
                    dg::op(others_.back(), kind::Multiply, {half, two}, {real}, "before"));
            p_.give(two, std::vector<float> {2});
            real = half;
        }
        p_.give(real, values);
    }

    /// Scales and zps, as attributes or as inputs: those given, where an op has both, or new ones.
    std::vector<lt> add_parameters(dg::op &op, const side &s, bool is_dynamic, const std::vector<lt> &given) {
        const auto varied = std::count(s.varying.begin(), s.varying.end(), 1);
        dims counts;
        for (std::size_t d = 0; d < s.extents.size(); ++d)
            if (s.varying[d]) counts.push_back(s.extents[d]);
        if (varied == 0) counts = {1};
        const bool has_mask_dims = !given.empty() && given.front().get_dims().size() != counts.size();
        if (varied == 1 && (!is_dynamic || n_.chance(70))) {
            const auto axis = std::find(s.varying.begin(), s.varying.end(), 1) - s.varying.begin();
            op.set_attr<std::string>(attr::qtype, "per_channel");
            op.set_attr<std::int64_t>(attr::axis, n_.chance(30) && is_dynamic ? axis - std::ssize(s.extents) : axis);
        } else if (is_dynamic && (varied > 0 || has_mask_dims || (given.empty() && n_.chance(5)))) {
            std::int64_t mask = 0;
            for (std::size_t d = 0; d < s.extents.size(); ++d)
                mask |= std::int64_t {s.varying[d]} << d;
            op.set_attr<std::int64_t>(graph::newer::mask, mask);
            if (varied == 0) counts = {};
        } else if (n_.chance(50)) {
            op.set_attr<std::string>(attr::qtype, "per_tensor");
        }
        if (is_dynamic && !given.empty()) {
            op.add_inputs(given);
            return given;
        }
        std::vector<lt> made;
        if (is_dynamic) {
            const auto scale_type = n_.chance(60) || quantizes_x_ ? type::f32 : n_.chance(50) ? type::f16 : type::bf16;
            const lt scales(id(), scale_type, counts, layout::strided);
            if (scale_type == type::f32) {
                p_.give(scales, s.scales);
            } else {
                std::vector<std::uint16_t> narrow;
                for (const auto v : s.scales)
                    narrow.push_back(scale_type == type::f16 ? half_of(v) : bfloat_of(v));
                p_.give(scales, narrow);
            }
            made.push_back(scales);
            if (s.has_zps) {
                const lt zps(id(), s.zps_type, counts, layout::strided);
                if (s.zps_type == type::s32)
                    p_.give(zps, std::vector<std::int32_t>(s.zps.begin(), s.zps.end()));
                else
                    p_.give(zps, std::vector<std::uint8_t>(s.zps.begin(), s.zps.end()));
                made.push_back(zps);
            }
            op.add_inputs(made);
        } else {
            op.set_attr(attr::scales, s.scales);
            if (s.has_zps) op.set_attr(attr::zps, s.zps);
        }
        return made;
    }

    template <typename T>
    void give(const lt &src, const side &s) {
        p_.inputs[src.get_id()] = src;
        p_.data[src.get_id()] = laid_out(std::vector<T>(s.codes.begin(), s.codes.end()), s.extents, s.strides);
    }

    /// A parameter of a step by channel or of one value, and its effect. is_vector: of rank 1.
    lt add_operand(bool is_vector, const step &what) {
        const bool by_channel = channels() > 0 && (is_vector || n_.chance(60));
        dims extents = {by_channel ? channels() : 1};
        if (!is_vector) extents.resize(y_.size() - channel_dim_, 1);
        if (!is_vector && n_.chance(40)) extents.insert(extents.begin(), 1);
        std::vector<float> operand;
        for (std::int64_t c = 0; c < (by_channel ? channels() : 1); ++c)
            operand.push_back(static_cast<float>(n_.within(-64, 64)) / 16 + 1.0F / 32);
        if (channels() == 0 && is_vector) extents = {0}, operand.clear();
        const lt t(id(), type::f32, extents, layout::strided);
        p_.give(t, operand);
        apply([&](float v, std::int64_t c) { return what(v, operand[by_channel ? static_cast<std::size_t>(c) : 0]); });
        return t;
    }

    void apply(const std::function<float(float, std::int64_t)> &step) {
        for (std::size_t i = 0; i < values_.size(); ++i)
            values_[i] = step(values_[i], static_cast<std::int64_t>(channel_of(i)));
    }

    void push(dg::op &op) {
        current_ = lt(id(), type::f32, y_, layout::strided);
        op.add_output(current_);
        p_.ops.push_back(op);
    }

    void add_step() {
        switch (n_.within(0, 11)) {
            case 0: {
                dg::op op(id(), kind::ReLU, "relu");
                op.add_input(current_);
                apply([](float v, std::int64_t) { return v < 0 ? 0.0F : v; });
                return push(op);
            }
            case 1: {
                const float low = static_cast<float>(n_.within(-30, 0)), high = static_cast<float>(n_.within(1, 30));
                dg::op op(id(), kind::Clamp, "clamp");
                op.set_attr<float>(attr::min, low).set_attr<float>(attr::max, high);
                op.add_input(current_);
                apply([=](float v, std::int64_t) { return v < low ? low : v > high ? high : v; });
                return push(op);
            }
            case 2: {
                const float alpha = static_cast<float>(n_.within(1, 50)) / 64;
                dg::op op(id(), kind::LeakyReLU, "leaky");
                op.set_attr<float>(attr::alpha, alpha);
                op.add_input(current_);
                apply([=](float v, std::int64_t) { return v < 0 ? v * alpha : v; });
                return push(op);
            }
            case 3: {
                dg::op op(id(), kind::HardSwish, "swish");
                op.add_input(current_);
                apply([](float v, std::int64_t) {
                    const float h = v * (1.0F / 6) + 0.5F;
                    return v * (h < 0 ? 0.0F : h > 1 ? 1.0F : h);
                });
                return push(op);
            }
            case 4: {
                const float alpha = static_cast<float>(n_.within(1, 50)) / 64, beta = 0.25F;
                dg::op op(id(), kind::HardSigmoid, "hard_sigmoid");
                op.set_attr<float>(attr::alpha, alpha).set_attr<float>(attr::beta, beta);
                op.add_input(current_);
                apply([=](float v, std::int64_t) {
                    const float h = v * alpha + beta;
                    return h < 0 ? 0.0F : h > 1 ? 1.0F : h;
                });
                return push(op);
            }
            case 5: return add_binary(kind::Add, true, [](float v, float a) { return v + a; });
            case 6: return add_binary(kind::Multiply, true, [](float v, float a) { return v * a; });
            case 7: return add_binary(kind::Subtract, false, [](float v, float a) { return v - a; });
            case 8: return add_binary(kind::Divide, false, [](float v, float a) { return v / a; });
            case 9: {
                if (channels() == 0) return;
                dg::op op(id(), kind::BiasAdd, "bias");
                set_data_format(op);
                op.add_inputs({current_, add_operand(true, [](float v, float a) { return v + a; })});
                return push(op);
            }
            case 10: return add_tensor();
            default: {
                if (channels() == 0) return;
                dg::op op(id(), kind::PReLU, "prelu");
                set_data_format(op);
                op.add_inputs({current_, add_operand(true, [](float v, float a) { return v < 0 ? v * a : v; })});
                return push(op);
            }
        }
    }

    /// NXC is the default.
    void set_data_format(dg::op &op) {
        if (!are_channels_last())
            op.set_attr<std::string>(attr::data_format, "NCX");
        else if (y_.size() > 2 || n_.chance(50))
            op.set_attr<std::string>(attr::data_format, "NXC");
    }

    /// Add of a tensor that broadcasts to y, perhaps with a gap behind each row. A layer has one.
    void add_tensor() {
        if (adds_tensor_) return;
        adds_tensor_ = true;
        auto extents = y_;
        for (auto &extent : extents)
            if (n_.chance(20)) extent = 1;
        extents.erase(extents.begin(), extents.begin() + (n_.chance(20) ? n_.within(0, std::ssize(y_)) : 0));
        std::vector<float> summands;
        for (auto i = volume(extents); i > 0; --i)
            summands.push_back(static_cast<float>(n_.within(-999, 999)) / 16);
        auto strides = row_major(extents);
        if (!extents.empty() && n_.chance(30)) {
            auto padded = extents;
            padded.back() += n_.within(1, 5);
            strides = row_major(padded);
        }
        const lt t(id(), type::f32, extents, strides);
        p_.inputs[t.get_id()] = t;
        p_.data[t.get_id()] = laid_out(summands, extents, strides);
        dg::op op(id(), kind::Add, "tensor");
        if (n_.chance(50))
            op.add_inputs({t, current_});
        else
            op.add_inputs({current_, t});
        for (std::size_t i = 0; i < values_.size(); ++i) {
            std::int64_t at = 0, stride = 1, rest = static_cast<std::int64_t>(i);
            for (std::size_t d = 1; d <= y_.size(); rest /= y_[y_.size() - d++]) {
                if (d > extents.size()) break;
                const auto extent = extents[extents.size() - d];
                if (extent != 1) at += rest % extent * stride;
                stride *= extent;
            }
            values_[i] = values_[i] + summands[static_cast<std::size_t>(at)];
        }
        push(op);
    }

    void add_binary(kind what, bool commutes, const step &by) {
        dg::op op(id(), what, "binary");
        const auto before = current_;
        const auto operand = add_operand(false, by);
        if (commutes && n_.chance(40))
            op.add_inputs({operand, before});
        else
            op.add_inputs({before, operand});
        push(op);
    }

    void add_quantize() {
        const bool is_dynamic = n_.chance(50), is_signed = n_.chance(50), has_zps = n_.chance(70);
        const bool by_channel = channels() > 0 && n_.chance(50);
        std::vector<float> scales;
        std::vector<std::int64_t> zps;
        for (std::int64_t c = 0; c < (by_channel ? channels() : 1); ++c) {
            scales.push_back(random_scale(n_));
            zps.push_back(is_signed ? n_.within(-20, 20) : n_.within(0, 200));
        }
        dg::op op(id(), is_dynamic ? kind::DynamicQuantize : kind::Quantize, "quantize");
        op.add_input(current_);
        if (by_channel) {
            op.set_attr<std::string>(attr::qtype, "per_channel");
            op.set_attr<std::int64_t>(attr::axis, static_cast<std::int64_t>(channel_dim_));
        }
        if (is_dynamic) {
            const lt t(id(), type::f32, dims {std::ssize(scales)}, layout::strided);
            p_.give(t, scales);
            op.add_input(t);
            if (has_zps) {
                const lt z(id(), type::s32, dims {std::ssize(zps)}, layout::strided);
                p_.give(z, std::vector<std::int32_t>(zps.begin(), zps.end()));
                op.add_input(z);
            }
        } else {
            op.set_attr(attr::scales, scales);
            if (has_zps) op.set_attr(attr::zps, zps);
        }
        current_ = lt(id(), byte_type(is_signed), y_, layout::strided);
        op.add_output(current_);
        p_.ops.push_back(op);
        is_quantized_ = true;
        for (std::size_t i = 0; i < values_.size(); ++i) {
            const auto c = by_channel ? channel_of(i) : 0;
            const float low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
            float v = values_[i] / scales[c];
            if (has_zps) v = v + static_cast<float>(zps[c]);
            v = std::nearbyint(v);
            codes_.push_back(static_cast<std::uint8_t>(static_cast<std::int32_t>(v < low ? low : v > high ? high : v)));
        }
    }

    /// An op of oneDNN that layers do not have.
    void add_behind() {
        others_.push_back(id());
        dg::op op(others_.back(), kind::Abs, "behind");
        op.add_input(current_);
        apply([](float v, std::int64_t) { return std::fabs(v); });
        push(op);
    }

    void finish() {
        p_.y = lt(current_.get_id(), current_.get_data_type(), y_, n_.chance(40) ? layout::any : layout::strided);
        const auto ordinary = is_quantized_ ? bytes_of(codes_) : bytes_of(values_);
        expected_ = ordinary;
        if (volume(y_) > 0 && others_.empty() && n_.chance(15)) {
            strides_ = draw_strides(y_, 50);
            p_.y = lt(current_.get_id(), current_.get_data_type(), y_, strides_);
        }
        for (const auto mode : {dg::fpmath_mode::strict, dg::fpmath_mode::bf16, dg::fpmath_mode::any})
            if (n_.chance(40)) p_.mode = mode;
    }

    number_source n_;
    bool tells_ranks_;
    std::size_t next_id_ = 0;
    std::size_t channel_dim_ = 0; // of y: columns, or filters
    bool is_quantized_ = false;
    bool x_is_tame_ = false, quantizes_x_ = false, adds_tensor_ = false;
    side x_, w_;
    lt codes_of_x_;
    std::vector<lt> parameters_of_x_;
    id_list others_;
    dims y_, strides_; // strides of y, if it is not row-major
    std::vector<lt> dequantized_;
    lt current_;
    std::vector<float> values_;
    std::vector<std::uint8_t> codes_;
    program p_;
    bytes expected_;
};

/// Runs a chain on some instruction sets.
inline void run_chain(const random_chain &c) {
    const auto partitions = partitions_of(c.graph()); // once: oneDNN takes longer for it than all that follows
    const auto &others = c.others();
    ASSERT_EQ(partitions.size(), 1 + others.size());
    for (const auto &each : partitions) {
        const auto ops = each.get_ops();
        const bool is_other = std::ranges::count(others, ops.front()) != 0;
        ASSERT_EQ(ops.size(), is_other ? 1 : c.graph().ops.size() - others.size());
    }
    for (const char *isa : {"", "avx2", "scalar"}) {
        const scoped_variable cap("DYNQUANT_MAX_ISA", isa[0] ? std::optional<std::string>(isa) : std::nullopt);
        if (!others.empty()) {
            auto p = c.graph();
            run_in_order(partitions, p);
            ASSERT_TRUE(c.dense(p.data.at(p.y.get_id())) == c.expected()) << isa;
            continue;
        }
        const auto compiled = compile(partitions.front(), c.graph());
        ASSERT_TRUE(c.dense(compiled.run(c.graph().data)) == c.expected()) << isa;
        ASSERT_TRUE(c.dense(compiled.run(c.graph().data)) == c.expected()) << isa << ", the second run";
    }
}

/// DYNQUANT_TEST_CHAINS: how many, from seed 0 on. 20,000 passed.
inline std::uint64_t count_of_chains() {
    const char *text = std::getenv("DYNQUANT_TEST_CHAINS");
    return text ? std::stoull(text) : 600;
}

/// Runs the chains of all seeds.
template <typename Chain>
void run_chains() {
    case_sampler sampler;
    for (std::uint64_t seed = 0; seed < count_of_chains() && !testing::Test::HasFatalFailure(); ++seed) {
        if (!sampler.takes()) continue;
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        run_chain(Chain(number_source(seed), seed % 2 == 0));
    }
}

} // namespace dynquant::test
