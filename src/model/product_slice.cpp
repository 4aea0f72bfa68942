#include "model/product_slice.hpp"

#include <algorithm>

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
        const desc x({p.rows, p.inner}, p.x_is_signed ? type::s8 : type::u8, dims {p.x_stride, 1});
        const desc given({p.inner, p.columns}, type::s8, tag::ab), preferred({p.inner, p.columns}, type::s8, tag::any);
        const desc y({p.rows, p.columns}, type::s32, tag::ab);
        const dnnl::matmul::primitive_desc description(cpu_engine(), x, preferred, y, user_scratchpad());
        return {description, dnnl::matmul(description), given, w};
    }

    int8_primitive primitive_;
};

} // namespace

std::unique_ptr<const product_slice> onednn_slice(const product_slice::problem &p, const std::int8_t *w) {
    try {
        return std::make_unique<onednn>(p, w);
    } catch (const dnnl::error &e) {
        if (e.status == dnnl_unimplemented) return nullptr;
        throw;
    }
}

std::vector<std::int64_t> exact_slices(const std::int8_t *w, std::int64_t inner, std::int64_t columns) {
    struct totals {
        std::int64_t positive = 0, negative = 0;
    };
    std::vector<totals> of(static_cast<std::size_t>(columns));
    std::vector<std::int64_t> ends;
    for (std::int64_t k = 0; k < inner; ++k) {
        const auto *row = w + k * columns;
        const auto is_too_much = [&](const totals &t) {
            const std::int64_t value = row[&t - of.data()];
            return t.positive + value > exact_sum || t.negative - value > exact_sum;
        };
        if (std::ranges::any_of(of, is_too_much)) {
            ends.push_back(k);
            std::ranges::fill(of, totals {});
        }
        for (std::size_t n = 0; n < of.size(); ++n)
            (row[n] > 0 ? of[n].positive : of[n].negative) += std::abs(row[n]);
    }
    if (inner > 0) ends.push_back(inner);
    return ends;
}

} // namespace dynquant::models
