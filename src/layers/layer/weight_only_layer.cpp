#include "layers/layer/weight_only_layer.hpp"

#include <algorithm>

#include "layers/conv/float_windows.hpp"
#include "parallel/parallel.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dynquant::layers {
namespace {

/// Of more the vectors of float_windows are faster, whose weights are widened once for all positions.
constexpr std::int64_t max_positions_by_rows = 64;

/// The copied channels of a slice of a panel are at most so many: a second-level cache holds them.
constexpr std::int64_t copied_slice_floats = 16 * 1024;

/// Vectors of positions at once: `most`, and few enough for all parts to have some of the items, a panel of weights at
/// some vectors each.
std::int64_t vectors_at_once(std::int64_t vectors, std::int64_t most, std::int64_t panels, std::int64_t parts) {
    constexpr std::int64_t least = 6, items = 4; // of each part
    const auto wanted = std::min(ceil_div(items * parts, panels), ceil_div(vectors, least));
    return ceil_div(vectors, std::max(ceil_div(vectors, most), parts == 1 ? 1 : wanted));
}

} // namespace

weight_only_layer::weight_only_layer(
        const weight_only_description &d, targets::features available, weight_storage storage)
    : label_(d.label)
    , is_convolution_(d.is_convolution)
    , x_rank_(d.x_rank)
    , kernel_(d.kernel)
    , window_(d.window)
    , groups_(d.groups)
    , product_(d.weights, available, storage)
    , owned_(d.post_ops)
    , post_ops_(owned_)
    , joined_(is_convolution_ ? 1 : epilogue::positions_that_fill_tiles(product_.columns()))
    , joined_post_ops_(joined_ > 1 ? aligned_post_ops(owned_, joined_) : aligned_post_ops())
    , normalization_(d.normalization)
    , epilogue_(*targets::pick(available, epilogue_table)) {
    const auto filters = d.weights.columns;
    if (d.groups < 1 || filters % d.groups != 0 || d.groups > std::max<std::int64_t>(filters, 1))
        throw error(status::invalid_shape,
                concat(label_, ": attribute 'group': expected a divisor of the ", filters, " filters, given ",
                        d.groups));
    if (volume(kernel_).value_or(0) == 0)
        throw error(status::invalid_shape,
                concat(label_, ": W: expected a window of at least one tap, given ", to_string(kernel_)));
    if (!kernel_.empty()) end_sums();
}

/// Lets loops over windows apply the post-ops where these are a bias, a clip, both or none.
void weight_only_layer::end_sums() {
    const auto all = post_ops_.views();
    const auto has_bias = !all.empty() && all[0].what == post_op_kind::add;
    const auto rest = all.subspan(has_bias ? 1 : 0);
    has_clip_ = rest.size() == 1 && rest[0].what == post_op_kind::clip;
    sums_are_ended_ = rest.empty() || has_clip_;
    if (sums_are_ended_ && has_bias) summands_ = all[0].a;
    if (has_clip_) {
        lower_ = rest[0].a[0];
        upper_ = rest[0].b[0];
    }
}

window weight_only_layer::window_over(const dims &x) const {
    try {
        return make_window(window_, dims(x.begin() + 2, x.end()), kernel_);
    } catch (const error &e) {
        throw error(e.status, concat(label_, ": ", e.what()));
    }
}

dims weight_only_layer::y_of(const dims &x) const {
    std::optional<window> over_x;
    return y_of(x, over_x);
}

dims weight_only_layer::y_of(const dims &x, std::optional<window> &over_x) const {
    if (x_rank_ != 0 && x.size() != x_rank_)
        throw error(status::invalid_shape,
                concat(label_, is_convolution_ ? ": X" : ": A", ": expected rank ", x_rank_, ", given shape ",
                        to_string(x)));
    auto y = x;
    if (is_convolution_) {
        const auto channels = product_.inner() / *volume(kernel_) * groups_;
        if (x[1] != channels)
            throw error(status::invalid_shape,
                    concat(label_, ": X: expected ", channels, " channels, given shape ", to_string(x)));
        y[1] = product_.columns();
        if (kernel_.empty()) return y;
        over_x = window_over(x);
        std::ranges::copy(over_x->y, y.begin() + 2);
        constexpr auto most = std::int64_t {1} << 44; // elements, more than any machine holds
        if (volume(y).value_or(most) >= most)
            throw error(status::invalid_shape,
                    concat(label_, ": Y: expected fewer than 2^44 elements, given shape ", to_string(y)));
        return y;
    }
    if (x.empty() || x.back() != product_.inner())
        throw error(status::invalid_shape,
                concat(label_, ": A: expected ", product_.inner(), " columns, as many as B has rows, given shape ",
                        to_string(x)));
    y.back() = product_.columns();
    return y;
}

void weight_only_layer::run(const layer_arguments &given, const dims &x_shape, memory &m) const {
    std::optional<window> over_x;
    const auto y = y_of(x_shape, over_x);
    if (volume(y) == 0) return;
    if (over_x) return run_windows(given, y[0], *over_x, m);
    const auto rows = *volume(is_convolution_ ? dims(y.begin() + 2, y.end()) : dims(y.begin(), y.end() - 1));
    run_images(given, is_convolution_ ? y[0] : 1, rows, m);
}

