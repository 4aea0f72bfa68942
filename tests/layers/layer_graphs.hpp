// Graphs of one product, and what is behind it.
#pragma once

#include "random_graph.hpp"

namespace dynquant::layers::match {

/// x and w: the inputs of a product, whose weights have this shape.
inline builder inputs_of(const dims &weights) {
    builder b;
    b.add("x", data_type::u8, std::nullopt);
    b.add_bytes("w", weights);
    return b;
}

/// x (3x4 bytes) times w (4x5), in `sums`, whose shape is known.
inline builder product() {
    builder b;
    b.add("x", data_type::u8, dims {3, 4});
    b.add_bytes("w", {4, 5}, 7, data_type::s8);
    b.add("sums", data_type::s32, dims {3, 5});
    b.then("MatMulInteger", {"x", "w"}, {"sums"});
    return b;
}

/// product() and a Cast, which makes its sums the floats `f`.
inline builder floats() {
    auto b = product();
    b.cast("sums", "f");
    return b;
}

/// `of` and a node behind it, whose result is v.
inline builder after(builder of, const char *op, const names &inputs) {
    of.then(op, inputs, {"v"});
    return of;
}

inline void quantize(builder &b, const std::string &x, const std::string &y, data_type to = data_type::s8) {
    b.add(y, to, dims {3, 5});
    b.then("QuantizeLinear", {x, "y_scale", "y_zero_point"}, {y});
}

inline std::string end_of(const builder &b, const table_maker &tabulate = {}) {
    const auto result = b.find(tabulate);
    return result.found ? result.found->end : "no layer: " + result.reason;
}

} // namespace dynquant::layers::match
