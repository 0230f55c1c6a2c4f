"""Studies of curves: systems side by side over message sizes, compared with the paper.

Each is a folder experiments/<name> with config.toml, paper.csv and README.md. Writes
results/<name>/{rows.csv, manifest.json, pictures} and its share of results/comparison.csv and
results/report.html.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from analysis import style
from analysis.calibration import Calibration, load_calibration
from analysis.compare_with_paper import check_kinds, compare, update_comparison
from analysis.curves_config import load_curves_config
from analysis.curves_plots import draw_curves
from analysis.curves_runs import all_runs, format_results, run_curves
from analysis.curves_tables import (
    Curves,
    largest_table,
    measure,
    network_differences,
    network_table,
    panel_table,
    settings_table,
)
from analysis.files import write_text
from analysis.load import PaperNumber, load_paper_numbers
from analysis.manifest import build_manifest, write_manifest
from analysis.report import (
    DataTable,
    Picture,
    render_calibration,
    render_manifest,
    write_section,
)
from analysis.runs import RunFailed
from analysis.study_output import (
    copy_pictures,
    render_study,
    show_comparison,
    show_passed,
    show_table,
)

NAMES = ("fig8", "fig9", "beyond")


def _draw(
    curves: Curves, paper: Sequence[PaperNumber], calibration: Calibration, folder: Path
) -> list[Picture]:
    config = curves.config
    figure = draw_curves(curves, paper, calibration.label)
    svg, _ = style.save(figure, folder / f"{config.id}.svg")
    marks = " Black marks are the paper's numbers." if paper else ""
    return [Picture(svg, f"Simulated curves; calibration {calibration.label}.{marks}")]


def _short_tables(curves: Curves) -> list[DataTable]:
    """Those that are printed, too."""
    config = curves.config
    return [
        largest_table(curves),
        *([settings_table(curves)] if config.settings else []),
        *([network_table(curves)] if config.checks else []),
    ]


def _check_networks(curves: Curves) -> None:
    differences = network_differences(curves)
    for entry in differences:
        if entry.value > entry.allowed:
            names = f"{entry.network} and {curves.config.network}"
            raise RunFailed(
                f"{curves.config.path}: {entry.case}: {names} differ by {entry.value:.3g} "
                f"(relative), more than {entry.allowed:g}"
            )
    if differences:
        worst = max(differences, key=lambda entry: entry.value)
        print(f"network models differ by {worst.value:.3g} at most (relative): {worst.case}")


def study(
    name: str,
    program: Path,
    results: Path,
    update_figures: bool,
    progress: Callable[[str], None],
) -> None:
    """The whole of it. Raises InputError and RunFailed, the latter also when networks disagree."""
    source = Path("experiments") / name
    config = load_curves_config(source / "config.toml")
    paper_csv = source / "paper.csv"
    paper = load_paper_numbers(paper_csv) if paper_csv.exists() else []
    calibration = load_calibration(config.calibration)
    check_kinds(config, calibration)
    folder = results / config.id

    runs = all_runs(config)
    found = run_curves(program, config, runs, progress)
    write_text(folder / "rows.csv", format_results(found))
    curves = Curves(config, found)
    comparison = compare(config, paper, measure(curves))
    progress("drawing")
    pictures = _draw(curves, paper, calibration, folder)
    commands = [run.command(program, config) for run in runs]
    manifest = build_manifest(config, calibration, commands, program)
    write_manifest(folder / "manifest.json", manifest)
    update_comparison(results / "comparison.csv", config.id, comparison)
    short = _short_tables(curves)
    tables = [*short, *(panel_table(curves, panel) for panel in config.panels)]
    tail = render_calibration(calibration) + render_manifest(manifest)
    section = render_study(config, pictures, tables, comparison, tail)
    write_section(results, config.id, section)
    if update_figures:
        copy_pictures(pictures, source)
    for table in short:
        show_table(table)
    print()
    show_comparison(comparison)
    show_passed(comparison)
    _check_networks(curves)
