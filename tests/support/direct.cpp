#include "direct.hpp"

#include <algorithm>
#include <sstream>

namespace dynquant::test {
namespace {

std::size_t size_of(data_type type) {
    return type == data_type::f32 || type == data_type::s32 ? 4 : 1;
}

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

/// A buffer that holds `bytes`; null when there are none, so that what is known is not looked at.
class input_buffer {
  public:
    input_buffer(const std::vector<std::byte> &bytes, guarded_buffer::place where, std::size_t offset = 0)
        : buffer_(bytes.size(), where, offset)
        , bytes_(bytes) {
        buffer_.fill(bytes);
    }
    const void *pointer() const { return bytes_.empty() ? nullptr : buffer_.data(); }
    bool unchanged() const { return buffer_.intact() && buffer_.holds(bytes_); }

  private:
    guarded_buffer buffer_;
    const std::vector<std::byte> &bytes_;
};

} // namespace

std::vector<std::byte> encode(data_type type, const std::vector<std::int64_t> &values) {
    switch (type) {
        case data_type::s8: return bytes_of(std::vector<std::int8_t>(values.begin(), values.end()));
        case data_type::u8: return bytes_of(std::vector<std::uint8_t>(values.begin(), values.end()));
        case data_type::s32: return bytes_of(std::vector<std::int32_t>(values.begin(), values.end()));
        case data_type::f32: break;
    }
    return bytes_of(std::vector<float>(values.begin(), values.end()));
}

std::size_t bytes_spanned(const tensor &t) {
    if (std::ranges::count(t.dims, 0) > 0) return 0;
    std::int64_t last = 0, dense = 1;
    for (std::size_t d = t.dims.size(); d-- > 0;) {
        last += (t.dims[d] - 1) * (t.strides.empty() ? dense : t.strides[d]);
        dense *= t.dims[d];
    }
    return static_cast<std::size_t>(last + 1) * size_of(t.type);
}

sample::sample(quantization statement, oracle::inputs inputs)
    : q(std::move(statement))
    , in(std::move(inputs)) {
    expected = oracle::run(q, in, std::vector(bytes_spanned(q.dst), guarded_buffer::pattern));
}

std::string describe(const quantization &q) {
    std::ostringstream text;
    text << to_string(q.dir) << " " << text_of(q.src) << " to " << text_of(q.dst) << ", block "
         << text_of(q.scales.block) << (q.scales.values.empty() ? "" : ", known scales");
    if (q.zero_points)
        text << ", zps " << to_string(q.zero_points->type) << (q.zero_points->values.empty() ? "" : " known");
    if (q.rule == numerics::any) text << ", fpmath any";
    return text.str();
}

testing::AssertionResult result_right(const sample &s, const std::vector<std::byte> &dst) {
    const auto wrong = oracle::disagreement(s.q, s.in, s.expected, dst);
    if (wrong.empty()) return testing::AssertionSuccess();
    return testing::AssertionFailure() << describe(s.q) << ": " << wrong;
}

testing::AssertionResult runs_right(const operation &op, const sample &s, const placement &p) {
    const input_buffer src(s.in.src, p.where, p.src_offset);
    const input_buffer scales(s.in.scales, p.where), zero_points(s.in.zero_points, p.where);
    guarded_buffer dst(s.expected.size(), p.where, p.dst_offset);
    op.run({src.pointer(), scales.pointer(), zero_points.pointer(), dst.data()});
    if (!src.unchanged() || !scales.unchanged() || !zero_points.unchanged())
        return testing::AssertionFailure() << describe(s.q) << ": an input was written";
    if (!dst.intact()) return testing::AssertionFailure() << describe(s.q) << ": bytes around dst were written";
    return result_right(s, dst.bytes());
}

testing::AssertionResult computed_right(const sample &s, const std::vector<variant> &variants) {
    for (const auto &v : variants) {
        const auto op = prepare(s.q, v.forced());
        for (const auto where : {guarded_buffer::place::at_back, guarded_buffer::place::at_front})
            if (auto result = runs_right(op, s, {where}); !result) return result << ", by " << v;
    }
    return testing::AssertionSuccess();
}

} // namespace dynquant::test
