#include "limit/limit.hpp"

#include <algorithm>
#include <unistd.h>

#include "elements/table.hpp"
#include "kernels/native/processor.hpp"
#include "parallel/parallel.hpp"
#include "quantization/shape.hpp"
#include "targets/features.hpp"

namespace dqbench::limit {
namespace {

using namespace dynquant;

constexpr std::int64_t line = 64;

const instruction_set &set_for(targets::features available) {
    using namespace targets;
    return *pick<const instruction_set *>(available, {
#if defined(__x86_64__)
        {avx512, &avx512_set}, {avx2, &avx2_set},
#endif
                {scalar, &scalar_set},
    });
}

/// Whether native's microkernels load and store these types directly, without staging.
bool is_plain(const quantization &q) {
    if (q.dir == direction::requantize) return true;
    const auto plain = [](data_type type) {
        return type == data_type::f32 || type == data_type::s8 || type == data_type::u8;
    };
    return plain(q.src.type) && plain(q.dst.type) && q.scales.type == data_type::f32 && q.division == precision::f32;
}

/// The bytes of a tensor's elements, each once: a stride of 0 repeats elements.
std::int64_t bytes_of(const tensor &t) {
    const auto elements = volume(t.dims).value_or(0);
    if (elements == 0) return 0;
    return size_in_bytes(t.type, std::min(elements, last_offset(t.dims, strides_of(t)).value_or(elements) + 1));
}

class flat final : public kernels::implementation {
  public:
    flat(const tensor &src, const tensor &dst, const instruction_set &set)
        : function_(set.flat)
        , isa_(set.microkernels.name)
        , elements_(volume(dst.dims).value_or(0))
        , src_bytes_(bytes_of(src))
        , dst_bytes_(bytes_of(dst)) {}

    operation_info info() const override { return {kernel_kind::native, isa_}; }

    void run(const arguments &args) const override {
        if (elements_ == 0) return;
        const auto lines = ceil_div(dst_bytes_, line);
        const bool stream = kernels::native::pays_to_stream(src_bytes_, dst_bytes_);
        parallel::for_each_part(lines, parallel::parts_for(elements_, 0), [&](parallel::range part) {
            const auto src_at = [&](std::int64_t at) {
                return at == lines ? src_bytes_ : at * src_bytes_ / lines / line * line;
            };
            const auto src = src_at(part.begin), dst = part.begin * line;
            function_(static_cast<const char *>(args.src) + src, src_at(part.end) - src,
                    static_cast<char *>(args.dst) + dst, std::min(part.end * line, dst_bytes_) - dst, stream,
                    kernels::native::prefetch_distance);
        });
    }

  private:
    flat_function function_;
    const char *isa_;
    std::int64_t elements_, src_bytes_, dst_bytes_;
};

/// Elements of a block that the native kernel can hold in registers.
constexpr std::int64_t elements_in_registers = 128;

/// The bytes of a block that stays in the second-level cache while it is read twice.
std::int64_t cached_bytes() {
    static const std::int64_t bytes = [] {
        constexpr long usual = 1L << 20;
        const long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
        return (cache > 0 ? cache : usual) / 2;
    }();
    return bytes;
}

/// The least number of consecutive elements of a dense tensor that holds whole blocks.
std::int64_t elements_of_blocks(const dims &extents, const dims &block) {
    std::size_t outermost = 0;
    while (outermost < block.size() && block[outermost] == 1)
        ++outermost;
    if (outermost == block.size()) return 1;
    std::int64_t elements = std::min(block[outermost], extents[outermost]);
    for (auto d = outermost + 1; d < extents.size(); ++d)
        elements *= extents[d];
    return elements;
}

/// The limit of computed scales: the bytes of src once or twice and of dst once, in order, in any layout.
class computed_traffic final : public kernels::implementation {
  public:
    computed_traffic(const quantization &q, const instruction_set &set)
        : once_(q.src, q.dst, set)
        , set_(set)
        , elements_(volume(q.src.dims).value_or(0))
        , src_bytes_(bytes_of(q.src))
        , dst_bytes_(bytes_of(q.dst))
        , streams_(kernels::native::pays_to_stream(src_bytes_, dst_bytes_)) {
        if (elements_ == 0) return;
        const auto together = elements_of_blocks(q.src.dims, q.scales.block);
        blocks_ = elements_ / together;
        const bool cached = src_bytes_ / blocks_ <= cached_bytes();
        if (together <= elements_in_registers || (cached && streams_)) return;
        by_block_ = cached && blocks_ >= parallel::parts_for(elements_, 0);
        twice_ = true;
    }

    operation_info info() const override { return once_.info(); }

    void run(const arguments &args) const override {
        if (by_block_) return run_by_block(args);
        if (twice_) {
            const auto lines = src_bytes_ / line;
            parallel::for_each_part(lines, parallel::parts_for(elements_, 0), [&](parallel::range part) {
                keep(set_.read_ahead(
                        static_cast<const char *>(args.src) + part.begin * line, (part.end - part.begin) * line));
            });
        }
        once_.run(args);
    }

  private:
    void run_by_block(const arguments &args) const {
        const auto src_step = src_bytes_ / blocks_, dst_step = dst_bytes_ / blocks_;
        parallel::for_each_part(blocks_, parallel::parts_for(elements_, 0), [&](parallel::range part) {
            for (auto i = part.begin; i < part.end; ++i) {
                const char *const src = static_cast<const char *>(args.src) + i * src_step;
                keep(set_.read(src, src_step));
                set_.flat(src, src_step, static_cast<char *>(args.dst) + i * dst_step, dst_step, streams_, 0);
            }
        });
    }

    /// Keeps the compiler from leaving out what the sum is computed from.
    static void keep(float sum) {
        const volatile float kept = sum;
        static_cast<void>(kept);
    }

    flat once_;
    const instruction_set &set_;
    std::int64_t elements_, src_bytes_, dst_bytes_, blocks_ = 0;
    bool streams_, twice_ = false, by_block_ = false;
};

} // namespace

std::unique_ptr<kernels::implementation> prepare(const quantization &q, targets::features available) {
    const auto &set = set_for(available);
    if (q.computed) return std::make_unique<computed_traffic>(q, set);
    if (!is_plain(q)) return std::make_unique<flat>(q.src, q.dst, set);
    return kernels::native::implement(q, canonicalize(q), {available}, set.microkernels);
}

std::unique_ptr<kernels::implementation> prepare_flat(
        const tensor &src, const tensor &dst, targets::features available) {
    return std::make_unique<flat>(src, dst, set_for(available));
}

} // namespace dqbench::limit
