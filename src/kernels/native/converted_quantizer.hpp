// Quantizing a stretch of reals of any type to integers.
#pragma once

#include <cstdint>

#include "kernels/native/converted_stretch.hpp"

namespace dynquant::kernels::native {
namespace {

template <typename V>
class converted_quantizer : public converted_stretch<V> {
  public:
    using converted_stretch<V>::part;

    explicit converted_quantizer(const call &of)
        : converted_stretch<V>(of) {}

    /// Whether a part needs no buffers, and so may have any length.
    bool in_place() const {
        return along.src_stride == 1 && along.dst_stride == 1
                && (c.dst_type == data_type::u8 || c.dst_type == data_type::s8);
    }

    void prepare(const parameter_run &run) { native::prepare(this->table, c, run); }

    void compute_part(const placed &from, const placed &to) {
        switch (c.src_type) {
            case data_type::f16: return quantize(gather(c.src, from, halves_.column), to);
            case data_type::bf16: return quantize(gather(c.src, from, brains_.column), to);
            default: return quantize(gather(c.src, from, reals_.column), to);
        }
    }

  private:
    using converted_stretch<V>::along;
    using converted_stretch<V>::c;

    template <typename Real>
    void quantize(const Real *x, const placed &to) {
        switch (c.dst_type) {
            case data_type::u8: return quantize_to<std::uint8_t>(x, to);
            case data_type::s8: return quantize_to<std::int8_t>(x, to);
            default: break; // s4 and u4
        }
        auto *const bytes = reinterpret_cast<std::int8_t *>(bytes_.column);
        this->template compute<strict_quantizer<V, std::int8_t>, storing::cached>(x, bytes);
        nibble_writer<V>::write(bytes, c.dst, to, c.dst_type == data_type::s4);
    }

    template <typename Integer, typename Real>
    void quantize_to(const Real *x, const placed &to) {
        using op = strict_quantizer<V, Integer>;
        auto *const result = bytes<Integer>(to);
        if (to.stride != 1) {
            this->template compute<op, storing::cached>(x, result);
            scatter(result, c.dst, to);
        } else if (c.streaming) {
            this->template compute<op, storing::streaming>(x, result);
        } else {
            this->template compute<op, storing::cached>(x, result);
        }
    }

    /// Where bytes are computed to: dst itself if they are neighbours there.
    template <typename Byte>
    Byte *bytes(const placed &to) {
        return to.stride == 1 ? static_cast<Byte *>(c.dst) + to.first : reinterpret_cast<Byte *>(bytes_.column);
    }

    column_buffer<float> reals_;
    column_buffer<half> halves_;
    column_buffer<brain> brains_;
    column_buffer<unsigned char> bytes_;
};

} // namespace
} // namespace dynquant::kernels::native
