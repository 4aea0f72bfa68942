#include "layers/onednn/int8_primitive.hpp"
#include "layers/onednn/onednn.hpp"
#include "quantization/onednn_limits.hpp"

namespace dynquant::layers {
namespace {

class onednn_product_slice final : public product_slice {
  public:
    onednn_product_slice(const problem &p, const std::int8_t *w)
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

} // namespace

std::unique_ptr<const product_slice> make_onednn_slice(const product_slice::problem &p, const std::int8_t *w) {
    if (!fits_int(dims {p.rows, p.inner, p.columns})) return nullptr;
    try {
        return std::make_unique<onednn_product_slice>(p, w);
    } catch (const dnnl::error &e) {
        if (e.status == dnnl_unimplemented) return nullptr;
        throw;
    }
}

} // namespace dynquant::layers
