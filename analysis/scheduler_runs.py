"""The runs of experiments/scheduler: which there are, and what each gave."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from analysis.load import CollectiveRow, InputError, format_tagged_rows
from analysis.runs import run_collective, run_side_by_side
from analysis.scheduler_config import SchedulerConfig
from analysis.units import format_size


@dataclasses.dataclass(frozen=True)
class Run:
    """One simulated operation. (part, name, plan, kind, seed, topology, concurrency) is unique."""

    part: str
    # Of the case; empty for drawn matrices.
    name: str
    # Of the variant; empty where there is one only.
    plan: str
    kind: str
    seed: int
    topology: str
    concurrency: int
    size_bytes: int
    options: tuple[str, ...]

    def command(self, program: Path, config: SchedulerConfig) -> list[str]:
        return [
            *(str(program), "sim"),
            *("--topology", self.topology),
            *self.options,
            *("-b", format_size(self.size_bytes)),
            *("-e", format_size(self.size_bytes)),
            *("--seed", str(self.seed)),
            *("--calibration", config.calibration.as_posix()),
            *("--set", f"copy_engine.concurrency={self.concurrency}"),
            *("--jobs", "1"),
        ]


@dataclasses.dataclass(frozen=True)
class Result:
    run: Run
    row: CollectiveRow


def _case_runs(config: SchedulerConfig) -> Iterator[Run]:
    cases = [target.case for target in config.targets]
    for concurrency, case in itertools.product(config.concurrencies, cases):
        yield Run(
            part="target",
            name=case.name,
            plan="",
            kind="",
            seed=config.seed,
            topology=case.topology,
            concurrency=concurrency,
            size_bytes=config.size_bytes,
            options=case.options,
        )


def _matrix(kind: str) -> tuple[str, ...]:
    return ("--pattern", "alltoallv", "--matrix", kind, "--in-place")


def _skew_runs(config: SchedulerConfig) -> Iterator[Run]:
    skew = config.skew
    for index, plan in enumerate(skew.plans):
        seeds = skew.seeds if index == 0 else (skew.seeds_of_others,)
        for concurrency, count, quantum in zip(
            config.concurrencies, seeds, skew.quanta, strict=False
        ):
            ahead = ("--streams", str(quantum), "--quantum", str(quantum))
            for topology, kind, seed in itertools.product(
                skew.topologies, skew.kinds, range(1, 1 + count)
            ):
                yield Run(
                    part="skew",
                    name="",
                    plan=plan.name,
                    kind=kind,
                    seed=seed,
                    topology=topology,
                    concurrency=concurrency,
                    size_bytes=config.size_bytes,
                    options=_matrix(kind) + plan.options + ahead,
                )


def cpu_costs_off(names: Iterable[str]) -> tuple[str, ...]:
    """Options that set every CPU cost of the calibration to nothing."""
    costs = [name for name in names if name.startswith("cpu.")]
    return tuple(word for name in costs for word in ("--set", f"{name}=0us"))


def _small_runs(config: SchedulerConfig, constants: Sequence[str]) -> Iterator[Run]:
    small = config.small
    costs = {"CPU costs off": cpu_costs_off(constants), "CPU costs on": ()}
    for (plan, options), kind, seed in itertools.product(
        costs.items(), config.skew.kinds, range(1, 1 + small.seeds)
    ):
        yield Run(
            part="small",
            name="",
            plan=plan,
            kind=kind,
            seed=seed,
            topology=small.topology,
            concurrency=config.concurrencies[0],
            size_bytes=small.size_bytes,
            options=_matrix(kind) + small.options + options,
        )


def _ablation_runs(config: SchedulerConfig) -> Iterator[Run]:
    for concurrency, case, without in itertools.product(
        config.concurrencies, config.ablation.cases, config.ablation.without
    ):
        yield Run(
            part="ablation",
            name=case.name,
            plan=without.name,
            kind="",
            seed=config.seed,
            topology=case.topology,
            concurrency=concurrency,
            size_bytes=config.size_bytes,
            options=case.options + without.options,
        )


def all_runs(config: SchedulerConfig, constants: Sequence[str]) -> list[Run]:
    """`constants`: names of all constants of the calibration."""
    return [
        *_case_runs(config),
        *_skew_runs(config),
        *_small_runs(config, constants),
        *_ablation_runs(config),
    ]


def run_study(
    program: Path, config: SchedulerConfig, runs: Sequence[Run], progress: Callable[[str], None]
) -> list[Result]:
    """Results in the order of `runs`. Raises RunFailed and InputError."""
    begin = time.monotonic()
    finished = itertools.count(1)

    def run_one(run: Run) -> Result:
        rows = run_collective(run.command(program, config))
        if len(rows) != 1:
            raise InputError(f"{' '.join(run.command(program, config))}: {len(rows)} rows, not 1")
        number = next(finished)
        if number % 50 == 0 or number == len(runs):
            progress(f"run {number}/{len(runs)} {time.monotonic() - begin:6.1f}s {run.part}")
        return Result(run, rows[0])

    return run_side_by_side(run_one, runs)


def format_results(results: Iterable[Result]) -> str:
    """CSV text: what was run, then the program's columns."""
    return format_tagged_rows(
        (dataclasses.asdict(result.run), result.row) for result in results
    )
