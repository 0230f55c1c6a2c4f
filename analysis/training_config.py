"""What a training study is made of: cases, pictures, rows of the comparison, alternatives."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Literal

from analysis.config import Metric
from analysis.load import TrainingRow

# Costs on the CPU in a whole step, of which the program prints shares.
LAUNCH = "launch_ms"
PROXY = "proxy_ms"
# What can be drawn and judged, with its unit.
COLUMNS = {
    "step_ms": "step (ms)",
    "tflops_per_gpu": "TFLOP/s per GPU",
    "bubble_pct": "bubble (%)",
    "forward_ms": "forward pass (ms)",
    "backward_ms": "backward pass (ms)",
    "isum_pct": "Isum (%)",
    "isum_forward_pct": "Isum, forward (%)",
    "isum_backward_pct": "Isum, backward (%)",
    "overlapped_sms": "SMs of overlapped PP and DP",
    "contention_tp_pct": "TP contention (%)",
    "contention_pp_pct": "PP contention (%)",
    "contention_dp_pct": "DP contention (%)",
    "contention_ep_pct": "EP contention (%)",
    "peak_tp_sms": "TP peak (SMs)",
    "peak_pp_sms": "PP peak (SMs)",
    "peak_dp_sms": "DP peak (SMs)",
    "peak_ep_sms": "EP peak (SMs)",
    "exposed_pp_ms": "waited for PP (ms)",
    "exposed_dp_ms": "waited for DP (ms)",
    "operation_tp_ms": "TP operation, mean (ms)",
    "operation_pp_ms": "PP operation, mean (ms)",
    "operation_dp_ms": "DP operation, mean (ms)",
    "longest_tp_ms": "TP operation, longest (ms)",
    "slack_p0_ms": "CPU slack, least (ms)",
    "slack_p5_ms": "CPU slack, 5% (ms)",
    "slack_p50_ms": "CPU slack, median (ms)",
    "slack_p95_ms": "CPU slack, 95% (ms)",
    "launch_busy_pct": "launching thread busy (%)",
    "proxy_busy_pct": "proxy busy (%)",
    "registration_ms": "registration (ms per step)",
    "busy_driver_pct": "registrations that find the driver busy (%)",
    LAUNCH: "launching (ms per step)",
    PROXY: "proxy's work (ms per step)",
}

Series = Literal["system", "point"]
SERIES: tuple[Series, ...] = ("system", "point")
How = Literal["gain", "ratio", "difference"]
HOWS: tuple[How, ...] = ("gain", "ratio", "difference")


def column_value(row: TrainingRow, column: str) -> float:
    if column == LAUNCH:
        return row.step_ms * row.launch_busy_pct / 100.0
    if column == PROXY:
        return row.step_ms * row.proxy_busy_pct / 100.0
    return float(getattr(row, column))


@dataclasses.dataclass(frozen=True)
class Case:
    """One step by one system, or the mean over `seeds`. `point` names it within its system."""

    sweep: str
    point: str
    model: str
    system: str
    options: tuple[str, ...]
    seeds: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"{self.system}, {self.point}"


@dataclasses.dataclass(frozen=True)
class Value:
    """A column of a case; over another case it is a gain in percent, a ratio or a difference."""

    case: str
    column: str
    over: str | None
    how: How

    def cases(self) -> tuple[str, ...]:
        return (self.case,) if self.over is None else (self.case, self.over)


@dataclasses.dataclass(frozen=True)
class CurveValue:
    """Of a panel's curve, where x is `at`: on the straight line between two simulated points."""

    panel: str
    curve: str
    at: float


Quantity = Value | CurveValue


@dataclasses.dataclass(frozen=True)
class BarsPanel:
    """A sweep's cases side by side, `series` by colour. With `reference`: gains over that case."""

    name: str
    title: str
    sweep: str
    series: Series
    column: str
    reference: str | None


@dataclasses.dataclass(frozen=True)
class CurvesPanel:
    """A curve per `series` of a sweep, from one column to another."""

    name: str
    title: str
    sweep: str
    series: Series
    x: str
    column: str
    reference: str | None


@dataclasses.dataclass(frozen=True)
class SmsPanel:
    """SMs held on the first GPU over the step, or over a part of it."""

    name: str
    title: str
    case: str
    begin_ms: float
    end_ms: float | None


@dataclasses.dataclass(frozen=True)
class SlackPanel:
    """Distributions of the CPU's slack; the paper's typical range is marked."""

    name: str
    title: str
    cases: tuple[str, ...]
    typical_ms: tuple[float, float]
    shown_ms: float


Panel = BarsPanel | CurvesPanel | SmsPanel | SlackPanel


@dataclasses.dataclass(frozen=True)
class Picture:
    """`sentence` says what is seen; its {names} are `values`."""

    name: str
    sentence: str
    values: dict[str, Quantity]
    panels: tuple[Panel, ...]


@dataclasses.dataclass(frozen=True)
class CaseTable:
    """Columns of a sweep's cases."""

    title: str
    text: str
    sweep: str
    columns: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class TrainingMetric:
    """The number behind one row of the comparison."""

    metric: Metric
    quantity: Quantity


@dataclasses.dataclass(frozen=True)
class Unknown:
    """Values of the model, all the same, that are chosen so that `column` becomes `target`."""

    keys: tuple[str, ...]
    column: str
    target: float


@dataclasses.dataclass(frozen=True)
class Fit:
    """Solved by runs of `case` with the options of whoever asks for it."""

    name: str
    case: str
    unknowns: tuple[Unknown, ...]


@dataclasses.dataclass(frozen=True)
class Setting:
    """What is switched on top of the cases: options, another model, a fit anew."""

    name: str
    options: tuple[str, ...]
    model: str | None
    fit: str | None


@dataclasses.dataclass(frozen=True)
class Alternatives:
    """Rows of the comparison again under each setting, beside `columns` of `case`."""

    title: str
    text: str
    rows: tuple[TrainingMetric, ...]
    case: str
    columns: tuple[str, ...]
    settings: tuple[Setting, ...]

    def cases(self) -> list[str]:
        """All that a setting runs."""
        names = [self.case]
        for row in self.rows:
            if isinstance(row.quantity, Value):
                names += row.quantity.cases()
        return list(dict.fromkeys(names))


@dataclasses.dataclass(frozen=True)
class TrainingConfig:
    path: Path
    id: str
    title: str
    calibration: Path
    topology: str
    network: str
    seed: int
    cases: dict[str, Case]
    pictures: tuple[Picture, ...]
    tables: tuple[CaseTable, ...]
    training_metrics: tuple[TrainingMetric, ...]
    fits: dict[str, Fit]
    alternatives: tuple[Alternatives, ...]

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return tuple(entry.metric for entry in self.training_metrics)

    def of_sweep(self, sweep: str) -> list[Case]:
        return [case for case in self.cases.values() if case.sweep == sweep]

    def panels(self) -> dict[str, Panel]:
        return {panel.name: panel for picture in self.pictures for panel in picture.panels}

    def models(self) -> list[Path]:
        """The files of all models that are trained."""
        settings = [setting for group in self.alternatives for setting in group.settings]
        names = [case.model for case in self.cases.values()]
        names += [setting.model for setting in settings if setting.model is not None]
        return [preset_path(name) for name in dict.fromkeys(names)]


def preset_path(model: str) -> Path:
    return Path("sim/train/presets") / f"{model}.toml"