void weight_only_layer::run_rows(
        const layer_arguments &given, std::int64_t rows, memory &m, const std::byte *weights) const {
    if (rows > 0 && product_.columns() > 0) run_images(given, 1, rows, m, weights);
}

/// Computes blocks of rows whose products stay in the second-level caches until the post-ops take them. The rows of a
/// convolution are the positions of an image, whose elements lie apart.
void weight_only_layer::run_images(const layer_arguments &given, std::int64_t images, std::int64_t rows, memory &m,
        const std::byte *weights) const {
    const auto inner = product_.inner(), columns = product_.columns();
    const auto *x = static_cast<const float *>(given.x);
    if (!is_convolution_ && owned_.empty() && !normalization_)
        return product_.run({x, rows, inner}, static_cast<float *>(given.y), columns, m.of_product, weights);
    auto block = std::min(rows, std::max<std::int64_t>(64 * 1024 / columns / 24, 1) * 24);
    if (is_convolution_) block = std::max(block, std::min(rows, max_weight_only_rows));
    auto *const products = workspace::ensure_size(m.products, static_cast<std::size_t>(block * columns));
    for (std::int64_t i = 0; i < images; ++i, x += inner * rows)
        for (std::int64_t begin = 0; begin < rows; begin += block) {
            const auto count = std::min(block, rows - begin);
            const auto of_block = is_convolution_ ? float_rows {x + begin, count, 1, rows}
                                                  : float_rows {x + begin * inner, count, inner};
            product_.run(of_block, products, columns, m.of_product, weights);
            finish(given, products, count, i * columns * rows + begin * (is_convolution_ ? 1 : columns), rows);
        }
}

/// Takes the products of some rows through the post-ops, to y from element `at` on. rows: of an image.
void weight_only_layer::finish(const layer_arguments &given, const float *products, std::int64_t count, std::int64_t at,
        std::int64_t rows) const {
    const auto columns = product_.columns();
    auto *const y = static_cast<float *>(given.y), *const to = given.before ? given.before : y;
    const rows_of_sums sums {products, true, columns, to + at, is_convolution_ ? 1 : columns,
            is_convolution_ ? rows : 1, given.tensor ? given.tensor + at : nullptr};
    parallel::for_each_part(count, parallel::parts_for_items(count, count * columns), [&](parallel::range part) {
        const auto first = at + part.begin * columns;
        const auto joined = joined_ == 1 ? 0 : (part.end - part.begin) / joined_;
        if (joined > 0) {
            const auto all = joined_ * columns;
            epilogue_.rows({joined_post_ops_.views()},
                    {products + part.begin * columns, true, all, to + first, all, 1,
                            given.tensor ? given.tensor + first : nullptr},
                    {0, joined}, {0, all});
        }
        epilogue_.rows({post_ops_.views()}, sums, {part.begin + joined * joined_, part.end}, {0, columns});
        if (normalization_)
            epilogue_.normalize(normalization_->view(), to + first, y + first, part.end - part.begin, columns);
    });
}

