#include "quantization/text.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>

namespace dynquant {

void text_part::append_to(std::string &to) const {
    char digits[32];
    const auto append = [&](auto... number) {
        to.append(digits, std::to_chars(std::begin(digits), std::end(digits), number...).ptr);
    };
    switch (number_) {
        case kind::none: to += text_; break;
        case kind::integer: append(integer_); break;
        case kind::natural: append(static_cast<std::uint64_t>(integer_)); break;
        case kind::real: append(real_, std::chars_format::general, 6); break;
    }
}

std::string joined(std::initializer_list<text_part> parts) {
    std::string text;
    for (const auto &part : parts)
        part.append_to(text);
    return text;
}

std::string to_string(const dims &extents) {
    if (extents.empty()) return "scalar";
    std::string text;
    for (const auto extent : extents) {
        if (!text.empty()) text += 'x';
        text += std::to_string(extent);
    }
    return text;
}

std::string counted(std::size_t count, const std::string &what) {
    return concat(count, " ", what, count == 1 ? "" : "s");
}

std::string printable(const std::string &text) {
    constexpr char digits[] = "0123456789abcdef";
    std::string shown;
    for (const char c : text) {
        const auto code = static_cast<unsigned char>(c);
        if (code >= ' ' && code != 0x7f)
            shown += c; // UTF-8's other bytes are above 0x7f
        else
            shown += {'\\', 'x', digits[code / 16], digits[code % 16]};
    }
    return shown;
}

std::size_t edit_distance(const std::string &a, const std::string &b) {
    // One row of the dynamic-programming table at a time (Wagner and Fischer, 1974).
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t substituted = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
        }
    }
    return row.back();
}

std::string suggest(const std::string &given, const std::vector<std::string> &candidates) {
    std::string nearest;
    std::size_t least = given.size() / 2 + 1; // farther is no misspelling
    for (const auto &candidate : candidates) {
        const auto distance = edit_distance(given, candidate);
        if (distance < least) {
            least = distance;
            nearest = candidate;
        }
    }
    return nearest.empty() ? "" : concat(" (did you mean '", nearest, "'?)");
}

} // namespace dynquant
