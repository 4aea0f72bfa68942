#include "layers/gemm/weight_only/weight_only_product.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "layers/gemm/shared_weights.hpp"
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
        , is_shared_(w.scale_columns == 1)
        , group_(w.column_group) {
        const auto block = std::max<std::int64_t>(w.block, 1);
        for (std::int64_t k = 0; k < w.inner; ++k)
            first_.push_back(k / block * w.scale_columns);
    }
    std::int32_t at(std::int64_t k, std::int64_t n) const {
        if (!given_) return offset_;
        const auto column = is_shared_ ? 0 : group_ == 1 ? n : n / group_;
        return offset_ + given_[first_[static_cast<std::size_t>(k)] + column];
    }

  private:
    const std::int32_t *given_; // null: all are 0
    std::int32_t offset_;
    bool is_shared_;
    std::int64_t group_;
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
std::vector<To> in_panels(const std::vector<From> &from, std::int64_t blocks, const weight_only_panels &p,
        std::int64_t panels, std::int64_t panel_columns, From offset) {
    std::vector<To> to(static_cast<std::size_t>(panels * blocks * panel_columns));
    auto *next = to.data();
    for (std::int64_t panel = 0; panel < panels; ++panel)
        for (std::int64_t block = 0; block < blocks; ++block, next += panel_columns)
            for (std::int64_t n = 0; n < columns_of(p, panel, panel_columns); ++n)
                next[n] = static_cast<To>(
                        from[static_cast<std::size_t>(block * p.columns + first_column(p, panel, panel_columns) + n)]
                        + offset);
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

/// Nibbles of which a vector or a pair of rows begins within a byte, and NaN of f8_e4m3, take a look at each.
bool can_multiply_given(const weight_only_weights &w) {
    if (w.type == data_type::f8_e4m3) return false;
    if (!has_nibbles(w.type)) return true;
    if (w.is_transposed) return w.inner % 2 == 0 && (w.block % 2 == 0 || w.block >= w.inner || w.column_group > 1);
    return w.columns % 2 == 0 && (w.column_group % 2 == 0 || w.column_group == 1);
}

// It is called when a session is made: small rather than fast, for the Python package's sake.
[[gnu::cold]] weight_only_product::weight_only_product(
        const weight_only_weights &w, targets::features available, weight_storage storage)
    : loop_(*targets::pick(available, weight_only_table))
    , panels_() {
    auto &p = panels_;
    p.inner = w.inner;
    p.columns = w.columns;
    if (w.quantizes_x) {
        by_blocks_.emplace(w, available);
        return;
    }
    const bool is_grouped = w.column_group > 1;
    p.are_weights_scaled = !is_grouped && (w.are_float16 || (w.block == 1 && w.inner > 1));
    p.are_float16 = w.are_float16;
    p.groups.columns = is_grouped ? std::min(w.column_group, w.columns) : w.columns;
    p.groups.panels = std::max<std::int64_t>(ceil_div(p.groups.columns, loop_.columns), 1);
    p.parameter_block = std::max<std::int64_t>(is_grouped ? w.inner : std::min(w.block, w.inner), 1);
    p.block = p.are_weights_scaled ? std::max<std::int64_t>(w.inner, 1) : p.parameter_block;
    p.code = has_nibbles(w.type)           ? weight_code::u4
            : w.type == data_type::f8_e4m3 ? weight_code::f8_e4m3
            : w.type == data_type::f8_e5m2 ? weight_code::f8_e5m2
                                           : weight_code::s8;
    if (w.inner == 0 || w.columns == 0) return; // the other extent may be of any size, and no loop reads what follows
    const bool has_zero_points = !is_float8(w.type) && (code_offset(w.type) != 0 || !w.zero_points.empty());
    if (is_grouped) pack_groups(w, has_zero_points, storage);
    pack_parameters(w, has_zero_points && !is_grouped);
    p.given.stride = w.is_transposed ? w.inner : w.columns;
    p.given.is_transposed = w.is_transposed;
    p.given.are_nibbles = has_nibbles(w.type);
    p.given.flip = sign_flip(w.type);
    if (storage == weight_storage::given) return;
    const bool are_subtracted = has_zero_points && p.code == weight_code::s8 && differences_fit(w);
    pack_weights(w, are_subtracted);
    if (!are_subtracted) return;
    zero_points_.clear();
    group_zero_points_.clear();
    p.parameters.zero_points = p.groups.zero_points = nullptr;
}

std::int64_t weight_only_product::panels() const {
    const auto &g = panels_.groups;
    if (panels_.columns == 0) return 0;
    return panels_.columns / g.columns * g.panels + ceil_div(panels_.columns % g.columns, loop_.columns);
}

/// Zero points become those of each row.
void weight_only_product::pack_groups(const weight_only_weights &w, bool has_zero_points, weight_storage storage) {
    auto &g = panels_.groups;
    g.block = std::max<std::int64_t>(std::min(w.block, w.inner), 1);
    g.blocks = ceil_div(w.inner, g.block);
    const auto groups = ceil_div(w.columns, g.columns);
    const bool is_by_row = storage == weight_storage::given;
    g.scales_of_group = is_by_row ? 1 : g.blocks;
    g.scales_of_block = is_by_row ? groups : 1;
    g.zero_points_of_group = is_by_row ? 1 : w.inner;
    g.zero_points_of_row = g.scales_of_block;
    const auto offset = code_offset(w.type);
    x_scales_.resize(static_cast<std::size_t>(groups * g.blocks));
    group_zero_points_.resize(has_zero_points ? static_cast<std::size_t>(groups * w.inner + 1) : 0); // pairs are read
    for (std::int64_t group = 0; group < groups; ++group) {
        const auto at = [&](std::int64_t block) { return static_cast<std::size_t>(block * w.scale_columns + group); };
        for (std::int64_t block = 0; block < g.blocks; ++block)
            x_scales_[static_cast<std::size_t>(group * g.scales_of_group + block * g.scales_of_block)] =
                    w.scales[at(block)];
        for (std::int64_t k = 0; k < w.inner && has_zero_points; ++k)
            group_zero_points_[static_cast<std::size_t>(group * g.zero_points_of_group + k * g.zero_points_of_row)] =
                    static_cast<std::int8_t>(offset + (w.zero_points.empty() ? 0 : w.zero_points[at(k / g.block)]));
    }
    g.scales = x_scales_.data();
    if (has_zero_points) g.zero_points = group_zero_points_.data();
}

void weight_only_product::pack_weights(const weight_only_weights &w, bool are_subtracted) {
    auto &p = panels_;
    const std::int64_t in_byte = p.code == weight_code::u4 ? 2 : 1, last = w.inner - 1; // a row
    p.panel_bytes = (last / p.block * ceil_div(p.block, in_byte) + last % p.block / in_byte + 1) * loop_.columns;
    const auto size = static_cast<std::size_t>(panels() * p.panel_bytes);
    auto memory = allocate_weights(size);
    auto *const to = memory.get();
    parallel::for_each_part(panels(), parallel::parts_for(w.inner * w.columns, 0), [&](parallel::range part) {
        pack_panels(w, p, loop_.columns, are_subtracted, part, to + part.begin * p.panel_bytes);
    });
    weights_ = share_weights(std::move(memory), size);
    p.weights = weights_.get();
}

[[gnu::cold]] void weight_only_product::pack_parameters(const weight_only_weights &w, bool has_zero_points) {
    auto &p = panels_;
    const auto blocks = ceil_div(w.inner, p.parameter_block);
    // Loops know no NaN of f8_e4m3: a scale of NaN gives the same.
    auto scales = p.groups.scales ? std::vector<float> {1} : w.scales;
    bool is_shared = p.groups.scales || w.scale_columns == 1;
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
    auto in_order = is_shared ? in_one_panel<float>(scales, loop_.columns, no_offset)
                              : in_panels<float>(scales, blocks, p, panels(), loop_.columns, no_offset);
    scale_count_ = in_order.size();
    scales_ = share_values(std::move(in_order));
    p.parameters.scales = scales_.get();
    if (!has_zero_points) return;
    auto zero_points = w.zero_points;
    if (zero_points.empty()) zero_points.resize(w.scales.size());
    const auto offset = code_offset(w.type);
    zero_points_ = is_shared ? in_one_panel<std::int8_t>(zero_points, loop_.columns, offset)
                             : in_panels<std::int8_t>(zero_points, blocks, p, panels(), loop_.columns, offset);
    p.parameters.zero_points = zero_points_.data();
}

std::size_t weight_only_product::bytes() const {
    if (by_blocks_) return by_blocks_->bytes();
    return static_cast<std::size_t>(panels() * panels_.panel_bytes) + (scale_count_ + x_scales_.size()) * sizeof(float)
            + zero_points_.size() + group_zero_points_.size();
}

void weight_only_product::run(const float_rows &x, float *y, std::int64_t y_stride, weight_only_workspace &memory,
        const std::byte *data) const {
    const auto rows = x.rows;
    if (rows == 0 || panels_.columns == 0) return;
    if (by_blocks_) return by_blocks_->run(x, y, y_stride, memory.quantized_x);
    if (data && panels_.inner > 0) {
        auto p = panels_;
        p.given.data = data;
        return run_given(p, x, y, y_stride, memory);
    }
    // A part's least work takes about as long as that of other loops: an element stands for four products.
    const auto work = rows * std::max<std::int64_t>(panels_.inner, 1) * panels_.columns / 4;
    const auto panels = this->panels();
    // Blocks of rows share widened weights; few panels are shared out by rows, too.
    constexpr std::int64_t min_rows = 12;
    const auto wanted = std::min(ceil_div(parallel::parts_for(work, 0), panels), rows / min_rows);
    const auto min_blocks = std::max(ceil_div(rows, max_weight_only_rows), wanted);
    const auto block = round_up(ceil_div(rows, min_blocks), weight_only_tile_rows), blocks = ceil_div(rows, block);
    const auto items = blocks * panels;
    const auto parts = parallel::parts_for_items(items, work);
    if (std::ssize(memory.parts) < parts) memory.parts.resize(static_cast<std::size_t>(parts));
    const bool is_copied =
            x.step != 1 || panels_.groups.scales || (block >= min_many_rows && panels_.block <= max_many_block);
    const auto floats = static_cast<std::size_t>(
            weight_only_scratch_floats(loop_.columns) + (is_copied ? copied_row_floats(block, panels_.inner) : 0));
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

void weight_only_product::run_given(const weight_only_panels &p, const float_rows &x, float *y, std::int64_t y_stride,
        weight_only_workspace &memory) const {
    const auto work = x.rows * p.inner * p.columns / 4;
    const auto parts = parallel::parts_for_items(panels(), work);
    if (std::ssize(memory.parts) < parts) memory.parts.resize(static_cast<std::size_t>(parts));
    const auto floats = static_cast<std::size_t>(
            weight_only_scratch_floats(loop_.columns) + given_floats(x.rows, panels(), loop_.columns));
    for (auto &part : memory.parts)
        if (part.size() < floats) part.resize(floats);
    parallel::for_each_part(panels(), parts, [&](parallel::range part, std::size_t index) {
        loop_.multiply_given(p, x, part, y, y_stride, memory.parts[index].data());
    });
}

} // namespace dynquant::layers