/// Computes some filters of a panel at some vectors of positions. Bias and clip are applied where the sums are; other
/// post-ops take results that lie in the second-level caches. By few positions a product of rows is faster, whose
/// vectors hold filters.
void weight_only_layer::run_windows(
        const layer_arguments &given, std::int64_t images, const window &w, memory &m) const {
    const auto &loop = product_.loop();
    const auto filters = product_.columns(), of_group = filters / groups_;
    const auto channels = product_.inner() / *volume(kernel_), all_channels = channels * groups_;
    const auto positions = *volume(w.y), x_elements = *volume(w.x);
    const float_windows windows(w, channels, of_group, loop.lanes);
    const auto *const x = static_cast<const float *>(given.x);
    const auto copy_all = [&](std::int64_t image, float *to) {
        const auto elements = windows.channel_elements();
        const auto parts = parallel::parts_for_items(all_channels, all_channels * elements);
        parallel::for_each_part(all_channels, parts, [&](parallel::range part) {
            auto *const copied = to + part.begin * elements;
            if (image == 0) windows.clear(part.end - part.begin, copied);
            windows.copy(x + (image * all_channels + part.begin) * x_elements, part.end - part.begin, copied);
        });
    };
    const auto copied_elements = windows.copied_elements(all_channels);
    if (groups_ == 1 && positions <= max_positions_by_rows && filters >= loop.columns) {
        auto *const copied = workspace::ensure_size(
                m.windows, static_cast<std::size_t>(copied_elements + product_.inner() * positions));
        auto *const rows = copied + copied_elements;
        auto *const products = workspace::ensure_size(m.products, static_cast<std::size_t>(positions * filters));
        for (std::int64_t image = 0; image < images; ++image) {
            copy_all(image, copied);
            windows.gather(copied, rows);
            product_.run({rows, positions, 1, positions}, products, filters, m.of_product);
            finish(given, products, positions, image * positions * filters, positions);
        }
        return;
    }

    // A part copies the channels of a slice of a panel where there are several groups: they stay in its second-level
    // cache.
    const bool copies_by_slice = groups_ > 1;
    const auto group_elements = channels * windows.channel_elements();
    const auto columns_of_slice = !copies_by_slice
            ? loop.columns
            : std::min(loop.columns, std::max<std::int64_t>(copied_slice_floats / (group_elements + 1), 1) * of_group);
    const auto slices_of_panel = ceil_div(loop.columns, columns_of_slice), slices = product_.panels() * slices_of_panel;
    const auto groups_of_slice = std::min(groups_, (columns_of_slice - 2) / of_group + 2);

    // The channels of one group at these vectors stay in a second-level cache, and so do sums for post-ops.
    const bool is_stored_once = sums_are_ended_ && !windows.are_joined();
    const auto vectors = std::ssize(windows.starts()) - 1;
    const auto work = positions * std::max<std::int64_t>(product_.inner(), 1) * filters / 4;
    const bool stays_in_slice = copies_by_slice && is_stored_once;
    const auto some_vectors =
            vectors_at_once(vectors, stays_in_slice ? vectors : 48, slices, parallel::parts_for(work, 0));
    // The loop down the lines of 3 x 3 taps takes whole ones.
    const bool goes_down_lines = stays_in_slice && of_group == 1 && product_.inner() == 9 && w.rank() > 1;
    const auto of_line = goes_down_lines ? windows.vectors_of_line() : 0;
    const auto at_once = goes_down_lines ? round_up(some_vectors, of_line) : some_vectors;
    const auto blocks = ceil_div(vectors, at_once), items = blocks * slices;
    const auto parts = parallel::parts_for_items(items, work);
    const auto lanes = (at_once + 1) * loop.lanes;
    const auto scratch_floats = weight_only_scratch_floats(loop.columns), sum_floats = columns_of_slice * lanes;
    const auto part_floats = scratch_floats + 3 * sum_floats
            + (copies_by_slice ? windows.copied_elements(groups_of_slice * channels) : 0);
    auto &memories = m.of_product.parts;
    if (std::ssize(memories) < parts) memories.resize(static_cast<std::size_t>(parts));
    for (auto &part : memories)
        workspace::ensure_size(part, static_cast<std::size_t>(part_floats));
    auto *const all =
            copies_by_slice ? nullptr : workspace::ensure_size(m.windows, static_cast<std::size_t>(copied_elements));

    auto *const y = given.before ? given.before : static_cast<float *>(given.y);
    for (std::int64_t image = 0; image < images; ++image) {
        if (!copies_by_slice) copy_all(image, all);
        parallel::for_each_part(items, parts, [&](parallel::range part, std::size_t index) {
            auto *const scratch = memories[index].data(), *const sums = scratch + scratch_floats,
                        *const results = sums + sum_floats, *const picked = results + sum_floats,
                        *const of_slice = picked + sum_floats;
            std::int64_t copied_slice = -1;
            for (auto item = part.begin; item < part.end; ++item) {
                const auto slice = copies_by_slice ? item / blocks : item % slices,
                           block = copies_by_slice ? item % blocks : item / slices;
                const auto begin = block * at_once, end = std::min(vectors, begin + at_once);
                const auto panel = slice / slices_of_panel, column = slice % slices_of_panel * columns_of_slice;
                const auto filter = panel * loop.columns + column;
                const auto count = std::min({columns_of_slice, loop.columns - column, filters - filter});
                if (count <= 0) continue;
                const auto first_group = copies_by_slice ? filter / of_group : 0;
                if (copies_by_slice && slice != copied_slice) {
                    const auto first = image * all_channels + first_group * channels;
                    const auto some = ((filter + count - 1) / of_group + 1 - first_group) * channels;
                    if (copied_slice < 0) windows.clear(groups_of_slice * channels, of_slice);
                    windows.copy(x + first * x_elements, some, of_slice);
                    copied_slice = slice;
                }
                const auto [first, last] = windows.of_vectors(begin, end);
                const auto at = (image * filters + filter) * positions + first;
                const auto *const places = windows.places().data() + begin;
                product_.run_windows({panel, {column, column + count}, copies_by_slice ? of_slice : all, first_group,
                                             windows.starts().data() + begin, windows.offsets().data(), end - begin,
                                             of_group, group_elements, of_line},
                        {is_stored_once ? y + at : results, is_stored_once ? positions : lanes, places,
                                windows.are_joined() ? places[0] + lanes : last, summands_, has_clip_, lower_, upper_,
                                sums},
                        scratch);
                if (windows.are_joined())
                    windows.pick(results, begin, end, count, lanes, sums_are_ended_ ? y + at : picked,
                            sums_are_ended_ ? positions : lanes);
                if (sums_are_ended_) continue;
                epilogue_.planes({post_ops_.views()},
                        {windows.are_joined() ? picked : results, true, lanes, filter, count, last - first, y + at,
                                positions, given.tensor ? given.tensor + at : nullptr});
            }
        });
    }
}

} // namespace dynquant::layers
