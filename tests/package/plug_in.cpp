// A plug-in that computes on several threads. plug_in_host loads and unloads it.
#include <cstddef>
#include <cstdint>
#include <vector>

#include <dynquant/quantization.hpp>

/// Whether a tensor that several threads share is quantized right.
extern "C" [[gnu::visibility("default")]] bool plug_in_quantizes_right() {
    constexpr std::int64_t elements = std::int64_t {1} << 20;
    dynquant::quantization q;
    q.src = {dynquant::data_type::f32, {elements}, {}};
    q.dst = {dynquant::data_type::u8, {elements}, {}};
    q.scales = {dynquant::data_type::f32, {elements}, {}};
    dynquant::options four;
    four.threads = 4;
    const auto op = dynquant::prepare(q, four);
    std::vector<float> src(elements);
    std::vector<std::uint8_t> dst(elements);
    for (std::size_t i = 0; i < src.size(); ++i)
        src[i] = static_cast<float>(i % 256) / 2;
    const float scale = 0.5F;
    for (int run = 0; run < 20; ++run) {
        dst.assign(dst.size(), 0);
        op.run({src.data(), &scale, nullptr, dst.data()});
        for (std::size_t i = 0; i < dst.size(); ++i)
            if (dst[i] != i % 256) return false;
    }
    return true;
}
