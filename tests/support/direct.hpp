// Runs a statement through the direct API in guarded buffers, and compares the result with the oracle.
#pragma once

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "guarded_buffer.hpp"
#include "oracle/elements.hpp"
#include "oracle/statements.hpp"
#include "variants.hpp"

namespace dynquant::test {

/// Values as the bytes of a buffer.
template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T> &values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
}

/// Quantizes `reals` to `codes`, or dequantizes `codes` to `reals`, all dense. Each block has a scale of f32, and a
/// zero point if there is a type for it.
quantization statement_of(direction dir, data_type reals, data_type codes, const dims &extents, const dims &block,
        std::optional<data_type> zero_points = {});

/// Bytes from the first element to the last, gaps included.
std::size_t bytes_spanned(const tensor &t);

/// A statement, its inputs and the expected dst. Of a statement with computed scales also these.
struct sample {
    quantization q;
    oracle::inputs in;
    std::vector<std::byte> expected; // with guarded_buffer::pattern in the gaps
    std::vector<std::byte> expected_scales, expected_zero_points;

    sample() = default;
    /// `expected` is computed by the oracle.
    sample(quantization statement, oracle::inputs inputs);
};

struct placement {
    guarded_buffer::place where = guarded_buffer::place::at_back;
    std::size_t src_offset = 0, dst_offset = 0; // bytes
};

/// A sample in guarded memory, which may be run repeatedly.
class guarded_sample {
  public:
    explicit guarded_sample(const sample &s, const placement &p = {});

    /// Runs op. A failure names the element that differs, or the buffer that was overrun.
    testing::AssertionResult computed_right_by(const operation &op);
    testing::AssertionResult computed_right_by(const std::function<void(const arguments &)> &run);

    /// The buffers, as computed_right_by() passes them.
    arguments arguments_of_run() const;

  private:
    const sample &sample_;
    guarded_buffer src_, scales_, zero_points_, second_scales_, dst_, computed_scales_, computed_zero_points_;
};

/// Runs several variants, with buffers that end before an inaccessible page and with buffers that begin after one.
testing::AssertionResult computed_right(const sample &s, const std::vector<variant> &variants);

/// All variants that compute the statement. onednn is among them where it accepts a statement that it need not, and
/// where it must.
std::vector<variant> variants_for(const sample &s);

/// Whether dst is as expected. Any NaN equals any NaN, and fpmath mode `any` allows the results of its rule.
testing::AssertionResult result_right(const sample &s, const std::vector<std::byte> &dst);

/// The statement in one line.
std::string describe(const quantization &q);

/// The types to which a statement may quantize under numerics::onnx.
inline constexpr data_type quantized_types[] = {data_type::s32, data_type::u32, data_type::s16, data_type::u16,
        data_type::s8, data_type::u8, data_type::s4, data_type::u4, data_type::s2, data_type::u2, data_type::f16,
        data_type::bf16, data_type::f8_e4m3, data_type::f8_e5m2, data_type::f8_e4m3fnuz, data_type::f8_e5m2fnuz,
        data_type::f6_e2m3, data_type::f6_e3m2, data_type::f4_e2m1};

/// Names the cases of a test whose parameter is a data type.
inline std::string name_of_type(const testing::TestParamInfo<data_type> &info) {
    return to_string(info.param);
}

} // namespace dynquant::test
