#include "layers/steps/isa/float_steps_of.hpp"

namespace dynquant::layers {
namespace {

struct scalar {
    static void transpose(const float *from, std::int64_t from_stride, float *to, std::int64_t to_stride) {
        for (std::int64_t row = 0; row < 8; ++row)
            for (std::int64_t column = 0; column < 8; ++column)
                to[column * to_stride + row] = from[row * from_stride + column];
    }
};

} // namespace

constinit const float_steps_function scalar_float_steps = float_steps<scalar>;

} // namespace dynquant::layers
