"""oneDNN's int8 convolutions and products, by its C functions. Only what suites/convolutions.py times."""

import ctypes
from collections.abc import Callable

from .arguments import ROOT

# dnnl_types.h and dnnl_common_types.h. These values are part of oneDNN's ABI.
_CPU, _FORWARD_INFERENCE, _DIRECT = 1, 96, 1
_S32, _S8, _U8 = 4, 5, 6
_ANY, _AB, _NHWC = 1, 3, 22
_SRC_MD, _WEIGHTS_MD, _DST_MD = 129, 131, 133
_ARGUMENTS = {_SRC_MD: 1, _WEIGHTS_MD: 33, _DST_MD: 17}
_ALLOCATE = ctypes.c_void_p(-1)


class _Argument(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_int), ("memory", ctypes.c_void_p)]


class OneDnn:
    """The oneDNN in .deps, else the system's. What is created lives as long as the process."""

    def __init__(self) -> None:
        own = ROOT / ".deps/lib/libdnnl.so.3"
        self._library = ctypes.CDLL(str(own) if own.exists() else own.name)
        self._library.dnnl_primitive_desc_query_md.restype = ctypes.c_void_p
        self._engine = self._create("dnnl_engine_create", _CPU, ctypes.c_size_t(0))
        self._stream = self._create("dnnl_stream_create", self._engine, 1)

    def convolution(self, x: tuple, w: tuple, strides: tuple, pads: tuple, groups: int) -> Callable[[], None]:
        """u8 by s8 to s32, channels last. x: N, C, H, W; w: O, I, H, W; one pad on both sides of a dimension."""
        y = (x[0], w[0], *((extent + 2 * p - k) // s + 1 for extent, k, s, p in zip(x[2:], w[2:], strides, pads)))
        if groups > 1:
            w = (groups, w[0] // groups, *w[1:])
        tensors = (self._tensor(x, _U8, _NHWC), self._tensor(w, _S8, _ANY), None, self._tensor(y, _S32, _NHWC))
        windows = (_dims(strides), _dims((0, 0)), _dims(pads), _dims(pads))
        return self._run("dnnl_convolution_forward_primitive_desc_create", _FORWARD_INFERENCE, _DIRECT, *tensors, *windows, None)

    def product(self, rows: int, inner: int, columns: int) -> Callable[[], None]:
        """u8 by s8 to s32."""
        tensors = (self._tensor((rows, inner), _U8, _AB), self._tensor((inner, columns), _S8, _ANY), None, self._tensor((rows, columns), _S32, _AB))
        return self._run("dnnl_matmul_primitive_desc_create", *tensors, None)

    def _create(self, function: str, *arguments: object) -> ctypes.c_void_p:
        result = ctypes.c_void_p()
        self._check(function, ctypes.byref(result), *arguments)
        return result

    def _check(self, function: str, *arguments: object) -> None:
        status = getattr(self._library, function)(*arguments)
        if status != 0:
            raise RuntimeError(f"{function}: expected status 0, given {status}")

    def _tensor(self, shape: tuple, kind: int, tag: int) -> ctypes.c_void_p:
        return self._create("dnnl_memory_desc_create_with_tag", len(shape), _dims(shape), kind, tag)

    def _run(self, description_function: str, *arguments: object) -> Callable[[], None]:
        description = self._create(description_function, self._engine, *arguments)
        primitive = self._create("dnnl_primitive_create", description)
        memories = (_Argument * len(_ARGUMENTS))()
        for slot, (query, argument) in zip(memories, _ARGUMENTS.items()):
            tensor = ctypes.c_void_p(self._library.dnnl_primitive_desc_query_md(description, query, 0))
            slot.arg, slot.memory = argument, self._create("dnnl_memory_create", tensor, self._engine, _ALLOCATE).value

        def run() -> None:
            self._check("dnnl_primitive_execute", primitive, self._stream, len(memories), memories)
            self._check("dnnl_stream_wait", self._stream)

        return run


def _dims(values: tuple) -> ctypes.Array:
    return (ctypes.c_int64 * 12)(*values)
