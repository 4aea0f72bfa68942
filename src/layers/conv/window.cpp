#include "layers/conv/window.hpp"

#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dynquant::layers {
namespace {

template <typename... Parts>
[[noreturn]] void refuse(dynquant::status status, const Parts &...parts) {
    throw error(status, concat(parts...));
}

std::vector<std::int64_t> values_of(const char *attribute, const std::vector<std::int64_t> &given, std::size_t count,
        std::int64_t least, std::int64_t default_value) {
    if (given.empty()) return std::vector(count, default_value);
    if (given.size() != count)
        refuse(status::invalid_arguments, "attribute '", attribute, "': expected ", count, " values, given ",
                given.size());
    for (const auto value : given)
        if (value < least || value > max_extent)
            refuse(status::invalid_arguments, "attribute '", attribute, "': expected values of ", least, " to ",
                    max_extent, ", given ", value);
    return given;
}

/// SAME: ceil(x / stride) positions. The padding is split evenly; an odd one goes to the end or the beginning.
void pad_same(window &w, bool odd_at_begin) {
    for (std::size_t d = 0; d < w.rank(); ++d) {
        const auto positions = ceil_div(w.x[d], w.strides[d]);
        const auto total = std::max<std::int64_t>(0, (positions - 1) * w.strides[d] + w.covered(d) - w.x[d]);
        w.pads_begin[d] = (total + (odd_at_begin ? 1 : 0)) / 2;
        w.pads_end[d] = total - w.pads_begin[d];
    }
}

void read_pads(const window_attributes &given, window &w) {
    const auto rank = w.rank();
    const auto &mode = given.auto_pad;
    const auto pads = values_of("pads", given.pads, 2 * rank, 0, 0);
    if (mode == "SAME_UPPER" || mode == "SAME_LOWER") return pad_same(w, mode == "SAME_LOWER");
    if (mode == "VALID") return;
    if (mode != "NOTSET")
        refuse(status::invalid_arguments,
                "attribute 'auto_pad': expected NOTSET, SAME_UPPER, SAME_LOWER or VALID, given '", mode, "'",
                suggest(mode, {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"}));
    const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(rank);
    w.pads_begin.assign(pads.begin(), middle);
    w.pads_end.assign(middle, pads.end());
}

/// The output extent along a dimension. ceil_mode also counts a window that ends beyond the padding, unless it begins
/// in the end padding.
std::int64_t positions(const window &w, std::size_t d, bool ceil) {
    const auto room = w.padded(d) - w.covered(d);
    if (room < 0) return 0;
    const auto whole = room / w.strides[d] + 1;
    const bool more = ceil && room % w.strides[d] != 0 && whole * w.strides[d] < w.x[d] + w.pads_begin[d];
    return whole + (more ? 1 : 0);
}

} // namespace

std::int64_t window::x_line(std::int64_t y_line, std::int64_t tap_line) const {
    std::int64_t result = 0, stride = 1;
    for (auto d = rank() - 1; d-- > 0;) {
        const auto at = position(d, y_line % y[d], tap_line % kernel[d]);
        if (at < 0 || at >= x[d]) return -1;
        result += at * stride;
        stride *= x[d];
        y_line /= y[d];
        tap_line /= kernel[d];
    }
    return result;
}

window::columns window::interior() const {
    const auto d = rank() - 1;
    const auto room = x[d] - covered(d) + pads_begin[d];
    const auto begin = std::min(ceil_div(pads_begin[d], strides[d]), y[d]);
    const auto end = room < 0 ? 0 : std::min(room / strides[d] + 1, y[d]);
    return {begin, std::max(begin, end)};
}

window make_window(const window_attributes &given, const dims &x, const dims &kernel) {
    if (!given.kernel_shape.empty() && given.kernel_shape != kernel)
        refuse(status::invalid_arguments, "attribute 'kernel_shape': expected ", to_string(kernel),
                ", as in the weights' shape, given ", to_string(given.kernel_shape));
    window w;
    w.x = x;
    w.kernel = kernel;
    const auto rank = w.rank();
    for (std::size_t d = 0; d < rank; ++d)
        if (w.x[d] > max_extent || kernel[d] < 1 || kernel[d] > max_extent)
            refuse(status::invalid_shape, "expected extents and windows of 1 to ", max_extent, ", given a window of ",
                    to_string(kernel), " over ", to_string(w.x));
    constexpr auto max_taps = std::int64_t {1} << 44; // more bytes than any machine has
    if (volume(kernel).value_or(max_taps) >= max_taps)
        refuse(status::invalid_shape, "expected a window of fewer than 2^44 taps, given ", to_string(kernel));
    w.strides = values_of("strides", given.strides, rank, 1, 1);
    w.dilations = values_of("dilations", given.dilations, rank, 1, 1);
    for (std::size_t d = 0; d < rank; ++d)
        if (kernel[d] == 1) w.dilations[d] = 1; // between no taps, so that none takes memory for it
    w.pads_begin = w.pads_end = dims(rank, 0);
    read_pads(given, w);
    for (std::size_t d = 0; d < rank; ++d) {
        w.y.push_back(positions(w, d, given.ceil));
        if (w.y.back() == 0)
            refuse(status::invalid_shape, "expected a window no larger than the padded tensor, given one of ",
                    to_string(kernel), " over ", to_string(w.x));
    }
    return w;
}

} // namespace dynquant::layers
