"""The matrix of systems as one page: colour is the share of the bound, hatches are held SMs."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from analysis.style import caption, plt
from analysis.systems_runs import Cell
from analysis.systems_tables import Matrix
from analysis.units import format_size

_HATCH = "////"
_HATCH_COLOR = "#666666"
_HATCH_ON_DARK = "#bbbbbb"
_COLORS = "YlGnBu"
# Above it, the colours are too dark for black letters.
_DARK_ABOVE_PCT = 60.0


def _cell_text(matrix: Matrix, cell: Cell) -> str:
    mark = matrix.mark(cell)
    sms = f"{cell.row.sms:g} SMs" + (f" [{mark}]" if mark else "")
    return f"{cell.row.busbw_gb_per_s:.1f} GB/s\n{sms}"


def _draw_cell(axes: Axes, matrix: Matrix, cell: Cell, place: tuple[int, int]) -> None:
    column, line = place
    share = cell.row.calibrated_bound_pct
    color = plt.get_cmap(_COLORS)(share / 100.0)
    axes.add_patch(Rectangle((column, line), 1, 1, facecolor=color, edgecolor="white"))
    dark = share > _DARK_ABOVE_PCT
    if cell.row.sms > 0:
        hatch = _HATCH_ON_DARK if dark else _HATCH_COLOR
        axes.add_patch(
            Rectangle((column, line), 1, 1, fill=False, hatch=_HATCH, edgecolor=hatch, linewidth=0)
        )
    axes.text(
        column + 0.5,
        line + 0.5,
        _cell_text(matrix, cell),
        ha="center",
        va="center",
        fontsize=9,
        linespacing=1.3,
        color="white" if dark else "black",
        # Over hatches letters need a ground of their own.
        bbox={"facecolor": color, "edgecolor": "none", "pad": 2},
    )


def _draw_axes(axes: Axes, matrix: Matrix) -> None:
    config = matrix.config
    lines = matrix.lines()
    axes.set_xlim(0, len(config.systems))
    axes.set_ylim(len(lines), 0)
    axes.set_xticks(
        [column + 0.5 for column in range(len(config.systems))],
        [system.label for system in config.systems],
    )
    axes.xaxis.tick_top()
    axes.set_yticks(
        [line + 0.5 for line in range(len(lines))],
        [f"{operation.label}\n{buffers.label}" for operation, buffers in lines],
    )
    axes.tick_params(length=0)
    axes.grid(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    for line in range(0, len(lines) + 1, len(config.buffers)):
        axes.axhline(line, color="#222222", linewidth=1.0)


def draw_systems(matrix: Matrix, calibration: str) -> Figure:
    config = matrix.config
    height = 0.62 * len(matrix.lines()) + 2.2
    figure, axes = plt.subplots(figsize=(11.0, height))
    for line, (operation, buffers) in enumerate(matrix.lines()):
        for column, system in enumerate(config.systems):
            cell = matrix.cell(operation, buffers.name, system)
            _draw_cell(axes, matrix, cell, (column, line))
    _draw_axes(axes, matrix)
    colors = plt.cm.ScalarMappable(plt.Normalize(0.0, 100.0), _COLORS)
    bar = figure.colorbar(colors, ax=axes, fraction=0.03, pad=0.02)
    bar.set_label("share of the system's own lower bound, calibrated rates (%)")
    axes.set_title(
        f"{format_size(config.size_bytes)} on {config.topology}: busbw and SMs held", pad=24
    )
    held = Patch(facecolor="white", edgecolor=_HATCH_COLOR, hatch=_HATCH, label="SMs are held")
    axes.legend(handles=[held], loc="upper left", bbox_to_anchor=(0.0, -0.005), fontsize=8)
    notes = [f"[{mark}] {reason}" for reason, mark in matrix.footnotes.items()]
    notes.append(
        f"Simulated ({config.network} network). Bounds differ between systems, as they may use "
        f"other NICs: compare speeds by busbw. Calibration: {calibration}."
    )
    caption(figure, "\n".join(notes))
    figure.tight_layout(rect=(0, 0.014 * len(notes), 1, 1))
    return figure
