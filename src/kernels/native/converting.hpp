// Stretches of a row on their way between memory and the formulas: elements of every type as floats or bytes.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/native/parameters.hpp"
#include "kernels/native/runs.hpp"
#include "kernels/native/small_floats.hpp"
#include "kernels/native/walker.hpp"

namespace dynquant::kernels::native {
namespace {

/// Columns of one row, on the stack. Vectors may be read and written to their end beyond the last column.
template <typename T, std::int64_t Capacity = table_capacity>
struct alignas(64) column_buffer {
    T column[Capacity + widest_block];
};

/// Where a stretch lies: `count` elements, `stride` apart, from element `first` of a tensor on.
struct placed {
    std::int64_t first, stride, count;
};

// ---- Raw elements ----------------------------------------------------------------------------------

/// As neighbours: in place if they are, else copied.
template <typename T>
const T *gather(const void *tensor, const placed &at, T *copy) {
    const T *from = static_cast<const T *>(tensor) + at.first;
    if (at.stride == 1) return from;
    for (std::int64_t i = 0; i < at.count; ++i)
        copy[i] = from[i * at.stride];
    return copy;
}

template <typename T>
void scatter(const T *columns, void *tensor, const placed &at) {
    T *to = static_cast<T *>(tensor) + at.first;
    for (std::int64_t i = 0; i < at.count; ++i)
        to[i * at.stride] = columns[i];
}

/// Streaming stores of all widths begin at a cache line.
template <typename T>
constexpr std::int64_t line_of = 64 / sizeof(T);

// ---- Reals -----------------------------------------------------------------------------------------

/// The data type of reals that lie in memory as T.
template <typename T>
constexpr data_type type_of = std::is_same_v<T, half> ? data_type::f16
        : std::is_same_v<T, brain>                    ? data_type::bf16
                                                      : data_type::f32;

/// Floats to reals of type T, two vectors at a time.
template <typename V, typename T>
void narrow(const float *from, std::int64_t count, T *to, bool streaming) {
    constexpr std::int64_t n = V::lanes;
    const auto partial = [&](std::int64_t i, std::int64_t end) {
        T rest[n];
        V::store(rest, V::load(from + i));
        std::memcpy(to + i, rest, static_cast<std::size_t>(end - i) * sizeof(T));
    };
    std::int64_t i = 0;
    if (streaming) {
        const auto head = unaligned_head<line_of<T>>(to, count);
        for (; i < head; i += n)
            partial(i, least(i + n, head));
        i = head;
        for (; i + 2 * n <= count; i += 2 * n)
            V::stream(to + i, V::load(from + i), V::load(from + i + n));
    }
    for (; i + 2 * n <= count; i += 2 * n)
        V::store(to + i, V::load(from + i), V::load(from + i + n));
    for (; i < count; i += n)
        partial(i, least(i + n, count));
}

/// Reals to those of another type, which is that of a division.
template <typename V, typename From, typename To>
void round_reals(const From *from, std::int64_t count, To *to) {
    constexpr std::int64_t n = V::lanes;
    std::int64_t i = 0;
    for (; i + n <= count; i += n)
        V::store(to + i, in_division<V, To>(V::load(from + i)));
    if (i < count) V::store(to + i, in_division<V, To>(V::load_partial(from + i, count - i)));
}

template <typename V, std::int64_t Capacity = table_capacity>
class real_writer {
  public:
    void write(const float *columns, data_type type, void *tensor, const placed &at, bool streaming) {
        switch (type) {
            case data_type::f16: return write_as<half>(columns, tensor, at, streaming);
            case data_type::bf16: return write_as<brain>(columns, tensor, at, streaming);
            case data_type::f32:
            case data_type::s32:
            case data_type::s8:
            case data_type::u8:
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
            case data_type::f8_e8m0: return write_as<float>(columns, tensor, at, streaming);
        }
    }

  private:
    template <typename T>
    void write_as(const float *columns, void *tensor, const placed &at, bool streaming) {
        if (at.stride == 1) return narrow<V>(columns, at.count, static_cast<T *>(tensor) + at.first, streaming);
        if constexpr (std::is_same_v<T, float>) return scatter(columns, tensor, at);
        alignas(64) T copy[Capacity];
        narrow<V>(columns, at.count, copy, false);
        scatter(copy, tensor, at);
    }
};

// ---- Bytes -----------------------------------------------------------------------------------------

/// Past the caches.
template <typename V>
void stream_bytes(const std::uint8_t *from, std::int64_t count, std::uint8_t *to) {
    constexpr auto line = line_of<std::uint8_t>;
    const auto copy = [=](std::int64_t i, std::int64_t end) {
        std::memcpy(to + i, from + i, static_cast<std::size_t>(end - i));
    };
    auto i = unaligned_head<line>(to, count);
    copy(0, i);
    for (; i + line <= count; i += line)
        V::stream_line(to + i, from + i);
    copy(i, count);
}

// ---- Integers --------------------------------------------------------------------------------------

/// Elements of 4 or 2 bits, whether signed or not.
struct packing {
    int bits;
    bool is_signed;

    std::int64_t per_byte() const { return 8 / bits; }
};

/// To bytes.
template <typename V, std::int64_t Capacity = table_capacity>
class packed_reader {
  public:
    const std::int8_t *read(const void *tensor, const placed &at, const packing &as) {
        if (at.stride != 1) {
            for (std::int64_t i = 0; i < at.count; ++i)
                buffer_.column[i] = widened(tensor, at.first + i * at.stride, as);
            return buffer_.column;
        }
        // From the beginning of a byte on.
        const auto begin = at.first % as.per_byte();
        const auto *const from = static_cast<const unsigned char *>(tensor) + at.first / as.per_byte();
        unpack(from, at.count + begin, as, buffer_.column);
        return buffer_.column + begin;
    }

