// The format of a performance line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measurement.hpp"

namespace dqbench {

struct perf_field;

/// Text with fields such as %prb%, %-time% or %-Gbw%. Modifiers before a field's name: - for the least time (the
/// default), ~ for the median, 0 for the average or + for the most; then K, M or G as the unit. A peer may follow the
/// name, as in %~ratio:xnnpack%.
class perf_template {
  public:
    perf_template()
        : perf_template(parse("def")) {}

    /// `def`, `csv` or a template. Throws usage_error.
    static perf_template parse(std::string_view text);

    const std::string &text() const { return text_; }

    /// The template with the fields' names as values.
    std::string header() const;

    std::string line(const test_case &c, std::size_t index, const measurement &m) const;

  private:
    struct segment {
        std::string literal; // before the field
        const perf_field *field;
        char statistic, unit; // 0: none given
        std::optional<peer_kind> peer;
    };

    explicit perf_template(std::string_view text)
        : text_(text) {}

    std::string text_;
    std::vector<segment> segments_;
    std::string tail_;    // after the last field
    bool quotes_ = false; // values as fields of comma-separated values
};

/// The list of fields for --help.
std::string describe_perf_fields();

} // namespace dqbench
