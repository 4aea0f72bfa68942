#include "layers/gemm/weight_only/weight_only_product.hpp"

#include <algorithm>
#include <limits>

#include "layers/gemm/weight_only/pack_weights.hpp"
#include "layers/gemm/weights_memory.hpp"
#include "parallel/parallel.hpp"
#include "quantization/shape.hpp"

namespace dynquant::layers {
namespace {

bool is_float8(data_type type) {
    return type == data_type::f8_e4m3 || type == data_type::f8_e5m2;
}

bool has_nibbles(data_type type) {
    return type == data_type::s4 || type == data_type::u4;
}

/// Calls f(k, n, code) for all weights, in memory's order: integers with their offset, the codes of floats. Always
/// inlined, so that each type has a loop.
template <typename F>
[[gnu::always_inline]] inline void for_each_weight(const weight_only_weights &w, const F &f) {
    const auto offset = code_offset(w.type);
    const auto visit = [&](auto code_at) __attribute__((always_inline)) {
        std::int64_t at = 0;
        if (w.is_transposed)
            for (std::int64_t n = 0; n < w.columns; ++n)
                for (std::int64_t k = 0; k < w.inner; ++k, ++at)
                    f(k, n, code_at(at));
        else
            for (std::int64_t k = 0; k < w.inner; ++k)
                for (std::int64_t n = 0; n < w.columns; ++n, ++at)
                    f(k, n, code_at(at));
    };
    const auto *const data = w.data;
    if (has_nibbles(w.type)) {
        const std::int32_t sign = w.type == data_type::s4 ? 8 : 0; // with the offset
        visit([=](std::int64_t at) __attribute__((always_inline)) {
            return (std::to_integer<std::int32_t>(data[at >> 1]) >> (at & 1) * 4 & 15) ^ sign;
        });
    } else if (w.type == data_type::s8) {
        visit([=](std::int64_t at) __attribute__((always_inline)) {
            return std::int32_t {std::to_integer<std::int8_t>(data[at])};
        });
    } else {
        visit([=](std::int64_t at)
                        __attribute__((always_inline)) { return std::to_integer<std::int32_t>(data[at]) + offset; });
    }
}

/// Zero points with their offset, of the weight of a row and a column. Without divisions for each weight.
class zero_points_of {
  public:
    explicit zero_points_of(const weight_only_weights &w)
        : given_(w.zero_points.empty() ? nullptr : w.zero_points.data())
        , offset_(code_offset(w.type))
        , is_shared_(w.scale_columns == 1) {
        const auto block = std::max<std::int64_t>(w.block, 1);
        for (std::int64_t k = 0; k < w.inner; ++k)
            first_.push_back(k / block * w.scale_columns);
    }
    std::int32_t at(std::int64_t k, std::int64_t n) const {
        return given_ ? offset_ + given_[first_[static_cast<std::size_t>(k)] + (is_shared_ ? 0 : n)] : offset_;
    }

