// Statements whose scales are computed.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "elements/load_store.hpp"
#include "kernels/native/implementation.hpp"
#include "kernels/native/plan.hpp"
#include "kernels/native/processor.hpp"
#include "kernels/native/scales/box_parameters.hpp"
#include "kernels/native/scales/boxes.hpp"
#include "kernels/native/scales/groups.hpp"
#include "kernels/native/walker.hpp"
#include "parallel/parallel.hpp"
#include "quantization/canonical.hpp"
#include "quantization/computed.hpp"
#include "quantization/shape.hpp"

namespace dynquant::kernels::native {
namespace {

/// Elements that one task reads at a time where all threads share a box.
constexpr std::int64_t elements_per_grain = 16 << 10;

/// No extent of a block beyond the tensor's. Division by a power of two is multiplication by its reciprocal, which is
/// exact; floats of fewer bits then take one operation.
quantization simplified(quantization q) {
    if (q.scales.type == data_type::f8_e8m0 && !traits(q.dst.type).integral)
        q.computed->quotient = scale_quotient::multiply_reciprocal;
    for (std::size_t d = 0; d < q.src.dims.size(); ++d)
        q.scales.block[d] = std::min(q.scales.block[d], q.src.dims[d]);
    if (q.zero_points) q.zero_points->block = q.scales.block;
    return q;
}

/// The statement that quantizes by the parameters found, with its multipliers as scales, or as second scales beside
/// scales that limit src.
quantization quantization_of_box(quantization q) {
    const bool divides = q.computed->quotient == scale_quotient::divide;
    q.scales.type = data_type::f32;
    q.second_scales.reset();
    if (divides)
        q.computed.reset();
    else if (traits(q.dst.type).integral)
        q.second_scales = q.scales;
    return q;
}

/// Boxes of one shape: those at the end of a dim may be shorter.
struct box_shape {
    std::int64_t parameters = 0;
    std::vector<canonical_form> ranges;   // ordered by the strides of src; dst is src
    std::vector<canonical_form> elements; // ordered by the strides of dst
    // By the place in a byte, or in three, where a box of dst begins: the first step_of_beginnings(), then the next.
    std::vector<std::unique_ptr<implementation>> quantize;
};

/// A box of one run: its first elements, and the number of its first parameter.
struct placed_box {
    const box_shape &shape;
    const std::byte *src;
    std::byte *dst;     // a whole byte
    std::int64_t first; // the box's first element, from there on
    std::int64_t parameter;
};

/// Rows [row_begin, row_end) by columns [column_begin, column_end) of a form.
struct unit {
    const canonical_form &form;
    rectangle r;
};

/// Grains of about elements_per_grain, of a form whose first is number `first`.
grains grains_of(const canonical_form &form, std::int64_t first) {
    const auto columns = std::min(form.row.extent, elements_per_grain);
    return {form, elements_per_grain / columns, columns, first};
}

/// Calls body(unit) for a part of the grains.
template <typename Body>
void for_each_unit(const std::vector<canonical_form> &forms, parallel::range part, const Body &body) {
    std::int64_t first = 0;
    for (const auto &form : forms) {
        const auto g = grains_of(form, first);
        for_each_strip(g, part, [&](const rectangle &r) { body(unit {form, r}); });
        first = g.end;
    }
}

/// Calls f(src offset, dst offset, parameter) for each element.
template <typename F>
void for_each_element(const unit &u, const F &f) {
    const auto &row = u.form.row;
    row_walker walker(u.form, u.r.row_begin);
    for (auto i = u.r.row_begin; i < u.r.row_end; ++i, walker.advance(1))
        for (auto j = u.r.column_begin; j < u.r.column_end; ++j)
            f(walker.src + j * row.src_stride, walker.dst + j * row.dst_stride,
                    walker.parameter + j * row.parameter_stride);
}

template <typename F>
void for_each_element(const std::vector<canonical_form> &forms, parallel::range part, const F &f) {
    for_each_unit(forms, part, [&](const unit &u) { for_each_element(u, f); });
}

unit whole(const canonical_form &form) {
    return {form, {0, form.rows(), 0, form.row.extent}};
}

class computed_scales final : public implementation {
  public:
    computed_scales(quantization q, const settings &s, const kernel_loops &loops)
        : q_(std::move(q))
        , formulas_(q_, loops)
        , loops_(loops)
        , ranges_(loops.ranges[traits(q_.src.type).bits == 16])
        , is_absolute_(q_.computed->range == scale_range::absmax)
        , isa_(loops.name)
        , threads_(s.threads)
        , src_bytes_(traits(q_.src.type).bits / 8)
        , dst_bits_(traits(q_.dst.type).bits)
        , elements_(*volume(q_.src.dims))
        , streams_(pays_to_stream(q_.src.type, q_.dst.type, elements_))
        , groups_(groups::of(q_, formulas_, loops, streams_))
        , tiling_(groups_ ? groups_->box() : cut(q_))
        , src_strides_(strides_of(q_.src))
        , dst_strides_(strides_of(q_.dst))
        , parameter_strides_(row_major(parameter_dims(q_.src.dims, q_.scales.block)))
        , box_count_(*volume(parameter_dims(q_.src.dims, tiling_.extents)))
        , step_of_beginnings_(step_of_beginnings(q_, tiling_.extents))
        , may_split_(!share_bytes(q_, tiling_.extents)) {
        make_shapes(s);
    }

