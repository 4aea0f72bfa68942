"""Sessions with the execution provider and without it."""
import collections
import contextlib
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnxruntime as ort

NAME = "DynquantExecutionProvider"
assert_same = functools.partial(np.testing.assert_array_equal, strict=True)  # types and shapes, too

ort.set_default_logger_severity(3)
ort.register_execution_provider_library("dynquant", os.environ["DYNQUANT_ONNXRUNTIME"])


def devices():
    return [d for d in ort.get_ep_devices() if d.ep_name == NAME]


def session(model, provider=True, options=None, threads=1, profile=None, optimized=True, spins=True, prepare=None,
            log_severity=4):
    """spins: whether threads that have nothing to do look for work, in place of sleeping. prepare: called with the
    SessionOptions."""
    settings = ort.SessionOptions()
    if not spins:
        settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if not optimized:
        settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.intra_op_num_threads = threads
    settings.log_severity_level = log_severity
    if profile:
        settings.enable_profiling = True
        settings.profile_file_prefix = profile
    if provider:
        settings.add_provider_for_devices(devices()[:1], options or {})
    if prepare:
        prepare(settings)
    return ort.InferenceSession(model, settings, enable_fallback=0)  # a refused option is an error


def said(model, options=None, *, refused=False, **how):
    """What the provider says of the model where the option `verbose` is 1. refused: whether ONNX Runtime may refuse the model then."""
    with tempfile.TemporaryFile() as file:
        stderr = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            with contextlib.suppress(*[Exception] if refused else []):
                session(model, options={"verbose": "1", **(options or {})}, log_severity=2, **how)
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
        file.seek(0)
        return file.read().decode()


def run(model, inputs, provider=True, **how):
    return session(model, provider, **how).run(None, inputs)


def assert_as_without(model, inputs):
    """The results are those that ONNX Runtime alone has."""
    for given, expected in zip(run(model, inputs), run(model, inputs, provider=False), strict=True):
        assert_same(given, expected)


def operators(model, inputs, provider=True, options=None, **how):
    """How many nodes of each operator a run executes; the provider's count as NAME."""
    with tempfile.TemporaryDirectory() as folder:
        s = session(model, provider, options, profile=str(pathlib.Path(folder, "profile")), **how)
        s.run(None, inputs)
        return executed(s)


def executed(s):
    """How many nodes of each operator the session, which profiles, has run."""
    events = json.loads(pathlib.Path(s.end_profiling()).read_text())
    names = [e["args"]["op_name"] for e in events if e.get("cat") == "Node" and e["name"].endswith("_kernel_time")]
    return collections.Counter(NAME if name.startswith(NAME) else name for name in names)


def in_another_process(code, *arguments, **how):
    """What Python runs there and prints, with the modules of this folder. how: of subprocess.run."""
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=pathlib.Path(__file__).parent, capture_output=True, **how)


def run_at_the_same_time(s, cases):
    """By six threads, so that shapes alternate. cases: x, and what is expected of it."""
    def run_many(worker):
        for i in range(60):
            x, expected = cases[(i * 7 + worker) % len(cases)]
            np.testing.assert_array_equal(s.run(None, {"x": x})[0], expected)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(run_many, range(6)))
