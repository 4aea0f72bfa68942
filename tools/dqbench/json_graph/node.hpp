// A JSON value with its place in the file, for error messages such as
//     FILE: /graph/3/attrs/axis/value: expected an integer, given "one"
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace dqbench::json_graph {

/// Parses a JSON file. Throws usage_error.
nlohmann::json parse_file(const std::string &file);

/// Refers to a value, which must outlive it, as must the file's name. All functions throw usage_error.
class node {
  public:
    node(const nlohmann::json &value, const std::string &file)
        : node(value, file, "") {}

    /// The value of a required key.
    node at(const char *key) const;
    std::optional<node> find(const char *key) const;

    std::vector<node> elements() const;
    std::vector<std::pair<std::string, node>> members() const;

    std::string string() const;
    std::string one_of(const std::vector<std::string> &names) const;
    std::int64_t integer() const;
    std::uint64_t id() const;
    float real() const;
    /// true or false, or 1 or 0.
    bool truth() const;

    [[noreturn]] void fail(const std::string &expected) const;

  private:
    node(const nlohmann::json &value, const std::string &file, std::string place)
        : value_(&value)
        , file_(&file)
        , place_(std::move(place)) {}

    const nlohmann::json &require(nlohmann::json::value_t type, const char *expected) const;

    const nlohmann::json *value_;
    const std::string *file_;
    std::string place_; // a JSON pointer
};

} // namespace dqbench::json_graph
