#include "quantization/verbose.hpp"

#include <cstdio>

#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dynquant::verbose {
namespace {

/// src_f32::blocked:ab::f0 for dense row-major, else src_f32::strided:1x8::f0.
std::string layout(const char *name, const tensor &t) {
    const bool dense = strides_of(t) == row_major(t.dims);
    std::string tag;
    for (std::size_t d = 0; d < t.dims.size(); ++d)
        tag += static_cast<char>('a' + d);
    return concat(
            name, '_', to_string(t.type), "::", dense ? "blocked:" + tag : "strided:" + to_string(t.strides), "::f0");
}

/// oneDNN's mask: bit d is set if the parameter changes along dim d.
int mask(const quantization &q) {
    int bits = 0;
    for (std::size_t d = 0; d < q.src.dims.size(); ++d)
        if (q.scales.block[d] < q.src.dims[d]) bits |= 1 << d;
    return bits;
}

} // namespace

std::string describe(const quantization &q, const operation_info &info, const std::string &name) {
    std::string attributes = concat("attr-scales:", mask(q), ':', to_string(q.scales.type));
    if (q.zero_points) attributes += concat(" attr-zero-points:", mask(q), ':', to_string(q.zero_points->type));
    if (q.second_scales) attributes += concat(" attr-second-scales:0:", to_string(q.second_scales->type));
    if (q.rule == numerics::any) attributes += " attr-fpmath:any";
    if (q.rule == numerics::onnx)
        attributes += concat(
                " attr-rule:onnx attr-division:", to_string(q.division), q.saturate ? " attr-saturate:true" : "");
    if (q.computed)
        attributes += concat(" attr-computed:", to_string(q.computed->range), ':', to_string(q.computed->rounding), ':',
                to_string(q.computed->quotient), q.computed->narrow ? ":narrow" : "", ':',
                to_string(q.computed->special), q.computed->scales_only ? ":scales_only" : "");
    return concat(to_string(q.dir), ',', to_string(info.kernel), ':', info.isa, ",undef,", layout("src", q.src), ' ',
            layout("dst", q.dst), ',', attributes, ',', name, ',', to_string(q.src.dims));
}

void print(const char *event, const std::string &description, double milliseconds) {
    // One call, so that lines of several threads do not mix.
    std::fputs(concat("dynquant_verbose,primitive,", event, ",cpu,", description, ',', milliseconds, '\n').c_str(),
            stdout);
    std::fflush(stdout);
}

} // namespace dynquant::verbose
