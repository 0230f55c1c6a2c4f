"""The runs of the matrix, and whether a system ran kernels instead of what it is named for."""

from __future__ import annotations

import dataclasses
import itertools
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from analysis.load import CollectiveRow, InputError, format_tagged_rows
from analysis.runs import run_collective_with_output, run_side_by_side
from analysis.systems_config import FIRST_USE, Choice, SystemsConfig
from analysis.units import format_size

_FALLBACK = re.compile(
    r"^# (?P<system>\S+) runs kernels of (?P<sms>\d+) SMs instead: (?P<reason>.+)$", re.MULTILINE
)


@dataclasses.dataclass(frozen=True)
class Fallback:
    """A system without SMs that ran kernels of so many, in the program's own words why."""

    system: str
    sms: int
    reason: str


def parse_fallback(output: str) -> Fallback | None:
    """Of the program's header; nothing where the system ran as it is named."""
    match = _FALLBACK.search(output)
    if match is None:
        return None
    return Fallback(match["system"], int(match["sms"]), match["reason"].strip())


@dataclasses.dataclass(frozen=True)
class Run:
    """One cell. `buffers` is a name of the config or FIRST_USE."""

    system: Choice
    operation: Choice
    buffers: str
    options: tuple[str, ...]
    warmup: int

    @property
    def name(self) -> str:
        return f"{self.system.name}, {self.operation.name}, {self.buffers}"

    def command(self, program: Path, config: SystemsConfig) -> list[str]:
        return [
            *(str(program), "sim"),
            *("--system", self.system.name),
            *("--topology", config.topology),
            *self.options,
            *("-b", format_size(config.size_bytes)),
            *("-e", format_size(config.size_bytes)),
            *("--iterations", str(config.iterations)),
            *("--warmup", str(self.warmup)),
            *("--network", config.network),
            *("--calibration", config.calibration.as_posix()),
            *("--seed", str(config.seed)),
            *("--jobs", "1"),
        ]


@dataclasses.dataclass(frozen=True)
class Cell:
    run: Run
    row: CollectiveRow
    fallback: Fallback | None


def all_runs(config: SystemsConfig) -> list[Run]:
    """Every cell of the matrix, then the first uses."""

    def runs() -> Iterator[Run]:
        for operation, buffers, system in itertools.product(
            config.operations, config.buffers, config.systems
        ):
            options = (*operation.options, *system.options, *buffers.options)
            yield Run(system, operation, buffers.name, options, config.warmup)
        for operation, system in itertools.product(config.operations, config.systems):
            if system.name in config.first_use:
                options = (*operation.options, *system.options)
                yield Run(system, operation, FIRST_USE, options, 0)

    return list(runs())


def _run_cell(program: Path, config: SystemsConfig, run: Run) -> Cell:
    command = run.command(program, config)
    rows, output = run_collective_with_output(command)
    if [row.size_bytes for row in rows] != [config.size_bytes]:
        raise InputError(f"{' '.join(command)}: other sizes than asked for")
    return Cell(run, rows[0], parse_fallback(output))


def run_systems(
    program: Path, config: SystemsConfig, runs: Sequence[Run], progress: Callable[[str], None]
) -> list[Cell]:
    """Cells in the order of `runs`. Raises RunFailed and InputError."""
    begin = time.monotonic()
    finished = itertools.count(1)

    def run_one(run: Run) -> Cell:
        cell = _run_cell(program, config, run)
        elapsed = time.monotonic() - begin
        progress(f"run {next(finished)}/{len(runs)} {elapsed:6.1f}s {run.name}")
        return cell

    return run_side_by_side(run_one, runs)


def format_cells(cells: Sequence[Cell]) -> str:
    """CSV text: what was run and why kernels ran, then the program's columns."""

    def tags(cell: Cell) -> dict[str, object]:
        return {
            "operation": cell.run.operation.name,
            "buffers": cell.run.buffers,
            "options": cell.run.options,
            "warmup": cell.run.warmup,
            "kernels_of_sms": cell.fallback.sms if cell.fallback else "",
            "kernels_reason": cell.fallback.reason if cell.fallback else "",
        }

    return format_tagged_rows((tags(cell), cell.row) for cell in cells)
