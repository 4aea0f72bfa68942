// Every microkernel is right by the oracle: each formula in each form, for every length up to more than two blocks, at
// several alignments, for dense and padded rows. None writes beside dst or reads beyond src.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/native/plan.hpp"
#include "support/direct.hpp"
#include "support/sampling.hpp"
#include "support/tested_sets.hpp"

namespace dynquant::test {
namespace {

using namespace kernels::native;

/// A kind of formula as a statement. `written` is the type that its microkernels write, and a codec converts to dst.
struct formula_case {
    const char *name;
    direction dir;
    data_type src, dst, written;
    numerics rule = numerics::strict;
    precision division = precision::f32;
    bool multiplies = false; // by multipliers that are not the scales

    formula_query query() const {
        return {dir, dir == direction::quantize ? dst : src, multiplies, rule, division, true};
    }
};

/// Of f8_e4m3: its largest number and one step more.
constexpr float limit = 480;

constexpr auto q = direction::quantize, d = direction::dequantize;
constexpr auto onnx = numerics::onnx;
using enum data_type;

const formula_case cases[] = {
        {"strict_u8", q, f32, u8, u8},
        {"strict_s8", q, f32, s8, s8},
        {"any_u8", q, f32, u8, u8, numerics::any},
        {"any_s8", q, f32, s8, s8, numerics::any},
        {"onnx_u8", q, f32, u8, u8, onnx},
        {"onnx_s8", q, f32, s8, s8, onnx},
        {"onnx_u16", q, f32, u16, u16, onnx},
        {"onnx_s16", q, f32, s16, s16, onnx},
        {"f16_u8", q, f16, u8, u8, onnx, precision::f16},
        {"f16_s8", q, f16, s8, s8, onnx, precision::f16},
        {"f16_16", q, f16, s16, f32, onnx, precision::f16},
        {"bf16_u8", q, bf16, u8, u8, onnx, precision::bf16},
        {"bf16_s8", q, bf16, s8, s8, onnx, precision::bf16},
        {"bf16_16", q, bf16, s16, f32, onnx, precision::bf16},
        {"wide_s32", q, f32, s32, s32, onnx},
        {"sum_u8", q, f32, u8, u8, onnx, precision::f64},
        {"sum_s8", q, f32, s8, s8, onnx, precision::f64},
        {"sum_16", q, f32, s16, f32, onnx, precision::f64},
        {"sum_32", q, f32, s32, s32, onnx, precision::f64},
        {"quotient_f64", q, f32, f8_e4m3, f32, onnx, precision::f64},
        {"quotient_f32", q, f32, f8_e4m3, f32, onnx},
        {"quotient_of_f16", q, f16, f8_e4m3, f32, numerics::strict},
        {"quotient_of_bf16", q, bf16, f8_e4m3, f32, numerics::strict},
        {"quotient_f16", q, f16, f8_e4m3, f32, onnx, precision::f16},
        {"quotient_bf16", q, bf16, f8_e4m3, f32, onnx, precision::bf16},
        {"product_f32", q, f32, f8_e4m3, f32, onnx, precision::f32, true},
        {"difference_u8", d, u8, f32, f32},
        {"difference_s8", d, s8, f32, f32},
        {"difference_u8_to_f16", d, u8, f16, f32},
        {"difference_s8_to_bf16", d, s8, bf16, f32},
        {"difference_u16", d, u16, f32, f32, onnx},
        {"difference_s16", d, s16, f32, f32, onnx},
        {"difference_32", d, s32, f32, f32, onnx},
        {"difference_e4m3", d, f8_e4m3, f32, f32},
        {"difference_e5m2", d, f8_e5m2, f32, f32},
        {"difference_e4m3fnuz", d, f8_e4m3fnuz, f32, f32, onnx},
        {"difference_e5m2fnuz", d, f8_e5m2fnuz, f32, f32, onnx},
};

/// Scales and zero points that select each of a chunk's formulas.
enum class parameter_kind { usual, no_zero_points, outermost };

constexpr std::int64_t rows = 5, most_columns = 140;

/// A form of the microkernels: the number of columns that share a parameter, and whether each row has its parameters.
struct tested_form {
    const char *name;
    microkernel kernel;
    data_type src;             // the type that the form reads
    std::int64_t group_length; // most_columns: a parameter for each row
    std::int64_t parameter_step;
    data_type written;
};

/// A statement of `rows` by most_columns, with its buffers and the expected result.
class formula_sample {
  public:
    formula_sample(const formula_case &of, parameter_kind how, std::int64_t group_length, bool per_row)
        : case_(of) {
        const auto groups = (most_columns + group_length - 1) / group_length;
        const auto parameters = per_row ? rows : groups;
        columns_ = groups * group_length;
        const auto reals = of.dir == q ? of.src : of.dst, codes = of.dir == q ? of.dst : of.src;
        auto s = statement_of(
                of.dir, reals, codes, {rows, columns_}, per_row ? dims {1, columns_} : dims {rows, group_length});
        s.rule = of.rule;
        s.division = of.division;
        in_.src.resize(bytes_for(of.src, rows * columns_));
        for (std::int64_t i = 0; i < rows * columns_; ++i)
            set_bits(of.src, in_.src.data(), i, element(i));
        for (std::int64_t i = 0; i < parameters; ++i) {
            auto scale = of.rule == numerics::any ? 0.125F : 0.125F + 0.015625F * static_cast<float>(i % 7);
            if (of.multiplies) scale = std::ldexp(1.0F, static_cast<int>(i % 7) - 3);
            if (how == parameter_kind::outermost && i == parameters / 2) scale = -scale;
            auto zero = how == parameter_kind::no_zero_points ? 0 : static_cast<std::int32_t>(i % 5 + 1);
            if (how == parameter_kind::outermost && of.dir == d && of.rule == numerics::strict)
                zero = INT32_MAX - zero; // its differences overflow s32
            scales_.push_back(scale);
            zeros_.push_back(zero);
        }
        in_.scales = bytes_of(scales_);
        is_float_ = !is_integer(codes);
        if (!is_float_) {
            s.zero_points = {of.rule == onnx ? codes : s32, s.scales.block, {}};
            in_.zero_points = encode(s.zero_points->type, {zeros_.begin(), zeros_.end()});
        }
        expected_ = sample(s, in_).expected;
    }

