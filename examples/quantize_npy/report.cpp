#include "report.hpp"

#include <cmath>
#include <cstdio>

#include <dynquant/quantization.hpp>

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
    const auto channels = static_cast<long long>(s.channels());
    return format("per_channel, axis %lld: %lld scales, %lld zps", static_cast<long long>(*s.axis), channels, channels);
}

/// The kernel and instruction set that compute an op. oneDNN's API has no question for it, so the
/// direct API is asked about the same statement.
text kernel(const statement &s, op_id op) {
    const bool quantizes = op == op_id::quantize;
    const auto block = s.axis ? dynquant::per_channel(s.dims, *s.axis) : dynquant::per_tensor(s.dims);
    const auto integers = s.integers == data_type::u8 ? dynquant::data_type::u8 : dynquant::data_type::s8;
    dynquant::quantization q;
    q.dir = quantizes ? dynquant::direction::quantize : dynquant::direction::dequantize;
    q.src = {quantizes ? dynquant::data_type::f32 : integers, s.dims, s.strides};
    q.dst = {quantizes ? integers : dynquant::data_type::f32, s.dims, s.strides};
    q.scales = {dynquant::data_type::f32, block};
    q.zero_points = {dynquant::data_type::s32, block};
    const auto info = dynquant::prepare(q).info();
    return text(dynquant::to_string(info.kernel)) + ", " + info.isa;
}

text time(double seconds) {
    return seconds < 1e-3 ? format("%.2f us", seconds * 1e6) : format("%.2f ms", seconds * 1e3);
}

text decibel(const quality &q) {
    if (q.signal == 0) return "undefined (no signal)";
    if (q.noise == 0) return "infinite (no error)";
    return format("%.2f dB", 10 * std::log10(q.signal / q.noise));
}

text peer(const peer_result &p, const measurement &ours, std::int64_t volume) {
    if (!p.measured.refusal.empty()) return p.measured.refusal;
    const auto differing = p.differing == 0 ? text("same results")
                                            : format("%lld of %lld results differ", static_cast<long long>(p.differing),
                                                    static_cast<long long>(volume));
    return format("%s, %.2f x dynquant's; %s", time(p.measured.seconds).c_str(), p.measured.seconds / ours.seconds,
            differing.c_str());
}

text bytes(const report &r) {
    const auto before = r.tensor.volume * 4, parameters = r.asked.channels() * 8;
    const auto after = r.tensor.volume + parameters;
    return format("%lld -> %lld (integers %lld, scales and zps %lld)", static_cast<long long>(before),
            static_cast<long long>(after), static_cast<long long>(r.tensor.volume), static_cast<long long>(parameters));
}

} // namespace

void print(const report &r) {
    const auto &s = r.asked;
    std::printf("%s\n", r.file.c_str());
    line("shape", shape(s.dims) + " f32, " + (r.tensor.fortran_order ? "column-major" : "row-major"));
    line("granularity", granularity(s) + "; dst " + name_of(s.integers));
    if (r.derived.zero_channels > 0 && r.tensor.volume > 0)
        line("",
                format("channels without a finite value but 0: %lld; their scale is 1",
                        static_cast<long long>(r.derived.zero_channels)));
    if (r.derived.not_finite > 0)
        line("",
                format("NaN or infinite elements: %lld; scales and errors are those of the others",
                        static_cast<long long>(r.derived.not_finite)));

    const auto *version = dnnl_version();
    const auto plain = format("oneDNN Graph %d.%d", version->major, version->minor);
    for (const auto op : {op_id::quantize, op_id::dequantize}) {
        const auto i = static_cast<std::size_t>(op);
        line(op == op_id::quantize ? "DynamicQuantize" : "DynamicDequantize",
                time(r.ops[i].seconds) + "; kernel " + kernel(s, op));
        line(("  " + plain).c_str(), peer(r.peer[i], r.ops[i], r.tensor.volume));
    }
    line("bytes", bytes(r));
    line("largest |error|", format("%.4f of the channel's scale", r.reached.largest_error));
    line("SQNR", decibel(r.reached) + (s.axis ? "; per_tensor: " + decibel(r.per_tensor) : ""));
    line("written", r.written[0] + ", " + r.written[1] + ", " + r.written[2]);
}

} // namespace example
