#include "direct.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <sstream>

namespace dynquant::test {
namespace {

std::string text_of(const dims &extents) {
    std::string text;
    for (const auto extent : extents)
        text += (text.empty() ? "" : "x") + std::to_string(extent);
    return text.empty() ? "scalar" : text;
}

std::string text_of(const tensor &t) {
    return std::string(to_string(t.type)) + " " + text_of(t.dims)
            + (t.strides.empty() ? "" : " strides " + text_of(t.strides));
}

/// Null for an empty buffer, so that a read of a buffer whose values the statement knows crashes.
std::byte *pointer_to(const guarded_buffer &buffer) {
    return buffer.size() == 0 ? nullptr : buffer.data();
}

} // namespace

quantization statement_of(direction dir, data_type reals, data_type codes, const dims &extents, const dims &block,
        std::optional<data_type> zero_points) {
    const bool quantizes = dir == direction::quantize;
    quantization q;
    q.dir = dir;
    q.src = {quantizes ? reals : codes, extents, {}};
    q.dst = {quantizes ? codes : reals, extents, {}};
    q.scales = {data_type::f32, block, {}};
    if (zero_points) q.zero_points = {*zero_points, block, {}};
    return q;
}

std::size_t bytes_spanned(const tensor &t) {
    if (std::ranges::count(t.dims, 0) > 0) return 0;
    std::int64_t last = 0, dense = 1;
    for (std::size_t d = t.dims.size(); d-- > 0;) {
        last += (t.dims[d] - 1) * (t.strides.empty() ? dense : t.strides[d]);
        dense *= t.dims[d];
    }
    return bytes_for(t.type, last + 1);
}

sample::sample(quantization statement, oracle::inputs inputs)
    : q(std::move(statement))
    , in(std::move(inputs)) {
    std::vector before(bytes_spanned(q.dst), guarded_buffer::pattern);
    if (!q.computed) {
        expected = oracle::run(q, in, std::move(before));
        return;
    }
    auto out = oracle::run_computed(q, in, std::move(before), guarded_buffer::pattern);
    expected = std::move(out.dst);
    expected_scales = std::move(out.scales);
    expected_zero_points = std::move(out.zero_points);
}

std::string describe(const quantization &q) {
    std::ostringstream text;
    text << to_string(q.dir) << " " << text_of(q.src) << " to " << text_of(q.dst) << ", block "
         << text_of(q.scales.block) << ", scales " << to_string(q.scales.type)
         << (q.scales.values.empty() ? "" : " known");
    if (q.zero_points)
        text << ", zps " << to_string(q.zero_points->type) << (q.zero_points->values.empty() ? "" : " known");
    if (q.second_scales) text << ", second scales" << (q.second_scales->values.empty() ? "" : " known");
    if (q.rule == numerics::any) text << ", fpmath any";
    if (q.rule == numerics::onnx)
        text << ", onnx, division in " << to_string(q.division) << (q.saturate ? ", saturating" : "");
    if (q.computed) {
        const auto &rule = *q.computed;
        text << ", computed: " << to_string(rule.range) << (rule.narrow ? " narrow" : "") << ", least " << rule.least
             << ", of zero " << rule.of_zero << ", " << to_string(rule.rounding) << ", " << to_string(rule.quotient)
             << ", " << to_string(rule.special) << (rule.scales_only ? ", scales only" : "");
    }
    return text.str();
}

namespace {

/// Whether the onednn kernel must obey the rule. Under fpmath mode `any` it does where scales and zero points are in
/// the guard and src has no NaN: values given at run are unknown when it prepares.
bool rule_binds_onednn(const sample &s) {
    if (s.q.rule != numerics::any || s.q.dir == direction::dequantize) return true;
    const auto within_guard = [&](std::size_t i) {
        const auto bits = get_bits(data_type::s32, s.in.zero_points.data(), static_cast<std::int64_t>(i));
        return std::abs(integer_from(data_type::s32, bits)) < 1 << 20;
    };
    const bool wide = s.q.zero_points && s.q.zero_points->type == data_type::s32;
    for (std::size_t i = 0; wide && i < s.in.zero_points.size() / 4; ++i)
        if (!within_guard(i)) return false;
    return std::ranges::none_of(decode_reals(s.q.src.type, s.in.src), [](float x) { return std::isnan(x); })
            && std::ranges::all_of(decode_reals(s.q.scales.type, s.in.scales),
                    [](float v) { return std::abs(v) >= 0x1p-75f && std::abs(v) <= 0x1p75f; });
}

bool accepts(const variant &v, const quantization &q) {
    try {
        prepare(q, v.forced());
        return true;
    } catch (const error &refusal) {
        if (refusal.status != status::unimplemented) throw;
        return false;
    }
}

} // namespace

std::vector<variant> variants_for(const sample &s) {
    auto result = universal_variants();
    const auto onednn = onednn_variant();
    if ((onednn_must_compute(s.q) || accepts(onednn, s.q)) && rule_binds_onednn(s)) result.push_back(onednn);
    return result;
}

testing::AssertionResult result_right(const sample &s, const std::vector<std::byte> &dst) {
    auto in = s.in;
    if (s.q.computed) {
        in.scales = s.expected_scales;
        in.zero_points = s.expected_zero_points;
    }
    const auto wrong = oracle::disagreement(s.q, in, s.expected, dst);
    if (wrong.empty()) return testing::AssertionSuccess();
    return testing::AssertionFailure() << describe(s.q) << ": " << wrong;
}

guarded_sample::guarded_sample(const sample &s, const placement &p)
    : sample_(s)
    , src_(s.in.src.size(), p.where, p.src_offset)
    , scales_(s.in.scales.size(), p.where)
    , zero_points_(s.in.zero_points.size(), p.where)
    , second_scales_(s.in.second_scales.size(), p.where)
    , dst_(s.expected.size(), p.where, p.dst_offset)
    , computed_scales_(s.expected_scales.size(), p.where)
    , computed_zero_points_(s.expected_zero_points.size(), p.where) {
    src_.fill(s.in.src);
    scales_.fill(s.in.scales);
    zero_points_.fill(s.in.zero_points);
    second_scales_.fill(s.in.second_scales);
}

arguments guarded_sample::arguments_of_run() const {
    const bool writes_dst = !sample_.q.computed || !sample_.q.computed->scales_only;
    return {pointer_to(src_), pointer_to(scales_), pointer_to(zero_points_), writes_dst ? dst_.data() : nullptr,
            pointer_to(second_scales_), pointer_to(computed_scales_), pointer_to(computed_zero_points_)};
}

testing::AssertionResult guarded_sample::computed_right_by(const operation &op) {
    return computed_right_by([&](const arguments &args) { op.run(args); });
}

testing::AssertionResult guarded_sample::computed_right_by(const std::function<void(const arguments &)> &run) {
    for (const auto *output : {&dst_, &computed_scales_, &computed_zero_points_})
        std::fill_n(output->data(), output->size(), guarded_buffer::pattern);
    run(arguments_of_run());
    const auto unchanged = [](const guarded_buffer &buffer, const std::vector<std::byte> &bytes) {
        return buffer.intact() && buffer.holds(bytes);
    };
    if (!unchanged(src_, sample_.in.src) || !unchanged(scales_, sample_.in.scales)
            || !unchanged(zero_points_, sample_.in.zero_points) || !unchanged(second_scales_, sample_.in.second_scales))
        return testing::AssertionFailure() << describe(sample_.q) << ": an input was written";
    if (!dst_.intact()) return testing::AssertionFailure() << describe(sample_.q) << ": bytes around dst were written";
    if (!computed_scales_.intact() || !computed_zero_points_.intact())
        return testing::AssertionFailure() << describe(sample_.q) << ": bytes around scales or zps were written";
    if (sample_.q.computed) {
        auto wrong = oracle::wrong_parameter(
                "scale", sample_.q.scales.type, sample_.expected_scales, computed_scales_.bytes());
        if (wrong.empty() && sample_.q.zero_points)
            wrong = oracle::wrong_parameter(
                    "zp", sample_.q.zero_points->type, sample_.expected_zero_points, computed_zero_points_.bytes());
        if (!wrong.empty()) return testing::AssertionFailure() << describe(sample_.q) << ": " << wrong;
    }
    if (dst_.holds(sample_.expected)) return testing::AssertionSuccess();
    return result_right(sample_, dst_.bytes());
}

testing::AssertionResult computed_right(const sample &s, const std::vector<variant> &variants) {
    for (const auto where : {guarded_buffer::place::at_back, guarded_buffer::place::at_front}) {
        guarded_sample guarded(s, {where});
        for (const auto &v : variants)
            if (auto result = guarded.computed_right_by(prepare(s.q, v.forced())); !result)
                return result << ", by " << v;
    }
    return testing::AssertionSuccess();
}

} // namespace dynquant::test
