// What both directions of a converted row share: a stretch of its columns with their parameters, and how formulas
// walk it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/native/converting.hpp"
#include "kernels/native/runs.hpp"
#include "kernels/native/stretch.hpp"

namespace dynquant::kernels::native {
namespace {

/// The part of a row that is computed now, of up to `Capacity` columns where it needs buffers.
template <typename V, std::int64_t Capacity = table_capacity>
struct converted_stretch {
    explicit converted_stretch(const call &of)
        : c(of) {}

    const call &c;
    const layout &shape = *c.shape;
    const axis &along = shape.form.row;
    stretch part {shape, 0, 0};
    std::int64_t base = 0;             // where its parameters are in the table
    parameter_columns<Capacity> table; // of which only what is used is written: clearing it would take long

    bool shares_one_parameter() const {
        return along.parameter_stride == 0 || (shape.repeat > 1 && part.phase + part.count <= shape.repeat);
    }

    /// The operator's formula along the part, from dense elements to dense elements.
    template <typename Op, storing Storing, typename From, typename To>
    void compute(const From *from, To *to, const Op &op = {}) const {
        constexpr auto lead = usual_lead * std::int64_t {sizeof(float)} / std::int64_t {sizeof(From)};
        const auto by_one = [&](std::int64_t column) {
            return [=, this, &op](auto kind) {
                const auto formula = decltype(kind)::from(table, only<V> {column});
                op.template run<Storing>(
                        from, to, part.count, lead, [&](std::int64_t) -> const auto & { return formula; });
            };
        };
        if (along.parameter_stride == 0)
            Op::with_constant_formula(table, part.count, by_one(base));
        else if (shares_one_parameter())
            Op::with_formula(table, by_one(base));
        else
            Op::with_formula(table, [=, this, &op](auto kind) {
                this->template compute_by<Storing, decltype(kind)>(from, to, lead, op);
            });
    }

  private:
    /// Whether vectors begin at multiples of their lanes: stores are aligned where they stream or are of 32 bits.
    template <storing Storing, typename To>
    static bool in_step(const To *to) {
        return (Storing != storing::streaming && sizeof(To) < 4) || unaligned_head<V::lanes>(to, V::lanes) == 0;
    }

    template <storing Storing, typename Formula, typename Op, typename From, typename To>
    void compute_by(const From *from, To *to, std::int64_t lead, const Op &op) const {
        const auto *const parameter_of = shape.parameter_of;
        const auto first = base;
        const auto run = [&](auto take) {
            op.template run<Storing>(
                    from, to, part.count, lead, [this, take](std::int64_t i) { return Formula::from(table, take(i)); });
        };
        if (shape.repeat == 1)
            run([=](std::int64_t i) { return neighbours<V> {first + i}; });
        else if (shape.repeat % V::lanes == 0 && in_step<Storing>(to))
            run([=](std::int64_t i) { return only<V> {first + parameter_of[i]}; });
        else
            run([=](std::int64_t i) {
                const auto number = parameter_of[i];
                const auto index = V::subtract(V::load(parameter_of + i), V::splat(number));
                return picked<V, false> {first + number, index};
            });
    }
};

/// The same of reals, which are read here.
template <typename V>
class converted_reals : public converted_stretch<V> {
  public:
    using converted_stretch<V>::converted_stretch;

  protected:
    using converted_stretch<V>::c;

    /// Calls f with the part's reals as they lie in src.
    template <typename F>
    void with_src(const placed &from, const F &f) {
        switch (c.src_type) {
            case data_type::f16: return f(gather(c.src, from, buffer<half>()));
            case data_type::bf16: return f(gather(c.src, from, buffer<brain>()));
            case data_type::f32:
            case data_type::s32:
            case data_type::s8:
            case data_type::u8:
            case data_type::s4:
            case data_type::u4:
            case data_type::f8_e4m3:
            case data_type::f8_e5m2:
            case data_type::s16:
            case data_type::u16:
            case data_type::u32:
            case data_type::s2:
            case data_type::u2:
            case data_type::f4_e2m1:
            case data_type::f6_e2m3:
            case data_type::f6_e3m2:
            case data_type::f8_e4m3fnuz:
            case data_type::f8_e5m2fnuz:
            case data_type::f8_e8m0: return f(gather(c.src, from, buffer<float>()));
        }
    }

    /// The part's reals rounded to a type.
    template <typename To>
    const To *src_as(const placed &from) {
        const To *result = buffer<To>();
        with_src(from, [&]<typename From>(const From *x) {
            if constexpr (std::is_same_v<From, To>)
                result = x;
            else
                round_reals<V>(x, from.count, buffer<To>());
        });
        return result;
    }

  private:
    template <typename Real>
    Real *buffer() {
        if constexpr (std::is_same_v<Real, half>)
            return halves_.column;
        else if constexpr (std::is_same_v<Real, brain>)
            return brains_.column;
        else
            return reals_.column;
    }

    column_buffer<float> reals_;
    column_buffer<half> halves_;
    column_buffer<brain> brains_;
};

} // namespace
} // namespace dynquant::kernels::native
