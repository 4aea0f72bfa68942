"""What the figures were measured on."""

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


def instruction_set(cpuinfo: str) -> str:
    flags = _first(r"^flags\s*:(.*)$", cpuinfo, "").split()
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= set(flags):
        return "AVX-512"
    return "AVX2" if {"avx2", "fma", "bmi2"} <= set(flags) else "scalar"


def _version(header: pathlib.Path, name: str) -> str:
    text = header.read_text() if header.exists() else ""
    parts = [_first(rf"define {name}_{part}\s+(\d+)", text, "") for part in ("MAJOR", "MINOR", "PATCH")]
    return ".".join(filter(None, parts)) or "unknown"


def facts(build: pathlib.Path, packages: dict[str, str]) -> dict[str, str]:
    """Rows for the page: what, and which. `packages` are versions that others know."""
    cpuinfo, lscpu = _read("/proc/cpuinfo"), _output("lscpu")
    def field(name: str, text: str) -> str:
        return _first(rf"^{name}\s*:\s*(.*)$", text, "")

    cache = _read(str(build / "CMakeCache.txt"))
    compiler = _first(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache, "c++")
    onednn = pathlib.Path(_first(r"^dnnl_DIR:\w+=(.*)/lib/.*$", cache, "/usr")) / "include/oneapi/dnnl/dnnl_version.h"
    memory = int(_first(r"^MemTotal:\s+(\d+)", _read("/proc/meminfo"), "0")) / 2**20
    processor = f"{field('model name', cpuinfo)}, family {field('cpu family', cpuinfo)}, model {field('model', cpuinfo)}"
    system = _first('^PRETTY_NAME="(.*)"$', _read("/etc/os-release"))
    return {
        "Processor": processor + (", virtual" if field("Hypervisor vendor", lscpu) else ""),
        "Cores": f"{threads()} for this process",
        "Instruction set": instruction_set(cpuinfo),
        "Caches": ", ".join(f"{level} {field(level + ' cache', lscpu)}" for level in ("L1d", "L2", "L3")),
        "Memory": f"{memory:.0f} GiB",
        "System": f"{system}, Linux {platform.release()}",
        "Compiler": _output(compiler, "--version").partition("\n")[0],
        "oneDNN": _version(onednn, "DNNL_VERSION"),
        **packages,
    }
