"""Study: how much each figure's number hangs on each constant of the model.

Reads experiments/tornado, writes results/tornado/{rows.csv, manifest.json, pictures} and a section
of results/report.html. Counts the rows of results/comparison.csv that other figures left there.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from analysis import style
from analysis.calibration import load_calibration
from analysis.compare_with_paper import load_comparison
from analysis.files import write_text
from analysis.manifest import build_manifest, write_manifest
from analysis.report import Picture, render_calibration, render_manifest, write_section
from analysis.study_output import copy_pictures, render_plain_study, show_table
from analysis.tornado_config import NAME, load_tornado_config
from analysis.tornado_plots import draw_tornado
from analysis.tornado_runs import all_runs, format_results, run_tornado
from analysis.tornado_tables import effects_table, fitted_table, numbers_table, sensitivities

SOURCE = Path("experiments") / NAME


def study(
    program: Path, results: Path, update_figures: bool, progress: Callable[[str], None]
) -> None:
    """The whole of it. Raises InputError and RunFailed."""
    config = load_tornado_config(SOURCE / "config.toml")
    calibration = load_calibration(config.calibration)
    folder = results / NAME
    runs = all_runs(config, calibration)
    measured = run_tornado(program, config, runs, progress)
    write_text(folder / "rows.csv", format_results(measured))
    found = sensitivities(config, measured)
    progress("drawing")
    svg, _ = style.save(draw_tornado(config, found, calibration.label), folder / f"{NAME}.svg")
    picture = Picture(
        svg,
        f"Simulated, calibration {calibration.label}: change of each number when one constant "
        f"changes by {config.change_pct:g}%; at most {config.bars_max} constants per number, only "
        f"those above {config.shown_above_pct:g}%.",
    )
    commands = [run.command(program, config) for run in runs]
    manifest = build_manifest(config, calibration, commands, program)
    write_manifest(folder / "manifest.json", manifest)
    comparison = load_comparison(results / "comparison.csv")
    numbers = numbers_table(config, found)
    fitted = fitted_table(config, found, calibration, comparison)
    tables = [numbers, fitted, effects_table(config, found)]
    tail = render_calibration(calibration) + render_manifest(manifest)
    write_section(
        results, NAME, render_plain_study(config.id, config.title, [picture], tables, tail)
    )
    if update_figures:
        copy_pictures([picture], SOURCE)
    show_table(numbers)
    print(f"\n{fitted.text}")
