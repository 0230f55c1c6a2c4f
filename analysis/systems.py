"""Study: the systems side by side over operations and kinds of buffers, at one size.

Reads experiments/systems, writes results/systems/{rows.csv, manifest.json, pictures} and a section
of results/report.html.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from analysis import style
from analysis.calibration import load_calibration
from analysis.files import write_text
from analysis.manifest import build_manifest, write_manifest
from analysis.report import Picture, render_calibration, render_manifest, write_section
from analysis.study_output import copy_pictures, render_plain_study, show_table
from analysis.systems_config import NAME, load_systems_config
from analysis.systems_plots import draw_systems
from analysis.systems_runs import all_runs, format_cells, run_systems
from analysis.systems_tables import OWN_BOUND, Matrix, cells_table, first_use_table, matrix_table

SOURCE = Path("experiments") / NAME


def study(
    program: Path, results: Path, update_figures: bool, progress: Callable[[str], None]
) -> None:
    """The whole of it. Raises InputError and RunFailed."""
    config = load_systems_config(SOURCE / "config.toml")
    calibration = load_calibration(config.calibration)
    folder = results / NAME
    runs = all_runs(config)
    cells = run_systems(program, config, runs, progress)
    write_text(folder / "rows.csv", format_cells(cells))
    matrix = Matrix(config, cells)
    progress("drawing")
    svg, _ = style.save(draw_systems(matrix, calibration.label), folder / f"{NAME}.svg")
    picture = Picture(svg, f"Simulated, calibration {calibration.label}. {OWN_BOUND}")
    commands = [run.command(program, config) for run in runs]
    manifest = build_manifest(config, calibration, commands, program)
    write_manifest(folder / "manifest.json", manifest)
    short = [matrix_table(matrix), first_use_table(matrix)]
    tables = [*short, cells_table(matrix)]
    tail = render_calibration(calibration) + render_manifest(manifest)
    write_section(
        results, NAME, render_plain_study(config.id, config.title, [picture], tables, tail)
    )
    if update_figures:
        copy_pictures([picture], SOURCE)
    for table in short:
        show_table(table)
    print()
    for reason, mark in matrix.footnotes.items():
        print(f"[{mark}] {reason}")
