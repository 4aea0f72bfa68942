// Errors that name the node: "node 'fc1' (MatMulInteger): B 'w': expected ..., given ...".
#pragma once

#include "model/graph.hpp"
#include "quantization/text.hpp"

namespace dynquant::models {

template <typename... Parts>
[[noreturn]] void refuse(const node &n, dnnl_status_t status, const Parts &...parts) {
    throw error(status, printable(concat(label(n), ": ", parts...)));
}

/// Calls body(); what it throws gets the file's name in front.
template <typename Body>
auto naming(const std::string &file, const Body &body) {
    try {
        return body();
    } catch (const error &e) {
        throw error(e.status, concat(file, ": ", e.message));
    }
}

} // namespace dynquant::models
