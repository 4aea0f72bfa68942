"""The mutations: flipped roundings and terms, a family after the other."""

import collections

# Compiled: the reference, and what it loads and stores with; the native kernel of an instruction set.
REFERENCE, STORE = "kernels/reference/reference.cpp", "elements/load_store.cpp"
SCALAR, AVX2 = "kernels/native/isa/scalar_loops.cpp", "kernels/native/isa/avx2_loops.cpp"
MATMUL, DEPTHWISE = (f"layers/{folder}/isa/scalar.cpp" for folder in ("gemm", "conv/depthwise"))
CHANNELS_FIRST = "layers/conv/channels_first/isa/scalar_channels_first.cpp"
BLOCKS = "layers/gemm/by_blocks/isa/scalar.cpp"
STEPS, NARROW = "layers/epilogue/isa/scalar_epilogue.cpp", "layers/gemm/weight_only/isa/scalar_weight_only.cpp"
# Changed.
NUMERICS, COMPUTED = "src/quantization/numerics.hpp", "src/quantization/computed.hpp"
SMALL_FLOAT, SMALL_FLOATS = "src/elements/small_float.hpp", "src/kernels/native/small_floats.hpp"
COMMON, TO_INTEGERS, TO_FLOATS, DEQUANTIZE = (
    f"src/kernels/native/formulas/{name}.hpp" for name in ("common", "to_integers", "to_floats", "dequantize"))
SCALE_FORMULAS = "src/kernels/native/scales/scale_formulas.hpp"
VECTORS = "src/targets/avx2.hpp"

# What verify says of a cell, by the file that is compiled.
DIFFERS = {REFERENCE: "the reference differs from the table", STORE: "the reference differs from the table",
           AVX2: "avx2 differs from the reference",
           **dict.fromkeys((SCALAR, MATMUL, DEPTHWISE, CHANNELS_FIRST, STEPS, NARROW, BLOCKS),
                           "scalar differs from the reference")}