    std::int64_t columns() const { return columns_; }
    std::uint32_t src_bits(std::int64_t row, std::int64_t column) const {
        return get_bits(case_.src, in_.src.data(), row * columns_ + column);
    }
    std::uint32_t expected_bits(std::int64_t row, std::int64_t column) const {
        return get_bits(case_.dst, expected_.data(), row * columns_ + column);
    }

    bool is_exact_by(const family &f) const {
        return std::all_of(scales_.begin(), scales_.end(), [&](float scale) {
            return f.exact.is_exact({{&scale, nullptr, nullptr}});
        });
    }

    /// The prepared columns of a chunk.
    struct prepared {
        std::vector<float> scale, second;
        std::vector<std::int32_t> zero; // or the bits of reals
        chunk_state state;

        parameter_columns columns() { return {{scale.data(), second.data(), zero.data()}}; }
    };
    prepared prepare(const family &f) const {
        prepared p = {scales_, std::vector<float>(scales_.size(), -0.0F), {}, {}}; // in f64 no scale lacks anything
        if (case_.multiplies)                                                      // by the reciprocal, which is exact
            for (auto &scale : p.scale)
                scale = 1 / scale;
        for (const auto zero : zeros_)
            p.zero.push_back(is_float_ ? __builtin_bit_cast(std::int32_t, no_zero()) : zero);
        p.state = f.prepare(static_cast<std::int64_t>(scales_.size()), p.columns());
        for (auto *column : {&p.scale, &p.second})
            column->resize(column->size() + widest_step, 1);
        p.zero.resize(p.zero.size() + widest_step, 1);
        return p;
    }

  private:
    /// Ties, both ends of the range, and values beyond them.
    std::uint32_t element(std::int64_t i) const {
        const auto real = static_cast<float>(i * 37 % 701 - 350) * 0.0625F * (i % 11 == 0 ? 40 : 1);
        if (case_.src == s32) return static_cast<std::uint32_t>(i * 37 % 2003 - 1000);
        if (case_.dir == q) return bits_of_real(case_.src, real);
        if (!is_integer(case_.src)) // a code that is no NaN in any type
            return static_cast<std::uint32_t>((1 + i * 37 % 0x77) | (i % 2 == 0 ? 0x80 : 0));
        return static_cast<std::uint32_t>(i * 37);
    }
    /// The zero point of a float type that leaves every value unchanged.
    float no_zero() const { return case_.dir == q ? -0.0F : 0.0F; }

