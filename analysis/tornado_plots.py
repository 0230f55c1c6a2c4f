"""The picture of the tornado: one panel per number, the largest effects on top."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from analysis import style
from analysis.curves_config import COLUMNS
from analysis.style import caption, plt
from analysis.tornado_config import TornadoConfig
from analysis.tornado_runs import step_names
from analysis.tornado_tables import Effect, Sensitivity, steps_note
from analysis.units import format_size

KIND_COLORS = {"input": "#0072B2", "fitted": "#D55E00"}
_COLUMNS = 3
_BAR = 0.38
_HATCH = "/////"


def _bar_label(effect: Effect, change_pct: float) -> str:
    note = steps_note(effect, change_pct)
    return f"{effect.constant}\n({note})" if note else effect.constant


def _draw_panel(axes: Axes, entry: Sensitivity, config: TornadoConfig) -> None:
    effects = entry.above(config.shown_above_pct)[: config.bars_max]
    places = list(range(len(effects)))
    colors = [KIND_COLORS[effect.kind] for effect in effects]
    if entry.ties_pct > config.shown_above_pct:
        axes.axvspan(-entry.ties_pct, entry.ties_pct, color="#dddddd", zorder=0)
    # Two bars per constant: both directions may move a number the same way.
    axes.barh(
        [place - _BAR / 2 for place in places],
        [effect.down_pct for effect in effects],
        height=_BAR,
        color="white",
        edgecolor=colors,
        hatch=_HATCH,
        linewidth=0.8,
    )
    axes.barh(
        [place + _BAR / 2 for place in places],
        [effect.up_pct for effect in effects],
        height=_BAR,
        color=colors,
        edgecolor=colors,
        linewidth=0.8,
    )
    axes.axvline(0.0, color="#222222", linewidth=0.8)
    labels = [_bar_label(effect, config.change_pct) for effect in effects]
    axes.set_yticks(places, labels, fontsize=7)
    # Panels with few constants get bars as thick as the others'.
    axes.set_ylim(config.bars_max - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    more = len(entry.above(config.shown_above_pct)) - len(effects)
    others = f"; {more} more above {config.shown_above_pct:g}%" if more else ""
    axes.set_xlabel(f"change of the number (%){others}", fontsize=8)
    number = entry.number
    unit = COLUMNS[number.column]
    axes.set_title(
        f"{number.label}\n{format_size(number.size_bytes)}: {entry.value:.4g}, {unit}", fontsize=9
    )
    if not effects:
        words = f"nothing above {config.shown_above_pct:g}%"
        axes.text(0.5, 0.5, words, transform=axes.transAxes, fontsize=8, ha="center")


def _legend(figure: Figure, config: TornadoConfig) -> None:
    down, up = step_names(config)
    handles = [
        *(Patch(color=color, label=f"{kind} constant") for kind, color in KIND_COLORS.items()),
        Patch(facecolor="white", edgecolor="#222222", hatch=_HATCH, label=f"constant {down}"),
        Patch(facecolor="#222222", edgecolor="#222222", label=f"constant {up}"),
        Patch(color="#dddddd", label="what ties alone move it by"),
    ]
    figure.legend(handles=handles, ncols=len(handles), fontsize=8, loc="upper center")


def draw_tornado(
    config: TornadoConfig, found: Sequence[Sensitivity], calibration: str
) -> Figure:
    lines = math.ceil(len(found) / _COLUMNS)
    figure, grid = plt.subplots(
        lines, _COLUMNS, figsize=(14.0, 3.3 * lines + 0.6), squeeze=False
    )
    panels = [axes for line in grid for axes in line]
    for axes, entry in zip(panels, found):
        _draw_panel(axes, entry, config)
    for axes in panels[len(found) :]:
        axes.axis("off")
    _legend(figure, config)
    caption(
        figure,
        f"Simulated ({config.network} network): one constant at a time changed by "
        f"±{config.change_pct:g}%, in brackets by what else, where sizes and counts are whole or a "
        f"share ends at 1. Calibration: {calibration}.",
    )
    figure.tight_layout(rect=(0, 0.02, 1, 0.97))
    return figure
