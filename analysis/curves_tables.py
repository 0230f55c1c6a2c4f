"""Numbers and tables of a study of curves, from its results."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence

from analysis import metrics
from analysis.compare_with_paper import Measured
from analysis.curves_config import COLUMNS, CurveMetric, CurvesConfig, Panel, column_value
from analysis.curves_runs import Result
from analysis.load import CollectiveRow, InputError
from analysis.report import DataTable
from analysis.units import format_size


class Curves:
    """Every row by case, setting, network and size."""

    def __init__(self, config: CurvesConfig, results: Sequence[Result]) -> None:
        self.config = config
        self._rows: dict[tuple[str, str, str], dict[int, CollectiveRow]] = {}
        for result in results:
            key = (result.run.case, result.run.setting, result.run.network)
            self._rows.setdefault(key, {})[result.row.size_bytes] = result.row

    def rows(
        self, case: str, setting: str = "", network: str | None = None
    ) -> dict[int, CollectiveRow]:
        """By size. Raises InputError where there is no such run."""
        key = (case, setting, network or self.config.network)
        if key not in self._rows:
            raise InputError(f"{self.config.path}: no run of {key}")
        return self._rows[key]

    def value(self, case: str, column: str, size_bytes: int, setting: str = "") -> float:
        return column_value(self.rows(case, setting)[size_bytes], column)

    def last(self, case: str) -> CollectiveRow:
        return self.rows(case)[self.config.cases[case].sizes_bytes()[-1]]


def _evaluate(curves: Curves, entry: CurveMetric) -> Measured:
    def value(case: str) -> float:
        return curves.value(case, entry.column, entry.size_bytes)

    gains, remarks = [], []
    for case, over in entry.pairs:
        if over is None:
            return Measured(value(case), curves.config.cases[case].label)
        ours, rival = value(case), value(over)
        if entry.ratio:
            return Measured(ours / rival, f"{case} {ours:.6g}, {over} {rival:.6g}")
        if entry.difference:
            return Measured(ours - rival, f"{case} {ours:.6g}, {over} {rival:.6g}")
        gains.append(metrics.gain_pp(ours, rival))
        remarks.append(f"{case} over {over} {gains[-1]:+.1f}%")
    return Measured(statistics.fmean(gains), ", ".join(remarks))


def measure(curves: Curves) -> dict[tuple[str, str], Measured]:
    """Every number of the comparison, by (id, metric)."""
    return {
        (entry.metric.id, entry.metric.metric): _evaluate(curves, entry)
        for entry in curves.config.curve_metrics
    }


@dataclasses.dataclass(frozen=True)
class Difference:
    """The largest relative difference of a case's times between the two network models."""

    case: str
    network: str
    points: int
    value: float
    allowed: float


def network_differences(curves: Curves) -> list[Difference]:
    differences = []
    for check in curves.config.checks:
        for name in check.cases:
            first, second = (
                {size: row.time_us for size, row in curves.rows(name, network=network).items()}
                for network in (curves.config.network, check.network)
            )
            value = metrics.relative_difference_max(first, second)
            differences.append(
                Difference(name, check.network, len(first), value, check.difference_max)
            )
    return differences


def largest_table(curves: Curves) -> DataTable:
    """All cases at their largest size."""
    rows: list[tuple[str | float, ...]] = []
    for case in curves.config.cases.values():
        row = curves.last(case.name)
        bandwidths = (row.time_us, row.algbw_gb_per_s, row.busbw_gb_per_s)
        shares = (row.bound_pct, row.calibrated_bound_pct)
        costs = (row.launch_us, row.submit_us, row.proxy_us)
        place = (case.panel, case.label, format_size(row.size_bytes))
        rows.append((*place, *bandwidths, *shares, *costs, f"{row.sms:g}"))
    return DataTable(
        "At the largest size",
        "Each case with its shares of the lower bound at nominal and calibrated rates, its CPU "
        "costs and the SMs it holds. Simulated.",
        (
            *("panel", "case", "size", "time µs", "algbw GB/s", "busbw GB/s", "bound %"),
            *("calibrated %", "launch µs", "submit µs", "proxy µs", "SMs"),
        ),
        rows,
    )


def settings_table(curves: Curves) -> DataTable:
    rows: list[tuple[str | float, ...]] = []
    for setting in curves.config.settings:
        case = curves.config.cases[setting.case]
        size = case.sizes_bytes()[-1]
        before = curves.value(case.name, setting.column, size)
        after = curves.value(case.name, setting.column, size, setting.name)
        change = metrics.gain_pp(after, before)
        removed = "".join(f" (without {name})" for name in setting.without)
        options = " ".join(setting.options) + removed
        cells = (COLUMNS[setting.column], before, after, f"{change:+.1f}%")
        rows.append((case.name, setting.name, options, *cells))
    return DataTable(
        "What the paper leaves open",
        "One setting switched on top of a case, at its largest size: before and after. Simulated.",
        ("case", "setting", "options", "column", "before", "after", "change"),
        rows,
    )


def network_table(curves: Curves) -> DataTable:
    rows: list[tuple[str | float, ...]] = [
        (entry.case, entry.network, str(entry.points), f"{entry.value:.3g}", f"{entry.allowed:g}")
        for entry in network_differences(curves)
    ]
    return DataTable(
        "Network models",
        "Largest relative difference of any time of a case between --network "
        f"{curves.config.network} and another.",
        ("case", "network", "points", "largest relative difference", "allowed"),
        rows,
    )


def panel_table(curves: Curves, panel: Panel) -> DataTable:
    """What the panel draws, by size; a case that lacks a size leaves its cell empty."""
    cases = curves.config.cases_of(panel)
    points = [
        {size: column_value(row, case.column) for size, row in curves.rows(case.name).items()}
        for case in cases
    ]
    sizes = sorted({size for curve in points for size in curve})
    rows: list[tuple[str | float, ...]] = [
        (format_size(size), *(curve.get(size, "") for curve in points)) for size in sizes
    ]
    columns = [f"{case.label}, {COLUMNS[case.column]}" for case in cases]
    options = "; ".join(
        f"{case.label}: {' '.join((case.system, *case.options))}" for case in cases
    )
    return DataTable(panel.title, f"{options}. Simulated.", ("size", *columns), rows)
