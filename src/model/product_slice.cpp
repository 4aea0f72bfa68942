#include "model/product_slice.hpp"

#include <algorithm>

#include "kernels/onednn/limits.hpp"
#include "model/int8_primitive.hpp"

namespace dynquant::models {
namespace {

class onednn final : public product_slice {
  public:
    onednn(const problem &p, const std::int8_t *w)
        : primitive_(make(p, w)) {}

    void run(const std::byte *x, std::int32_t *y) const override { primitive_.run(x, y); }

  private:
    static int8_primitive make(const problem &p, const std::int8_t *w) {
        using desc = dnnl::memory::desc;
        using type = dnnl::memory::data_type;
        using tag = dnnl::memory::format_tag;
        const desc x({p.rows, p.inner}, p.x_is_signed ? type::s8 : type::u8, tag::ab);
        const desc given({p.inner, p.columns}, type::s8, tag::ab), preferred({p.inner, p.columns}, type::s8, tag::any);
        const desc y({p.rows, p.columns}, type::s32, tag::ab);
        const dnnl::matmul::primitive_desc description(cpu_engine(), x, preferred, y, user_scratchpad());
        return {description, dnnl::matmul(description), given, w};
    }

    int8_primitive primitive_;
};

/// So many of the first rows of w that oneDNN adds exactly: all of them, or a multiple of 64.
std::int64_t exact_rows(const std::int8_t *w, std::int64_t rows, std::int64_t columns) {
    constexpr std::int64_t unit = 64;
    static_assert(unit * 128 <= exact_sum); // so that there are some
    struct totals {
        std::int64_t positive = 0, negative = 0;
    };
    std::vector<totals> of(static_cast<std::size_t>(columns));
    for (std::int64_t k = 0; k < rows; ++k, w += columns)
        for (std::size_t n = 0; n < of.size(); ++n) {
            auto &total = w[n] > 0 ? of[n].positive : of[n].negative;
            total += std::abs(w[n]);
            if (total > exact_sum) return k / unit * unit;
        }
    return rows;
}

} // namespace

std::unique_ptr<const product_slice> onednn_slice(const product_slice::problem &p, const std::int8_t *w) {
    if (!kernels::onednn::fits_int(dims {p.rows, p.inner, p.columns})) return nullptr;
    try {
        return std::make_unique<onednn>(p, w);
    } catch (const dnnl::error &e) {
        if (e.status == dnnl_unimplemented) return nullptr;
        throw;
    }
}

std::vector<std::int64_t> exact_slices(const std::int8_t *w, std::int64_t inner, std::int64_t columns) {
    std::vector<std::int64_t> ends;
    for (std::int64_t end = 0; end < inner;) {
        end += exact_rows(w + end * columns, inner - end, columns);
        ends.push_back(end);
    }
    return ends;
}

} // namespace dynquant::models
