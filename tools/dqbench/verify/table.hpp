// The committed digests: what the reference gives.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "digest.hpp"

namespace dqbench::verify {

/// A cell's row: the digest of its statements' digests, and the highest byte of each, by which the first statement that
/// differs is found.
struct row {
    digest all = 0;
    std::vector<std::uint8_t> bytes;

    bool operator==(const row &) const = default;
};

row row_of(const std::vector<digest> &statements);

/// NAME DIGEST BYTES
std::string line_of(const std::string &cell, const row &r);

/// Parses lines. Throws std::runtime_error for a wrong one.
std::map<std::string, row> parse_table(std::string_view lines);

/// Of the cells of operators and layers, and of --long's.
const std::map<std::string, row> &committed_table();

} // namespace dqbench::verify
