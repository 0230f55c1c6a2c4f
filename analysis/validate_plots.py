"""Figures of experiments/validate: simulated and measured, one figure per folder and backend."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis import style
from analysis.style import plt
from analysis.units import format_size
from analysis.validate_config import ValidateConfig
from analysis.validate_records import Point
from analysis.validate_tables import (
    CPU_PARTS,
    LEGS,
    WHOLE,
    error_pct,
    patterns_of,
    ranks_of,
)

# Okabe and Ito's without the yellow, in an order that keeps neighbours apart; then two more.
_COLORS = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000", "#7A4B00",
    "#999999",
)  # fmt: skip
_MARKERS = "osD^vP*X"
_COLUMNS_MAX = 3
# Of the scale of errors: a band is seen as such, however small the errors are.
_ERROR_SCALE_MIN_PCT = 20.0


@dataclasses.dataclass(frozen=True)
class Labels:
    """What every figure says of its origins."""

    simulated: str
    measured: str

    def caption(self, note: str) -> str:
        return f"Simulated: {self.simulated}. Measured: {self.measured}.\n{note}"


def labels(config: ValidateConfig, calibration: str, points: Sequence[Point]) -> Labels:
    """Of points of one folder and backend."""
    first = points[0].record
    counts = [point.row.n for point in points if point.row.part == WHOLE]
    n = f"n = {min(counts)}" + (f" to {max(counts)}" if max(counts) > min(counts) else "")
    return Labels(
        f"calibration {calibration}, network {config.network}",
        f"{first.machine.label}, {first.backend}, {n}",
    )


def _style(values: Sequence[object], choices: Sequence[str]) -> dict[object, str]:
    return {value: choices[index % len(choices)] for index, value in enumerate(values)}


def _beside(values: Sequence[str]) -> dict[object, float]:
    """Factors on sizes, so that points of one size lie beside each other."""
    middle = (len(values) - 1) / 2
    return {value: 2 ** (0.06 * (index - middle)) for index, value in enumerate(sorted(values))}


def _fill(point: Point, color: str) -> str:
    return color if point.role == "checking" else "white"


def _size_axis(axes: Axes, sizes: Sequence[int]) -> None:
    axes.set_xscale("log", base=2)
    shown = sizes if len(sizes) <= 8 else sizes[:: -(-len(sizes) // 8)]
    axes.set_xticks(shown, [format_size(size) for size in shown], rotation=45, ha="right")
    axes.minorticks_off()


def _sizes(points: Sequence[Point]) -> list[int]:
    return sorted({point.row.size_bytes for point in points})


def _series(points: Sequence[Point], **record: object) -> list[Point]:
    """Those whose records' fields equal `record`, by size."""
    own = [
        point
        for point in points
        if all(getattr(point.record, name) == value for name, value in record.items())
    ]
    return sorted(own, key=lambda point: point.row.size_bytes)


def _role_handles() -> list[Line2D]:
    """Checking and fitting sizes, in grey."""
    look = {"linestyle": "none", "marker": "o", "markeredgecolor": "#555555"}
    return [
        Line2D([], [], markerfacecolor="#555555", label="measured, checking size", **look),
        Line2D([], [], markerfacecolor="white", label="measured, fitting size", **look),
    ]


