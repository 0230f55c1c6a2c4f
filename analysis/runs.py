"""Runs the program for every cell of a figure, at most two processes at a time."""

from __future__ import annotations

import dataclasses
import itertools
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TypeVar

from analysis.config import FigureConfig, Group, Pair
from analysis.files import replaced
from analysis.load import (
    CollectiveRow,
    ProgramRow,
    Row,
    load_collective_rows,
    load_program_rows,
)
from analysis.units import format_size, sweep_sizes

PROCESSES_MAX = 2

J = TypeVar("J")
T = TypeVar("T")


class RunFailed(Exception):
    """The program refused or failed; the text is its own line."""


@dataclasses.dataclass(frozen=True)
class Cell:
    """One run of the program."""

    group: str
    pair: Pair
    system: str
    network: str
    rails: int
    chunk_bytes: int
    pipelining: str
    warmup: int
    begin_bytes: int
    end_bytes: int
    factor: int

    @property
    def name(self) -> str:
        parts = [
            self.group,
            self.pair.name,
            self.system.replace(":", "-"),
            self.network,
            f"{self.rails}rail",
            format_size(self.chunk_bytes),
        ]
        if self.pipelining != "on":
            parts.append(f"pipelining-{self.pipelining}")
        return "_".join(parts)

    def arguments(self, config: FigureConfig) -> list[str]:
        """Everything is spelled out, so that a result does not hang on the program's defaults."""
        return [
            "sim",
            *("--topology", config.topology),
            *("--pattern", config.pattern),
            *("--from", str(self.pair.source)),
            *("--to", str(self.pair.target)),
            *("--system", self.system),
            *("-b", format_size(self.begin_bytes)),
            *("-e", format_size(self.end_bytes)),
            *("-f", str(self.factor)),
            *("--chunk", format_size(self.chunk_bytes)),
            *("--rails", str(self.rails)),
            *("--pipelining", self.pipelining),
            *("--warmup", str(self.warmup)),
            *("--network", self.network),
            *("--calibration", config.calibration.as_posix()),
            *("--seed", str(config.seed)),
            *itertools.chain(
                *((f"--{name}", str(config.options[name])) for name in config.options)
            ),
            # Sizes one after another: PROCESSES_MAX programs run already.
            *("--jobs", "1"),
        ]

    def sizes_bytes(self) -> list[int]:
        return sweep_sizes(self.begin_bytes, self.end_bytes, self.factor)


def expand(config: FigureConfig, group: Group) -> Iterator[Cell]:
    for pair, system, network, rails, chunk, pipelining in itertools.product(
        group.pairs,
        group.systems,
        group.networks,
        group.rails,
        group.chunks_bytes,
        group.pipelining,
    ):
        yield Cell(
            group=group.name,
            pair=config.pairs[pair],
            system=system,
            network=network,
            rails=rails,
            chunk_bytes=chunk,
            pipelining=pipelining,
            warmup=group.warmup,
            begin_bytes=group.begin_bytes,
            end_bytes=group.end_bytes,
            factor=group.factor,
        )


def timeline_cell(config: FigureConfig) -> Cell:
    timeline = config.timeline
    return Cell(
        group="timeline",
        pair=config.pairs[timeline.pair],
        system=timeline.system,
        network=timeline.network,
        rails=1,
        chunk_bytes=timeline.chunk_bytes,
        pipelining="on",
        warmup=1,
        begin_bytes=timeline.size_bytes,
        end_bytes=timeline.size_bytes,
        factor=2,
    )


@dataclasses.dataclass(frozen=True)
class Outcome:
    rows: list[Row]
    command: list[str]


def _tag(cell: Cell, row: ProgramRow) -> Row:
    return Row(
        **dataclasses.asdict(row),
        group=cell.group,
        pair=cell.pair.name,
        network=cell.network,
        rails=cell.rails,
        chunk_bytes=cell.chunk_bytes,
        pipelining=cell.pipelining,
        warmup=cell.warmup,
    )


def run_program(command: list[str]) -> str:
    """Returns stdout. Raises RunFailed with the program's own line when it does not exit with 0."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise RunFailed(f"{command[0]}: {error.strerror}") from None
    if done.returncode != 0:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
        reason = lines[-1] if lines else "no message"
        raise RunFailed(f"{reason} (exit {done.returncode}: {' '.join(command)})")
    return done.stdout


def run_collective_with_output(command: list[str]) -> tuple[list[CollectiveRow], str]:
    """The rows of one simulation, and what it printed. Raises RunFailed and InputError."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "run.csv"
        output = run_program([*command, "--csv", str(target)])
        return load_collective_rows(target), output


def run_collective(command: list[str]) -> list[CollectiveRow]:
    """The rows of one simulation. Raises RunFailed and InputError."""
    return run_collective_with_output(command)[0]


def run_cell(
    program: Path, config: FigureConfig, cell: Cell, folder: Path, trace: Path | None = None
) -> Outcome:
    """Runs one cell into `folder`. Raises RunFailed (the program's line), InputError (its CSV)."""
    target = folder / f"{cell.name}.csv"
    command = [str(program), *cell.arguments(config)]
    with replaced(target) as temporary:
        outputs = ["--csv", str(temporary)]
        if trace is not None:
            outputs += ["--trace", str(trace)]
        run_program([*command, *outputs])
        rows = load_program_rows(temporary)
    sizes = [row.size_bytes for row in rows]
    if sizes != cell.sizes_bytes() or any(row.system != cell.system for row in rows):
        raise RunFailed(f"{target}: holds other sizes or systems than asked for")
    return Outcome([_tag(cell, row) for row in rows], command)


def run_side_by_side(run: Callable[[J], T], jobs: Sequence[J]) -> list[T]:
    """Results in the order of `jobs`. After the first failure nothing new is started."""
    with ThreadPoolExecutor(PROCESSES_MAX) as pool:
        futures = [pool.submit(run, job) for job in jobs]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            for future in futures:
                future.cancel()
    for future in futures:
        failure = None if future.cancelled() else future.exception()
        if failure is not None:
            raise failure
    return [future.result() for future in futures]


def run_all(
    program: Path,
    config: FigureConfig,
    cells: list[Cell],
    folder: Path,
    progress: Callable[[str], None],
) -> list[Outcome]:
    """Outcomes in the order of `cells`. After the first failure nothing new is started."""
    begin = time.monotonic()
    finished = itertools.count(1)

    def run(cell: Cell) -> Outcome:
        outcome = run_cell(program, config, cell, folder)
        elapsed = time.monotonic() - begin
        progress(f"run {next(finished)}/{len(cells)} {elapsed:6.1f}s {cell.name}")
        return outcome

    return run_side_by_side(run, cells)
