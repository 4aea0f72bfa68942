#include "kernels/native/implementation.hpp"

#include <algorithm>
#include <cstring>

#include "elements/table.hpp"
#include "kernels/native/plan.hpp"
#include "kernels/native/processor.hpp"
#include "parallel/float_control.hpp"
#include "parallel/parallel.hpp"
#include "quantization/shape.hpp"
#include "targets/features.hpp"

namespace dynquant::kernels::native {
namespace {

#if defined(__x86_64__)
/// AVX-512 with the formulas of AVX512-FP16.
const instruction_set &avx512_with_fp16() {
    static const instruction_set best = [] {
        auto set = avx512_set;
        set.families[static_cast<int>(kind::f16_u8)].exact = avx512_fp16_to_u8;
        set.families[static_cast<int>(kind::f16_s8)].exact = avx512_fp16_to_s8;
        return set;
    }();
    return best;
}
#endif

/// A walk's grains: `rows` by `columns` elements, `across` grains to a row of grains. Numbers continue from walk to
/// walk; this one's are [first, end).
struct grain_numbers {
    std::int64_t rows, columns, across, first, end;
};

grain_numbers number_grains(const walk &w, std::int64_t first) {
    const auto rows = w.axes.rows(), columns = w.axes.row.extent, across = ceil_div(columns, w.grain_columns);
    return {rows, columns, across, first, first + ceil_div(rows, w.grain_rows) * across};
}

/// Whether each byte of dst is written by one grain only. Elements of less than 8 bits may share a byte only within a
/// grain's row. If this holds for all walks, it holds across walks.
bool may_split(const walk &w, data_type dst) {
    const auto in_bytes = [bits = traits(dst).bits](std::int64_t elements) { return elements % 8 * bits % 8 == 0; };
    const auto stays = [&](const axis &a) { return in_bytes(a.dst_stride); };
    const auto &form = w.axes;
    return in_bytes(form.begin.dst) && std::all_of(form.loops, form.loops + form.loop_count, stays)
            && (stays(form.row) || form.row.dst_stride == 1);
}

class planned final : public implementation {
  public:
    planned(const quantization &q, const std::vector<canonical_form> &forms, const settings &s,
            const instruction_set &set, streaming when)
        : plan_(plan_of(q, forms, set))
        , has_bias_(q.bias.has_value())
        , has_second_scales_(q.second_scales.has_value())
        , isa_(set.name)
        , threads_(s.threads) {
        std::int64_t elements = 0;
        bool splits = true;
        for (const auto &w : plan_.walks) {
            const auto &last = grain_numbers_.emplace_back(number_grains(w, grain_count_));
            grain_count_ = last.end;
            elements += last.rows * last.columns;
            splits = splits && may_split(w, plan_.memory.dst);
        }
        tasks_ = splits ? elements / parallel::elements_per_part() : 1;
        streaming_ = when == streaming::always || pays_to_stream(plan_.memory.src, plan_.memory.dst, elements);
        is_flat_ = elements > 0 && is_flat(plan_) && tasks_ <= 1 && !streaming_;
        if (is_flat_) flat_ = flat_of(plan_);
    }

    operation_info info() const override { return {kernel_kind::native, isa_}; }

    void run(const arguments &args) const override {
        if (flat_ && run_flat(args)) return;
        const call c = {args.src, has_second_scales_ ? args.second_scales : nullptr, args.scales, zero_points_of(args),
                args.dst, streaming_ && begins_an_element(args.dst)};
        if (is_flat_) return parallel::for_each_part(1, 1, [&](parallel::range) { compute_flat(plan_, c); });
        parallel::for_each_part(grain_count_, task_count(), [&](parallel::range grains) {
            for (std::size_t i = 0; i < grain_numbers_.size(); ++i)
                run_grains(plan_.walks[i], grain_numbers_[i], c, grains);
        });
    }

  private:
    /// Whether the parameter is inside the guard, so that dst is computed.
    bool run_flat(const arguments &args) const {
        const parallel::float_control control; // all arithmetic is behind the call
        std::int32_t scale = 0;
        std::memcpy(&scale, args.scales, sizeof(scale)); // may be unaligned
        const auto zero_point = plan_.has_zero_points ? plain_zero_point(plan_.zero_points, args.zero_points) : 0;
        return flat_(args.src, args.dst, grain_numbers_[0].columns, scale, zero_point);
    }

    const void *zero_points_of(const arguments &args) const {
        if (!plan_.has_zero_points) return nullptr;
        return has_bias_ ? args.bias : args.zero_points;
    }

    /// Grains are numbered along rows of grains. A range consists of the end of one such row, whole rows, and the
    /// beginning of another; each part may be empty.
    void run_grains(const walk &w, const grain_numbers &all, const call &c, parallel::range grains) const {
        const auto begin = std::max(grains.begin - all.first, std::int64_t {0});
        const auto end = std::min(grains.end, all.end) - all.first;
        if (begin >= end) return;
        if (end - begin == all.end - all.first) return compute(plan_, w, c, {0, all.rows, 0, all.columns});
        const auto first = begin / all.across, last = end / all.across;
        const auto column_begin = begin % all.across * w.grain_columns;
        const auto column_end = end % all.across * w.grain_columns;
        const auto strips = [&](std::int64_t from, std::int64_t to, std::int64_t left, std::int64_t right) {
            compute(plan_, w, c, {from * w.grain_rows, std::min(to * w.grain_rows, all.rows), left, right});
        };
        if (first == last) return strips(first, first + 1, column_begin, column_end);
        if (column_begin > 0) strips(first, first + 1, column_begin, all.columns);
        const auto whole = column_begin > 0 ? first + 1 : first;
        if (whole < last) strips(whole, last, 0, all.columns);
        if (column_end > 0) strips(last, last + 1, 0, column_end);
    }

    /// Whether dst is aligned to its element size. If not, no element begins a cache line, and non-temporal stores
    /// would fault. oneDNN accepts such addresses.
    bool begins_an_element(const void *dst) const {
        const auto size = std::max(traits(plan_.memory.dst).bits / 8, 1);
        return reinterpret_cast<std::uintptr_t>(dst) % static_cast<std::uintptr_t>(size) == 0;
    }

    int task_count() const {
        if (tasks_ <= 1) return 1; // the query of the concurrency takes time
        const auto threads = threads_ > 0 ? threads_ : parallel::concurrency();
        return static_cast<int>(std::min<std::int64_t>(tasks_, threads));
    }

    plan plan_;
    std::vector<grain_numbers> grain_numbers_; // of each walk
    bool has_bias_, has_second_scales_;
    const char *isa_;
    int threads_;
    std::int64_t grain_count_ = 0, tasks_;
    bool streaming_, is_flat_;
    flat_microkernel flat_ = nullptr; // null: not available
};

} // namespace

const instruction_set &instruction_set_for(targets::features available) {
    using namespace targets;
    return *pick<const instruction_set *>(available, {
#if defined(__x86_64__)
        {avx512_fp16, &avx512_with_fp16()}, {avx512, &avx512_set}, {avx2, &avx2_set},
#endif
                {scalar, &scalar_set},
    });
}

std::unique_ptr<implementation> implement(const quantization &q, const std::vector<canonical_form> &forms,
        const settings &s, const instruction_set &set, streaming when) {
    return std::make_unique<planned>(q, forms, s, set, when);
}

} // namespace dynquant::kernels::native
