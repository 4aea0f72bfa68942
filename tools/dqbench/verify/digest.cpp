#include "digest.hpp"

#define XXH_INLINE_ALL // no library to link or to find at run time
#include <xxhash.h>

#include <cstring>
#include <new>

#include "elements/table.hpp"

namespace dqbench::verify {
namespace {

/// The NaNs are the codes whose magnitude is above `greatest`.
struct nan_codes {
    std::uint32_t magnitude, greatest, canonical;
};

constexpr nan_codes nans_of(const dynquant::encoding &type) {
    const auto all = type.bits == 32 ? UINT32_MAX : (1U << type.bits) - 1;
    const auto magnitude = type.is_signed ? all >> 1 : all;
    if (type.special == dynquant::specials::nan) return {magnitude, magnitude - 1, magnitude};
    const auto infinity = magnitude >> type.fraction_bits << type.fraction_bits;
    return {magnitude, infinity, infinity | 1U << (type.fraction_bits - 1)};
}

template <typename Word>
void replace(const nan_codes &nans, std::span<std::byte> buffer) {
    const auto magnitude = static_cast<Word>(nans.magnitude), greatest = static_cast<Word>(nans.greatest),
               canonical = static_cast<Word>(nans.canonical);
    for (std::size_t i = 0; i + sizeof(Word) <= buffer.size(); i += sizeof(Word)) {
        Word word;
        std::memcpy(&word, buffer.data() + i, sizeof word);
        word = (word & magnitude) > greatest ? canonical : word;
        std::memcpy(buffer.data() + i, &word, sizeof word);
    }
}

XXH3_state_t *state_of(void *state) {
    return static_cast<XXH3_state_t *>(state);
}

} // namespace

void make_nan_canonical(dynquant::data_type type, std::span<std::byte> buffer) {
    const auto &t = dynquant::traits(type);
    // The others have one NaN or none.
    if (t.integral || (t.special != dynquant::specials::nan && t.special != dynquant::specials::infinity_and_nan))
        return;
    const auto nans = nans_of(t);
    if (t.bits == 32) replace<std::uint32_t>(nans, buffer);
    if (t.bits == 16) replace<std::uint16_t>(nans, buffer);
    if (t.bits == 8) replace<std::uint8_t>(nans, buffer);
}

hasher::hasher()
    : state_(XXH3_createState()) {
    if (!state_) throw std::bad_alloc();
    XXH3_64bits_reset(state_of(state_));
}

hasher::~hasher() {
    XXH3_freeState(state_of(state_));
}

void hasher::add(dynquant::data_type type, std::span<std::byte> buffer) {
    make_nan_canonical(type, buffer);
    XXH3_64bits_update(state_of(state_), buffer.data(), buffer.size());
}

void hasher::add(digest of_part) {
    std::byte bytes[8]; // the lowest first
    for (auto &byte : bytes) {
        byte = static_cast<std::byte>(of_part);
        of_part >>= 8;
    }
    XXH3_64bits_update(state_of(state_), bytes, sizeof bytes);
}

digest hasher::value() const {
    return XXH3_64bits_digest(state_of(state_));
}

std::string to_string(digest value) {
    std::string text(16, '0');
    for (auto digit = text.rbegin(); digit != text.rend(); ++digit, value >>= 4)
        *digit = "0123456789abcdef"[value & 15];
    return text;
}

} // namespace dqbench::verify
