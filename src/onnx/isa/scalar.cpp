#include "onnx/isa/extremes_of.hpp"

namespace dynquant::onnx {
namespace {

struct scalar {
    static constexpr int width = 1;
    using vector = float;
    using unordered = bool;
    static vector load(const float *x) { return *x; }
    static void store(float *to, vector v) { *to = v; }
    static vector least(vector x, vector m) { return x < m ? x : m; }
    static vector greatest(vector x, vector m) { return x > m ? x : m; }
    static unordered note(unordered u, vector a, vector b) { return u || a != a || b != b; }
    static bool any(unordered u) { return u; }
};

} // namespace

constinit const extremes_function scalar_extremes = extremes_of<scalar>;

} // namespace dynquant::onnx
