"""The tables of docs/prequantized.md."""

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
    lines = [
        "| network | activation | codified | float | codified | drop, points | ONNX Runtime | by integers |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for o in outcomes:
        how = o.variant.rescale if o.activation == "Relu" else f"{o.variant.rescale}, {o.variant.activation}"
        lines.append(
            f"| {o.network} | {o.activation} | {how} | {o.float_accuracy:.2%} | {o.accuracy:.2%} | {o.drop:.2f} | {_equal(o)} | {_by_integers(o)} |"
        )
    return "\n".join(lines) + "\n"


def _microseconds(seconds: list[float]) -> str:
    value = sorted(seconds)[len(seconds) // 2] * 1e6
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def speeds(timings: list[Timing]) -> str:
    lines = []
    for threads in dict.fromkeys(t.threads for t in timings):
        who = "one thread" if threads == 1 else f"{threads} threads"
        lines += [
            f"| {who}, us | ONNX Runtime | dynquant | limit | times as fast (least to most) | asked for | of the limit |",
            "|---|---|---|---|---|---|---|",
        ]
        for t in timings:
            if t.threads != threads:
                continue
            met = "met" if t.ratio() >= t.goal else "**missed**"
            limit = t.of_limit()
            lines.append(
                f"| {t.name} | {_microseconds(t.theirs)} | {_microseconds(t.ours)} | "
                f"{_microseconds(t.limit) if t.limit else ''} | "
                f"{t.ratio():.1f} ({min(t.ratios):.1f} to {max(t.ratios):.1f}) | {t.goal:g}, {met} | "
                f"{'' if limit is None else f'{limit:.2f}'} |"
            )
        lines.append("")
    return "\n".join(lines)
