"""The runs of the tornado: every number as it is, then with one constant changed at a time."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from analysis.calibration import Calibration, Constant
from analysis.curves_config import column_value
from analysis.load import CollectiveRow, InputError, format_tagged_rows
from analysis.runs import run_collective, run_side_by_side
from analysis.scaling import Scaled, scale
from analysis.tornado_config import Number, TornadoConfig
from analysis.units import format_size

# Two thousand runs of a fraction of a second each: one line per so many.
_PROGRESS_EVERY = 100
# A nudge must survive being written down.
_NUDGE_DIGITS = 16


@dataclasses.dataclass(frozen=True)
class Change:
    """`step` is "-20%" or "+20%" of the constant, or "nudge"."""

    constant: str
    kind: str
    step: str
    value: str
    change_pct: float


@dataclasses.dataclass(frozen=True)
class Run:
    number: Number
    change: Change | None

    def command(self, program: Path, config: TornadoConfig) -> list[str]:
        number = self.number
        changed = (
            ["--set", f"{self.change.constant}={self.change.value}"] if self.change else []
        )
        return [
            *(str(program), "sim"),
            *("--system", number.system),
            *("--topology", number.topology),
            *number.options,
            *("-b", format_size(number.size_bytes)),
            *("-e", format_size(number.size_bytes)),
            *("--network", config.network),
            *("--calibration", config.calibration.as_posix()),
            *changed,
            *("--seed", str(config.seed)),
            *("--jobs", "1"),
        ]


@dataclasses.dataclass(frozen=True)
class Result:
    run: Run
    row: CollectiveRow

    @property
    def value(self) -> float:
        return column_value(self.row, self.run.number.column)


def step_names(config: TornadoConfig) -> tuple[str, str]:
    return f"-{config.change_pct:g}%", f"+{config.change_pct:g}%"


def _change(place: Path, constant: Constant, step: str, factor: float, digits: int) -> Change:
    try:
        scaled: Scaled = scale(constant.value, factor, digits)
    except ValueError as error:
        raise InputError(f"{place}: {constant.name}: {error}") from None
    return Change(constant.name, constant.kind, step, scaled.text, scaled.change_pct)


def changes(config: TornadoConfig, calibration: Calibration) -> list[Change]:
    """Every constant down and up, then the nudges. Raises InputError for what cannot be scaled."""

    def found() -> Iterator[Change]:
        down, up = step_names(config)
        for constant in calibration.constants:
            for step, sign in ((down, -1.0), (up, 1.0)):
                factor = 1.0 + sign * config.change_pct / 100.0
                yield _change(calibration.path, constant, step, factor, 10)
        for name, nudge, sign in itertools.product(config.nudged, config.nudges, (-1.0, 1.0)):
            if name not in by_name:
                raise InputError(f"{config.path}: nudged: no constant '{name}'")
            factor = 1.0 + sign * nudge
            yield _change(calibration.path, by_name[name], "nudge", factor, _NUDGE_DIGITS)

    by_name = {constant.name: constant for constant in calibration.constants}
    return list(found())


def all_runs(config: TornadoConfig, calibration: Calibration) -> list[Run]:
    """All numbers as they are first, so that a bad option ends the study at once.

    Nothing is left out because it cannot matter: that a constant of another system changes nothing
    is a result.
    """
    base = [Run(number, None) for number in config.numbers]
    varied = [
        Run(number, change)
        for change in changes(config, calibration)
        for number in config.numbers
    ]
    return [*base, *varied]


def run_tornado(
    program: Path, config: TornadoConfig, runs: Sequence[Run], progress: Callable[[str], None]
) -> list[Result]:
    """Results in the order of `runs`. Raises RunFailed and InputError."""
    begin = time.monotonic()
    finished = itertools.count(1)

    def run_one(run: Run) -> Result:
        command = run.command(program, config)
        rows = run_collective(command)
        if [row.size_bytes for row in rows] != [run.number.size_bytes]:
            raise InputError(f"{' '.join(command)}: other sizes than asked for")
        done = next(finished)
        if done % _PROGRESS_EVERY == 0 or done == len(runs):
            progress(f"run {done}/{len(runs)} {time.monotonic() - begin:6.1f}s")
        return Result(run, rows[0])

    return run_side_by_side(run_one, runs)


def format_results(results: Sequence[Result]) -> str:
    """CSV text: the number and what was changed, then the program's columns."""

    def tags(run: Run) -> dict[str, object]:
        change = run.change or Change("", "", "", "", 0.0)
        return {
            "figure": run.number.figure,
            "number": run.number.name,
            "column": run.number.column,
            **dataclasses.asdict(change),
            "options": run.number.options,
        }

    return format_tagged_rows((tags(result.run), result.row) for result in results)
