"""The runs of a study of curves: every case, settings on top of it, the second network model."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from analysis.curves_config import Case, CurvesConfig
from analysis.curves_options import switch_options
from analysis.load import CollectiveRow, InputError, format_tagged_rows
from analysis.runs import run_collective, run_side_by_side
from analysis.units import format_size, sweep_sizes


@dataclasses.dataclass(frozen=True)
class Run:
    """One call of the program. (case, setting, network) is unique; a curve has no `setting`."""

    case: str
    setting: str
    network: str
    system: str
    topology: str
    options: tuple[str, ...]
    begin_bytes: int
    end_bytes: int
    factor: int

    def command(self, program: Path, config: CurvesConfig) -> list[str]:
        return [
            *(str(program), "sim"),
            *("--system", self.system),
            *("--topology", self.topology),
            *self.options,
            *("-b", format_size(self.begin_bytes)),
            *("-e", format_size(self.end_bytes)),
            *("-f", str(self.factor)),
            *("--network", self.network),
            *("--calibration", config.calibration.as_posix()),
            *("--seed", str(config.seed)),
            # Sizes one after another: several programs run already.
            *("--jobs", "1"),
        ]


@dataclasses.dataclass(frozen=True)
class Result:
    run: Run
    row: CollectiveRow


def _curve(case: Case, network: str) -> Run:
    return Run(
        case=case.name,
        setting="",
        network=network,
        system=case.system,
        topology=case.topology,
        options=case.options,
        begin_bytes=case.begin_bytes,
        end_bytes=case.end_bytes,
        factor=case.factor,
    )


def all_runs(config: CurvesConfig) -> list[Run]:
    """Settings are run at the largest size of their case."""

    def runs() -> Iterator[Run]:
        for case in config.cases.values():
            yield _curve(case, config.network)
        for setting in config.settings:
            case = config.cases[setting.case]
            yield dataclasses.replace(
                _curve(case, config.network),
                setting=setting.name,
                options=switch_options(case.options, setting.options, setting.without),
                begin_bytes=case.end_bytes,
            )
        for check in config.checks:
            for name in check.cases:
                yield _curve(config.cases[name], check.network)

    return list(runs())


def run_curves(
    program: Path, config: CurvesConfig, runs: Sequence[Run], progress: Callable[[str], None]
) -> list[Result]:
    """Results in the order of `runs`, sizes ascending. Raises RunFailed and InputError."""
    begin = time.monotonic()
    finished = itertools.count(1)

    def run_one(run: Run) -> list[Result]:
        command = run.command(program, config)
        rows = run_collective(command)
        sizes = sweep_sizes(run.begin_bytes, run.end_bytes, run.factor)
        if [row.size_bytes for row in rows] != sizes:
            raise InputError(f"{' '.join(command)}: other sizes than asked for")
        name = ", ".join(word for word in (run.case, run.setting, run.network) if word)
        elapsed = time.monotonic() - begin
        progress(f"run {next(finished)}/{len(runs)} {elapsed:6.1f}s {name}")
        return [Result(run, row) for row in rows]

    return [result for found in run_side_by_side(run_one, runs) for result in found]


def format_results(results: Sequence[Result]) -> str:
    """CSV text: what was run, then the program's columns."""
    return format_tagged_rows(
        (dataclasses.asdict(result.run), result.row) for result in results
    )