    /// Whole vectors, so up to one beyond the last element. Inlined into the loop over a tile's lines, each of which
    /// may be a single vector.
    [[gnu::always_inline]] static void unpack(
            const unsigned char *from, std::int64_t count, const packing &as, std::int8_t *to) {
        as.bits == 4 ? unpack_halves(from, count, as.is_signed, to) : unpack_quarters(from, count, as.is_signed, to);
    }

  private:
    static std::int8_t widened(const void *packed, std::int64_t i, const packing &as) {
        const auto value = as.bits == 4 ? packed_at<4>(packed, i) : packed_at<2>(packed, i);
        const auto sign = as.is_signed ? 1 << (as.bits - 1) : 0;
        return static_cast<std::int8_t>((value ^ sign) - sign);
    }

    [[gnu::always_inline]] static void unpack_halves(
            const unsigned char *from, std::int64_t count, bool is_signed, std::int8_t *to) {
        constexpr std::int64_t n = V::nibbles, page = 2048;
        std::int64_t i = 0;
        for (; i + n <= count; i += n) {
            __builtin_prefetch(from + i / 2 + page);
            V::unpack(from + i / 2, to + i, is_signed);
        }
        if (i == count) return;
        unsigned char rest[n / 2] = {};
        std::memcpy(rest, from + i / 2, static_cast<std::size_t>((count - i + 1) / 2));
        V::unpack(rest, to + i, is_signed);
    }

    static void unpack_quarters(const unsigned char *from, std::int64_t count, bool is_signed, std::int8_t *to) {
        std::int64_t i = 0;
        for (; i + 8 <= count; i += 8)
            unpack_eight(from + i / 4, 2, is_signed, to + i);
        if (i < count) unpack_eight(from + i / 4, static_cast<std::size_t>((count - i + 3) / 4), is_signed, to + i);
    }

    /// The quarters of up to two bytes, moved apart in an integer.
    static void unpack_eight(const unsigned char *from, std::size_t bytes, bool is_signed, std::int8_t *to) {
        std::uint16_t packed = 0;
        std::memcpy(&packed, from, bytes);
        std::uint64_t apart = packed;
        apart = (apart | apart << 24) & 0x000000ff000000ff;
        apart = (apart | apart << 12) & 0x000f000f000f000f;
        apart = (apart | apart << 6) & 0x0303030303030303;
        const auto negative = apart & (is_signed ? 0x0202020202020202 : 0);
        apart |= negative * (0xfc / 2);
        std::memcpy(to, &apart, sizeof(apart));
    }

    column_buffer<std::int8_t, Capacity> buffer_;
};

/// Bytes to elements of 4 or 2 bits, saturated. The bytes have room for two vectors beyond their end.
template <typename V, int bits, bool is_signed>
class packed_writer {
  public:
    static void write(const std::int8_t *bytes, void *tensor, const placed &at) {
        const auto put = [&](std::int64_t i) { put_one(tensor, at.first + i * at.stride, bytes[i]); };
        if (at.stride != 1) {
            for (std::int64_t i = 0; i < at.count; ++i)
                put(i);
            return;
        }
        // Whole bytes, and before and after them parts of some that others own the rest of.
        const auto head = least((per_byte - at.first % per_byte) % per_byte, at.count);
        const auto whole = (at.count - head) / per_byte * per_byte;
        for (std::int64_t i = 0; i < head; ++i)
            put(i);
        pack(bytes + head, whole, static_cast<unsigned char *>(tensor) + (at.first + head) / per_byte);
        for (std::int64_t i = head + whole; i < at.count; ++i)
            put(i);
    }

  private:
    static constexpr std::int64_t per_byte = 8 / bits;
    static constexpr int mask = (1 << bits) - 1;
    static constexpr std::int8_t lowest = is_signed ? -(1 << (bits - 1)) : 0, highest = lowest + mask;

    /// Leaves the rest of the byte as it is.
    static void put_one(void *packed, std::int64_t i, std::int8_t value) {
        const int saturated = value < lowest ? lowest : value > highest ? highest : value;
        const int shift = static_cast<int>(i % per_byte) * bits;
        auto &byte = static_cast<unsigned char *>(packed)[i / per_byte];
        byte = static_cast<unsigned char>((byte & ~(mask << shift)) | (saturated & mask) << shift);
    }

    static void pack(const std::int8_t *from, std::int64_t count, unsigned char *to) {
        constexpr std::int64_t n = V::nibbles * per_byte / 2, size = V::nibbles / 2;
        std::int64_t i = 0;
        for (; i + n <= count; i += n, to += size)
            pack_vector(from + i, to);
        if (i == count) return;
        unsigned char rest[size];
        pack_vector(from + i, rest);
        std::memcpy(to, rest, static_cast<std::size_t>((count - i) / per_byte));
    }

    static void pack_vector(const std::int8_t *from, unsigned char *to) {
        if constexpr (bits == 4) return V::pack(from, to, lowest, highest);
        // As if of 4 bits, two to a byte, which closed up are of 4 bits again.
        alignas(64) std::int8_t pairs[V::nibbles];
        V::pack(from, reinterpret_cast<unsigned char *>(pairs), lowest, highest);
        V::pack(from + V::nibbles, reinterpret_cast<unsigned char *>(pairs) + V::nibbles / 2, lowest, highest);
        for (auto &pair : pairs)
            pair = static_cast<std::int8_t>((pair & 3) | (pair >> 2 & 12));
        V::pack(pairs, to, 0, 15);
    }
};

} // namespace
} // namespace dynquant::kernels::native
