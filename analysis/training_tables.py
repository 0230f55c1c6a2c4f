"""Numbers and tables of a study of training steps, from its results."""

from __future__ import annotations

from collections.abc import Sequence

from analysis import metrics
from analysis.compare_with_paper import Measured
from analysis.load import InputError
from analysis.report import DataTable
from analysis.training_config import COLUMNS, Panel, TrainingConfig, TrainingMetric
from analysis.training_runs import SPEED_MAX, FittedLayout, Result, Step


class Steps:
    """Every result by case and setting."""

    def __init__(self, config: TrainingConfig, results: Sequence[Result]) -> None:
        self.config = config
        self._results = {(result.run.case.name, result.run.setting): result for result in results}

    def result(self, case: str, setting: str = "") -> Result:
        """Raises InputError where there is no such run."""
        if (case, setting) not in self._results:
            raise InputError(f"{self.config.path}: no run of {case}, {setting or 'no setting'}")
        return self._results[case, setting]

    def step(self, case: str, setting: str = "") -> Step:
        return self.result(case, setting).step


def _evaluate(steps: Steps, entry: TrainingMetric) -> Measured:
    ours = steps.step(entry.case)[entry.column]
    label = steps.config.cases[entry.case].label
    if entry.over is None:
        return Measured(ours, label)
    other = steps.step(entry.over)[entry.column]
    remark = f"{entry.case} {ours:.6g}, {entry.over} {other:.6g}"
    if entry.how_over == "difference":
        return Measured(ours - other, remark)
    gain = metrics.gain_pp(ours, other)
    if entry.how_over == "per_isum":
        phase = entry.column.removesuffix("_ms")
        isum = steps.step(entry.case)[f"isum_{phase}_pct"]
        return Measured(gain / isum * 10.0, f"{remark}, at Isum {isum:.4g}%")
    return Measured(gain, remark)


def measure(steps: Steps) -> dict[tuple[str, str], Measured]:
    """Every number of the comparison, by (id, metric)."""
    return {
        (entry.metric.id, entry.metric.metric): _evaluate(steps, entry)
        for entry in steps.config.training_metrics
    }


def cases_table(steps: Steps) -> DataTable:
    columns = (
        *("step_ms", "tflops_per_gpu", "bubble_pct", "forward_ms", "backward_ms", "isum_pct"),
        *("overlapped_sms", "exposed_pp_ms", "exposed_dp_ms", "slack_p50_ms"),
    )
    rows: list[tuple[str | float, ...]] = []
    for case in steps.config.cases.values():
        step = steps.step(case.name)
        words = " ".join((case.model, case.system, *case.options))
        rows.append((case.name, words, *(step[name] for name in columns)))
    return DataTable(
        "All cases", "One training step each. Simulated.",
        ("case", "model, system, options", *(COLUMNS[name] for name in columns)), rows,
    )  # fmt: skip


def settings_table(steps: Steps) -> DataTable:
    rows: list[tuple[str | float, ...]] = []
    for setting in steps.config.settings:
        for column in setting.columns:
            gains = []
            for name in ("", setting.name):
                ours = steps.step(setting.case, name)[column]
                other = steps.step(setting.over, name)[column]
                gains.append(metrics.gain_pp(ours, other))
            held = steps.step(setting.over, setting.name)["overlapped_sms"]
            pair = f"{setting.case} over {setting.over}"
            cells = (f"{gains[0]:+.2f}%", f"{gains[1]:+.2f}%", held)
            rows.append((setting.name, " ".join(setting.options), pair, COLUMNS[column], *cells))
    return DataTable(
        "What closes a gap, or opens it",
        "An option switched on top of both cases: the gain of one over the other before and after, "
        "and the SMs that PP and DP hold in the second case then (the paper's 11.2). Simulated.",
        ("setting", "options", "gain of", "in", "before", "after", "SMs held"),
        rows,
    )


def layouts_table(fitted: Sequence[FittedLayout]) -> DataTable:
    rows: list[tuple[str | float, ...]] = []
    for entry in fitted:
        place = (entry.layout.target.model, " ".join(entry.layout.options))
        if entry.nccl is None:
            why = (
                f"speed above {SPEED_MAX:g} needed"
                if max(entry.speeds) > SPEED_MAX
                else "slower than the paper's NCCL"
            )
            rows.append((*place, why, "", "", "", "", ""))
            continue
        speeds = f"{entry.speeds[0]:.3f}, {entry.speeds[1]:.3f}"
        share = 100.0 * entry.overhead_ms / entry.nccl["step_ms"]
        gains = [f"{gain:+.2f}%" for gain in entry.gains.values()]
        rows.append((*place, speeds, share, entry.nccl["overlapped_sms"], *gains))
    return DataTable(
        "Other layouts that meet NCCL's numbers",
        "The paper names none. Each is refitted to what the paper says of NCCL (speeds to the passes "
        "of Fig. 12 and overhead to Fig. 11, or one speed to Fig. 11), then HOCCL is predicted: how "
        "much of the gain hangs on what the paper leaves open. Simulated.",
        (
            *("model", "layout", "fitted speeds", "fitted overhead, % of step", "NCCL: SMs held"),
            *("gain in TFLOP/s", "forward pass", "backward pass"),
        ),
        rows,
    )


def panel_series(steps: Steps, panel: Panel) -> dict[str, list[tuple[str, float]]]:
    """(x, value) by series; gains over the panel's `over` series, at the same x, if it has one."""
    series: dict[str, list[tuple[str, float]]] = {}
    for case in steps.config.cases_of(panel):
        value = steps.step(case.name)[panel.column]
        series.setdefault(case.series, []).append((case.x, value))
    if panel.over is None:
        return series
    base = dict(series.pop(panel.over))
    return {
        name: [(x, metrics.gain_pp(value, base[x])) for x, value in points if x in base]
        for name, points in series.items()
    }


def panel_table(steps: Steps, panel: Panel) -> DataTable:
    series = panel_series(steps, panel)
    places = list(dict.fromkeys(x for points in series.values() for x, _ in points))
    rows: list[tuple[str | float, ...]] = [
        (place, *(dict(points).get(place, "") for points in series.values())) for place in places
    ]
    what = COLUMNS[panel.column]
    if panel.over is not None:
        what = f"{what}: % over {panel.over}"
    return DataTable(
        panel.title, f"{panel.why} {what}. Simulated.", (panel.x_label or "x", *series), rows
    )