def _finish(figure: Figure, handles: Sequence[Line2D], caption: str, height: float) -> None:
    # Inches of an entry: its handle and its letters.
    entry = 0.6 + 0.06 * max(len(str(handle.get_label())) for handle in handles)
    columns = max(1, min(len(handles), int(figure.get_figwidth() / entry)))
    figure.legend(handles=handles, loc="upper center", ncols=columns, fontsize=7)
    figure.text(0.005, 0.005, caption, fontsize=7, color="#555555", ha="left", va="bottom")
    rows = -(-len(handles) // columns)
    figure.tight_layout(rect=(0, 0.5 / height, 1, 1 - 0.22 * rows / height))


def _draw_algbw(axes: Axes, points: Sequence[Point], color: str) -> None:
    """One pattern and number of ranks: the simulated line, the measured points and their rounds."""
    times = [(point, point.row) for point in points]
    simulated = [point.algbw_gb_per_s(row.simulated_us or 0.0) for point, row in times]
    axes.plot([row.size_bytes for _, row in times], simulated, color=color, linewidth=1)
    for point, row in times:
        assert row.measured_us is not None and row.min_us is not None and row.max_us is not None
        middle = point.algbw_gb_per_s(row.measured_us)
        low, high = (point.algbw_gb_per_s(time) for time in (row.max_us, row.min_us))
        axes.errorbar(
            [row.size_bytes],
            [middle],
            yerr=([max(middle - low, 0.0)], [max(high - middle, 0.0)]),
            color=color,
            marker="o",
            markersize=4,
            markerfacecolor=_fill(point, color),
            elinewidth=0.8,
            capsize=1.5,
        )


def draw_algbw(points: Sequence[Point], origin: Labels) -> Figure:
    """A panel per pattern, a colour per number of ranks."""
    points = [point for point in points if point.row.part == WHOLE]
    patterns = sorted(patterns_of(points))
    colors = _style(ranks_of(points), _COLORS)
    columns = min(len(patterns), _COLUMNS_MAX)
    rows = -(-len(patterns) // columns)
    height = 1.0 + 2.4 * rows
    figure, grid = plt.subplots(
        rows, columns, figsize=(max(3.6 * columns, 7.6), height), squeeze=False
    )
    panels = [axes for line in grid for axes in line]
    for axes, pattern in zip(panels, patterns, strict=False):
        own = _series(points, pattern=pattern)
        for ranks in ranks_of(own):
            _draw_algbw(axes, _series(own, ranks=ranks), colors[ranks])
        axes.set_title(pattern)
        axes.set_ylabel("algbw (GB/s)")
        axes.set_ylim(bottom=0)
        _size_axis(axes, _sizes(own))
    for axes in panels[len(patterns) :]:
        axes.set_axis_off()
    handles = [
        Line2D([], [], color=color, label=f"{ranks} ranks, simulated")
        for ranks, color in colors.items()
    ]
    note = "Measured: median of the rounds, bars from the fastest to the slowest round."
    _finish(figure, [*handles, *_role_handles()], origin.caption(note), height)
    return figure


def _draw_bands(axes: Axes, config: ValidateConfig, sizes: Sequence[int]) -> None:
    """What is allowed, up to the borders of the panel."""
    low, high = sizes[0] / 1.5, sizes[-1] * 1.5
    edge = min(max(config.bands.small_below_bytes / 2**0.5, low), high)
    for begin, end, within in (
        (low, edge, config.bands.small_within_pct),
        (edge, high, config.bands.large_within_pct),
    ):
        if begin < end:
            axes.fill_between([begin, end], -within, within, color="#009E73", alpha=0.15, lw=0)
    axes.axhline(0.0, color=style.OTHER_COLOR, linewidth=0.8)
    axes.set_xlim(low, high)


def draw_errors(config: ValidateConfig, points: Sequence[Point], origin: Labels) -> Figure:
    """A panel for the whole operation and for each kind of leg, a colour per pattern."""
    compared = [point for point in points if point.row.error_pct is not None]
    beside = _beside(patterns_of(compared))
    parts = [part for part in (WHOLE, *LEGS) if any(p.row.part == part for p in compared)]
    colors = _style(sorted(patterns_of(compared)), _COLORS)
    markers = _style(ranks_of(compared), _MARKERS)
    height = 4.4
    figure, grid = plt.subplots(
        1, len(parts), figsize=(max(3.6 * len(parts), 8.4), height), squeeze=False
    )
    for axes, part in zip(grid[0], parts, strict=True):
        own = [point for point in compared if point.row.part == part]
        for point in own:
            color = colors[point.record.pattern]
            axes.plot(
                [point.row.size_bytes * beside[point.record.pattern]],
                [error_pct(point)],
                linestyle="none",
                marker=markers[point.record.ranks],
                markersize=4,
                color=color,
                markerfacecolor=_fill(point, color),
            )
        scale = max(_ERROR_SCALE_MIN_PCT, *(1.1 * abs(error_pct(point)) for point in own))
        axes.set_ylim(-scale, scale)
        _size_axis(axes, _sizes(own))
        _draw_bands(axes, config, _sizes(own))
        axes.set_title("whole operation" if part == WHOLE else f"{part} leg (n = 1)")
    grid[0][0].set_ylabel("(simulated − measured) / measured (%)")
    plain = {"linestyle": "none", "color": "#555555"}
    handles = [
        *(Line2D([], [], linestyle="none", marker="s", color=color, label=str(pattern))
          for pattern, color in colors.items()),
        *(Line2D([], [], marker=marker, label=f"{ranks} ranks", **plain)
          for ranks, marker in markers.items()),
        *_role_handles(),
    ]
    bands = config.bands
    note = (
        f"Band: ±{bands.large_within_pct:g}% from {format_size(bands.small_below_bytes)} on, "
        f"±{bands.small_within_pct:g}% below; judged are whole operations at checking sizes."
    )
    _finish(figure, handles, origin.caption(note), height)
    return figure


def draw_cpu(points: Sequence[Point], origin: Labels) -> Figure:
    """A row per number of ranks, a column per part, a colour per pattern."""
    points = [point for point in points if point.row.part in CPU_PARTS]
    colors = _style(sorted(patterns_of(points)), _COLORS)
    beside = _beside(patterns_of(points))
    ranks = ranks_of(points)
    height = 1.2 + 2.3 * len(ranks)
    figure, grid = plt.subplots(
        len(ranks), len(CPU_PARTS), figsize=(10.4, height), squeeze=False, sharex=True
    )
    for line, count in zip(grid, ranks, strict=True):
        for axes, part in zip(line, CPU_PARTS, strict=True):
            same = [point for point in points if point.row.part == part]
            for pattern, color in colors.items():
                own = _series(same, pattern=pattern, ranks=count)
                sizes = [point.row.size_bytes for point in own]
                axes.plot(sizes, [point.row.simulated_us for point in own], color=color, lw=1)
                for point in own:
                    axes.plot(
                        [point.row.size_bytes * beside[pattern]],
                        [point.row.measured_us],
                        linestyle="none",
                        marker="o",
                        markersize=4,
                        color=color,
                        markerfacecolor=_fill(point, color),
                    )
            axes.margins(y=0.15)
            axes.set_ylim(bottom=0)
            axes.set_title(f"{part}, {count} ranks")
            _size_axis(axes, _sizes(points))
        line[0].set_ylabel("CPU time (µs)")
    handles = [
        Line2D([], [], color=color, label=f"{pattern}, simulated")
        for pattern, color in colors.items()
    ]
    note = (
        "CPU time of an operation on the busiest rank, mean of n. launch: the caller's; submit: to "
        "post copies and writes; proxy: all of the proxy's, measured with its looking for what has "
        "not come yet."
    )
    _finish(figure, [*handles, *_role_handles()], origin.caption(note), height)
    return figure


@dataclasses.dataclass(frozen=True)
class Drawing:
    """One kind of figure. `caption` goes before the folder and the backend."""

    name: str
    caption: str
    draw: Callable[[ValidateConfig, Sequence[Point], Labels], Figure]


DRAWINGS = (
    Drawing(
        "algbw",
        "Measured (points) against simulated (lines) bandwidth by message size",
        lambda config, points, origin: draw_algbw(points, origin),
    ),
    Drawing("error", "Error of the simulated times by message size", draw_errors),
    Drawing(
        "cpu",
        "Measured (points) against simulated (lines) CPU time by message size",
        lambda config, points, origin: draw_cpu(points, origin),
    ),
)
