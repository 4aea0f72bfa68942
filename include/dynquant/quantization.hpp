// The direct C++ API: state what to compute, prepare it once, run it many times. Public headers are C++17 and include
// nothing of src; graph.hpp (oneDNN Graph), onnx.hpp and model.hpp build on this one.
//
//     dynquant::quantization q;
//     q.dir = dynquant::direction::quantize;
//     q.src = {dynquant::data_type::f32, {8, 64, 56, 56}, {}};
//     q.dst = {dynquant::data_type::u8, {8, 64, 56, 56}, {}};
//     q.scales = {dynquant::data_type::f32, dynquant::per_channel({8, 64, 56, 56}, 1), {}};
//     dynquant::operation op = dynquant::prepare(q);
//     op.run({src, scales, nullptr, dst});
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dynquant/error.hpp"
#include "dynquant/export.hpp"
#include "dynquant/scale_rule.hpp"

namespace dynquant {

/// Extents or strides, one for each dimension, outermost first. Rank 0 (a scalar) to 12.
using dims = std::vector<std::int64_t>;

/// The most dimensions a tensor may have; oneDNN's DNNL_MAX_NDIMS.
inline constexpr int max_rank = 12;

/// f16: IEEE 754 binary16. bf16: the upper half of an f32. f8_e4m3 and f8_e5m2: OCP's 8-bit floats (ONNX: FLOAT8E4M3FN,
/// FLOAT8E5M2), which overflow to NaN and to infinity, as in oneDNN. f8_e4m3fnuz and f8_e5m2fnuz: ONNX's, without
/// infinity and -0; NaN is 0x80. f4_e2m1, f6_e2m3, f6_e3m2: OCP's MX formats, without infinity and NaN. f8_e8m0: powers
/// of two from 2^-127 to 2^127, and NaN; for scales only.
/// Elements of 2, 4 and 6 bits are packed without gaps, from the lowest bit of the first byte on. Strides and offsets
/// count elements. Bits outside the elements of an output are preserved.
enum class data_type {
    f32,
    s32,
    s8,
    u8,
    f16,
    bf16,
    s4,
    u4,
    f8_e4m3,
    f8_e5m2,
    // Under numerics::onnx only:
    s16,
    u16,
    u32,
    s2,
    u2,
    f4_e2m1,
    f6_e2m3,
    f6_e3m2,
    f8_e4m3fnuz,
    f8_e5m2fnuz,
    f8_e8m0,
};

/// quantize: real to integer or to a narrow float. dequantize: the reverse.
enum class direction { quantize, dequantize };

/// How results are rounded.
///   strict: quantize   dst = clamp(RNE(f32(f32(src / scale) + f32(zp)))), division correctly rounded;
///           dequantize dst = f32(f32(src - zp) * scale), src - zp exact before it is rounded to f32.
///           f16 and bf16 become f32 exactly where they are read; where dst is one, the f32 is rounded once more.
///           8-bit floats have no zero points: dst = RNE(f32(src / scale)) and dst = f32(src * scale).
///   any:    oneDNN's fpmath mode `any`: quantize may use src * (1 / scale) + zp, contracted or not.
///           With 2^-75 <= |scale| <= 2^75 and |zp| < 2^20 it differs from strict by at most 1, and
///           only next to a tie; outside that guard, and for dequantize, it is strict. (The onednn
///           kernel, which runs only when forced, cannot see parameters that are given at run time, and
///           treats NaN as oneDNN does.)
///   onnx:   ONNX's QuantizeLinear and DequantizeLinear, and AMD Quark's Extended ones:
///           quantize to integers dst = clamp(RNE(src / scale) + zp), the sum exact;
///           quantize to floats   dst = RNE(src / scale + zp), rounded to `division` and from there to dst, NaN kept;
///           dequantize           as strict.
/// RNE is round to nearest, ties to even. In integers NaN gives the lowest value of dst's type, infinities
/// saturate; zero, negative, subnormal, infinite and NaN scales follow IEEE 754 through the formula. Rounding to
/// a float overflows to infinity, and to 8-bit floats that have none to NaN, unless it saturates. In floats NaN stays
/// NaN. Floats of 4 and 6 bits, which have neither, always saturate, and NaN gives their largest number.
enum class numerics { strict, any, onnx };

/// The type of src / scale under numerics::onnx, and of src / scale + zp where dst is a float. Operands are rounded to
/// it first. f16 and bf16: the quotient is rounded to f32 and then to the type. f64 is for s32 scales.
enum class precision { f32, f16, bf16, f64 };

/// A tensor's description. Strides are in elements; empty means dense row-major. Negative strides are refused. src may
/// have strides of 0 (broadcast); the elements of dst must not overlap.
struct tensor {
    data_type type = data_type::f32;
    dynquant::dims dims;
    dynquant::dims strides;
};

/// The scales or the zero points. block[d] is how many consecutive elements along dimension d of src share one
/// parameter; the parameters are dense and row-major, ceil(dims[d] / block[d]) of them along d.
/// Their source is one of three: known at prepare, given at each run, or computed by each run from src
/// (quantization::computed).
struct parameter {
    data_type type = data_type::f32;
    dims block;
    /// The parameters, if they are known at prepare (one double holds a value of any type exactly). Scales are rounded
    /// to `type`; zero points must be values of `type`. The operation keeps a copy and ignores run's pointer. Empty:
    /// given at each run, or computed.
    std::vector<double> values = {};
};

/// Block extents of the usual granularities.
/// per_channel takes an axis in [-rank, rank - 1] and throws error (invalid_arguments) outside it.
DYNQUANT_API dims per_tensor(const dims &extents);
DYNQUANT_API dims per_channel(const dims &extents, std::int64_t axis);

/// The statement: what to compute. A plain value.
/// Types: the real side and the scales f32, f16 or bf16; the quantized side s8, u8, s4, u4, f8_e4m3 or f8_e5m2; zero
/// points s8, u8, s32, s4 or u4, and none for 8-bit floats. Zero points share the scales' block.
/// Under numerics::onnx also: src of quantize s32; scales s32, f8_e8m0 and f8_e4m3; the quantized side any type but f32
/// and f8_e8m0; zero points of the quantized side's type.
/// Computed scales: quantize under numerics::onnx, division f32; src f32, f16 or bf16; dst s8, u8, s4, u4, f8_e4m3,
/// f8_e5m2, f4_e2m1, f6_e2m3 or f6_e3m2; scales f32, f16, bf16, f8_e8m0 or f8_e4m3; zero points of dst's type.
struct quantization {
    direction dir = direction::quantize;
    tensor src, dst;
    parameter scales;
    std::optional<parameter> zero_points;
    numerics rule = numerics::strict;
    /// f32, except for quantize under numerics::onnx.
    precision division = precision::f32;
    /// Quantizing to floats under numerics::onnx: values beyond the largest finite number, and infinity, become that
    /// number. No effect on integers, which always saturate; refused for the other rules and for dequantize.
    bool saturate = false;
    /// NVFP4's global scale: one second scale of f32 for the whole tensor, beside scales of f8_e4m3 that are computed
    /// or for dequantize. dequantize multiplies by f32(scale * global scale). Beside computed scales known values are
    /// above 0 and finite in f32.
    std::optional<parameter> second_scales = {};
    /// The rule by which each run computes scales and zero points from src: they are outputs. Empty: they are inputs.
    std::optional<scale_rule> computed = {};
};

/// An error in a statement. check() returns nothing for a valid one; zero-volume tensors are valid.
struct problem {
    dynquant::status status;
    std::string message;
};
DYNQUANT_API std::optional<problem> check(const quantization &q);

/// The kernels, in the order in which they are tried.
enum class kernel_kind { native, onednn, reference };

/// Instruction sets of the native kernel. avx2: AVX2, FMA, F16C and BMI2. avx512: these, and AVX-512 F, BW, DQ and VL.
/// neon: of 64-bit ARM. As a limit, one of another architecture means scalar.
enum class isa { scalar, avx2, avx512, neon };

/// "unknown" for a value that is no enumerator.
DYNQUANT_API const char *to_string(data_type type);
DYNQUANT_API const char *to_string(direction dir);
DYNQUANT_API const char *to_string(numerics rule);
DYNQUANT_API const char *to_string(precision value);
DYNQUANT_API const char *to_string(kernel_kind kind);
DYNQUANT_API const char *to_string(isa value);

/// The strongest instruction set that both this processor and DYNQUANT_MAX_ISA allow.
/// Throws error (invalid_arguments) when DYNQUANT_MAX_ISA has an unknown value.
DYNQUANT_API isa best_isa();

struct options {
    /// Use this kernel or fail. Empty: DYNQUANT_KERNEL if set, else the first that supports q.
    std::optional<kernel_kind> kernel = {};
    /// Use nothing stronger than this. Empty: DYNQUANT_MAX_ISA if set, else what the processor has.
    std::optional<isa> max_isa = {};
    /// Split the work into no more than this many tasks. 0: the concurrency of the caller's arena.
    int threads = 0;
    /// What verbose lines call the operation, for instance "op 3 'conv1_quant'".
    std::string name = {};
};

/// The kernel that was chosen.
struct operation_info {
    kernel_kind kernel;
    /// native: "scalar", "avx2", "avx512" or "neon"; reference: "scalar"; onednn: oneDNN's name of the
    /// primitive's implementation, for instance "jit:uni".
    std::string isa;
};

/// The buffers of one run, in host memory, aligned to their type. A parameter's pointer is ignored if the statement has
/// its values, computes it, or has no such parameter. Computed parameters are written to computed_scales and
/// computed_zero_points, dense and row-major, as dequantize reads them.
struct arguments {
    const void *src = nullptr;
    const void *scales = nullptr;
    const void *zero_points = nullptr;
    void *dst = nullptr;
    const void *second_scales = nullptr;
    void *computed_scales = nullptr;
    void *computed_zero_points = nullptr;
};

namespace kernels {
class implementation;
}

/// A statement prepared by a kernel: immutable, cheap to copy (copies share), ready to run.
class DYNQUANT_API operation {
  public:
    operation() = default;
    explicit operation(std::shared_ptr<const kernels::implementation> implementation);

    explicit operator bool() const noexcept { return implementation_ != nullptr; }

    /// Computes dst, synchronously. Thread safe: one operation may run on many threads at once, each
    /// with its own dst. dst must not overlap the inputs. The calling thread's rounding mode, FTZ, DAZ
    /// and exception masks neither matter nor change.
    /// Throws error (invalid_arguments), having written nothing, when a buffer is null and the volume
    /// is not zero, or when the operation is empty.
    void run(const arguments &args) const;

    /// Which kernel and instruction set run() uses. Throws error when the operation is empty.
    operation_info info() const;

  private:
    std::shared_ptr<const kernels::implementation> implementation_;
};

/// Checks the statement, picks a kernel (or takes the one that options name) and prepares it.
/// Throws error: what check(q) finds; unimplemented, with the reason, when the requested kernel cannot compute q;
/// invalid_arguments when DYNQUANT_KERNEL or DYNQUANT_MAX_ISA has an unknown value, and for threads below 0 and a
/// kernel or max_isa that is no enumerator.
DYNQUANT_API operation prepare(const quantization &q, const options &opts = {});

} // namespace dynquant
