"""config.toml of a study of training steps: its runs, its panels, and which runs give which number."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from analysis.config import Metric, Table, open_table, read_metric
from analysis.curves_options import option_names
from analysis.study_options import check_named_once, take_options

NAMES = ("fig1", "fig2", "fig10", "fig11", "fig12", "priority", "training")
# What can be drawn and judged of a step, with its unit; columns of `hoccl train --csv`.
COLUMNS = {
    "step_ms": "step (ms)",
    "tflops_per_gpu": "TFLOP/s per GPU",
    "bubble_pct": "bubble (%)",
    "forward_ms": "forward pass (ms)",
    "backward_ms": "backward pass (ms)",
    "compute_ms": "compute (ms)",
    "isum_pct": "Isum (%)",
    "isum_forward_pct": "Isum, forward (%)",
    "isum_backward_pct": "Isum, backward (%)",
    "overlapped_sms": "SMs of overlapped PP and DP",
    "peak_tp_sms": "most SMs of TP",
    "peak_ep_sms": "most SMs of EP",
    "operation_tp_ms": "TP operation, mean (ms)",
    "longest_tp_ms": "TP operation, longest (ms)",
    "operation_pp_ms": "PP operation, mean (ms)",
    "operation_dp_ms": "DP operation, mean (ms)",
    "exposed_pp_ms": "waited for PP (ms)",
    "exposed_dp_ms": "waited for DP (ms)",
    "slack_p0_ms": "least CPU slack (ms)",
    "slack_p5_ms": "CPU slack, 5% (ms)",
    "slack_p50_ms": "CPU slack, median (ms)",
    "slack_p95_ms": "CPU slack, 95% (ms)",
    "launch_busy_pct": "launching thread busy (%)",
    "proxy_busy_pct": "busiest proxy (%)",
    "registration_ms": "registration per rank (ms)",
    "fragmentation_fixed_pct": "fragmentation, segments for NICs (%)",
    "fragmentation_expandable_pct": "fragmentation, expandable (%)",
}
_RESERVED = frozenset({"--model", "--sm-timeline", "--slack", "--print-model"})
# How a metric puts its case beside `over`.
_HOW_OVER = ("gain", "difference", "per_isum")


@dataclasses.dataclass(frozen=True)
class Panel:
    """One plot. "points": `column` of its cases over their `x`; "sms": SMs over time of its case;
    "slack": the distribution of CPU slack. `why` says what it shows.

    `over`: series that the others are drawn as gains over, in percent.
    """

    name: str
    title: str
    kind: str
    column: str
    x_label: str
    over: str | None
    why: str


@dataclasses.dataclass(frozen=True)
class Case:
    """One step. `x` and `series` place it in its panel, if it has one."""

    name: str
    label: str
    model: str
    system: str
    options: tuple[str, ...]
    panel: str | None
    series: str
    x: str


@dataclasses.dataclass(frozen=True)
class TrainingMetric:
    """The number behind one row of the comparison: a case's, or what it is over another's.

    gain: percent; difference: the plain one; per_isum: percent per percent of Isum (times 10), of the
    phase's own kernels.
    """

    metric: Metric
    case: str
    column: str
    over: str | None
    how_over: str


@dataclasses.dataclass(frozen=True)
class Setting:
    """Options on top of two cases: what the gain of one over the other is then."""

    name: str
    case: str
    over: str
    columns: tuple[str, ...]
    options: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Target:
    """What a layout's speeds and overhead are refitted to: what the paper says of NCCL."""

    model: str
    tflops_per_gpu: float
    forward_ms: float | None
    backward_ms: float | None


@dataclasses.dataclass(frozen=True)
class Layout:
    """One of the layouts that the paper leaves open."""

    target: Target
    options: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class TrainingConfig:
    path: Path
    id: str
    title: str
    calibration: Path
    network: str
    seed: int
    panels: tuple[Panel, ...]
    cases: dict[str, Case]
    training_metrics: tuple[TrainingMetric, ...]
    settings: tuple[Setting, ...]
    layouts: tuple[Layout, ...]

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return tuple(entry.metric for entry in self.training_metrics)

    def cases_of(self, panel: Panel) -> list[Case]:
        return [case for case in self.cases.values() if case.panel == panel.name]


def _tables(table: Table, key: str) -> list[Table]:
    return table.take_tables(key) if key in table.unread() else []