    operation_info info() const override { return {kernel_kind::native, isa_}; }

    void run(const arguments &args) const override {
        if (tiling_.shared) // in one part, so that parameters are found under float_control, too
            return parallel::for_each_part(box_count_, 1, [&](parallel::range all) {
                for (auto i = all.begin; i < all.end; ++i)
                    run_box(args, i, parts_for(elements_ / box_count_));
            });
        const auto parts = may_split_ ? std::min<std::int64_t>(parts_for(elements_), box_count_) : 1;
        parallel::for_each_part(box_count_, static_cast<int>(parts), [&](parallel::range part) {
            for (auto i = part.begin; i < part.end; ++i)
                if (!groups_ || !groups_->compute(args, i)) run_box(args, i, 1);
            if (streams_) loops_.fence();
            loops_.zero_upper();
        });
    }

  private:
    const numerics_contract::scale_formula &formula() const { return formulas_.formula(); }
    const scale_rule &rule() const { return formula().rule; }

    template <typename Body>
    static void for_each_part(const std::vector<canonical_form> &forms, int parts, const Body &body) {
        std::int64_t count = 0;
        for (const auto &form : forms)
            count = grains_of(form, count).end;
        parallel::for_each_part(count, static_cast<int>(std::min<std::int64_t>(parts, count)), body);
    }

    int parts_for(std::int64_t elements) const { return parallel::parts_for(elements, threads_); }

    /// The shape without remainders is the first. `short_at_` says how many shapes further the one is that is shorter
    /// along a dim.
    void make_shapes(const settings &s) {
        std::vector<dims> all = {tiling_.extents};
        for (std::size_t d = 0; d < tiling_.extents.size(); ++d) {
            const auto rest = q_.src.dims[d] % tiling_.extents[d];
            short_at_.push_back(rest == 0 ? 0 : all.size());
            for (std::size_t i = 0; i < short_at_[d]; ++i) {
                auto shorter = all[i];
                shorter[d] = rest;
                all.push_back(std::move(shorter));
            }
        }
        auto of_box = s;
        if (!tiling_.shared) of_box.threads = 1;
        for (const auto &extents : all)
            shapes_.push_back(make_shape(extents, of_box));
    }

    box_shape make_shape(const dims &extents, const settings &s) const {
        box_shape result;
        auto q = q_;
        result.parameters = *volume(parameter_dims(extents, q.scales.block));
        q.src = {q_.src.type, extents, src_strides_};
        if (!rule().scales_only) {
            q.dst = {q_.dst.type, extents, dst_strides_};
            result.elements = canonicalize(q);
            q = quantization_of_box(std::move(q));
            for (std::int64_t first = 0; first < elements_of_whole_bytes(dst_bits_); first += step_of_beginnings_) {
                auto forms = result.elements;
                for (auto &form : forms)
                    form.begin.dst += first;
                result.quantize.push_back(
                        implement(q, forms, s, loops_, streams_ ? streaming::always : streaming::large));
            }
            if (dst_strides_ == src_strides_) {
                result.ranges = result.elements;
                return result;
            }
        }
        q.dst = q.src;
        result.ranges = canonicalize(q);
        return result;
    }

