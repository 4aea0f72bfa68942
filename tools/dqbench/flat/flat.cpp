#include "flat/flat.hpp"

#include <algorithm>

#include "elements/table.hpp"
#include "kernels/native/processor.hpp"
#include "parallel/parallel.hpp"
#include "quantization/shape.hpp"

namespace dqbench::flat {
namespace {

using namespace dynquant;

/// The bytes of a tensor's elements, each once: a stride of 0 repeats elements.
std::int64_t bytes_of(const tensor &t) {
    const auto elements = volume(t.dims).value_or(0);
    if (elements == 0) return 0;
    return size_in_bytes(t.type, std::min(elements, last_offset(t.dims, strides_of(t)).value_or(elements) + 1));
}

} // namespace

loop::loop(const tensor &src, const tensor &dst, targets::features available)
    : function_(*targets::pick(available, flat_table))
    , elements_(volume(dst.dims).value_or(0))
    , src_bytes_(bytes_of(src))
    , dst_bytes_(bytes_of(dst)) {}

void loop::run(const void *src, void *dst) const {
    if (elements_ == 0) return;
    constexpr std::int64_t line = 64;
    const auto lines = ceil_div(dst_bytes_, line);
    const bool stream = kernels::native::pays_to_stream(src_bytes_, dst_bytes_);
    parallel::for_each_part(lines, parallel::parts_for(elements_, 0), [&](parallel::range part) {
        const auto src_at = [&](std::int64_t at) {
            return at == lines ? src_bytes_ : at * src_bytes_ / lines / line * line;
        };
        const auto from = src_at(part.begin), to = part.begin * line;
        function_(static_cast<const char *>(src) + from, src_at(part.end) - from, static_cast<char *>(dst) + to,
                std::min(part.end * line, dst_bytes_) - to, stream);
    });
}

} // namespace dqbench::flat
