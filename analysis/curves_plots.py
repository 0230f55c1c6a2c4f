"""The picture of a study of curves: one panel per operation, with the paper's numbers in it."""

from __future__ import annotations

import collections
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis import style
from analysis.curves_config import COLUMNS, CurvesConfig, Panel, column_value
from analysis.curves_tables import Curves
from analysis.load import PaperNumber
from analysis.plots import size_axis
from analysis.style import caption, plt

# Cases of one system in one panel share its colour.
_LINES = ("-", "--", ":", "-.")


def _draw_bound(axes: Axes, curves: Curves, panel: Panel) -> None:
    """busbw over its share of the bound is what the bound allows."""
    if panel.bound_of is None:
        return
    rows = curves.rows(panel.bound_of)
    label = curves.config.cases[panel.bound_of].label
    axes.plot(
        list(rows),
        [row.busbw_gb_per_s / (row.calibrated_bound_pct / 100.0) for row in rows.values()],
        color=style.OTHER_COLOR,
        linestyle="--",
        linewidth=1,
        label=f"{label}: lower bound on time, calibrated rates",
    )


def _draw_curves(axes: Axes, curves: Curves, panel: Panel) -> None:
    seen: collections.Counter[str] = collections.Counter()
    for case in curves.config.cases_of(panel):
        index = seen[case.system]
        seen[case.system] += 1
        points = curves.rows(case.name)
        # Two NCCLs may be one curve: dashes on top let the lower one show.
        on_top = case.system == "nccl:4sm"
        axes.plot(
            list(points),
            [column_value(row, case.column) for row in points.values()],
            color=style.SYSTEM_COLORS.get(case.system, style.OTHER_COLOR),
            marker=style.SYSTEM_MARKERS.get(case.system, "x"),
            markersize=4,
            markerfacecolor=None if index == 0 else "white",
            linestyle="--" if on_top else _LINES[index % len(_LINES)],
            zorder=3 if on_top else 2,
            label=f"{case.label}, simulated",
        )


def _paper_marks(
    config: CurvesConfig, panel: Panel, paper: Sequence[PaperNumber]
) -> list[tuple[str, int, PaperNumber]]:
    """(label, size, number) of what the paper states of a curve that is drawn here."""
    numbers = {(number.id, number.metric): number for number in paper}
    marks = []
    for entry in config.curve_metrics:
        number = numbers.get((entry.metric.id, entry.metric.metric))
        case, over = entry.pairs[0]
        drawn = config.cases[case]
        plain = over is None and (drawn.panel, drawn.column) == (panel.name, entry.column)
        if plain and number is not None:
            marks.append((drawn.label, entry.size_bytes, number))
    return marks


def _draw_marks(axes: Axes, marks: Sequence[tuple[str, int, PaperNumber]]) -> None:
    """A circle is a number, a triangle says on which side of one the paper claims to be."""
    for label, size, number in marks:
        equal = number.claim == "equal"
        words = "" if equal else f"{number.claim} "
        axes.plot(
            [size],
            [number.value],
            linestyle="none",
            marker={"equal": "o", "above": "^", "below": "v"}[number.claim],
            markersize=10 if equal else 7,
            markerfacecolor="none",
            markeredgecolor=style.PAPER_COLOR,
            zorder=4,
            label=f"{label}, paper: {words}{number.value:g}",
        )


def draw_curves(curves: Curves, paper: Sequence[PaperNumber], calibration: str) -> Figure:
    config = curves.config
    count = len(config.panels)
    # Legends have a row of their own: beside the curves there is no place for all of them.
    figure, grid = plt.subplots(
        2, count, figsize=(4.6 * count, 5.0), squeeze=False, height_ratios=(3, 1)
    )
    for axes, legend, panel in zip(*grid, config.panels, strict=True):
        _draw_bound(axes, curves, panel)
        _draw_curves(axes, curves, panel)
        _draw_marks(axes, _paper_marks(config, panel, paper))
        if panel.log_scale:
            axes.set_yscale("log")
        else:
            axes.set_ylim(0, 1.05 * axes.get_ylim()[1])
        sizes = {size for case in config.cases_of(panel) for size in case.sizes_bytes()}
        size_axis(axes, sorted(sizes), "message size")
        axes.set_ylabel(COLUMNS[panel.column])
        axes.set_title(panel.title)
        legend.axis("off")
        lines, labels = axes.get_legend_handles_labels()
        legend.legend(lines, labels, fontsize=7, loc="upper center", markerscale=0.8)
    caption(figure, f"Simulated ({config.network} network). Calibration: {calibration}.")
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    return figure
