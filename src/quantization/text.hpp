// Formatting of error messages and verbose lines.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

#include "dynquant/quantization.hpp"

namespace dynquant {

/// A part of a message: text, which it refers to, or a number. Not a stream: code for one at each message was a
/// twentieth of the library.
class text_part {
  public:
    text_part(std::string_view text)
        : text_(text) {}
    text_part(const std::string &text)
        : text_(text) {}
    text_part(const char *text)
        : text_(text) {}
    text_part(const char &c)
        : text_(&c, 1) {}
    template <typename Number>
    requires(std::is_arithmetic_v<Number> || std::is_enum_v<Number>) text_part(Number number)
        : number_(std::is_floating_point_v<Number> ? kind::real
                        : std::is_signed_v<Number> ? kind::integer
                                                   : kind::natural) {
        if constexpr (std::is_floating_point_v<Number>)
            real_ = number;
        else
            integer_ = static_cast<std::int64_t>(number);
    }

    void append_to(std::string &to) const;

  private:
    enum class kind { none, integer, natural, real };
    std::string_view text_;
    kind number_ = kind::none;
    union {
        std::int64_t integer_ = 0;
        double real_;
    };
};

std::string joined(std::initializer_list<text_part> parts);

/// The parts one after the other. Numbers are as printf's %d, %u and %g have them, in any locale.
template <typename... Parts>
std::string concat(const Parts &...parts) {
    return joined({text_part(parts)...});
}

/// 8x64x56x56; a scalar is "scalar".
std::string to_string(const dims &extents);

/// "a", "a or b", "a, b or c": name(item) of each.
template <typename Items, typename Name>
std::string alternatives(const Items &items, Name &&name) {
    std::string text;
    for (std::size_t i = 0; i < items.size(); ++i)
        text += concat(i == 0 ? "" : i + 1 < items.size() ? ", " : " or ", name(items[i]));
    return text;
}

/// "1 input", "2 inputs".
std::string counted(std::size_t count, const std::string &what);

/// Control characters as "\x00": names come from files, and an error's message ends at the first NUL.
std::string printable(const std::string &text);

/// The number of edits that turn a into b (Levenshtein).
std::size_t edit_distance(const std::string &a, const std::string &b);

/// " (did you mean 'per_channel'?)" when one of the candidates is near, else "".
std::string suggest(const std::string &given, const std::vector<std::string> &candidates);

} // namespace dynquant
