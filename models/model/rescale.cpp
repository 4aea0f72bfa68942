#include "model/rescale.hpp"

#include <algorithm>
#include <cmath>

namespace dynquant::models {

double rescale::value() const {
    return std::ldexp(static_cast<double>(quant_scale), -shift);
}

bool has_rescale(double multiplier) {
    return multiplier >= 0x1p-126 && multiplier <= static_cast<double>(largest_quant_scale);
}

rescale rescale_of(double multiplier) {
    // An integer of 24 bits, or of fewer where the shift reaches 126: 2^-126 is the least normal float.
    const int shift = std::min(23 - std::ilogb(multiplier), 126);
    rescale r {static_cast<std::int64_t>(std::ldexp(multiplier, shift)), shift};
    if (r.value() == multiplier)
        for (; r.shift > 0 && r.quant_scale % 2 == 0; --r.shift)
            r.quant_scale /= 2;
    for (; r.shift < 0; ++r.shift) // 2^24 needs 25 bits
        r.quant_scale *= 2;
    return r;
}

} // namespace dynquant::models
