"""Runs a figure's experiments and compares them with the paper. Called by experiments/reproduce.

Writes results/<figure>/{runs/*.csv, rows.csv, manifest.json, pictures} and the figure's share of
results/comparison.csv and results/report.html.
"""

from __future__ import annotations

import argparse
import functools
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from analysis import (
    curves,
    loopback,
    registration,
    scheduler,
    systems,
    systems_config,
    tornado,
    tornado_config,
    training,
    training_config,
    validate,
    validate_config,
)
from analysis.calibration import load_calibration
from analysis.compare_with_paper import check_kinds, compare, update_comparison
from analysis.config import FigureConfig, load_config
from analysis.fig7 import Fig7
from analysis.files import replaced, write_text
from analysis.load import InputError, format_rows, load_paper_numbers, load_rows
from analysis.manifest import build_manifest, write_manifest
from analysis.report import FigureReport, write_report
from analysis.runs import Outcome, RunFailed, expand, run_all, run_cell, timeline_cell
from analysis.study_output import copy_pictures, show_comparison, show_passed

FIGURES = {"fig7": Fig7}
# Given the program, results/, whether pictures of the repository are updated, and what prints.
Study = Callable[[Path, Path, bool, Callable[[str], None]], None]
STUDIES: dict[str, Study] = {
    **{name: functools.partial(curves.study, name) for name in curves.NAMES},
    **{name: functools.partial(training.study, name) for name in training_config.NAMES},
    registration.NAME: registration.study,
    scheduler.NAME: scheduler.study,
    systems_config.NAME: systems.study,
    tornado_config.NAME: tornado.study,
    validate_config.NAME: validate.study,
}


class Progress:
    """Prints "[elapsed] figure: text" lines."""

    def __init__(self, figure: str) -> None:
        self._figure = figure
        self._begin = time.monotonic()

    def __call__(self, text: str) -> None:
        print(f"[{time.monotonic() - self._begin:4.0f}s] {self._figure}: {text}", flush=True)


def _simulate(
    config: FigureConfig, program: Path, folder: Path, progress: Progress
) -> tuple[list[Outcome], Path]:
    """Runs every cell and stores rows.csv; returns the outcomes and the trace of the timeline."""
    runs = folder / "runs"
    if runs.exists():
        # Runs of an earlier config would otherwise stay and look like results.
        shutil.rmtree(runs)
    runs.mkdir(parents=True)
    cells = [cell for group in config.groups.values() for cell in expand(config, group)]
    outcomes = run_all(program, config, cells, runs, progress)
    write_text(
        folder / "rows.csv", format_rows(row for outcome in outcomes for row in outcome.rows)
    )
    trace = folder / "timeline.json"
    with replaced(trace) as temporary:
        traced = run_cell(program, config, timeline_cell(config), runs, temporary)
    return [*outcomes, traced], trace


def reproduce(figure: str, program: Path, results: Path, update_figures: bool) -> int:
    """The whole of one figure. Returns 1 when the two network models disagree, else 0.

    Raises InputError and RunFailed.
    """
    progress = Progress(figure)
    source = Path("experiments") / figure
    config = load_config(source / "config.toml")
    paper = load_paper_numbers(source / "paper.csv")
    calibration = load_calibration(config.calibration)
    check_kinds(config, calibration)
    folder = results / figure

    outcomes, trace = _simulate(config, program, folder, progress)
    evaluation = FIGURES[figure](config, load_rows(folder / "rows.csv"))
    rows = compare(config, paper, evaluation.measure())
    pictures = evaluation.draw(folder, paper, calibration.label, trace, progress)
    commands = [outcome.command for outcome in outcomes]
    manifest = build_manifest(config, calibration, commands, program)
    write_manifest(folder / "manifest.json", manifest)
    update_comparison(results / "comparison.csv", figure, rows)
    tables = evaluation.tables()
    write_report(results, FigureReport(config, rows, pictures, tables, calibration, manifest))
    if update_figures:
        copy_pictures(pictures, source)

    difference = evaluation.network_difference()
    show_comparison(rows)
    print(f"cm02 and fluid differ by {difference:.3g} at most (relative)")
    show_passed(rows)
    if difference > config.network_difference_max:
        limit = f"{config.network_difference_max:g}"
        print(f"error: cm02 and fluid differ by more than {limit}", file=sys.stderr)
        return 1
    return 0


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m analysis.reproduce", description=__doc__)
    known = [*FIGURES, loopback.NAME, *STUDIES]
    parser.add_argument("figures", nargs="+", choices=known, metavar="FIGURE")
    parser.add_argument("--program", type=Path, default=Path("build/release/hoccl"))
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--update-figures", action="store_true")
    options = parser.parse_args(arguments)
    status = 0
    for figure in options.figures:
        try:
            if figure == loopback.NAME:
                loopback.measure(options.program, options.results, Progress(figure))
                continue
            if figure in STUDIES:
                STUDIES[figure](
                    options.program, options.results, options.update_figures, Progress(figure)
                )
                continue
            status |= reproduce(figure, options.program, options.results, options.update_figures)
        except (InputError, RunFailed) as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
