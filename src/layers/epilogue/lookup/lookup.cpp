#include "layers/epilogue/lookup/lookup.hpp"

#include <algorithm>

#include "parallel/parallel.hpp"
#include "quantization/shape.hpp"
#include "targets/features.hpp"

namespace dynquant::lookup {
namespace {

/// Bytes of a cache line. Splitting by lines keeps threads from writing to the same one where dst is aligned.
constexpr std::int64_t line_bytes = 64;

/// A look-up of a byte takes about a quarter of the time of a conversion, the unit of parallel::parts_for.
constexpr std::int64_t bytes_per_element = 4;

} // namespace

look_up_function function_for(targets::features available) {
    return *targets::pick(available, look_up_table);
}

void look_up(look_up_function function, const table &values, const std::uint8_t *src, std::uint8_t *dst,
        std::int64_t count, int threads) {
    const auto lines = ceil_div(count, line_bytes);
    const auto parts = parallel::parts_for(count / bytes_per_element, threads);
    parallel::for_each_part(lines, parts, [&](parallel::range part) {
        const auto begin = part.begin * line_bytes;
        function(values, src + begin, dst + begin, std::min(part.end * line_bytes, count) - begin);
    });
}

} // namespace dynquant::lookup
