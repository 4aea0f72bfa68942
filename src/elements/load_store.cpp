#include "elements/load_store.hpp"

#include <cstring>

#include "elements/packed.hpp"
#include "elements/small_float.hpp"
#include "elements/table.hpp"

namespace dynquant {
namespace {

// Unaligned access: buffers of parameters need not be aligned.
template <typename T>
T read(const void *buffer, std::int64_t index) {
    T value;
    std::memcpy(&value, static_cast<const unsigned char *>(buffer) + index * std::int64_t {sizeof(T)}, sizeof(T));
    return value;
}

template <typename T>
void write(void *buffer, std::int64_t index, T value) {
    std::memcpy(static_cast<unsigned char *>(buffer) + index * std::int64_t {sizeof(T)}, &value, sizeof(T));
}

template <data_type type>
double load_as(const void *buffer, std::int64_t index) {
    constexpr auto &t = traits(type);
    if constexpr (t.integral && t.bits < 8) { // two's complement of the type's width
        constexpr int sign = t.is_signed ? 1 << (t.bits - 1) : 0;
        return (static_cast<int>(packed_at(buffer, t.bits, index)) ^ sign) - sign;
    } else if constexpr (t.integral) {
        return read<integer_of<type>>(buffer, index);
    } else if constexpr (t.bits < 8) {
        return float_of<type> {static_cast<std::uint8_t>(packed_at(buffer, t.bits, index))}.value();
    } else if constexpr (t.bits < 32) {
        return read<float_of<type>>(buffer, index).value();
    } else {
        return read<float>(buffer, index);
    }
}

template <data_type type>
void store_as(void *buffer, std::int64_t index, double value, bool saturate) {
    constexpr auto &t = traits(type);
    const auto real = static_cast<float>(value);
    if constexpr (t.integral && t.bits < 8)
        put_packed(buffer, t.bits, index, static_cast<unsigned>(static_cast<int>(value)));
    else if constexpr (t.integral)
        write(buffer, index, static_cast<integer_of<type>>(value));
    else if constexpr (t.bits < 8)
        put_packed(buffer, t.bits, index, float_of<type>::from(real).bits);
    else if constexpr (t.bits == 32)
        write(buffer, index, real);
    else if constexpr (t.is_signed)
        write(buffer, index, saturate ? float_of<type>::template from<true>(real) : float_of<type>::from(real));
    else
        write(buffer, index, float_of<type>::from(real));
}

constexpr auto loads = by_type_of<decltype(&load_as<data_type::f32>)>([]<data_type type>() { return load_as<type>; });
constexpr auto stores =
        by_type_of<decltype(&store_as<data_type::f32>)>([]<data_type type>() { return store_as<type>; });

} // namespace

double load(data_type type, const void *buffer, std::int64_t index) {
    return loads[type](buffer, index);
}

void store(data_type type, void *buffer, std::int64_t index, double value, bool saturate) {
    stores[type](buffer, index, value, saturate);
}

} // namespace dynquant
