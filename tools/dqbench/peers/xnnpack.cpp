// XNNPACK's conversions between f32 and quantized 8-bit integers: one scale and one zero point, approximate.
#include <limits>

#include <pthreadpool.h>
#include <tbb/task_arena.h>
#include <xnnpack.h>

#include "elements/table.hpp"
#include "peers/peer.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dqbench {
namespace {

using dynquant::concat;

/// The name of a status; XNNPACK has no function for it.
const char *name_of_status(xnn_status status) {
    switch (status) {
        case xnn_status_success: return "success";
        case xnn_status_uninitialized: return "uninitialized";
        case xnn_status_invalid_parameter: return "invalid_parameter";
        case xnn_status_invalid_state: return "invalid_state";
        case xnn_status_unsupported_parameter: return "unsupported_parameter";
        case xnn_status_unsupported_hardware: return "unsupported_hardware";
        case xnn_status_out_of_memory: break;
    }
    return "out_of_memory";
}

void require(xnn_status status, const char *function) {
    if (status != xnn_status_success) throw refusal(concat(function, ": ", name_of_status(status)));
}

void require_statable(const task &t) {
    const auto &s = t.s;
    for (const auto type : {s.types.src, s.types.dst})
        if (type != data_type::f32 && type != data_type::s8 && type != data_type::u8)
            throw refusal(concat("it takes f32, s8 and u8, the statement has ", dynquant::to_string(type)));
    if (s.parameter_count() > 1) throw refusal("it takes one scale, the statement has one for each channel");
    const auto dense = dynquant::row_major(s.extents);
    if (s.src_strides != dense || t.dst_strides != dense)
        throw refusal("it takes dense row-major tensors, the statement's have other strides");
    if (s.types.zps) {
        const auto &quantized = dynquant::traits(s.quantizing ? s.types.dst : s.types.src);
        const auto zero_point = t.drawn.zero_points.front();
        if (zero_point < quantized.lowest || zero_point > quantized.highest)
            throw refusal(concat("it takes a zero point within ", quantized.name, ", given ", zero_point));
    }
}

/// Creates and sets up one of XNNPACK's conversions.
template <auto create_function, auto setup_function, typename Source, typename Destination>
struct conversion {
    static xnn_status create(float scale, std::int32_t zero_point, xnn_operator_t *made) {
        constexpr std::size_t channels = 1;
        if constexpr (std::is_same_v<Source, float>) {
            using limits = std::numeric_limits<Destination>;
            return create_function(channels, channels, channels, scale, static_cast<Destination>(zero_point),
                    limits::lowest(), limits::max(), 0, made);
        } else {
            return create_function(channels, channels, channels, scale, static_cast<Source>(zero_point), 0, made);
        }
    }
    static xnn_status setup(xnn_operator_t op, std::size_t count, const void *src, void *dst, pthreadpool_t threads) {
        return setup_function(op, count, static_cast<const Source *>(src), static_cast<Destination *>(dst), threads);
    }
};

using quantize_s8 = conversion<xnn_create_convert_nc_f32_qs8, xnn_setup_convert_nc_f32_qs8, float, std::int8_t>;
using quantize_u8 = conversion<xnn_create_convert_nc_f32_qu8, xnn_setup_convert_nc_f32_qu8, float, std::uint8_t>;
using dequantize_s8 = conversion<xnn_create_convert_nc_qs8_f32, xnn_setup_convert_nc_qs8_f32, std::int8_t, float>;
using dequantize_u8 = conversion<xnn_create_convert_nc_qu8_f32, xnn_setup_convert_nc_qu8_f32, std::uint8_t, float>;

class xnnpack_peer final : public peer {
  public:
    explicit xnnpack_peer(const task &t)
        : dst_(t.dst)
        , dst_strides_(t.dst_strides) {
        require_statable(t);
        require(xnn_initialize(nullptr), "xnn_initialize");
        const int threads = tbb::this_task_arena::max_concurrency();
        if (threads > 1) pool_.reset(pthreadpool_create(static_cast<std::size_t>(threads)));
        const bool s8 = (t.s.quantizing ? t.s.types.dst : t.s.types.src) == data_type::s8;
        if (t.s.quantizing)
            s8 ? prepare<quantize_s8>(t) : prepare<quantize_u8>(t);
        else
            s8 ? prepare<dequantize_s8>(t) : prepare<dequantize_u8>(t);
    }

    void execute() override { require(xnn_run_operator(operator_.get(), pool_.get()), "xnn_run_operator"); }

    /// pthreadpool's workers spin for tens of milliseconds after a task. A task with PTHREADPOOL_FLAG_YIELD_WORKERS
    /// stops that.
    void park_threads() override {
        const auto nothing = [](void *, std::size_t) {};
        if (pool_)
            pthreadpool_parallelize_1d(pool_.get(), nothing, nullptr, pthreadpool_get_threads_count(pool_.get()),
                    PTHREADPOOL_FLAG_YIELD_WORKERS);
    }

    std::optional<computed> dst() const override { return computed {dst_, dst_strides_}; }

  private:
    template <typename Conversion>
    void prepare(const task &t) {
        const auto zero_point = t.s.types.zps ? t.drawn.zero_points.front() : 0;
        xnn_operator_t made = nullptr;
        require(Conversion::create(t.drawn.scales.front(), zero_point, &made), "xnn_create_convert_nc");
        operator_.reset(made);
        const auto count = static_cast<std::size_t>(t.s.volume());
        require(Conversion::setup(made, count, t.inputs.src, dst_.data(), pool_.get()), "xnn_setup_convert_nc");
    }

    template <auto function>
    struct released_by {
        void operator()(auto *p) const { function(p); }
    };

    guarded_buffer &dst_;
    dynquant::dims dst_strides_;
    std::unique_ptr<pthreadpool, released_by<pthreadpool_destroy>> pool_; // none: this thread alone
    std::unique_ptr<xnn_operator, released_by<xnn_delete_operator>> operator_;
};

} // namespace

std::unique_ptr<peer> make_xnnpack(const task &t) {
    return std::make_unique<xnnpack_peer>(t);
}

} // namespace dqbench