def _read_panel(table: Table) -> Panel:
    panel = Panel(
        name=table.take("name", str),
        title=table.take("title", str),
        kind=table.take_one_of("kind", ("points", "sms", "slack")),
        column=table.take_one_of("column", tuple(COLUMNS)) if "column" in table.unread() else "",
        x_label=table.take_optional("x_label", str) or "",
        over=table.take_optional("over", str),
        why=table.take("why", str),
    )
    if (panel.kind == "points") != bool(panel.column):
        raise table.fail("column", "a column if and only if kind is points")
    table.done()
    return panel


def _read_case(table: Table, panels: dict[str, Panel]) -> Case:
    label = table.take("label", str)
    case = Case(
        name=table.take("name", str),
        label=label,
        model=table.take("model", str),
        system=table.take("system", str),
        options=take_options(table, "options", _RESERVED) if "options" in table.unread() else (),
        panel=table.take_optional("panel", str),
        series=table.take_optional("series", str) or label,
        x=table.take_optional("x", str) or "",
    )
    if case.panel is not None and case.panel not in panels:
        raise table.fail("panel", f"a name of [[panel]], not '{case.panel}'")
    if case.panel is not None and (panels[case.panel].kind == "points") != bool(case.x):
        raise table.fail("x", "a place on the axis if and only if the panel has points")
    table.done()
    return case


def _read_metric(table: Table, cases: dict[str, Case]) -> TrainingMetric:
    names = tuple(cases)
    case = table.take_one_of("case", names)
    over = table.take_one_of("over", names) if "over" in table.unread() else None
    how_over = "gain"
    if "how_over" in table.unread():
        how_over = table.take_one_of("how_over", _HOW_OVER)
        if over is None:
            raise table.fail("how_over", "a case that it is over")
    column = table.take_one_of("column", tuple(COLUMNS))
    return TrainingMetric(read_metric(table), case, column, over, how_over)


def _read_setting(table: Table, cases: dict[str, Case]) -> Setting:
    names = tuple(cases)
    setting = Setting(
        name=table.take("name", str),
        case=table.take_one_of("case", names),
        over=table.take_one_of("over", names),
        columns=table.take_list("columns", str),
        options=take_options(table, "options", _RESERVED),
    )
    for column in setting.columns:
        if column not in COLUMNS:
            raise table.fail("columns", f"columns of a step, not '{column}'")
    table.done()
    return setting


def _read_layouts(table: Table) -> list[Layout]:
    target = Target(
        model=table.take("model", str),
        tflops_per_gpu=table.take("tflops_per_gpu", float),
        forward_ms=table.take_optional("forward_ms", float),
        backward_ms=table.take_optional("backward_ms", float),
    )
    if (target.forward_ms is None) != (target.backward_ms is None):
        raise table.fail("backward_ms", "forward_ms and backward_ms together, or neither")
    layouts = []
    for words in table.take_list("options", str):
        options = tuple(words.split())
        try:
            option_names(options)
        except ValueError as error:
            raise table.fail("options", f"options: {error}") from None
        layouts.append(Layout(target, options))
    table.done()
    return layouts


def load_training_config(path: Path) -> TrainingConfig:
    """Raises InputError naming file and key."""
    table = open_table(path)
    panels = [_read_panel(entry) for entry in _tables(table, "panel")]
    check_named_once(table, "panel", [panel.name for panel in panels])
    by_name = {panel.name: panel for panel in panels}
    listed = [_read_case(entry, by_name) for entry in table.take_tables("case")]
    check_named_once(table, "case", [case.name for case in listed])
    cases = {case.name: case for case in listed}
    for panel in panels:
        own = [case for case in listed if case.panel == panel.name]
        if not own or (panel.over is not None and all(c.series != panel.over for c in own)):
            raise table.fail("panel", f"cases in '{panel.name}', the series of its over among them")
    config = TrainingConfig(
        path=path,
        id=table.take("id", str),
        title=table.take("title", str),
        calibration=Path(table.take("calibration", str)),
        network=table.take("network", str),
        seed=table.take("seed", int),
        panels=tuple(panels),
        cases=cases,
        training_metrics=tuple(_read_metric(entry, cases) for entry in _tables(table, "metric")),
        settings=tuple(_read_setting(entry, cases) for entry in _tables(table, "setting")),
        layouts=tuple(
            layout for entry in _tables(table, "layouts") for layout in _read_layouts(entry)
        ),
    )
    check_named_once(table, "setting", [f"{s.case}: {s.name}" for s in config.settings])
    table.done()
    return config
