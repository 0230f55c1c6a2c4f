"""config.toml of a study of curves: its runs, its panels, and which runs give which number."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path

from analysis.config import Metric, Table, open_table, read_metric
from analysis.curves_options import option_names
from analysis.load import CollectiveRow
from analysis.study_options import check_named_once, take_options
from analysis.units import sweep_sizes

# The paper's launch cost (Fig. 9): the caller's share and the posting of all DMA and RDMA.
CPU_LAUNCH = "cpu_launch_us"
# What can be drawn and judged, with its unit.
COLUMNS = {
    "busbw_gb_per_s": "busbw (GB/s)",
    "algbw_gb_per_s": "algbw (GB/s)",
    "time_us": "time (µs)",
    "bound_pct": "share of the lower bound (%)",
    "calibrated_bound_pct": "share of the lower bound, calibrated (%)",
    "launch_us": "launch (µs)",
    "submit_us": "submit (µs)",
    "proxy_us": "proxy (µs)",
    CPU_LAUNCH: "CPU launch (µs)",
}
_BUSBW = "busbw_gb_per_s"


def column_value(row: CollectiveRow, column: str) -> float:
    if column == CPU_LAUNCH:
        return row.launch_us + row.submit_us
    return float(getattr(row, column))


@dataclasses.dataclass(frozen=True)
class Panel:
    """One plot. `bound_of` names the case whose lower bound is drawn, if any is."""

    name: str
    title: str
    column: str
    log_scale: bool
    bound_of: str | None


@dataclasses.dataclass(frozen=True)
class Case:
    """One curve. `options` are words of the command line, `column` what is drawn of it."""

    name: str
    label: str
    panel: str
    column: str
    system: str
    topology: str
    options: tuple[str, ...]
    begin_bytes: int
    end_bytes: int
    factor: int

    def sizes_bytes(self) -> list[int]:
        return sweep_sizes(self.begin_bytes, self.end_bytes, self.factor)


@dataclasses.dataclass(frozen=True)
class CurveMetric:
    """The number behind one row of the comparison.

    One pair: its value where it is over nothing, else the gain in percent, or the plain ratio if
    `ratio`, or the plain difference if `difference`. Several pairs: the mean of their gains.
    """

    metric: Metric
    pairs: tuple[tuple[str, str | None], ...]
    column: str
    size_bytes: int
    ratio: bool
    difference: bool


@dataclasses.dataclass(frozen=True)
class Setting:
    """Options on top of a case's, and options of it left out: what the paper leaves open."""

    name: str
    case: str
    column: str
    options: tuple[str, ...]
    without: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Check:
    """Cases that are run with a second network model, and by how much a time may then differ."""

    cases: tuple[str, ...]
    network: str
    difference_max: float


@dataclasses.dataclass(frozen=True)
class CurvesConfig:
    path: Path
    id: str
    title: str
    calibration: Path
    network: str
    seed: int
    panels: tuple[Panel, ...]
    cases: dict[str, Case]
    curve_metrics: tuple[CurveMetric, ...]
    settings: tuple[Setting, ...]
    checks: tuple[Check, ...]

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return tuple(entry.metric for entry in self.curve_metrics)

    def cases_of(self, panel: Panel) -> list[Case]:
        return [case for case in self.cases.values() if case.panel == panel.name]


def _column(table: Table, otherwise: str) -> str:
    if "column" not in table.unread():
        return otherwise
    return table.take_one_of("column", tuple(COLUMNS))


def _flag(table: Table, key: str) -> bool:
    return table.take_optional(key, bool) or False


def _one_of(table: Table, key: str, names: Iterable[str]) -> str:
    return table.take_one_of(key, tuple(names))


def _read_panel(table: Table) -> Panel:
    panel = Panel(
        name=table.take("name", str),
        title=table.take("title", str),
        column=_column(table, _BUSBW),
        log_scale=_flag(table, "log_scale"),
        bound_of=table.take_optional("bound_of", str),
    )
    if panel.bound_of is not None and panel.column != _BUSBW:
        raise table.fail("bound_of", f"column {_BUSBW} with it")
    table.done()
    return panel


