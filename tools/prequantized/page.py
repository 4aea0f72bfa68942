"""Writes the tables of models/docs/prequantized.md and prequantized_speed.md."""

from reporting.page import goal, ratio, table, threads_label

from .result import Outcome, Timing


def _equal(o: Outcome) -> str:
    if o.differing or o.differing_unfused:
        return f"**{o.differing}** differ fused, **{o.differing_unfused}** node by node"
    return f"equal node by node; {o.differing_session} differ in one session" if o.differing_session else "equal"


def _by_integers(o: Outcome) -> str:
    if not o.integer.differing:
        return f"all {o.integer.elements} alike"
    return f"{o.integer.differing} of {o.integer.elements} differ, by at most {o.integer.largest}"


def accuracies(outcomes: list[Outcome]) -> str:
    rows = []
    for o in outcomes:
        how = o.variant.rescale if o.activation == "Relu" else f"{o.variant.rescale}, {o.variant.activation}"
        rows.append([o.network, o.activation, how, f"{o.float_accuracy:.2%}", f"{o.accuracy:.2%}", f"{o.drop:.2f}", _equal(o), _by_integers(o)])
    header = ["network", "activation", "codified", "float", "codified", "drop, points", "ONNX Runtime", "by integers"]
    return "\n".join(table(header, rows))


def _microseconds(seconds: list[float]) -> str:
    if not seconds:
        return ""
    value = sorted(seconds)[len(seconds) // 2] * 1e6
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def speeds(timings: list[Timing]) -> str:
    lines: list[str] = []
    for threads in dict.fromkeys(t.threads for t in timings):
        header = [f"{threads_label(threads)}, us", "ONNX Runtime", "dynquant", "limit", "times as fast (least to most)", "goal", "of the limit"]
        rows = []
        for t in timings:
            if t.threads == threads:
                of_limit = t.of_limit()
                rows.append([t.name, _microseconds(t.peer_seconds), _microseconds(t.dynquant_seconds), _microseconds(t.limit), ratio(t.ratio(), t.ratios),
                             goal(t.goal, t.ratio()), "" if of_limit is None else f"{of_limit:.2f}"])  # fmt: skip
        lines += table(header, rows)
    return "\n".join(lines)