    const formula_case &case_;
    oracle::inputs in_;
    std::vector<float> scales_;
    std::vector<std::int32_t> zeros_;
    std::vector<std::byte> expected_;
    std::int64_t columns_ = 0;
    bool is_float_ = false;
};

/// The bits of a lane of type `type`, for an element of type `from`.
std::uint32_t widened(data_type type, data_type from, std::uint32_t bits) {
    return type == from ? bits : __builtin_bit_cast(std::uint32_t, real_from(from, bits));
}

class microkernels_of : public testing::TestWithParam<std::tuple<tested_set, formula_case>> {
  protected:
    const kernel_loops &set = *std::get<0>(GetParam()).code;
    const formula_case &of = std::get<1>(GetParam());
    const formula_query query = of.query(); // g++ 14 warns of a reference that might be to what it gets
    const family &formulas = family_for(set, query);

    /// The type that the plain forms read.
    data_type read_type() const { return of.dir == q ? f32 : of.src; }

    std::vector<tested_form> forms_of(const microkernels &m) const {
        const auto plain = read_type(), written = of.written;
        std::vector<tested_form> forms = {{"rows", m.at(form::rows), plain, most_columns, 1, written},
                {"cols", m.at(form::cols), plain, 1, 0, written},
                {"segs1", m.at(form::segs1), plain, set.lanes, 0, written},
                {"segs2", m.at(form::segs2), plain, 2 * set.lanes, 0, written},
                {"segs4", m.at(form::segs4), plain, 4 * set.lanes, 0, written}};
        for (const std::int64_t group_length : {2, 3, 7, 15})
            forms.push_back({"short_groups", m.at(form::short_groups), plain, group_length, 0, written});
        const auto add = [&](const char *name, access a, data_type from, data_type to) {
            forms.push_back({name, m.at(form::rows, a), from, most_columns, 1, to});
            forms.push_back({name, m.at(form::cols, a), from, 1, 0, to});
            for (const auto &[by, vectors] : {std::pair {form::segs1, 1}, {form::segs2, 2}, {form::segs4, 4}})
                forms.push_back({name, m.at(by, a), from, vectors * set.lanes, 0, to});
        };
        if (of.src == f16) add("of_f16", access::of_f16, f16, written);
        if (of.src == bf16) add("of_bf16", access::of_bf16, bf16, written);
        if (of.dst == f16) add("to_f16", access::to_f16, plain, f16);
        if (of.dst == bf16) add("to_bf16", access::to_bf16, plain, bf16);
        if (of.dst != f8_e4m3) return forms;
        add("to_codes", access::to_codes, plain, f8_e4m3);
        if (of.src == f16) add("f16_to_codes", access::f16_to_codes, f16, f8_e4m3);
        if (of.src == bf16) add("bf16_to_codes", access::bf16_to_codes, bf16, f8_e4m3);
        return forms;
    }

    void expect_right(const tested_form &form, const formula_sample &sample, formula_sample::prepared &p) {
        const auto src_bytes = bits_in(form.src) / 8, dst_bytes = bits_in(form.written) / 8;
        const auto capacity = static_cast<std::size_t>(rows * (most_columns + 8) * 4 + 64);
        const guarded_buffer src(capacity, guarded_buffer::place::at_back),
                dst(capacity, guarded_buffer::place::at_back);
        std::vector<std::int32_t> index, first;
        for (std::int64_t i = 0; i < most_columns + 2 * widest_step; ++i) {
            const auto begin = i / set.lanes * set.lanes / form.group_length;
            if (i % set.lanes == 0) first.push_back(static_cast<std::int32_t>(begin));
            index.push_back(static_cast<std::int32_t>(i / form.group_length - begin));
        }
        const auto *const encoding = set.code.encodings[of.dst]; // of codes, if dst is a type of codes
        case_sampler sampler;
        const bool whole_groups = form.parameter_step == 0 && set.lanes > 1 && form.group_length % set.lanes == 0;
        for (std::int64_t columns = 1; columns <= most_columns; ++columns)
            for (const std::int64_t gap : {0, 3})
                for (const std::size_t offset : {0U, 4U, 20U}) {
                    if ((whole_groups && columns % form.group_length != 0) || !sampler.takes()) continue;
                    const auto step = columns + gap;
                    const auto count = (rows - 1) * step + columns;
                    auto *const x = src.data() + src.size() - static_cast<std::size_t>(count * src_bytes);
                    auto *const y = dst.data() + dst.size() - static_cast<std::size_t>(count * dst_bytes) - offset;
                    std::memset(dst.data(), 0xa5, dst.size());
                    for (std::int64_t row = 0; row < rows; ++row)
                        for (std::int64_t i = 0; i < columns; ++i)
                            set_bits(form.src, x, row * step + i, widened(form.src, of.src, sample.src_bits(row, i)));
                    form.kernel({rows, columns, x, step, y, step, false}, {p.columns(), {limit, {of.division}}},
                            {form.parameter_step, {index.data(), first.data()}, form.group_length, encoding});
                    set.zero_upper();
                    ASSERT_NO_FATAL_FAILURE(expect_right_rows(form, sample, y, columns, step, offset, dst))
                            << form.name << ", groups of " << form.group_length << ", columns " << columns << ", gap "
                            << gap << ", " << offset << " bytes before the end";
                }
    }

