"""The picture of a study of training steps: one panel per [[panel]]."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis import style
from analysis.style import caption, plt
from analysis.training_config import COLUMNS, Panel
from analysis.training_runs import SmSample
from analysis.training_tables import Steps, panel_series

_COLUMNS_OF_PANELS = 2
_CLASS_COLORS = {"pp": "#D55E00", "dp": "#E69F00", "tp": "#0072B2", "ep": "#009E73"}
_MARKERS = "os^Dv*"
_WRAP = 74
# Spans of time that a step is drawn in: a tensor-parallel operation is far shorter than a pixel.
_SPANS = 400


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


def _color(steps: Steps, panel: Panel, series: str) -> str:
    systems = {case.series: case.system for case in steps.config.cases_of(panel)}
    system = systems[series]
    return style.SYSTEM_COLORS.get("nccl:8sm" if system == "nccl" else system, style.OTHER_COLOR)


def _draw_points(axes: Axes, steps: Steps, panel: Panel) -> None:
    series = panel_series(steps, panel)
    places = list(dict.fromkeys(x for points in series.values() for x, _ in points))
    colors = [_color(steps, panel, name) for name in series]
    if len(set(colors)) < len(colors):
        colors = [f"C{index}" for index in range(len(series))]
    if all(_is_number(place) for place in places):
        for index, (name, points) in enumerate(series.items()):
            numbers = [(float(x), value) for x, value in points]
            axes.plot(*zip(*numbers, strict=True), label=name, color=colors[index],
                      marker=_MARKERS[index % len(_MARKERS)], markersize=4)  # fmt: skip
    else:
        width = 0.8 / len(series)
        for index, (name, points) in enumerate(series.items()):
            at = [places.index(x) + (index + 0.5) * width - 0.4 for x, _ in points]
            bars = axes.bar(at, [value for _, value in points], width, label=name,
                            color=colors[index])  # fmt: skip
            axes.bar_label(bars, fmt="%.4g", fontsize=7)
        axes.set_xticks(range(len(places)), places)
    over = f", % over {panel.over}" if panel.over else ""
    axes.set_ylabel(COLUMNS[panel.column] + over)
    axes.set_xlabel(panel.x_label)
    axes.legend(fontsize=7)


def binned_sms(samples: Sequence[SmSample], bins: int) -> tuple[list[float], dict[str, list[float]]]:
    """The middles of so many equal spans of time, and what each class holds in them on average."""
    end = samples[-1][0]
    width = end / bins
    held = {name: [0.0] * bins for name in _CLASS_COLORS}
    for (begin, sms), (until, _) in itertools.pairwise(samples):
        at = begin
        while at < until:
            index = min(int(at / width), bins - 1)
            to = until if index == bins - 1 else min(until, (index + 1) * width)
            for name, spans in held.items():
                spans[index] += sms[name] * (to - at) / width
            at = to if to > at else until
    return [(index + 0.5) * width for index in range(bins)], held


def _draw_sms(axes: Axes, samples: Sequence[SmSample]) -> None:
    times, held = binned_sms(samples, _SPANS)
    axes.stackplot(times, *held.values(), labels=[name.upper() for name in held],
                   colors=list(_CLASS_COLORS.values()), step="mid", linewidth=0)  # fmt: skip
    axes.set_xlabel("time in the step (ms)")
    axes.set_ylabel(f"SMs held, mean of {times[1] - times[0]:.1f} ms, first GPU")
    axes.set_ylim(top=1.15 * axes.get_ylim()[1])
    axes.legend(fontsize=7, ncols=4, loc="upper right")


def _draw_slack(axes: Axes, steps: Steps, panel: Panel) -> None:
    for index, case in enumerate(steps.config.cases_of(panel)):
        slack = steps.result(case.name).slack_ms
        axes.plot(slack, range(len(slack)), label=case.label, color=f"C{index}")
    axes.set_xlabel("CPU slack: GPU start minus end of the launch (ms)")
    axes.set_ylabel("kernels with no more (%)")
    axes.set_xlim(left=-1)
    axes.legend(fontsize=7)


def draw_panels(steps: Steps, calibration: str) -> Figure:
    panels = steps.config.panels
    columns = min(len(panels), _COLUMNS_OF_PANELS)
    lines = -(-len(panels) // columns)
    figure, grid = plt.subplots(
        lines, columns, figsize=(5.4 * columns, 3.9 * lines), squeeze=False, layout="constrained"
    )
    for axes, panel in zip(grid.flat, panels, strict=False):
        if panel.kind == "points":
            _draw_points(axes, steps, panel)
        elif panel.kind == "sms":
            _draw_sms(axes, steps.result(steps.config.cases_of(panel)[0].name).sms)
        else:
            _draw_slack(axes, steps, panel)
        axes.set_title(panel.title, fontsize=10)
        why = "\n".join(textwrap.wrap(panel.why, _WRAP))
        axes.set_xlabel(f"{axes.get_xlabel()}\n{why}", fontsize=8)
    for axes in list(grid.flat)[len(panels) :]:
        axes.set_visible(False)
    figure.get_layout_engine().set(rect=(0, 0.03, 1, 0.97))
    caption(figure, f"simulated; calibration {calibration}")
    return figure
