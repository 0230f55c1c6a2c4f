"""The runs of a study of training steps: every case, settings on top of two, layouts refitted."""

from __future__ import annotations

import csv
import dataclasses
import io
import itertools
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from analysis.curves_options import switch_options
from analysis.load import InputError
from analysis.runs import RunFailed, run_program, run_side_by_side
from analysis.training_config import COLUMNS, Case, Layout, Target, TrainingConfig

# Columns of one step by name; those of COLUMNS are numbers.
Step = Mapping[str, float]
# (time in ms, SMs by class), one per change.
SmSample = tuple[float, dict[str, int]]
_CLASSES = ("tp", "pp", "dp", "ep")
# Runs of the solver per layout: each moves the speeds by the error that is left.
_FIT_STEPS = 6
# A matrix product reaches no more of the peak, and a step has no negative overhead.
SPEED_MAX = 0.95


@dataclasses.dataclass(frozen=True)
class Run:
    """One call of the program. (case, setting) is unique; the case itself has no setting."""

    case: Case
    setting: str
    options: tuple[str, ...]

    def command(self, program: Path, config: TrainingConfig) -> list[str]:
        return train_command(program, config, self.case.model, self.case.system, self.options)


def train_command(
    program: Path, config: TrainingConfig, model: str, system: str, options: Sequence[str]
) -> list[str]:
    return [
        *(str(program), "train", "--model", model, "--system", system),
        *options,
        *("--network", config.network),
        *("--calibration", config.calibration.as_posix()),
        *("--seed", str(config.seed)),
    ]


@dataclasses.dataclass(frozen=True)
class Result:
    run: Run
    step: Step
    sms: list[SmSample]
    slack_ms: list[float]  # by percentile, 0 to 100


@dataclasses.dataclass(frozen=True)
class FittedLayout:
    """`gains`: column -> HOCCL over NCCL in percent. None: no speeds meet NCCL's numbers."""

    layout: Layout
    speeds: tuple[float, float]
    overhead_ms: float
    nccl: Step | None
    gains: dict[str, float]


def all_runs(config: TrainingConfig) -> list[Run]:
    runs = [Run(case, "", case.options) for case in config.cases.values()]
    for setting in config.settings:
        for name in (setting.case, setting.over):
            case = config.cases[name]
            runs.append(Run(case, setting.name, switch_options(case.options, setting.options)))
    unique = {(run.case.name, run.setting): run for run in runs}
    return list(unique.values())


def read_step(text: str, place: str) -> Step:
    """The one row of `hoccl train --csv`. Raises InputError."""
    rows = list(csv.DictReader(io.StringIO(text)))
    if len(rows) != 1 or any(name not in rows[0] for name in COLUMNS):
        raise InputError(f"{place}: not one step with the columns of hoccl train")
    try:
        return {name: float(rows[0][name]) for name in COLUMNS}
    except ValueError as error:
        raise InputError(f"{place}: {error}") from None


def read_sms(text: str) -> list[SmSample]:
    return [
        (
            float(row["time_us"]) / 1e3,
            {name: int(row[f"{name}_sms"]) for name in _CLASSES},
        )
        for row in csv.DictReader(io.StringIO(text))
    ]


def run_step(
    command: Sequence[str], extra: Sequence[str] = ()
) -> tuple[Step, list[SmSample], list[float]]:
    """One call of the program; its step, and SMs and slack where `extra` names those files."""
    with tempfile.TemporaryDirectory() as folder:
        csv_file = Path(folder, "step.csv")
        files = {option: Path(folder, option.strip("-") + ".csv") for option in extra}
        words = [word for option, path in files.items() for word in (option, str(path))]
        run_program([*command, "--csv", str(csv_file), *words])
        place = " ".join(command)
        step = read_step(csv_file.read_text(encoding="utf-8"), place)
        sms = files.get("--sm-timeline")
        slack = files.get("--slack")
        return (
            step,
            read_sms(sms.read_text(encoding="utf-8")) if sms else [],
            [float(row["slack_ms"]) for row in csv.DictReader(slack.open(encoding="utf-8"))]
            if slack
            else [],
        )


def _extra(config: TrainingConfig, run: Run) -> list[str]:
    kinds = {panel.name: panel.kind for panel in config.panels}
    kind = kinds.get(run.case.panel or "", "") if not run.setting else ""
    return {"sms": ["--sm-timeline"], "slack": ["--slack"]}.get(kind, [])


