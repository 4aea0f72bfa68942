#include "kernels/native/implementation.hpp"

#include <algorithm>
#include <unistd.h>
#include <vector>

#include "kernels/native/row_part.hpp"
#include "kernels/native/support.hpp"
#include "parallel/parallel.hpp"
#include "quantization/data_type.hpp"

namespace dynquant::kernels::native {
namespace {

/// Results of this many bytes and more are streamed: a quarter of the last-level cache, which src and
/// other programs share.
std::int64_t streaming_bytes() {
    static const std::int64_t bytes = [] {
        constexpr long usual = 32L << 20;
        const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
        return (cache > 0 ? cache : usual) / 4;
    }();
    return bytes;
}

/// Whether the rows have functions for their types, or are converted on the way.
bool is_converted(const quantization &q) {
    if (q.dir == direction::requantize) return false;
    const auto plain = [](data_type type) {
        return type == data_type::f32 || type == data_type::s8 || type == data_type::u8;
    };
    const bool plain_zero_points =
            !q.zero_points || plain(q.zero_points->type) || q.zero_points->type == data_type::s32;
    return !plain(q.src.type) || !plain(q.dst.type) || q.scales.type != data_type::f32 || !plain_zero_points
            || q.division != precision::f32;
}

layout plan(const quantization &q, const canonical_form &form) {
    if (!is_converted(q)) return layout_of(form);
    return converted_layout_of(form, q.dir == direction::dequantize && traits(q.src.type).bits <= 8);
}

class row_implementation final : public implementation {
  public:
    row_implementation(const quantization &q, const settings &s, row_function function)
        : function_(function)
        , src_type_(q.src.type)
        , dst_type_(q.dst.type)
        , saturate_(q.saturate)
        , scale_type_(q.scales.type)
        , division_(q.division)
        , has_zero_points_(q.zero_points.has_value())
        , has_bias_(q.bias.has_value())
        , has_second_scales_(q.second_scales.has_value())
        , zero_point_type_(has_zero_points_ ? q.zero_points->type : data_type::s32)
        , isa_(s.max_isa)
        , threads_(s.threads) {
        std::int64_t elements = 0;
        bool splits = true;
        for (const auto &form : canonicalize(q)) {
            const auto &part = parts_.emplace_back(plan(q, form), q.dir, pieces_);
            pieces_ = part.end();
            elements += part.elements();
            splits = splits && part.may_split(dst_type_);
        }
        tasks_ = splits ? elements / parallel::elements_per_part() : 1;
        streaming_ = size_in_bytes(dst_type_, elements) >= streaming_bytes();
    }

    operation_info info() const override { return {kernel_kind::native, to_string(isa_)}; }

    void run(const arguments &args) const override {
        parallel::for_each_part(pieces_, task_count(), [&](parallel::range pieces) {
            for (const auto &part : parts_)
                part.run(function_, call_of(args, part.shape()), pieces);
        });
    }

  private:
    call call_of(const arguments &args, const layout &shape) const {
        const auto *const zero_points = has_zero_points_ ? args.zero_points : has_bias_ ? args.bias : nullptr;
        const auto *const second_scales = has_second_scales_ ? static_cast<const float *>(args.second_scales) : nullptr;
        return {&shape, args.src, {scale_type_, args.scales}, {zero_point_type_, zero_points}, args.dst,
                streaming_ && begins_an_element(args.dst), src_type_, dst_type_, saturate_, second_scales, division_};
    }

    /// Else no element begins a cache line, and streaming stores would fault: oneDNN takes any address.
    bool begins_an_element(const void *dst) const {
        const auto size = std::max(traits(dst_type_).bits / 8, 1);
        return reinterpret_cast<std::uintptr_t>(dst) % static_cast<std::uintptr_t>(size) == 0;
    }

    int task_count() const {
        if (tasks_ <= 1) return 1; // asking for the concurrency takes time
        const auto threads = threads_ > 0 ? threads_ : parallel::concurrency();
        return static_cast<int>(std::min<std::int64_t>(tasks_, threads));
    }

    std::vector<row_part> parts_; // a form of the statement each
    row_function function_;
    data_type src_type_, dst_type_;
    bool saturate_;
    data_type scale_type_;
    precision division_;
    bool has_zero_points_, has_bias_, has_second_scales_;
    data_type zero_point_type_;
    isa isa_;
    int threads_;
    std::int64_t pieces_ = 0, tasks_;
    bool streaming_;
};

} // namespace

namespace {

row_function requantizing_function_of(const row_functions &functions, const quantization &q) {
    const auto &by = q.second_scales ? functions.requantize->twice : functions.requantize->once;
    if (q.dst.type == data_type::u8) return by.to_u8;
    return q.relu ? by.to_s8_relu : by.to_s8;
}

row_function onnx_function_of(const onnx_row_functions &functions, precision division) {
    switch (division) {
        case precision::f16: return functions.divided_in_f16;
        case precision::bf16: return functions.divided_in_bf16;
        case precision::f32:
        case precision::f64: break; // f64 is not computed here
    }
    return functions.divided_in_f32;
}

} // namespace

row_function function_of(const row_functions &functions, const quantization &q) {
    if (q.dir == direction::requantize) return requantizing_function_of(functions, q);
    const bool onnx = rounds_before_zero_points(q);
    if (is_converted(q)) {
        if (q.dir == direction::dequantize) return functions.dequantize_converted;
        if (!traits(q.dst.type).integral) return functions.quantize_floats;
        if (!onnx) return functions.quantize_converted;
        return onnx_function_of(*functions.onnx, q.division);
    }
    const bool s8 = (q.dir == direction::quantize ? q.dst : q.src).type == data_type::s8;
    if (q.dir == direction::dequantize) return s8 ? functions.dequantize_s8 : functions.dequantize_u8;
    if (q.rule == numerics::any) return s8 ? functions.quantize_any_s8 : functions.quantize_any_u8;
    if (onnx) return s8 ? functions.quantize_onnx_s8 : functions.quantize_onnx_u8;
    return s8 ? functions.quantize_strict_s8 : functions.quantize_strict_u8;
}

std::unique_ptr<implementation> apply_rows(const quantization &q, const settings &s, row_function function) {
    return std::make_unique<row_implementation>(q, s, function);
}

} // namespace dynquant::kernels::native