    void expect_right_rows(const tested_form &form, const formula_sample &sample, std::byte *y, std::int64_t columns,
            std::int64_t step, std::size_t offset, const guarded_buffer &dst) {
        const auto bytes = bits_in(form.written) / 8;
        std::vector<std::byte> result(bytes_for(of.dst, rows * most_columns));
        for (std::int64_t row = 0; row < rows; ++row) {
            const auto *given = y + row * step * bytes;
            alignas(64) std::byte tile[(most_columns + 2 * widest_step) * 4],
                    coded[(most_columns + 2 * widest_step) * 4];
            if (form.written != of.dst) { // through a codec
                std::memcpy(tile, given, static_cast<std::size_t>(columns * bytes));
                set.code.write[of.dst](tile, columns, coded, 0, false);
                given = coded;
            }
            for (std::int64_t i = 0; i < columns; ++i)
                ASSERT_EQ(get_bits(of.dst, given, i), sample.expected_bits(row, i))
                        << "row " << row << ", column " << i;
            for (std::int64_t i = columns * bytes; row + 1 < rows && i < step * bytes; ++i)
                ASSERT_EQ(y[row * step * bytes + i], guarded_buffer::pattern) << "behind row " << row;
        }
        for (const auto *p = dst.data(); p < y; ++p)
            ASSERT_EQ(*p, guarded_buffer::pattern);
        for (const auto *p = dst.data() + dst.size() - offset; p < dst.data() + dst.size(); ++p)
            ASSERT_EQ(*p, guarded_buffer::pattern);
    }
};

TEST_P(microkernels_of, are_right_in_every_form_at_every_length) {
    for (const auto how : {parameter_kind::usual, parameter_kind::no_zero_points, parameter_kind::outermost})
        for (const auto &form : forms_of(formulas.any_parameters)) {
            const bool per_row = form.parameter_step == 1;
            const formula_sample sample(of, how, form.group_length, per_row);
            auto p = sample.prepare(formulas);
            const auto &m = p.state == chunk_state::any_parameters ? formulas.any_parameters
                    : p.state == chunk_state::guarded              ? formulas.guarded
                                                                   : formulas.no_zero_points;
            std::vector<const microkernels *> all = {&m};
            if (p.state == chunk_state::guarded && formulas.exact.is_exact && sample.is_exact_by(formulas))
                all.push_back(&formulas.exact.kernels);
            for (const auto *each : all)
                for (const auto &chosen : forms_of(*each)) {
                    if (std::string(chosen.name) != form.name || chosen.group_length != form.group_length
                            || !chosen.kernel)
                        continue;
                    ASSERT_NO_FATAL_FAILURE(expect_right(chosen, sample, p))
                            << "formula " << static_cast<int>(p.state) << ", parameter kind " << static_cast<int>(how);
                }
        }
}

std::string name_of(const testing::TestParamInfo<std::tuple<tested_set, formula_case>> &info) {
    return std::get<0>(info.param).name + "_" + std::get<1>(info.param).name;
}

INSTANTIATE_TEST_SUITE_P(tables, microkernels_of,
        testing::Combine(testing::ValuesIn(available_sets()), testing::ValuesIn(cases)), name_of);

} // namespace
} // namespace dynquant::test
