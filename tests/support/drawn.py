"""Tests of inputs that hypothesis draws.

The same are drawn each time. DYNQUANT_TEST_SAMPLE=N tries every Nth of them; unset it is 7. DYNQUANT_TEST_SEED=N draws others. An
input that fails is made small and shown as the arguments of the test; DYNQUANT_TEST_VERBOSE=1 shows each before it is tried, as of a
crash nothing else does."""

import faulthandler
import os
import tempfile
from collections.abc import Callable

import hypothesis
from hypothesis import strategies

SAMPLE, SEED = int(os.environ.get("DYNQUANT_TEST_SAMPLE", "7")), int(os.environ.get("DYNQUANT_TEST_SEED", "0"))
faulthandler.enable()
hypothesis.configuration.set_hypothesis_home_dir(tempfile.gettempdir() + "/dynquant.hypothesis")  # not into the tree


def drawn(count: int, /, **arguments: strategies.SearchStrategy) -> Callable[[Callable], Callable]:
    """A test, or a method, of drawn arguments. count: of all of them, of which every SAMPLEth is tried."""

    def decorate(test: Callable) -> Callable:
        settings = hypothesis.settings(
            max_examples=max(count // SAMPLE, 1), derandomize=True, deadline=None, database=None,
            suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.filter_too_much],
            verbosity=hypothesis.Verbosity.verbose if "DYNQUANT_TEST_VERBOSE" in os.environ else hypothesis.Verbosity.normal,
        )  # fmt: skip
        result = settings(hypothesis.given(**arguments)(test))
        return hypothesis.seed(SEED)(result) if SEED else result

    return decorate


@strategies.composite
def changed(draw: Callable, data: bytes) -> bytes:
    """The bytes of a file after one to four changes: a byte is another, a part is missing or there twice, or holds a large number, or
    what is in another place."""
    result = bytearray(data)
    for _ in range(draw(strategies.integers(1, 4))):
        at = draw(strategies.integers(0, max(len(result) - 1, 0)))
        end = at + draw(strategies.integers(0, 16))
        match draw(strategies.sampled_from(("byte", "bit", "cut", "end", "twice", "number", "moved", "text"))):
            case "byte":
                result[at : at + 1] = bytes([draw(strategies.integers(0, 255))])
            case "bit" if result:
                result[at] ^= 1 << draw(strategies.integers(0, 7))
            case "cut":
                del result[at:end]
            case "end":
                del result[at:]
            case "twice":
                result[at:at] = result[at:end]
            case "number":
                number = draw(strategies.sampled_from((0, 1, 0x7F, 0x80, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)))
                size = draw(strategies.sampled_from((1, 2, 4, 8)))
                result[at : at + size] = (number % 256**size).to_bytes(size, "little")
            case "moved":
                other = draw(strategies.integers(0, max(len(result) - 1, 0)))
                result[other : other + end - at] = result[at:end]
            case "text":
                result[at:at] = draw(strategies.text(max_size=6)).encode(errors="surrogatepass")
    return bytes(result)
