// All 2^32 floats, quantized by scales inside and outside the guard, the range of scales and zero points in which the
// native kernel divides by fewer operations.
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "group.hpp"
#include "parameters.hpp"
#include "quantization/text.hpp"
#include "text_parsing.hpp"
#include "vocabulary.hpp"

namespace dqbench::verify {
namespace {

using dynquant::concat;

constexpr std::int64_t floats_of_statement = 1 << 24; // of one sign, and of two exponents
constexpr std::size_t floats_of_run = 1 << 16;        // which stay in a cache, as their codes do
constexpr std::size_t floats_of_block = 256;

struct float_case {
    dynquant::numerics rule;
    data_type dst;
    float scale;
    std::int32_t zero_point;
};

class all_floats {
  public:
    all_floats(const float_case &c, std::uint32_t first)
        : case_(c)
        , first_(first)
        , src_(floats_of_run)
        , dst_(floats_of_run) {}

    digest compute(const way &w) {
        const auto how = options_of(w);
        hasher all;
        const auto whole = prepare(floats_of_run, how), block = prepare(floats_of_block, how), ends = prepare(2, how);
        for (std::int64_t done = 0; done < floats_of_statement; done += floats_of_run) {
            std::iota(src_.begin(), src_.end(), first_ + static_cast<std::uint32_t>(done));
            if (w.is_reference)
                run_monotonic(block, ends);
            else
                whole.run({src_.data(), nullptr, nullptr, dst_.data()});
            all.add(case_.dst, std::as_writable_bytes(std::span(dst_)));
        }
        return all.value();
    }

  private:
    dynquant::operation prepare(std::size_t count, const dynquant::options &how) const {
        const auto extent = static_cast<std::int64_t>(count);
        dynquant::quantization q;
        q.src = {data_type::f32, {extent}, {}};
        q.dst = {case_.dst, {extent}, {}};
        q.scales = {data_type::f32, {extent}, {case_.scale}};
        q.zero_points = {case_.rule == dynquant::numerics::onnx ? case_.dst : data_type::s32, {extent},
                {static_cast<double>(case_.zero_point)}};
        q.rule = case_.rule;
        return dynquant::prepare(q, how);
    }

    /// Quotient, sum, rounding and clamping are monotonic, and NaN gives one code. So where the codes at both ends of a
    /// block are equal, all between are, and the reference kernel computes the other blocks only: in each of 2^32
    /// floats it would take a day.
    void run_monotonic(const dynquant::operation &block, const dynquant::operation &ends) {
        for (std::size_t i = 0; i < src_.size(); i += floats_of_block) {
            const std::uint32_t at_ends[] {src_[i], src_[i + floats_of_block - 1]};
            std::uint8_t codes[2];
            ends.run({at_ends, nullptr, nullptr, codes});
            if (codes[0] == codes[1])
                std::fill_n(dst_.begin() + static_cast<std::ptrdiff_t>(i), floats_of_block, codes[0]);
            else
                block.run({&src_[i], nullptr, nullptr, &dst_[i]});
        }
    }

    float_case case_;
    std::uint32_t first_;
    std::vector<std::uint32_t> src_; // the bits
    std::vector<std::uint8_t> dst_;
};

constexpr int scales_of_region = 64;
constexpr int guard_exponent = 75; // scales from 2^-75 to 2^75 are inside

float drawn_mantissa(std::uint64_t i) {
    return 1 + static_cast<float>(mix(i) >> 41) * 0x1p-23F;
}

/// Every exponent but a few; the ends of the guard; powers of two; a mantissa of ones.
float scale_inside(int i) {
    if (i == 0) return std::ldexp(1.0F, -guard_exponent);
    if (i == 1) return std::ldexp(1.0F, guard_exponent);
    if (i == 2) return 0x1.fffffep-7F;
    const int exponent = -guard_exponent + i * 2 * guard_exponent / scales_of_region;
    const float scale = std::ldexp(i % 8 == 3 ? 1.0F : drawn_mantissa(static_cast<std::uint64_t>(i)), exponent);
    return i % 8 == 5 ? -scale : scale;
}

/// Special values; subnormals and numbers below the guard; numbers above it.
float scale_outside(int i) {
    using limits = std::numeric_limits<float>;
    constexpr float special[] = {0.0F, -0.0F, limits::infinity(), -limits::infinity(), limits::quiet_NaN(),
            limits::max(), limits::min(), limits::denorm_min(), 0x1.fffffep-76F, 0x1.000002p75F};
    constexpr int specials = std::size(special);
    if (i < specials) return special[i];
    const int rest = i - specials, below = guard_exponent - 1;
    const int exponent = rest % 2 == 0 ? -guard_exponent - 1 - rest * below / (scales_of_region - specials)
                                       : guard_exponent + 1 + rest * 50 / (scales_of_region - specials);
    const float scale = std::ldexp(drawn_mantissa(static_cast<std::uint64_t>(i) + 1000), exponent);
    return i % 8 == 5 ? -scale : scale;
}

/// Zero points of 8 bits, and under the strict rule in and beyond the guard.
std::int32_t zero_point_of(int i, dynquant::numerics rule, data_type dst) {
    constexpr std::int32_t wide[] = {0, 3, 0, -128, 0, (1 << 20) - 1, 77, 1 << 20, 0, -6000000, 0, INT32_MAX};
    if (rule == dynquant::numerics::strict) return wide[static_cast<std::size_t>(i) % std::size(wide)];
    const auto narrow = static_cast<std::int32_t>(mix(static_cast<std::uint64_t>(i)) % 256);
    return i % 2 == 0 ? 0 : dst == data_type::s8 ? narrow - 128 : narrow;
}

cell cell_of(const std::string &name, const float_case &c) {
    cell result {name, {}};
    const auto argument = concat(" --dt=f32:f32:", c.rule == dynquant::numerics::onnx ? name_of(c.dst) : "s32", ':',
            name_of(c.dst), " --scales=", to_shortest(c.scale), " --zps=", c.zero_point);
    for (std::uint64_t first = 0; first < std::uint64_t {1} << 32; first += floats_of_statement) {
        const auto from = static_cast<std::uint32_t>(first);
        result.statements.push_back(
                {concat("dqbench --api=direct --rule=", c.rule == dynquant::numerics::onnx ? "onnx" : "onednn",
                         argument, ' ', floats_of_statement, " (the floats of bits ", from, " and on)"),
                        floats_of_statement, [c, from]() -> computation {
                            const auto all = std::make_shared<all_floats>(c, from);
                            return [all](const way &w) { return all->compute(w); };
                        }});
    }
    return result;
}

} // namespace

std::vector<group> float_groups() {
    std::vector<group> result;
    for (const auto rule : {dynquant::numerics::strict, dynquant::numerics::onnx})
        for (const bool inside : {true, false}) {
            auto &g = result.emplace_back(
                    group {concat("long.floats.", dynquant::to_string(rule), '.', inside ? "inside" : "outside"),
                            operator_sets, {}});
            g.most_threads = 1; // a run is too small to be split
            for (int i = 0; i < scales_of_region; ++i) {
                const auto dst = i / 2 % 2 == 0 ? data_type::s8 : data_type::u8;
                const float scale = inside ? scale_inside(i) : scale_outside(i);
                g.cells.push_back(cell_of(concat(g.name, '/', i), {rule, dst, scale, zero_point_of(i, rule, dst)}));
            }
        }
    return result;
}

} // namespace dqbench::verify
