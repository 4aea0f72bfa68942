#include "report.hpp"

#include <cmath>
#include <cstdio>

namespace example {
namespace {

using text = std::string;

template <typename... Args>
text format(const char *form, Args... args) {
    text result(static_cast<std::size_t>(std::snprintf(nullptr, 0, form, args...)), '\0');
    std::snprintf(result.data(), result.size() + 1, form, args...);
    return result;
}

void line(const char *name, const text &value) {
    std::printf("  %-18s %s\n", name, value.c_str());
}

text shape(const std::vector<std::int64_t> &dims) {
    text result = "[";
    for (const auto dim : dims)
        result += (result.size() > 1 ? ", " : "") + std::to_string(dim);
    return result + "]";
}

const char *name_of(data_type type) {
    return type == data_type::u8 ? "u8" : "s8";
}

text granularity(const statement &s) {
    if (!s.axis) return "per_tensor: 1 scale, 1 zp";
    const auto channels = std::to_string(s.channels());
    return "per_channel, axis " + std::to_string(*s.axis) + ": " + channels + " scales, " + channels + " zps";
}

text time(double seconds) {
    return seconds < 1e-3 ? format("%.2f us", seconds * 1e6) : format("%.2f ms", seconds * 1e3);
}

text decibel(const quality &q) {
    if (q.signal == 0) return "undefined (no signal)";
    if (q.noise == 0) return "infinite (no error)";
    return format("%.2f dB", 10 * std::log10(q.signal / q.noise));
}

text peer(const peer_result &p, const measurement &own, std::int64_t volume) {
    if (!p.measured.refusal.empty()) return p.measured.refusal;
    const auto differing = p.differing == 0
            ? text("same results")
            : std::to_string(p.differing) + " of " + std::to_string(volume) + " results differ";
    return time(p.measured.seconds) + format(", %.2f x dynquant's; ", p.measured.seconds / own.seconds) + differing;
}

text bytes(const report &r) {
    const auto integers = r.tensor.volume, parameters = r.requested.channels() * 8;
    return std::to_string(r.tensor.volume * 4) + " -> " + std::to_string(integers + parameters) + " (integers "
            + std::to_string(integers) + ", scales and zps " + std::to_string(parameters) + ")";
}

} // namespace

void print(const report &r) {
    const auto &s = r.requested;
    std::printf("%s\n", r.file.c_str());
    line("shape", shape(s.dims) + " f32, " + (r.tensor.fortran_order ? "column-major" : "row-major"));
    line("granularity", granularity(s) + "; dst " + name_of(s.integers));
    if (r.derived.zero_channels > 0 && r.tensor.volume > 0)
        line("",
                "channels without a finite value but 0: " + std::to_string(r.derived.zero_channels)
                        + "; their scale is 1");
    if (r.derived.not_finite > 0)
        line("",
                "NaN or infinite elements: " + std::to_string(r.derived.not_finite)
                        + "; scales and errors are those of the others");

    const auto *version = dnnl_version();
    const auto plain = format("oneDNN Graph %d.%d", version->major, version->minor);
    for (const auto op : {op_id::quantize, op_id::dequantize}) {
        const auto i = static_cast<std::size_t>(op);
        line(op == op_id::quantize ? "DynamicQuantize" : "DynamicDequantize",
                time(r.ops[i].seconds) + "; kernel " + r.ops[i].kernel);
        line(("  " + plain).c_str(), peer(r.peer[i], r.ops[i], r.tensor.volume));
    }
    line("bytes", bytes(r));
    line("largest |error|", format("%.4f of the channel's scale", r.reached.largest_error));
    line("SQNR", decibel(r.reached) + (s.axis ? "; per_tensor: " + decibel(r.per_tensor) : ""));
    line("written", r.written[0] + ", " + r.written[1] + ", " + r.written[2]);
}

} // namespace example