def _read_case(table: Table, panels: dict[str, Panel]) -> Case:
    panel = panels[_one_of(table, "panel", panels)]
    case = Case(
        name=table.take("name", str),
        label=table.take("label", str),
        panel=panel.name,
        column=_column(table, panel.column),
        system=table.take("system", str),
        topology=table.take("topology", str),
        options=take_options(table, "options"),
        begin_bytes=table.take_size("begin"),
        end_bytes=table.take_size("end"),
        factor=table.take("factor", int),
    )
    if case.factor < 2 or not 0 < case.begin_bytes <= case.end_bytes:
        raise table.fail("begin", "0 < begin <= end and factor >= 2")
    table.done()
    return case


def _read_pairs(table: Table, cases: dict[str, Case]) -> tuple[tuple[str, str | None], ...]:
    if "mean_over" not in table.unread():
        over = _one_of(table, "over", cases) if "over" in table.unread() else None
        return ((_one_of(table, "case", cases), over),)
    pairs = table.take_list("mean_over", list)
    for pair in pairs:
        if len(pair) != 2 or any(name not in cases for name in pair):
            raise table.fail("mean_over", f"pairs of names of cases, not {pair}")
    return tuple((ours, rival) for ours, rival in pairs)


def _read_metric(table: Table, cases: dict[str, Case]) -> CurveMetric:
    pairs = _read_pairs(table, cases)
    column = _column(table, _BUSBW)
    size_bytes = table.take_size("size")
    ratio, difference = _flag(table, "ratio"), _flag(table, "difference")
    named = [cases[name] for pair in pairs for name in pair if name is not None]
    if any(size_bytes not in case.sizes_bytes() for case in named):
        raise table.fail("size", f"a size that {' and '.join(case.name for case in named)} run")
    for key, given in (("ratio", ratio), ("difference", difference)):
        if given and (len(pairs) > 1 or pairs[0][1] is None):
            raise table.fail(key, "one case over another")
    if ratio and difference:
        raise table.fail("difference", "no ratio with it")
    metric = read_metric(table)
    options = {name for case in named for name in option_names(case.options)}
    for name in metric.fitted_by:
        if name.startswith("--") and name not in options:
            raise table.fail("fitted_by", f"options that the case has, not '{name}'")
    return CurveMetric(metric, pairs, column, size_bytes, ratio, difference)


def _read_setting(table: Table, cases: dict[str, Case]) -> Setting:
    case = cases[_one_of(table, "case", cases)]
    setting = Setting(
        name=table.take("name", str),
        case=case.name,
        column=_column(table, _BUSBW),
        options=take_options(table, "options"),
        without=table.take_list("without", str) if "without" in table.unread() else (),
    )
    for name in setting.without:
        if name not in option_names(case.options):
            raise table.fail("without", f"options that the case has, not '{name}'")
    table.done()
    return setting


def _read_check(table: Table, cases: dict[str, Case]) -> Check:
    check = Check(
        cases=table.take_list("cases", str),
        network=table.take("network", str),
        difference_max=table.take("difference_max", float),
    )
    for name in check.cases:
        if name not in cases:
            raise table.fail("cases", f"names of cases, not '{name}'")
    table.done()
    return check


def load_curves_config(path: Path) -> CurvesConfig:
    """Raises InputError naming file and key."""
    table = open_table(path)
    panels = [_read_panel(entry) for entry in table.take_tables("panel")]
    check_named_once(table, "panel", [panel.name for panel in panels])
    by_name = {panel.name: panel for panel in panels}
    listed = [_read_case(entry, by_name) for entry in table.take_tables("case")]
    check_named_once(table, "case", [case.name for case in listed])
    cases = {case.name: case for case in listed}
    for panel in panels:
        own = [case.name for case in listed if case.panel == panel.name]
        if not own or panel.bound_of not in (None, *own):
            raise table.fail("panel", f"cases in '{panel.name}', its bound_of among them")
    settings = table.take_tables("setting") if "setting" in table.unread() else []
    checks = table.take_tables("check") if "check" in table.unread() else []
    config = CurvesConfig(
        path=path,
        id=table.take("id", str),
        title=table.take("title", str),
        calibration=Path(table.take("calibration", str)),
        network=table.take("network", str),
        seed=table.take("seed", int),
        panels=tuple(panels),
        cases=cases,
        curve_metrics=tuple(_read_metric(entry, cases) for entry in table.take_tables("metric")),
        settings=tuple(_read_setting(entry, cases) for entry in settings),
        checks=tuple(_read_check(entry, cases) for entry in checks),
    )
    check_named_once(table, "check", [f"{name}, {c.network}" for c in config.checks for name in c.cases])
    check_named_once(table, "setting", [f"{s.case}: {s.name}" for s in config.settings])
    table.done()
    return config
