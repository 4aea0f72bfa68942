#include "table.hpp"

#include <sstream>
#include <stdexcept>

#include "quantization/text.hpp"

namespace dqbench::verify {
namespace {

// `dqbench verify --print-table` and `--print-table --long` write them.
constexpr const char *rows[] = {
#include "table.inc"

#include "long_table.inc"
};

constexpr const char *digits = "0123456789abcdef";

} // namespace

row row_of(const std::vector<digest> &statements) {
    row r;
    hasher all;
    for (const auto each : statements) {
        all.add(each);
        r.bytes.push_back(static_cast<std::uint8_t>(each >> 56));
    }
    r.all = all.value();
    return r;
}

std::string line_of(const std::string &cell, const row &r) {
    std::string bytes;
    for (const auto byte : r.bytes) {
        bytes += digits[byte >> 4];
        bytes += digits[byte & 15];
    }
    return dynquant::concat(cell, ' ', to_string(r.all), ' ', bytes);
}

std::map<std::string, row> parse_table(std::string_view lines) {
    std::map<std::string, row> result;
    std::istringstream stream {std::string(lines)};
    for (std::string line; std::getline(stream, line);) {
        if (line.empty()) continue;
        std::istringstream words(line);
        std::string name, all, bytes, more;
        words >> name >> all >> bytes >> more;
        if (all.size() != 16 || bytes.size() % 2 != 0 || !more.empty()
                || (all + bytes).find_first_not_of(digits) != std::string::npos)
            throw std::runtime_error(dynquant::concat(
                    "table of verify: expected NAME, 16 hexadecimal digits and 2 for each statement, given '", line,
                    "'"));
        row r {std::stoull(all, nullptr, 16), {}};
        for (std::size_t i = 0; i < bytes.size(); i += 2)
            r.bytes.push_back(static_cast<std::uint8_t>(std::stoi(bytes.substr(i, 2), nullptr, 16)));
        if (!result.emplace(name, std::move(r)).second)
            throw std::runtime_error(dynquant::concat("table of verify: expected '", name, "' once, given it twice"));
    }
    return result;
}

const std::map<std::string, row> &committed_table() {
    static const auto table = [] {
        std::string lines;
        for (const auto *each : rows)
            (lines += each) += '\n';
        return parse_table(lines);
    }();
    return table;
}

} // namespace dqbench::verify
