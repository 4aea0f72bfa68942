"""Draws what int8 activations do to each text's embedding."""

import pathlib

from reporting.charts import GOOD, SHORT, plt, save

from .result import FLOAT, PER_ROW, PER_TENSOR, RUNTIME, Embedded

_COLORS = {RUNTIME: "#9a5ba5", PER_TENSOR: SHORT, PER_ROW: GOOD}


def draw(results: list[Embedded], path: pathlib.Path) -> None:
    """The cosines of all texts, the least first, by the fewest threads: to the text alone, and to the float model."""
    threads = min(r.threads for r in results)
    figure, panels = plt.subplots(1, 2, sharey=True)
    for r in results:
        if r.threads != threads or r.name == FLOAT:
            continue
        for axes, some in zip(panels, (r.to_alone, r.to_float), strict=True):
            axes.plot([100 * (i + 0.5) / len(some) for i in range(len(some))], sorted(some), color=_COLORS[r.name], label=r.name, linewidth=2.2)
        if r.differing == 0:
            panels[0].text(50, 1, "the same bits", color=_COLORS[r.name], ha="center", va="bottom", fontsize=9)
    for axes, title in zip(panels, ("int8 in a batch, and the same text alone", "int8 in a batch, and the float model"), strict=True):
        axes.set(xlim=(0, 100), xticks=range(0, 100, 20), xlabel="% of the texts")
        axes.set_title(title, fontsize=10)
    panels[0].set_ylabel("cosine of the two embeddings")
    panels[1].legend(loc="lower right", fontsize=9)
    save(figure, path)
