"""What the tests expect by the class of the processor."""

import os
import pathlib
import platform

IS_ARM = platform.machine() == "aarch64"
WITHOUT_AVX2 = IS_ARM or os.environ.get("DYNQUANT_MAX_ISA") == "scalar"


def _facts() -> dict[str, str]:
    """What Linux says of the first processor."""
    lines = pathlib.Path("/proc/cpuinfo").read_text().partition("\n\n")[0].splitlines()
    return dict(map(str.strip, line.split(":", 1)) for line in lines)


def _in_halves() -> bool:
    """Whether vectors of 256 bits are computed in halves, a class of costs of its own: AMD's families up to 23, model 2Fh (Zen 1)."""
    if WITHOUT_AVX2:
        return False
    facts = _facts()
    family, model = int(facts["cpu family"]), int(facts["model"])
    return (facts["vendor_id"] == "AuthenticAMD" and (family < 23 or family == 23 and model < 0x30)) or facts["vendor_id"] == "HygonGenuine"


def _has_avx512() -> bool:
    """Whether dynquant computes by AVX-512: F, BW, DQ and VL."""
    if WITHOUT_AVX2 or os.environ.get("DYNQUANT_MAX_ISA") == "avx2":
        return False
    return {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= set(_facts()["flags"].split())


IN_HALVES = _in_halves()
HAS_AVX512 = _has_avx512()