    placed_box place(const arguments &args, std::int64_t number) const {
        std::size_t shape = 0;
        std::int64_t src = 0, dst = 0, parameter = 0;
        for (std::size_t d = tiling_.extents.size(); d-- > 0;) {
            const auto extent = tiling_.extents[d], along = ceil_div(q_.src.dims[d], extent), index = number % along;
            number /= along;
            if (index == along - 1) shape += short_at_[d];
            src += index * extent * src_strides_[d];
            dst += index * extent * dst_strides_[d];
            parameter += index * ceil_div(extent, q_.scales.block[d]) * parameter_strides_[d];
        }
        const auto first = dst % elements_of_whole_bytes(dst_bits_);
        return {shapes_[shape], static_cast<const std::byte *>(args.src) + src * src_bytes_,
                rule().scales_only ? nullptr : static_cast<std::byte *>(args.dst) + (dst - first) * dst_bits_ / 8,
                first, parameter};
    }

    void run_box(const arguments &args, std::int64_t number, int parts) const {
        const auto box = place(args, number);
        box_parameters p;
        const bool regular = tiling_.shared ? find_shared(args, box, p, parts) : find_alone(args, box, p);
        quantize(box, p, regular, parts);
    }

    // ---- Ranges ----

    using box_ranges = ranges<box_capacity>;

    /// Finds the parameters of a box. Out of line, as quantize() needs the stack that the ranges take. Returns whether
    /// the box's statement gives the codes.
    [[gnu::noinline]] bool find_alone(const arguments &args, const placed_box &box, box_parameters &p) const {
        const auto count = box.shape.parameters;
        box_ranges r;
        formulas_.make_empty(count, r.low, r.high);
        for (const auto &form : box.shape.ranges)
            add_range(whole(form), box.src, r);
        formulas_.widen(count, r.low, r.high);
        return find_parameters(args, box, r, p, 1);
    }

    [[gnu::noinline]] bool find_shared(
            const arguments &args, const placed_box &box, box_parameters &p, int parts) const {
        const auto count = box.shape.parameters;
        box_ranges r;
        std::fill_n(r.low, std::size(r.low), lowest_bits);
        std::fill_n(r.high, std::size(r.high), 0U);
        for_each_part(box.shape.ranges, parts, [&](parallel::range part) {
            box_ranges own;
            formulas_.make_empty(count, own.low, own.high);
            for_each_unit(box.shape.ranges, part, [&](const unit &u) { add_range(u, box.src, own); });
            formulas_.widen(count, own.low, own.high);
            merge(own, count, r);
        });
        return find_parameters(args, box, r, p, parts);
    }

    bool find_parameters(
            const arguments &args, const placed_box &box, box_ranges &r, box_parameters &p, int parts) const {
        const bool skips = rule().special == nonfinite::skip
                && parameter_formulas::has_nonfinite(box.shape.parameters, r.low, r.high);
        if (skips) find_finite_ranges(box, r, parts);
        return formulas_.compute(args, box.parameter, box.shape.parameters, r, p) && !skips;
    }

    /// Maxima do not depend on the order of threads.
    static void extend(std::uint32_t &bound, std::uint32_t bits) {
        std::atomic_ref shared(bound);
        auto before = shared.load(std::memory_order_relaxed);
        while (bits > before && !shared.compare_exchange_weak(before, bits, std::memory_order_relaxed)) {
        }
    }

    static void merge(const box_ranges &own, std::int64_t count, box_ranges &to) {
        for (std::int64_t i = 0; i < count; ++i) {
            extend(to.low[i], own.low[i]);
            extend(to.high[i], own.high[i]);
        }
    }