def run_steps(
    program: Path, config: TrainingConfig, runs: Sequence[Run], progress: Callable[[str], None]
) -> list[Result]:
    """Results in the order of `runs`. Raises RunFailed and InputError."""
    begin = time.monotonic()
    finished = itertools.count(1)

    def run_one(run: Run) -> Result:
        result = Result(run, *run_step(run.command(program, config), _extra(config, run)))
        name = ", ".join(word for word in (run.case.name, run.setting) if word)
        progress(f"run {next(finished)}/{len(runs)} {time.monotonic() - begin:6.1f}s {name}")
        return result

    return run_side_by_side(run_one, runs)


def fit_layout(layout: Layout, run: Callable[[str, tuple[str, ...]], Step]) -> FittedLayout:
    """Speeds and overhead at which NCCL's numbers come out, and HOCCL's gains then.

    `run`: a step by system and options. The time of kernels goes as one over the speed, so that a
    few steps of the same kind settle it.
    """
    target = layout.target
    speeds, overhead_ms = (0.5, 0.5), 0.0
    for _ in range(_FIT_STEPS):
        nccl = run("nccl", _fitted_options(layout, speeds, 0.0))
        speeds = _next_speeds(target, speeds, nccl)
        if max(speeds) > SPEED_MAX:
            return FittedLayout(layout, speeds, 0.0, None, {})
    if target.forward_ms is not None:
        nccl = run("nccl", _fitted_options(layout, speeds, 0.0))
        overhead_ms = nccl["step_ms"] * (nccl["tflops_per_gpu"] / target.tflops_per_gpu - 1.0)
        if overhead_ms < 0.0:
            return FittedLayout(layout, speeds, overhead_ms, None, {})
    options = _fitted_options(layout, speeds, overhead_ms)
    nccl, hoccl = run("nccl", options), run("hoccl", options)
    gains = {
        name: 100.0 * (hoccl[name] / nccl[name] - 1.0)
        for name in ("tflops_per_gpu", "forward_ms", "backward_ms")
    }
    return FittedLayout(layout, speeds, overhead_ms, nccl, gains)


def _next_speeds(target: Target, speeds: tuple[float, float], nccl: Step) -> tuple[float, float]:
    if target.forward_ms is None or target.backward_ms is None:
        factor = target.tflops_per_gpu / nccl["tflops_per_gpu"]
        return (speeds[0] * factor, speeds[1] * factor)
    return (
        speeds[0] * nccl["forward_ms"] / target.forward_ms,
        speeds[1] * nccl["backward_ms"] / target.backward_ms,
    )


def _fitted_options(
    layout: Layout, speeds: tuple[float, float], overhead_ms: float
) -> tuple[str, ...]:
    fitted = [
        *("--set", f"speed.forward={speeds[0]:.5f}"),
        *("--set", f"speed.backward={speeds[1]:.5f}"),
    ]
    if layout.target.forward_ms is not None:
        fitted += ["--set", f"speed.step_overhead={overhead_ms:.3f}ms"]
    return (*layout.options, *fitted)


def fit_layouts(
    program: Path, config: TrainingConfig, progress: Callable[[str], None]
) -> list[FittedLayout]:
    begin = time.monotonic()
    finished = itertools.count(1)

    def fit_one(layout: Layout) -> FittedLayout:
        def run(system: str, options: tuple[str, ...]) -> Step:
            command = train_command(program, config, layout.target.model, system, options)
            return run_step(command)[0]

        try:
            fitted = fit_layout(layout, run)
        except RunFailed as error:
            raise RunFailed(f"{' '.join(layout.options)}: {error}") from None
        count = len(config.layouts)
        progress(f"layout {next(finished)}/{count} {time.monotonic() - begin:6.1f}s")
        return fitted

    return run_side_by_side(fit_one, config.layouts)


def format_steps(results: Iterable[Result]) -> str:
    """CSV text: what was run, then the program's columns."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["case", "setting", "model", "system", "options", *COLUMNS])
    for result in results:
        run = result.run
        place = [run.case.name, run.setting, run.case.model, run.case.system, " ".join(run.options)]
        writer.writerow([*place, *(f"{result.step[name]:.9g}" for name in COLUMNS)])
    return text.getvalue()
