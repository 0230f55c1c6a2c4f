"""What each constant does to each number, from the results of the tornado."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from analysis import metrics
from analysis.calibration import Calibration
from analysis.compare_with_paper import ComparisonRow
from analysis.curves_config import COLUMNS
from analysis.load import InputError
from analysis.report import DataTable
from analysis.tornado_config import Number, TornadoConfig
from analysis.tornado_runs import Change, Result, step_names
from analysis.units import format_size


@dataclasses.dataclass(frozen=True)
class Effect:
    """Changes of a number in percent when a constant is less and when it is more."""

    number: Number
    down: Change
    up: Change
    down_pct: float
    up_pct: float

    @property
    def constant(self) -> str:
        return self.down.constant

    @property
    def kind(self) -> str:
        return self.down.kind

    @property
    def largest_pct(self) -> float:
        return max(abs(self.down_pct), abs(self.up_pct))


@dataclasses.dataclass(frozen=True)
class Sensitivity:
    """One number: its value, effects with the largest first, and what ties alone move it by."""

    number: Number
    value: float
    ties_pct: float
    effects: tuple[Effect, ...]

    def above(self, least_pct: float) -> list[Effect]:
        return [effect for effect in self.effects if effect.largest_pct > least_pct]


def sensitivities(config: TornadoConfig, results: Sequence[Result]) -> list[Sensitivity]:
    """In the order of the config. Raises InputError where a number lacks a run."""
    down, up = step_names(config)
    base: dict[str, float] = {}
    ties: dict[str, float] = {}
    moved: dict[str, dict[str, dict[str, tuple[Change, float]]]] = {}
    for result in results:
        label, change = result.run.number.label, result.run.change
        if change is None:
            base[label] = result.value
            continue
        if label not in base:
            raise InputError(f"{config.path}: no run of {label} as it is")
        pct = metrics.gain_pp(result.value, base[label])
        if change.step == "nudge":
            ties[label] = max(ties.get(label, 0.0), abs(pct))
        else:
            steps = moved.setdefault(label, {}).setdefault(change.constant, {})
            steps[change.step] = (change, pct)
    found = []
    for number in config.numbers:
        effects = [
            Effect(number, steps[down][0], steps[up][0], steps[down][1], steps[up][1])
            for steps in moved.get(number.label, {}).values()
        ]
        # Equal effects stay in the order of the calibration file.
        effects.sort(key=lambda effect: -effect.largest_pct)
        found.append(
            Sensitivity(
                number, base[number.label], ties.get(number.label, 0.0), tuple(effects)
            )
        )
    return found


def steps_note(effect: Effect, change_pct: float) -> str:
    """The real change of the constant where rounding or the end of a share made it another."""
    wanted = (-change_pct, change_pct)
    real = (effect.down.change_pct, effect.up.change_pct)
    if all(abs(a - b) < 0.05 for a, b in zip(wanted, real, strict=True)):
        return ""
    return f"{real[0]:+.1f}% / {real[1]:+.1f}%"


def numbers_table(config: TornadoConfig, found: Sequence[Sensitivity]) -> DataTable:
    rows: list[tuple[str | float, ...]] = []
    for entry in found:
        many = len(entry.above(config.shown_above_pct))
        first = entry.effects[0] if entry.effects and many else None
        rows.append(
            (
                entry.number.label,
                format_size(entry.number.size_bytes),
                COLUMNS[entry.number.column],
                entry.value,
                f"{entry.ties_pct:.2g}",
                str(many),
                f"{first.constant} ({first.kind})" if first else "none",
                f"{first.down_pct:+.2f}" if first else "",
                f"{first.up_pct:+.2f}" if first else "",
            )
        )
    down, up = step_names(config)
    return DataTable(
        "What each number hangs on most",
        f"Ties: the largest change when {' or '.join(config.nudged)} changes by "
        f"{max(config.nudges):g} of itself or less, which means nothing but decides who goes "
        "first; effects of that size are no effects. Simulated.",
        (
            *("number", "size", "what", "value", "ties ±%"),
            f"constants that change it by more than {config.shown_above_pct:g}%",
            *("largest", f"at {down}, %", f"at {up}, %"),
        ),
        rows,
    )


def effects_table(config: TornadoConfig, found: Sequence[Sensitivity]) -> DataTable:
    rows: list[tuple[str | float, ...]] = [
        (
            entry.number.label,
            effect.constant,
            effect.kind,
            f"{effect.down.value} / {effect.up.value}",
            steps_note(effect, config.change_pct),
            f"{effect.down_pct:+.2f}",
            f"{effect.up_pct:+.2f}",
            "no more than ties" if effect.largest_pct <= entry.ties_pct else "",
        )
        for entry in found
        for effect in entry.above(config.shown_above_pct)
    ]
    mattering = {
        effect.constant for entry in found for effect in entry.above(config.shown_above_pct)
    }
    everything = {effect.constant for entry in found for effect in entry.effects}
    down, up = step_names(config)
    return DataTable(
        f"All effects above {config.shown_above_pct:g}%",
        f"One constant changed at a time. {len(everything - mattering)} of {len(everything)} "
        f"constants change no number here by more than {config.shown_above_pct:g}%. Sizes and "
        "counts are rounded to whole ones, shares end at 1: the real change then has its own "
        "column. Simulated.",
        (
            *("number", "constant", "kind", f"values at {down} / {up}", "real change"),
            *(f"effect at {down}, %", f"effect at {up}, %", "remark"),
        ),
        rows,
    )


def fitted_line(calibration: Calibration, comparison: Sequence[ComparisonRow]) -> str:
    """How many free constants there are against how many numbers of the paper they explain."""
    names = [constant.name for constant in calibration.fitted()]
    head = f"{len(names)} fitted constants: {', '.join(names) or 'none'}."
    of_paper = [row for row in comparison if row.paper]
    counts = {
        kind: [row for row in of_paper if row.kind == kind] for kind in ("fitted", "predicted")
    }
    if not any(counts.values()):
        return f"{head} results/comparison.csv holds no rows of the paper to count yet."
    words = ", ".join(
        f"{len(rows)} {kind} ({sum(row.passed for row in rows)} pass)"
        for kind, rows in counts.items()
    )
    figures = ", ".join(dict.fromkeys(row.figure for row in of_paper))
    return (
        f"{head} Rows with a number of the paper in results/comparison.csv ({figures}): {words}. "
        "Options that a row says it was fitted by are choices, too, and not counted here."
    )


def fitted_table(
    config: TornadoConfig,
    found: Sequence[Sensitivity],
    calibration: Calibration,
    comparison: Sequence[ComparisonRow],
) -> DataTable:
    rows: list[tuple[str | float, ...]] = []
    for constant in calibration.fitted():
        moved = [
            f"{entry.number.label} {effect.down_pct:+.1f}/{effect.up_pct:+.1f}%"
            for entry in found
            for effect in entry.above(config.shown_above_pct)
            if effect.constant == constant.name
        ]
        rows.append((constant.name, constant.value, "; ".join(moved) or "none"))
    return DataTable(
        "Fitted constants",
        fitted_line(calibration, comparison),
        ("constant", "value", "numbers that it moves"),
        rows,
    )