    void add_range(const unit &u, const std::byte *src, box_ranges &r) const {
        const auto &row = u.form.row;
        const auto loop = innermost_loop(u.form);
        const bool by_rows = row.src_stride == 1 && row.parameter_stride == 0;
        const bool by_columns = row.src_stride == 1 && row.parameter_stride == 1;
        if (!by_rows && !by_columns) return add_elements(u, src, r);
        const auto add = (by_rows ? ranges_.add_rows : ranges_.add_columns)[is_absolute_];
        const auto columns = u.r.column_end - u.r.column_begin;
        row_walker walker(u.form, u.r.row_begin);
        std::int64_t rows = 0;
        for (auto i = u.r.row_begin; i < u.r.row_end; i += rows, walker.advance(rows)) {
            rows = walker.rows_left(by_columns && loop.parameter_stride != 0 ? 1 : u.r.row_end - i);
            const auto *const x = src + (walker.src + u.r.column_begin) * src_bytes_;
            const auto offset = (walker.parameter + u.r.column_begin * row.parameter_stride) * src_bytes_;
            add({rows, columns, x, loop.src_stride, nullptr, 0, false}, loop.parameter_stride,
                    reinterpret_cast<std::byte *>(r.low) + offset, reinterpret_cast<std::byte *>(r.high) + offset);
        }
        loops_.zero_upper();
    }

    /// For rows of src that are not dense.
    void add_elements(const unit &u, const std::byte *src, box_ranges &r) const {
        for_each_element(u, [&](auto i, auto, auto parameter) {
            const auto at = parameter * src_bytes_;
            ranges_.add_rows[is_absolute_]({1, 1, src + i * src_bytes_, 0, nullptr, 0, false}, 0,
                    reinterpret_cast<std::byte *>(r.low) + at, reinterpret_cast<std::byte *>(r.high) + at);
        });
    }

    // ---- Nonfinite elements and codes ----

    /// Ranges without what is not finite.
    void find_finite_ranges(const placed_box &box, box_ranges &r, int parts) const {
        std::fill_n(r.low, box.shape.parameters, lowest_bits);
        std::fill_n(r.high, box.shape.parameters, 0U);
        for_each_part(box.shape.ranges, parts, [&](parallel::range part) {
            for_each_element(box.shape.ranges, part, [&](auto i, auto, auto parameter) {
                const auto x = static_cast<float>(load(q_.src.type, box.src, i));
                if (std::isfinite(x))
                    extend(std::signbit(x) ? r.low[parameter] : r.high[parameter], std::bit_cast<std::uint32_t>(x));
            });
        });
    }

    void quantize(const placed_box &box, const box_parameters &p, bool regular, int parts) const {
        if (rule().scales_only) return;
        if (!regular) return quantize_elements(box, p, parts);
        const auto &statement = box.shape.quantize[static_cast<std::size_t>(box.first / step_of_beginnings_)];
        statement->run({box.src, p.limit, p.zero_points, box.dst, p.factor});
    }

    /// By the formula, for the rare boxes that need it.
    void quantize_elements(const placed_box &box, const box_parameters &p, int parts) const {
        for_each_part(box.shape.elements, dst_bits_ >= 8 ? parts : 1, [&](parallel::range part) {
            for_each_element(box.shape.elements, part, [&](auto i, auto at, auto parameter) {
                const auto o = box.first + at;
                const auto x = static_cast<float>(load(q_.src.type, box.src, i));
                const float quotient = formula().quotient(x, p.factor[parameter]);
                if (!formula().integral) return store(q_.dst.type, box.dst, o, quotient, q_.saturate);
                const auto zero_point =
                        q_.zero_points ? static_cast<std::int32_t>(load(q_.dst.type, p.zero_points, parameter)) : 0;
                store(q_.dst.type, box.dst, o, static_cast<double>(formula().code(quotient, zero_point)));
            });
        });
    }

    quantization q_;
    parameter_formulas formulas_;
    const kernel_loops &loops_;
    const range_functions &ranges_;
    bool is_absolute_;
    const char *isa_;
    int threads_, src_bytes_, dst_bits_;
    std::int64_t elements_;
    bool streams_;
    std::optional<groups> groups_;
    tiling tiling_;
    dims src_strides_, dst_strides_, parameter_strides_;
    std::int64_t box_count_;
    std::int64_t step_of_beginnings_;
    bool may_split_;
    std::vector<std::size_t> short_at_;
    std::vector<box_shape> shapes_;
};

} // namespace

std::unique_ptr<implementation> implement_computed(
        const quantization &q, const settings &s, const kernel_loops &loops) {
    if (volume(q.src.dims) > 0) return std::make_unique<computed_scales>(simplified(q), s, loops);
    const auto nothing = quantization_of_box(q);
    return implement(nothing, canonicalize(nothing), s, loops);
}

} // namespace dynquant::kernels::native
