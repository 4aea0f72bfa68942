#include "kernels/native/implementation.hpp"

#include <algorithm>
#include <cstring>

#include "elements/table.hpp"
#include "kernels/native/plan.hpp"
#include "kernels/native/processor.hpp"
#include "parallel/float_control.hpp"
#include "parallel/parallel.hpp"
#include "targets/features.hpp"

namespace dynquant::kernels::native {
namespace {

/// A table with formulas for exact scales of f16, and the families to which it refers.
struct set_with_float16 {
    std::vector<family> families;
    kernel_loops loops;

    set_with_float16(const kernel_loops &of, const float16_formulas &exact)
        : families(of.families, of.families + of.family_count)
        , loops(of) {
        const auto exact_to = [&](data_type dst) -> exact_formulas & {
            const formula_query to_dst = {direction::quantize, dst, false, numerics::onnx, precision::f16, true};
            return families[static_cast<std::size_t>(&family_for(of, to_dst) - of.families)].exact;
        };
        exact_to(data_type::u8) = exact.to_u8;
        exact_to(data_type::s8) = exact.to_s8;
        loops.families = families.data();
    }
};

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
            const kernel_loops &loops, streaming when)
        : plan_(plan_of(q, forms, loops))
        , has_second_scales_(q.second_scales.has_value())
        , isa_(loops.name)
        , threads_(s.threads) {
        std::int64_t elements = 0;
        bool splits = true;
        for (const auto &w : plan_.walks) {
            const auto &last = grains_.emplace_back(w.axes, w.grain_rows, w.grain_columns, grain_count_);
            grain_count_ = last.end;
            elements += last.all_rows * last.all_columns;
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
        const call c = {args.src, has_second_scales_ ? args.second_scales : nullptr, args.scales,
                plan_.has_zero_points ? args.zero_points : nullptr, args.dst,
                streaming_ && begins_an_element(args.dst)};
        if (is_flat_) return parallel::for_each_part(1, 1, [&](parallel::range) { compute_flat(plan_, c); });
        parallel::for_each_part(grain_count_, task_count(), [&](parallel::range part) {
            for (std::size_t i = 0; i < grains_.size(); ++i)
                for_each_strip(grains_[i], part, [&](const rectangle &r) { compute(plan_, plan_.walks[i], c, r); });
        });
    }

  private:
    /// Whether the parameter is inside the guard, so that dst is computed.
    bool run_flat(const arguments &args) const {
        const parallel::float_control control; // all arithmetic is behind the call
        std::int32_t scale = 0;
        std::memcpy(&scale, args.scales, sizeof(scale)); // may be unaligned
        const auto zero_point = plan_.has_zero_points ? plain_zero_point(plan_.zero_points, args.zero_points) : 0;
        return flat_(args.src, args.dst, grains_[0].all_columns, scale, zero_point);
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
    std::vector<grains> grains_; // of each walk
    bool has_second_scales_;
    const char *isa_;
    int threads_;
    std::int64_t grain_count_ = 0, tasks_;
    bool streaming_, is_flat_;
    flat_microkernel flat_ = nullptr; // null: not available
};

} // namespace

const kernel_loops &loops_for(targets::features available) {
    const auto &loops = *targets::pick(available, loops_table);
    const auto &exact = *targets::pick(available, float16_table);
    if (!exact.to_u8.is_exact) return loops;
    static const set_with_float16 with_float16(loops, exact); // no processor has two
    return with_float16.loops;
}

std::unique_ptr<implementation> implement(const quantization &q, const std::vector<canonical_form> &forms,
        const settings &s, const kernel_loops &loops, streaming when) {
    return std::make_unique<planned>(q, forms, s, loops, when);
}

} // namespace dynquant::kernels::native

/// The native kernel computes every statement.
constinit const dynquant::kernels::kernel dynquant::kernels::native_kernel = {
        kernel_kind::native, [](const quantization &q, const settings &s) -> attempt {
            const auto &loops = native::loops_for(s.available);
            if (q.computed) return {native::implement_computed(q, s, loops)};
            return {native::implement(q, canonicalize(q), s, loops)};
        }};
