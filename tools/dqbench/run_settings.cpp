#include "run_settings.hpp"

#include "quantization/text.hpp"
#include "text_parsing.hpp"

namespace dqbench {

void parse_summary(std::string_view text, summary_settings &settings) {
    for (const auto &entry : split(text, '+')) {
        const bool on = !entry.starts_with("no-");
        const auto name = entry.substr(on ? 0 : 3);
        if (name == "failures")
            settings.failures = on;
        else if (name == "impl")
            settings.implementations = on;
        else if (name == "impl-csv")
            settings.implementations_as_csv = on;
        else
            throw usage_error(dynquant::concat(
                    "expected failures, impl or impl-csv, perhaps with no- before it, given '", entry, "'"));
    }
}

} // namespace dqbench
