// Products of a few rows, where the processor has instructions for them.
#include <algorithm>
#include <array>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "model/few_rows.hpp"
#include "model/product_slice.hpp"

namespace dynquant::models {
namespace {

#if defined(__x86_64__)
/// Whether the processor has AMX and Linux lets this process use it, which it wants to be asked.
bool may_use_amx() {
#if defined(__linux__)
    constexpr unsigned tiles_and_int8 = 3U << 24;
    constexpr long request_permission = 0x1023, tile_data = 18; // Documentation/arch/x86/xstate.rst
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & tiles_and_int8) == tiles_and_int8
            && syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
    return false;
#endif
}
#endif

struct choice {
    multiply_panels_function function; // null where oneDNN's product is the better one
    std::int64_t depth;                // of which the rows of its weights are a multiple
};

choice choice_for([[maybe_unused]] std::int64_t rows) {
#if defined(__x86_64__)
    static const bool has_vnni = __builtin_cpu_supports("avx512vnni");
    if (best_isa() >= isa::avx512) {
        if (rows <= 4 && has_vnni) return {avx512_vnni_multiply_panels, 4};
        if (rows <= amx_rows) {
            static const bool has_amx = may_use_amx();
            if (has_amx) return {amx_int8_multiply_panels, amx_depth};
        }
    }
#endif
    return {nullptr, 0};
}

class few_rows final : public product_slice {
  public:
    few_rows(const choice &by, const problem &p, const std::int8_t *w)
        : multiply_(by.function)
        , panels_((p.columns + panel_columns - 1) / panel_columns)
        , groups_((p.inner + by.depth - 1) / by.depth * by.depth / 4)
        , weights_(static_cast<std::size_t>(std::max<std::int64_t>(panels_ * groups_, 1)))
        , start_(static_cast<std::size_t>(panels_ * panel_columns))
        , product_ {weights_.front().elements.data(), groups_ * 4 * panel_columns, start_.data(), p.rows, p.inner,
                  p.columns, p.x_is_signed} {
        for (std::int64_t k = 0; k < p.inner; ++k, w += p.columns)
            for (std::int64_t n = 0; n < p.columns; ++n)
                place(k, n, w[n]);
    }

    void run(const std::byte *x, std::int32_t *y) const override {
        const auto parts = std::min<std::int64_t>(
                panels_, parallel::parts_for(product_.rows * product_.inner * product_.columns, 0));
        parallel::for_each_part(
                panels_, static_cast<int>(parts), [&](parallel::range panels) { multiply_(product_, x, panels, y); });
    }

  private:
    /// Four elements of each of a panel's columns.
    struct alignas(64) group {
        std::array<std::int8_t, 4 *panel_columns> elements = {};
    };

    void place(std::int64_t k, std::int64_t n, std::int8_t value) {
        auto &to = weights_[static_cast<std::size_t>(n / panel_columns * groups_ + k / 4)];
        to.elements[static_cast<std::size_t>(n % panel_columns * 4 + k % 4)] = value;
        if (!product_.x_is_signed) return;
        auto &start = start_[static_cast<std::size_t>(n)];
        start = static_cast<std::int32_t>(static_cast<std::uint32_t>(start) - 128U * static_cast<std::uint32_t>(value));
    }

    multiply_panels_function multiply_;
    std::int64_t panels_, groups_;
    std::vector<group> weights_;
    std::vector<std::int32_t> start_;
    few_rows_product product_;
};

} // namespace

std::unique_ptr<const product_slice> few_rows_slice(const product_slice::problem &p, const std::int8_t *w) {
    const auto by = choice_for(p.rows);
    if (!by.function) return nullptr;
    return std::make_unique<few_rows>(by, p, w);
}

} // namespace dynquant::models