# What is flipped; the file that is compiled; the file that is changed; a text that it has once, and what replaces that;
# the cells that must differ, each of them.
Mutation = collections.namedtuple("Mutation", "name compiled changed before after cells")
MUTATIONS = [Mutation(*row) for row in [
    ("strict quantize: quotient and sum rounded at once", REFERENCE, NUMERICS,
     "rounded_and_clamped(x / s + static_cast<float>(zp)",
     "rounded_and_clamped(static_cast<float>(static_cast<double>(x) / s + zp)",
     "^strict.quantize/.*->[su]"),
    ("strict quantize: ties away from zero", REFERENCE, NUMERICS,
     "std::nearbyint(std::clamp(real", "std::round(std::clamp(real", "^strict.quantize/.*->[su]"),
    ("strict quantize to floats: by the reciprocal", REFERENCE, NUMERICS,
     "float quantize_to_float8(float x, float s) {\n    return x / s;",
     "float quantize_to_float8(float x, float s) {\n    return x * (1 / s);", "^strict.quantize/.*->f8"),
    ("strict quantize: NaN gives 0", REFERENCE, NUMERICS,
     "if (std::isnan(real)) return static_cast<std::int32_t>(lowest);",
     "if (std::isnan(real)) return 0;", "^strict.quantize/.*->s"),
    ("dequantize: the difference is not rounded", REFERENCE, NUMERICS,
     "return static_cast<float>(q - zp) * s;", "return static_cast<float>(static_cast<double>(q - zp) * s);",
     "^(strict|onnx).dequantize/[su](32|[48])->f32"),
    ("dequantize floats: distributed", REFERENCE, NUMERICS,
     "return (q - zp) * s;", "return q * s - zp * s;", "^onnx.dequantize/f"),
    ("dequantize: the product is multiplied by the global scale", REFERENCE, "src/" + REFERENCE,
     """const float s = real(q.scales.type, a.scales, p) * global;
        const float result = integral
                ? numerics_contract::dequantize(static_cast<std::int64_t>(x), s, zero_point(q, a, p))
                : dequantize_float(q, a, static_cast<float>(x), s, p);
        store(q.dst.type, a.dst, o, result);""",
     """const float s = real(q.scales.type, a.scales, p);
        const float result = integral
                ? numerics_contract::dequantize(static_cast<std::int64_t>(x), s, zero_point(q, a, p))
                : dequantize_float(q, a, static_cast<float>(x), s, p);
        store(q.dst.type, a.dst, o, result * global);""", "^onnx.dequantize.global/.*->f32"),
    ("onnx quantize: the zero point is added before rounding", REFERENCE, NUMERICS,
     "std::clamp(std::nearbyint(quotient), lowest - offset, highest - offset)) + zp",
     "std::clamp(std::nearbyint(quotient + offset), lowest, highest))", "^onnx.quantize/.*->[su]"),
    ("onnx quantize: NaN gives 0", REFERENCE, NUMERICS,
     "if (std::isnan(quotient)) return static_cast<std::int64_t>(lowest);",
     "if (std::isnan(quotient)) return 0;", "^onnx.quantize/f.*->s"),
    ("onnx quantize: the quotient is not rounded to f16 or bf16", REFERENCE, NUMERICS,
     "return rounded(static_cast<float>(dividend) / static_cast<float>(divisor), in);",
     "return static_cast<float>(dividend) / static_cast<float>(divisor);", "^onnx.quantize/"),
    ("onnx quantize: s32 is rounded twice, to f32 and f16", REFERENCE, NUMERICS,
     "return __builtin_bit_cast(float, (above ? bits - 1 : bits) | 1);", "return above ? nearest : nearest;",
     "^onnx.quantize/s32->b?f16"),
    ("onnx quantize: s32 is not rounded to f32", REFERENCE, NUMERICS,
     "const double dividend = rounded(x, in), divisor = rounded(s, in);\n"
     "    if (in == precision::f64) return dividend / divisor;\n"
     "    return rounded(static_cast<float>(dividend) / static_cast<float>(divisor), in);",
     "const double dividend = in == precision::f32 ? x : rounded(x, in), divisor = rounded(s, in);\n"
     "    if (in == precision::f64) return dividend / divisor;\n"
     "    return rounded(static_cast<float>(dividend / divisor), in);",
     "^onnx.quantize.large/.*->([su]|f16|f[46]|f8_e4m3)"),
    ("onnx quantize: s32 is rounded to f32 and then to bf16", REFERENCE, NUMERICS,
     "bfloat16::from(round_to_odd(value)).value()", "bfloat16::from(static_cast<float>(value)).value()",
     "^onnx.quantize.large/.*->([su](2|4|8|16)$|f16|f4|f6_e2m3|f8_e4m3)"),
    ("onnx quantize to floats: the sum is not rounded to f16 or bf16", REFERENCE, NUMERICS,
     "return rounded(quotient + rounded(zp, in), in);", "return quotient + rounded(zp, in);", "^onnx.quantize/b?f.*->f"),
    ("small floats: ties away from zero", STORE, SMALL_FLOAT,
     "just_below_half + last_kept", "just_below_half + (last_kept | 1)",
     "^(strict|onnx).(quantize/.*->f|dequantize/([su][48]|f8.*)->b?f16)"),
    ("small floats: overflow gives the highest number", STORE, SMALL_FLOAT,
     "return has_infinity ? infinity : quiet_nan;\n    }", "return highest;\n    }",
     "^(strict|onnx).quantize/.*->f8"),
    ("small floats: NaN keeps its sign in f4 and f6", STORE, SMALL_FLOAT,
     "if (!has_nan && value != value) return {static_cast<Bits>(magnitude)};", "",
     "(quantize|computed.[a-z0-9_]*)/.*->f[46]"),
    ("small floats: subnormal numbers are 0", STORE, SMALL_FLOAT,
     "if (magnitude == 0) return 0;", "if (magnitude < implicit) return 0;", "^(strict|onnx).dequantize/(b?f16|f)"),
    ("computed scales, nearest: by the reciprocal of the divisor", REFERENCE, COMPUTED,
     "const float v = range / divisor / global;", "const float v = range * (1 / divisor) / global;",
     "^computed.(absmax|minmax|onnx|onednn_dynamic|torchao|ggml|vllm)"),
    ("computed scales, under a global scale: it is left out", REFERENCE, COMPUTED,
     "range / divisor / global", "range / divisor", "^computed.nvfp4"),
    ("computed scales, under a global scale: it is multiplied by the divisor", REFERENCE, COMPUTED,
     "range / divisor / global", "range / (divisor * global)", "^computed.nvfp4.ties"),
    ("computed scales, under a global scale: the reciprocal of the product", REFERENCE, COMPUTED,
     "return 1 / global / scale;", "return 1 / (global * scale);", "^computed.nvfp4.ties"),
    ("computed scales, floor: half up", REFERENCE, COMPUTED,
     "case scale_rounding::nearest:\n            case scale_rounding::floor: break;",
     "case scale_rounding::nearest:\n            case scale_rounding::floor: bits += 1U << 22; break;",
     "^computed.mx_floor"),
    ("computed scales, ceil: powers of two, too", REFERENCE, COMPUTED,
     "bits += fraction; break; // carries", "bits += fraction + 1; break; // carries", "^computed.mx_ceil"),
    ("computed scales, even: to one bit fewer", REFERENCE, COMPUTED,
     "1U << (22 - fraction_bits); break;", "1U << (23 - fraction_bits); break;", "^computed.mx_even"),
    ("computed scales, rceil: powers of two, too", REFERENCE, COMPUTED,
     "? 0 : bits + fraction; break;", "? 0 : bits + fraction + 1; break;", "^computed.mx_rceil"),
    ("computed zero points: up", REFERENCE, COMPUTED,
     "std::nearbyint(-(low / scale))", "std::ceil(-(low / scale))", "^computed.(minmax|onnx|torchao_asymmetric)"),
    ("computed scales, by the reciprocal: divided", REFERENCE, COMPUTED,
     "x / operand : x * operand", "x / operand : x / (1 / operand)", "^computed.(vllm|onednn_dynamic_fp/f32)"),
    ("computed scales: range by divisor", REFERENCE, COMPUTED,
     "return divisor / range;", "return 1 / (range / divisor);", "^computed.ggml_q8_0"),
    ("scalar strict quantize: by the reciprocal", SCALAR, TO_INTEGERS,
     "x / scale + zero);", "x * (1 / scale) + zero);", "^strict.quantize/.*->[su]"),
    ("scalar dequantize: distributed", SCALAR, DEQUANTIZE,
     "return V::to_reals(V::subtract(q, zero_point)) * scale;",
     "return V::to_reals(q) * scale - V::to_reals(zero_point) * scale;", "^strict.dequantize/[su][48]"),
    ("scalar onnx quantize: the zero point is added before rounding", SCALAR, COMMON,
     "return x + V::splat(magic_bias) + offset;", "return x + (V::splat(magic_bias) + offset);",
     "^onnx.quantize/.*->[su](8|4|2|16)$"),
    ("scalar onnx quantize: the quotient is not rounded to f16 or bf16", SCALAR, COMMON,
     "return scaled - (scaled - quotient);", "return quotient;", "^onnx.quantize/.*->[su](8|4|2|16)$"),
    ("scalar onnx quantize to floats: only the sum is rounded to f16 or bf16", SCALAR, TO_FLOATS,
     "in_division<V, Division>(in_division<V, Division>(x / scale) + zero)", "in_division<V, Division>(x / scale + zero)",
     "^onnx.quantize/b?f.*->f"),
    ("scalar onnx dequantize floats: distributed", SCALAR, DEQUANTIZE,
     "return (q - zero) * scale;", "return q * scale - zero * scale;", "^onnx.dequantize/f"),
    ("AVX2 strict quantize: the remainder is left out", AVX2, TO_INTEGERS,
     "return zero.added_to(V::fma(remainder, reciprocal, estimate));",
     "return zero.added_to(remainder * V::splat(0.0F) + estimate);",
     "^strict.quantize/f32->[su]"),
    ("AVX2 quantize: the conversion of +infinity saturates, as ARM's", AVX2, VECTORS,
     "return words(to_integers(a), to_integers(b));",
     "const __m256 most = _mm256_set1_ps(2147483520.0F);"
     "return words(to_integers(_mm256_min_ps(most, a)), to_integers(_mm256_min_ps(most, b)));",
     "^(strict|onnx).quantize.small/(f32|bf16)->[su][248]$"),
    ("AVX2 small floats: ties towards zero", AVX2, SMALL_FLOATS,
     "return V::subtract(V::as_integers(magnitude + unit), base);",
     "return V::subtract(V::as_integers(magnitude * V::splat(0x1.fffffep-1F) + unit), base);",
     "(quantize|absmax)/.*->f[468]"),
    ("scalar computed scales, nearest: by the reciprocal of the divisor", SCALAR, SCALE_FORMULAS,
     "auto v = range / f.divisor;", "auto v = range * (1 / f.divisor);",
     "^computed.(absmax|minmax|onnx|onednn_dynamic|torchao|ggml|vllm)"),
    ("scalar computed scales, under a global scale: it is multiplied by the divisor", SCALAR, SCALE_FORMULAS,
     "auto v = range / f.divisor;\n        if (global != 1) v = v / global;", "auto v = range / (f.divisor * global);",
     "^computed.nvfp4.ties"),
    ("scalar computed scales, under a global scale: the reciprocal of the product", SCALAR, SCALE_FORMULAS,
     "operand = inverse / scale;", "operand = 1 / (scale * p.global);", "^computed.nvfp4.ties"),
    ("scalar computed scales, floor: half up", SCALAR, SCALE_FORMULAS,
     "        return 0;\n    }\n", "        return 1 << 22;\n    }\n", "^computed.mx_floor"),
    ("scalar computed scales, ceil and rceil: powers of two, too", SCALAR, SCALE_FORMULAS,
     "case scale_rounding::rceil: return fraction;", "case scale_rounding::rceil: return fraction + 1;",
     "^computed.mx_r?ceil"),
    ("scalar computed scales, even: to one bit fewer", SCALAR, SCALE_FORMULAS,
     "1 << (22 - f.fraction_bits)", "1 << (23 - f.fraction_bits)", "^computed.mx_even"),
    ("scalar computed zero points: rounded twice", SCALAR, SCALE_FORMULAS,
     "positive + magic_bias + offset", "positive + 0.5F + magic_bias - 0.5F + offset",
     "^computed.(minmax|onnx|torchao_asymmetric)"),
    ("products and convolutions: the lowest bit is left out", MATMUL, "src/" + MATMUL,
     "(factor * std::int16_t {w[n]})", "(factor * std::int16_t {w[n]} & ~1)", "^layers.(matmul|conv)"),
    ("depthwise: the lowest bit is left out", DEPTHWISE, "src/" + DEPTHWISE,
     "(x[c] * weights[2 * c])", "(x[c] * weights[2 * c] & ~1)", "^layers.depthwise"),
    ("channels first: pairs saturate", CHANNELS_FIRST, "src/targets/scalar.hpp", "add(product(0), product(16))",
     "static_cast<std::int16_t>(product(0) + product(16))", "^layers.planar"),
    ("steps: a slope by the reciprocal", STEPS, "src/layers/epilogue/isa/epilogue_of.hpp",
     "V::select_less(x, V::splat(0.0F), x * a.at(i), x)",
     "V::select_less(x, V::splat(0.0F), x / (V::splat(1.0F) / a.at(i)), x)", "^layers.steps/.*leaky_relu"),
    ("steps: a denominator that is rounded once", STEPS, "src/layers/epilogue/isa/sigmoid.hpp",
     "V::splat(1.0F) + F::fma(f, polynomial<V>(g, f), power)", "F::fma(f, polynomial<V>(g, f), V::splat(1.0F) + power)",
     "^layers.steps/(tanh|sigmoid|swish|fast_gelu|gelu_by_tanh)"),
    ("narrow weights: product and sum rounded apart", NARROW, "src/targets/simd.hpp",
     "return __builtin_fmaf(a, b, c);", "return a * b + c;", "^layers.narrow"),
    ("blocks: product and sum rounded apart", BLOCKS, "src/layers/gemm/by_blocks/isa/multiply_blocks.hpp",
     "V::fma(d, scale_of_x * scales[v], V::load(y))", "d * (scale_of_x * scales[v]) + V::load(y)", "^layers.blocks"),
    ("blocks: x divided by its scale", BLOCKS, "src/layers/gemm/by_blocks/isa/multiply_blocks.hpp",
     "V::load(x + k) * r;", "V::load(x + k) / V::splat(m / 127);", "^layers.blocks"),
]]