  private:
    const std::int32_t *given_; // null: all are 0
    std::int32_t offset_;
    bool is_shared_;
    std::vector<std::int64_t> first_; // of each row
};

/// Whether every difference of a weight and its zero point is an s8: uint8 with a zero point of 128, for one. Then
/// differences are packed.
bool differences_fit(const weight_only_weights &w) {
    const zero_points_of zero_points(w);
    bool fit = true;
    for_each_weight(
            w, [&](std::int64_t k, std::int64_t n, std::int32_t code) __attribute__((always_inline)) {
                const auto difference = code - zero_points.at(k, n);
                fit &= difference >= -128 && difference <= 127;
            });
    return fit;
}

std::vector<float> for_each_column(const std::vector<float> &scales, std::int64_t columns) {
    std::vector<float> result;
    for (const auto scale : scales)
        result.insert(result.end(), static_cast<std::size_t>(columns), scale);
    return result;
}

/// The offset of scales: -0 keeps each float, where 0 would make 0 of -0.
constexpr float no_offset = -0.0F;

/// Lays parameters out in panels, padded by 0.
template <typename To, typename From>
std::vector<To> in_panels(const std::vector<From> &from, std::int64_t blocks, std::int64_t columns,
        std::int64_t panel_columns, From offset) {
    const auto panels = ceil_div(columns, panel_columns);
    std::vector<To> to(static_cast<std::size_t>(panels * blocks * panel_columns));
    auto *next = to.data();
    for (std::int64_t panel = 0; panel < panels; ++panel)
        for (std::int64_t block = 0; block < blocks; ++block, next += panel_columns)
            for (std::int64_t n = 0; n < std::min(panel_columns, columns - panel * panel_columns); ++n)
                next[n] = static_cast<To>(
                        from[static_cast<std::size_t>(block * columns + panel * panel_columns + n)] + offset);
    return to;
}

/// Lays one parameter for all columns out as a panel.
template <typename To, typename From>
std::vector<To> in_one_panel(const std::vector<From> &from, std::int64_t panel_columns, From offset) {
    std::vector<To> to;
    for (const auto value : from)
        to.insert(to.end(), static_cast<std::size_t>(panel_columns), static_cast<To>(value + offset));
    return to;
}

} // namespace

bool have_zero_points_of_their_type(const weight_only_weights &w) {
    const std::int32_t count = has_nibbles(w.type) ? 16 : 256;
    const std::int32_t least = w.type == data_type::s8 || w.type == data_type::s4 ? -count / 2 : 0;
    return std::ranges::all_of(w.zero_points, [=](std::int32_t zp) { return zp >= least && zp < least + count; });
}

weight_only_product::weight_only_product(const weight_only_weights &w, targets::features available)
    : loop_(*targets::pick(available, weight_only_table))
    , panels_() {
    auto &p = panels_;
    p.inner = w.inner;
    p.columns = w.columns;
    p.are_weights_scaled = w.are_float16 || (w.block == 1 && w.inner > 1);
    p.are_float16 = w.are_float16;
    p.parameter_block = std::max<std::int64_t>(std::min(w.block, w.inner), 1);
    p.block = p.are_weights_scaled ? std::max<std::int64_t>(w.inner, 1) : p.parameter_block;
    p.code = has_nibbles(w.type)           ? weight_code::u4
            : w.type == data_type::f8_e4m3 ? weight_code::f8_e4m3
            : w.type == data_type::f8_e5m2 ? weight_code::f8_e5m2
                                           : weight_code::s8;
    if (w.inner == 0 || w.columns == 0) return; // the other extent may be of any size, and no loop reads what follows
    const bool has_zero_points = !is_float8(w.type) && (code_offset(w.type) != 0 || !w.zero_points.empty());
    pack_parameters(w, has_zero_points);
    const bool are_subtracted = has_zero_points && p.code == weight_code::s8 && differences_fit(w);
    pack_weights(w, are_subtracted ? zero_points_ : std::vector<std::int8_t> {});
    if (!are_subtracted) return;
    zero_points_.clear();
    p.parameters.zero_points = nullptr;
}

void weight_only_product::pack_weights(const weight_only_weights &w, const std::vector<std::int8_t> &subtracted) {
    auto &p = panels_;
    const std::int64_t in_byte = p.code == weight_code::u4 ? 2 : 1, last = w.inner - 1; // a row
    p.panel_bytes = (last / p.block * ceil_div(p.block, in_byte) + last % p.block / in_byte + 1) * loop_.columns;
    const auto panels = ceil_div(w.columns, loop_.columns);
    weights_ = allocate_weights(static_cast<std::size_t>(panels * p.panel_bytes));
    p.weights = weights_.get();
    auto *const to = weights_.get();
    parallel::for_each_part(panels, parallel::parts_for(w.inner * w.columns, 0), [&](parallel::range part) {
        pack_panels(w, p, loop_.columns, subtracted, part, to + part.begin * p.panel_bytes);
    });
}

void weight_only_product::pack_parameters(const weight_only_weights &w, bool has_zero_points) {
    auto &p = panels_;
    const auto blocks = ceil_div(w.inner, p.parameter_block);
    // Loops know no NaN of f8_e4m3: a scale of NaN gives the same.
    auto scales = w.scales;
    bool is_shared = w.scale_columns == 1;
    if (p.code == weight_code::f8_e4m3)
        for_each_weight(
                w, [&](std::int64_t k, std::int64_t n, std::int32_t code) __attribute__((always_inline)) {
                    if ((code & 0x7f) != 0x7f) return;
                    if (is_shared) scales = for_each_column(scales, w.columns);
                    is_shared = false;
                    scales[static_cast<std::size_t>(k / p.parameter_block * w.columns + n)] =
                            std::numeric_limits<float>::quiet_NaN();
                });
    p.parameters.of_panel = is_shared ? 0 : blocks * loop_.columns;
    scales_ = is_shared ? in_one_panel<float>(scales, loop_.columns, no_offset)
                        : in_panels<float>(scales, blocks, w.columns, loop_.columns, no_offset);
    p.parameters.scales = scales_.data();
    if (!has_zero_points) return;
    auto zero_points = w.zero_points;
    if (zero_points.empty()) zero_points.resize(w.scales.size());
    const auto offset = code_offset(w.type);
    zero_points_ = is_shared ? in_one_panel<std::int8_t>(zero_points, loop_.columns, offset)
                             : in_panels<std::int8_t>(zero_points, blocks, w.columns, loop_.columns, offset);
    p.parameters.zero_points = zero_points_.data();
}

std::size_t weight_only_product::bytes() const {
    const auto panels = ceil_div(panels_.columns, loop_.columns);
    return static_cast<std::size_t>(panels * panels_.panel_bytes) + scales_.size() * sizeof(float)
            + zero_points_.size();
}

void weight_only_product::run(
        const float_rows &x, float *y, std::int64_t y_stride, weight_only_workspace &memory) const {
    const auto rows = x.rows;
    if (rows == 0 || panels_.columns == 0) return;
    // A part's least work takes about as long as that of other loops: an element stands for four products.
    const auto work = rows * std::max<std::int64_t>(panels_.inner, 1) * panels_.columns / 4;
    const auto panels = ceil_div(panels_.columns, loop_.columns);
    // Blocks of rows share widened weights; few panels are shared out by rows, too.
    constexpr std::int64_t min_rows = 12;
    const auto wanted = std::min(ceil_div(parallel::parts_for(work, 0), panels), rows / min_rows);
    const auto min_blocks = std::max(ceil_div(rows, max_weight_only_rows), wanted);
    const auto block = round_up(ceil_div(rows, min_blocks), weight_only_tile_rows), blocks = ceil_div(rows, block);
    const auto items = blocks * panels;
    const auto parts = parallel::parts_for_items(items, work);
    if (std::ssize(memory.parts) < parts) memory.parts.resize(static_cast<std::size_t>(parts));
    const auto floats = static_cast<std::size_t>(
            weight_only_scratch_floats(loop_.columns) + (x.step == 1 ? 0 : copied_row_floats(block, panels_.inner)));
    for (auto &part : memory.parts)
        if (part.size() < floats) part.resize(floats);
    parallel::for_each_part(items, parts, [&](parallel::range part, std::size_t index) {
        auto *const scratch = memory.parts[index].data();
        for (auto item = part.begin; item < part.end;) {
            const auto first = item / panels * block, panel = item % panels;
            const auto end = std::min(panels, panel + part.end - item);
            loop_.multiply(panels_, {x.first + first * x.stride, std::min(block, rows - first), x.stride, x.step},
                    {panel, end}, y + first * y_stride, y_stride, scratch);
            item += end - panel;
        }
    });
}

} // namespace dynquant::layers
