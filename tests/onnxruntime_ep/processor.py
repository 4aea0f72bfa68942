"""What the tests expect by the class of the processor."""

import os
import pathlib
import platform

IS_ARM = platform.machine() == "aarch64"
WITHOUT_AVX2 = IS_ARM or os.environ.get("DYNQUANT_MAX_ISA") == "scalar"


def _in_halves() -> bool:
    """Whether vectors of 256 bits are computed in halves, a class of costs of its own: AMD's families up to 23, model 2Fh (Zen 1)."""
    if WITHOUT_AVX2:
        return False
    lines = pathlib.Path("/proc/cpuinfo").read_text().partition("\n\n")[0].splitlines()
    facts = dict(map(str.strip, line.split(":", 1)) for line in lines)
    family, model = int(facts["cpu family"]), int(facts["model"])
    return (facts["vendor_id"] == "AuthenticAMD" and (family < 23 or family == 23 and model < 0x30)) or facts["vendor_id"] == "HygonGenuine"


IN_HALVES = _in_halves()
