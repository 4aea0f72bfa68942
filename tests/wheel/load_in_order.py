"""Loads and uses libraries in the order of its arguments, in one process.
usage: load_in_order.py MODEL STEP..., steps: tbb, numba, provider"""

import ctypes
import functools
import importlib.metadata
import re
import sys

import numpy
import onnxruntime
import onnxruntime_ep_dynquant as package


def loaded_tbb():
    with open("/proc/self/maps") as file:
        return set(re.findall("/.*libtbb[.]so.*", file.read()))


def tbb(_):
    """PyPI's, whose symbols later libraries would take before those of their own."""
    (library,) = [f for f in importlib.metadata.files("tbb") if f.name == "libtbb.so.12"]
    assert (
        ctypes.CDLL(str(library.locate().resolve()), mode=ctypes.RTLD_GLOBAL).TBB_runtime_interface_version() >= 12000
    )
    assert loaded_tbb()


def numba(_):
    import numba

    numba.config.THREADING_LAYER = "tbb"

    @numba.njit(parallel=True)
    def total(n):
        s = 0
        for i in numba.prange(n):
            s += i
        return s

    assert total(100000) == 4999950000
    assert numba.threading_layer() == "tbb"


@functools.cache
def device():
    onnxruntime.register_execution_provider_library("dynquant", package.get_library_path())
    return next(d for d in onnxruntime.get_ep_devices() if d.ep_name == package.get_ep_name())


def provider(model):
    before = loaded_tbb()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 4
    options.add_provider_for_devices([device()], {})
    session = onnxruntime.InferenceSession(model, options, enable_fallback=0)
    x = numpy.random.default_rng(1).standard_normal((4, 3, 200, 200)).astype(numpy.float32)
    expected = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    for _ in range(20):
        numpy.testing.assert_array_equal(session.run(None, {"x": x})[0], expected)
    assert loaded_tbb() == before, loaded_tbb() - before


for step in sys.argv[2:]:
    {"tbb": tbb, "numba": numba, "provider": provider}[step](sys.argv[1])
