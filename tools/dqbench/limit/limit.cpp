#include "limit/limit.hpp"

#include "parallel/parallel.hpp"
#include "quantization/data_type.hpp"
#include "quantization/shape.hpp"

namespace dqbench::limit {
namespace {

using namespace dynquant;

const instruction_set &set_of(isa value) {
#if defined(__x86_64__)
    if (value >= isa::avx512) return avx512_set;
    if (value >= isa::avx2) return avx2_set;
#endif
    return scalar_set;
}

/// Whether native's microkernels load and store these types directly, without staging.
bool is_plain(const quantization &q) {
    if (q.dir == direction::requantize) return true;
    const auto plain = [](data_type type) {
        return type == data_type::f32 || type == data_type::s8 || type == data_type::u8;
    };
    return plain(q.src.type) && plain(q.dst.type) && q.scales.type == data_type::f32 && q.division == precision::f32;
}

/// The limit of a statement that native stages: the bytes of src and dst once, in order, in any layout.
class traffic final : public kernels::implementation {
  public:
    traffic(const quantization &q, isa value)
        : function_(set_of(value).traffic)
        , isa_(value)
        , elements_(volume(q.src.dims).value_or(0))
        , src_bytes_(size_in_bytes(q.src.type, elements_))
        , dst_bytes_(size_in_bytes(q.dst.type, elements_)) {}

    operation_info info() const override { return {kernel_kind::native, to_string(isa_)}; }

    void run(const arguments &args) const override {
        constexpr std::int64_t line = 64;
        const auto lines = dst_bytes_ / line;
        const bool stream = dst_bytes_ >= kernels::native::streaming_bytes();
        parallel::for_each_part(lines, parallel::parts_for(elements_, 0), [&](parallel::range part) {
            const auto src_at = [&](std::int64_t at) { return at * src_bytes_ / (lines > 0 ? lines : 1); };
            function_(static_cast<const char *>(args.src) + src_at(part.begin), src_at(part.end) - src_at(part.begin),
                    static_cast<char *>(args.dst) + part.begin * line, (part.end - part.begin) * line, stream);
        });
    }

  private:
    traffic_function function_;
    isa isa_;
    std::int64_t elements_, src_bytes_, dst_bytes_;
};

} // namespace

std::unique_ptr<kernels::implementation> prepare(const quantization &q, isa value) {
    if (!is_plain(q)) return std::make_unique<traffic>(q, value);
    kernels::settings settings;
    settings.max_isa = value;
    return kernels::native::implement(q, settings, set_of(value).microkernels);
}

} // namespace dqbench::limit
