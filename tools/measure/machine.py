"""Describes the machine and the software of a measurement."""

import importlib.metadata
import os
import pathlib
import platform
import re
import subprocess


def _first(pattern: str, text: str, default: str = "unknown") -> str:
    match = re.search(pattern, text, re.MULTILINE)
    return match[1].strip() if match else default


def _read(path: str) -> str:
    file = pathlib.Path(path)
    return file.read_text() if file.exists() else ""


def _output(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""


def threads() -> int:
    return len(os.sched_getaffinity(0))


def instruction_set() -> str:
    flags = _first(r"^flags\s*:(.*)$", _read("/proc/cpuinfo"), "").split()
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= set(flags):
        return "AVX-512"
    return "AVX2" if {"avx2", "fma", "bmi2"} <= set(flags) else "scalar"


# By vendor and family: ranges of models, inclusive. Sources: AMD's revision guides; Intel's Software Developer's
# Manual, volume 4.
_PROCESSORS = {
    ("AuthenticAMD", 25): [(0x00, 0x0F, "Zen 3"), (0x10, 0x1F, "Zen 4"), (0x20, 0x5F, "Zen 3"), (0x60, 0x7F, "Zen 4"), (0xA0, 0xAF, "Zen 4")],
    ("AuthenticAMD", 26): [(0x00, 0xFF, "Zen 5")],
    ("GenuineIntel", 6): [(85, 85, "Skylake SP"), (106, 108, "Ice Lake SP"), (143, 143, "Sapphire Rapids"), (207, 207, "Emerald Rapids"), (173, 174, "Granite Rapids")],
}  # fmt: skip


def processor() -> str:
    """The microarchitecture if known, else the model name."""
    cpuinfo = _read("/proc/cpuinfo")
    vendor, family, model = (_first(rf"^{name}\s*:\s*(.*)$", cpuinfo, "0") for name in ("vendor_id", "cpu family", "model"))
    for low, high, name in _PROCESSORS.get((vendor, int(family)), []):
        if low <= int(model) <= high:
            return name
    return _first(r"^model name\s*:\s*(.*)$", cpuinfo)


def version(header: pathlib.Path, name: str) -> str:
    text = header.read_text() if header.exists() else ""
    parts = [_first(rf"define {name}_{part}\s+(\d+)", text, "") for part in ("MAJOR", "MINOR", "PATCH")]
    return ".".join(filter(None, parts)) or "unknown"


PACKAGES = {"ONNX Runtime": "onnxruntime", "onnx": "onnx", "gguf": "gguf", "ml_dtypes": "ml_dtypes", "pi-quant": "pypiquant", "PyTorch": "torch", "torchao": "torchao", "pywhispercpp": "pywhispercpp"}


def packages() -> dict[str, str]:
    """The versions of those that are installed."""
    installed = {one.metadata["Name"].lower(): one.version for one in importlib.metadata.distributions()}
    return {label: installed[name] for label, name in PACKAGES.items() if name in installed}


def facts(build: pathlib.Path) -> dict[str, str]:
    cpuinfo, lscpu = _read("/proc/cpuinfo"), _output("lscpu")

    def field(name: str, text: str) -> str:
        return _first(rf"^{name}\s*:\s*(.*)$", text, "")

    cache = _read(str(build / "CMakeCache.txt"))
    compiler = _first(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache, "c++")
    onednn = pathlib.Path(_first(r"^dnnl_DIR:\w+=(.*)/lib/.*$", cache, "/usr")) / "include/oneapi/dnnl/dnnl_version.h"
    memory = int(_first(r"^MemTotal:\s+(\d+)", _read("/proc/meminfo"), "0")) / 2**20
    root = pathlib.Path(__file__).resolve().parents[2]
    commit = _output("git", "-C", str(root), "rev-parse", "--short", "HEAD").strip()
    name = f"{field('model name', cpuinfo)}, family {field('cpu family', cpuinfo)}, model {field('model', cpuinfo)}"
    system = _first('^PRETTY_NAME="(.*)"$', _read("/etc/os-release"))
    return {
        "Processor": name + (", virtual" if field("Hypervisor vendor", lscpu) else ""),
        "Cores": f"{threads()} for this process",
        "Instruction set": instruction_set(),
        "Caches": ", ".join(f"{level} {field(level + ' cache', lscpu)}" for level in ("L1d", "L2", "L3")),
        "Memory": f"{memory:.0f} GiB",
        "System": f"{system}, Linux {platform.release().partition('-')[0]}",
        "Compiler": _output(compiler, "--version").partition("\n")[0],
        "dynquant": f"{version(root / 'include/dynquant/version.hpp', 'DYNQUANT_VERSION')}, commit {commit or 'unknown'}",
        "oneDNN": version(onednn, "DNNL_VERSION"),
        **packages(),
    }
