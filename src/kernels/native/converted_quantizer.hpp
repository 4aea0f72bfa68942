// Quantizing a stretch of reals of any type to integers.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/native/converted_stretch.hpp"
#include "kernels/native/operators.hpp"

namespace dynquant::kernels::native {
namespace {

/// Quantizing by a rule to integers, whatever types lie in memory.
template <typename V>
class integer_quantizer : public converted_reals<V> {
  public:
    using converted_stretch<V>::part;

    integer_quantizer(const call &of, low_parts of_bytes)
        : converted_reals<V>(of) {
        this->table.low_are = has_16_bits() || has_32_bits() ? low_parts::unused : of_bytes;
    }

    void prepare(const parameter_run &run) { native::prepare(this->table, c, run); }

  protected:
    using converted_stretch<V>::along;
    using converted_stretch<V>::c;

    // Whether dst has so many; else it has 8 or fewer.
    bool has_16_bits() const { return c.dst_type == data_type::s16 || c.dst_type == data_type::u16; }
    bool has_32_bits() const { return c.dst_type == data_type::s32 || c.dst_type == data_type::u32; }

    /// Whether dst needs no buffer.
    bool writes_in_place() const {
        switch (c.dst_type) {
            case data_type::s4:
            case data_type::u4:
            case data_type::s2:
            case data_type::u2: return false;
            case data_type::f32:
            case data_type::s32:
            case data_type::s8:
            case data_type::u8:
            case data_type::f16:
            case data_type::bf16:
            case data_type::f8_e4m3:
            case data_type::f8_e5m2:
            case data_type::s16:
            case data_type::u16:
            case data_type::u32:
            case data_type::f4_e2m1:
            case data_type::f6_e2m3:
            case data_type::f6_e3m2:
            case data_type::f8_e4m3fnuz:
            case data_type::f8_e5m2fnuz:
            case data_type::f8_e8m0: break;
        }
        return along.dst_stride == 1;
    }

    template <typename Rule, typename Integer, typename Real>
    void quantize_to(const Real *x, const placed &to) {
        using op = quantizer<V, Integer, Rule>;
        auto *const result = integers<Integer>(to);
        if (to.stride != 1) {
            this->template compute<op, storing::cached>(x, result);
            scatter(result, c.dst, to);
        } else if (c.streaming) {
            this->template compute<op, storing::streaming>(x, result);
        } else {
            this->template compute<op, storing::cached>(x, result);
        }
    }

    /// To integers of 4 and 2 bits by way of 8.
    template <typename Rule, typename Real>
    void quantize_to_packed(const Real *x, const placed &to) {
        auto *const bytes = reinterpret_cast<std::int8_t *>(integers_.column);
        this->template compute<quantizer<V, std::int8_t, Rule>, storing::cached>(x, bytes);
        switch (c.dst_type) {
            case data_type::s2: return packed_writer<V, 2, true>::write(bytes, c.dst, to);
            case data_type::u2: return packed_writer<V, 2, false>::write(bytes, c.dst, to);
            case data_type::s4: return packed_writer<V, 4, true>::write(bytes, c.dst, to);
            case data_type::f32:
            case data_type::s32:
            case data_type::s8:
            case data_type::u8:
            case data_type::f16:
            case data_type::bf16:
            case data_type::u4:
            case data_type::f8_e4m3:
            case data_type::f8_e5m2:
            case data_type::s16:
            case data_type::u16:
            case data_type::u32:
            case data_type::f4_e2m1:
            case data_type::f6_e2m3:
            case data_type::f6_e3m2:
            case data_type::f8_e4m3fnuz:
            case data_type::f8_e5m2fnuz:
            case data_type::f8_e8m0: return packed_writer<V, 4, false>::write(bytes, c.dst, to);
        }
    }

    /// Where integers are computed to: dst itself if they are neighbours there.
    template <typename Integer>
    Integer *integers(const placed &to) {
        return to.stride == 1 ? static_cast<Integer *>(c.dst) + to.first
                              : reinterpret_cast<Integer *>(integers_.column);
    }

  private:
    column_buffer<std::int32_t> integers_; // or narrower ones
};

/// By the rules that all types of oneDNN have.
template <typename V>
class converted_quantizer : public integer_quantizer<V> {
  public:
    using integer_quantizer<V>::part;

    explicit converted_quantizer(const call &of)
        : integer_quantizer<V>(of, rule::low_parts_of_bytes) {}

    /// Whether a part needs no buffers, and so may have any length.
    bool in_place() const { return along.src_stride == 1 && this->writes_in_place(); }

    void compute_part(const placed &from, const placed &to) {
        this->with_src(from, [&](const auto *x) { quantize(x, to); });
    }

  private:
    using converted_stretch<V>::along;
    using converted_stretch<V>::c;
    using rule = strict_rule<V>;

    template <typename Real>
    void quantize(const Real *x, const placed &to) {
        switch (c.dst_type) {
            case data_type::u8: return this->template quantize_to<rule, std::uint8_t>(x, to);
            case data_type::s8: return this->template quantize_to<rule, std::int8_t>(x, to);
            case data_type::f32:
            case data_type::s32:
            case data_type::f16:
            case data_type::bf16:
            case data_type::s4:
            case data_type::u4:
            case data_type::f8_e4m3:
            case data_type::f8_e5m2:
            case data_type::s16:
            case data_type::u16:
            case data_type::u32:
            case data_type::s2:
            case data_type::u2:
            case data_type::f4_e2m1:
            case data_type::f6_e2m3:
            case data_type::f6_e3m2:
            case data_type::f8_e4m3fnuz:
            case data_type::f8_e5m2fnuz:
            case data_type::f8_e8m0: return this->template quantize_to_packed<rule>(x, to); // s4 and u4
        }
    }
};

} // namespace
} // namespace dynquant::kernels::native
