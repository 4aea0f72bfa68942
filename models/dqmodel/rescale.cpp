// `dqmodel rescale`: Quant_scale and Quant_shift of a multiplier.
#include "model/rescale.hpp"

#include <charconv>
#include <cstdio>

#include "commands.hpp"
#include "quantization/text.hpp"

namespace dqmodel {
namespace {

std::optional<double> number(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// "0.25", "1/3"
double multiplier_of(const std::string &text) {
    const auto slash = text.find('/');
    const auto whole = std::string_view(text);
    const auto dividend = number(whole.substr(0, slash));
    const auto divisor = slash == std::string::npos ? 1.0 : number(whole.substr(slash + 1));
    if (!dividend || !divisor)
        throw std::runtime_error(dynquant::concat("VALUE: expected a number such as 0.25 or 1/3, given '", text, "'"));
    const double value = *dividend / *divisor;
    if (!dynquant::models::has_rescale(value))
        throw std::runtime_error(dynquant::concat(
                "VALUE: expected 2^-126 to 2^24, which a float of an integer and a shift can state, given ", text));
    return value;
}

} // namespace

exit_status rescale(const std::string &value) {
    const double multiplier = multiplier_of(value);
    const auto r = dynquant::models::rescale_of(multiplier);
    std::printf("Quant_scale      %lld\n", static_cast<long long>(r.quant_scale));
    std::printf("Quant_shift      2^-%d = %.9g\n", r.shift, dynquant::models::rescale {1, r.shift}.value());
    std::printf("Quant_multiplier %.9g", r.value());
    const double error = (r.value() - multiplier) / multiplier;
    std::printf(error == 0 ? ", exactly\n" : ", %.2g of it too small\n", -error);
    return success;
}

} // namespace dqmodel
