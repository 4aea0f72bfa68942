// Streaming stores: each instruction set's rows with results past the caches, which otherwise only large tensors
// meet, at every alignment and length around a block, against the oracle.
#include <gtest/gtest.h>

#include "kernels/native/plan.hpp"
#include "quantization/isa.hpp"
#include "support/guarded_buffer.hpp"
#include "support/oracle.hpp"

namespace dynquant::test {
namespace {

using namespace kernels::native;

std::vector<const row_functions *> available_rows() {
    std::vector<const row_functions *> rows = {&scalar_rows};
#if defined(__x86_64__)
    if (processor_isa() >= isa::avx2) rows.push_back(&avx2_rows);
    if (processor_isa() >= isa::avx512) rows.push_back(&avx512_rows);
#endif
    return rows;
}

/// A row of `count` elements under one parameter, or with the parameters alongside.
struct row {
    std::int64_t count;
    bool alongside;

    canonical_form form() const {
        canonical_form f;
        f.row = {count, 1, 1, alongside ? 1 : 0};
        return f;
    }
    std::size_t parameter_of(std::int64_t i) const { return alongside ? static_cast<std::size_t>(i) : 0; }
};

float scale_of(std::size_t i) {
    return 0.1f + 0.01f * static_cast<float>(i % 7);
}
std::int32_t zero_point_of(std::size_t i) {
    return static_cast<std::int32_t>(i % 5) - 2;
}

struct parameters {
    std::vector<float> scales;
    std::vector<std::int32_t> zero_points;

    explicit parameters(const row &r) {
        for (std::size_t i = 0; i < (r.alongside ? static_cast<std::size_t>(r.count) : 1); ++i) {
            scales.push_back(scale_of(i));
            zero_points.push_back(zero_point_of(i));
        }
    }
    call with(const canonical_form &form, const void *src, void *dst) const {
        return {&form, src, scales.data(), {zero_points_view::kind::s32, zero_points.data()}, dst, true};
    }
};

std::vector<row> rows_to_try() {
    std::vector<row> rows;
    for (const bool alongside : {false, true})
        for (const std::int64_t count : {1, 3, 4, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200, 513, 600})
            rows.push_back({count, alongside});
    return rows;
}

TEST(streaming, quantizes_right_at_every_alignment) {
    for (const row &r : rows_to_try()) {
        std::vector<float> src;
        for (std::int64_t i = 0; i < r.count; ++i)
            src.push_back(static_cast<float>(i % 97 - 40) * 0.05f); // ties among them
        const parameters p(r);
        const auto form = r.form();
        for (const auto *rows : available_rows())
            for (std::size_t offset = 0; offset < 64; ++offset) {
                guarded_buffer dst(src.size(), guarded_buffer::place::at_front, offset);
                rows->quantize_strict_s8(p.with(form, src.data(), dst.data()), {0, 1, 0, r.count});
                for (std::int64_t i = 0; i < r.count; ++i) {
                    const auto at = static_cast<std::size_t>(i), of = r.parameter_of(i);
                    ASSERT_EQ(static_cast<std::int8_t>(dst.data()[at]),
                            oracle::quantize(src[at], scale_of(of), zero_point_of(of), -128, 127))
                            << "element " << i << " of " << r.count << " at offset " << offset;
                }
                ASSERT_TRUE(dst.intact()) << r.count << " elements at offset " << offset;
            }
    }
}

TEST(streaming, dequantizes_right_at_every_alignment) {
    for (const row &r : rows_to_try()) {
        std::vector<std::uint8_t> src;
        for (std::int64_t i = 0; i < r.count; ++i)
            src.push_back(static_cast<std::uint8_t>(i * 37));
        const parameters p(r);
        const auto form = r.form();
        for (const auto *rows : available_rows())
            for (std::size_t offset = 0; offset < 64; offset += sizeof(float)) {
                guarded_buffer dst(src.size() * sizeof(float), guarded_buffer::place::at_front, offset);
                rows->dequantize_u8(p.with(form, src.data(), dst.data()), {0, 1, 0, r.count});
                const auto *results = reinterpret_cast<const float *>(dst.data());
                for (std::int64_t i = 0; i < r.count; ++i) {
                    const auto at = static_cast<std::size_t>(i), of = r.parameter_of(i);
                    ASSERT_EQ(results[at], oracle::dequantize(src[at], scale_of(of), zero_point_of(of)))
                            << "element " << i << " of " << r.count << " at offset " << offset;
                }
                ASSERT_TRUE(dst.intact()) << r.count << " elements at offset " << offset;
            }
    }
}

} // namespace
} // namespace dynquant::test
