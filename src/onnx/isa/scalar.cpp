#include "onnx/isa/extremes_of.hpp"

namespace dynquant::onnx {
namespace {

struct scalar : vectors<sizeof(float)> {
    using unordered = bool;
    static unordered mark_nan(unordered u, vector a, vector b) { return u || a[0] != a[0] || b[0] != b[0]; }
    static bool any(unordered u) { return u; }
};

} // namespace

constinit const extremes_function scalar_extremes = extremes_of<scalar>;

} // namespace dynquant::onnx
