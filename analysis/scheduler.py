"""Study of the collective scheduler: targets, skewed AllToAllv, ablation, poor task order.

Writes results/scheduler/{rows.csv, manifest.json, pictures, order/*} and its share of
results/comparison.csv and results/report.html.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from analysis import style
from analysis.calibration import Calibration, load_calibration
from analysis.compare_with_paper import Measured, check_kinds, compare, update_comparison
from analysis.files import write_text
from analysis.flow_times import flow_end_times_us, percentile
from analysis.load import load_paper_numbers
from analysis.manifest import build_manifest, write_manifest
from analysis.plan_chart import draw_balance, draw_stages
from analysis.plan_file import PlanFile, imbalance, load_plan, received_by_nic, sent_by_nic
from analysis.report import (
    DataTable,
    Picture,
    render_calibration,
    render_manifest,
    write_section,
)
from analysis.runs import run_program
from analysis.scheduler_config import SchedulerConfig, load_scheduler_config
from analysis.scheduler_plots import draw_ablation, draw_flow_times, draw_skew
from analysis.scheduler_runs import Result, all_runs, format_results, run_study
from analysis.scheduler_tables import (
    ablation_table,
    skew_table,
    skew_verdicts,
    small_table,
    target_table,
)
from analysis.study_output import copy_pictures, render_study, show_passed, show_table
from analysis.units import format_size

NAME = "scheduler"
SOURCE = Path("experiments") / NAME
_OURS, _STAGED, _NAIVE = "ours", "in stages", "naive order"


class PoorOrder:
    """One skewed operation under our plan and under others: what each NIC and flow sees."""

    def __init__(self, program: Path, config: SchedulerConfig, folder: Path) -> None:
        order = config.order
        self.commands: list[list[str]] = []
        self.plans: dict[str, PlanFile] = {}
        self.ends_us: dict[str, list[float]] = {}
        self._config = config
        folder.mkdir(parents=True, exist_ok=True)
        for name, options in (
            (_OURS, ()),
            (_STAGED, order.staged),
            (_NAIVE, order.naive),
        ):
            words = [
                *("--topology", order.case.topology),
                *order.case.options,
                *options,
                *("-b", format_size(order.size_bytes)),
                *("--seed", str(config.seed)),
            ]
            # Options of the pipeline are no part of a plan.
            of_plan = [word for word in words if word not in ("--overlap", "off")]
            stem = name.replace(" ", "_")
            plan, trace = folder / f"{stem}.json", folder / f"{stem}.csv"
            self._run([str(program), "plan", *of_plan, "--predict", "off", "--json", str(plan)])
            model = ["-e", format_size(order.size_bytes), "--calibration",
                     config.calibration.as_posix()]
            self._run([str(program), "sim", *words, *model, "--trace", str(trace)])
            self.plans[name] = load_plan(plan)
            self.ends_us[name] = flow_end_times_us(trace)
            # Every chunk's events: large, and the command line above makes them again.
            trace.unlink()

    def _run(self, command: list[str]) -> None:
        self.commands.append(command)
        run_program(command)

    def imbalance(self, name: str) -> float:
        plan = self.plans[name]
        nics = plan.nics_per_node() * _nodes(plan)
        return max(
            imbalance(loads.values(), nics) for loads in (sent_by_nic(plan), received_by_nic(plan))
        )

    def measure(self) -> dict[tuple[str, str], Measured]:
        ours, naive = self.imbalance(_OURS), self.imbalance(_NAIVE)
        late = {name: percentile(ends, 99) for name, ends in self.ends_us.items()}
        return {
            ("order", "nic_imbalance"): Measured(
                naive / ours, f"naive {naive:.2f}, ours {ours:.2f} times the mean NIC"
            ),
            ("order", "p99_flow_time"): Measured(
                late[_NAIVE] / late[_OURS],
                f"naive {late[_NAIVE] / 1e3:.2f}, ours {late[_OURS] / 1e3:.2f} ms",
            ),
        }

    def table(self) -> DataTable:
        order = self._config.order
        rows: list[tuple[str | float, ...]] = [
            (
                name,
                self.imbalance(name),
                *(percentile(ends, percent) / 1e3 for percent in (50, 99, 100)),
            )
            for name, ends in self.ends_us.items()
        ]
        return DataTable(
            "Poor task order (paper, §1)",
            f"{' '.join(order.case.options)} of {format_size(order.size_bytes)} on "
            f"{order.case.topology}; naive: {' '.join(order.naive)}. Simulated. Deadlock, the third "
            "thing that poor order causes, is shown on a fabric of real bytes: operations that two "
            "streams cross end with admission and never without (tests/fuzz/admission_test.cc).",
            ("plan", "busiest NIC / mean", "flows ended by, ms: half", "99 of 100", "all"),
            rows,
        )


def _nodes(plan: PlanFile) -> int:
    busy = [*sent_by_nic(plan), *received_by_nic(plan)]
    return max(busy) // plan.nics_per_node() + 1


def draw(
    config: SchedulerConfig,
    results: Sequence[Result],
    order: PoorOrder,
    calibration: Calibration,
    folder: Path,
) -> list[Picture]:
    label = calibration.label
    plans = (order.plans[_NAIVE], order.plans[_OURS])
    nics = plans[1].nics_per_node()
    pictures = {
        "skew": (
            draw_skew(config, results, label),
            "Simulated AllToAllv: our plan and the alternatives, by matrix and topology.",
        ),
        "ablation": (
            draw_ablation(config, results, label),
            "Simulated: what is left of the bandwidth without each mechanism.",
        ),
        "flow_times": (
            draw_flow_times(order.ends_us, label),
            "Simulated: when the flows of one skewed AllToAllv have ended.",
        ),
        "balance": (
            draw_balance(*plans, (_NAIVE, _OURS), nics),
            "MiB that every NIC sends and receives in that AllToAllv: of the plan, not simulated.",
        ),
        "stages": (
            draw_stages(order.plans[_STAGED], nics),
            "The stages of that AllToAllv with the critical order: who sends to which node. Of the "
            "plan, not simulated.",
        ),
    }
    drawn = []
    for name, (figure, caption) in pictures.items():
        svg, _ = style.save(figure, folder / f"{name}.svg")
        drawn.append(Picture(svg, caption))
    return drawn


def study(
    program: Path, results: Path, update_figures: bool, progress: Callable[[str], None]
) -> None:
    """The whole of it. Raises InputError and RunFailed."""
    config = load_scheduler_config(SOURCE / "config.toml")
    paper = load_paper_numbers(SOURCE / "paper.csv")
    calibration = load_calibration(config.calibration)
    check_kinds(config, calibration)
    folder = results / NAME

    runs = all_runs(config, [constant.name for constant in calibration.constants])
    found = run_study(program, config, runs, progress)
    write_text(folder / "rows.csv", format_results(found))
    progress("poor task order")
    order = PoorOrder(program, config, folder / "order")
    comparison = compare(config, paper, order.measure())
    progress("drawing")
    pictures = draw(config, found, order, calibration, folder)
    tables = [
        target_table(config, found),
        skew_verdicts(config, found),
        skew_table(config, found),
        small_table(config, found),
        ablation_table(config, found),
        order.table(),
    ]
    commands = [run.command(program, config) for run in runs] + order.commands
    manifest = build_manifest(config, calibration, commands, program)
    write_manifest(folder / "manifest.json", manifest)
    update_comparison(results / "comparison.csv", NAME, comparison)
    tail = render_calibration(calibration) + render_manifest(manifest)
    write_section(results, NAME, render_study(config, pictures, tables, comparison, tail))
    for table in tables:
        show_table(table)
    show_passed(comparison, "rows of the paper")
    if update_figures:
        copy_pictures(pictures, SOURCE)
