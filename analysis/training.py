"""Studies of training steps: systems side by side, compared with the paper.

Each is a folder experiments/<name> with config.toml, perhaps paper.csv, and README.md. Writes
results/<name>/{rows.csv, manifest.json, pictures} and its share of results/comparison.csv and
results/report.html.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from analysis import style
from analysis.calibration import load_calibration
from analysis.compare_with_paper import check_kinds, compare, update_comparison
from analysis.files import write_text
from analysis.load import load_paper_numbers
from analysis.manifest import build_manifest, write_manifest
from analysis.report import Picture, render_calibration, render_manifest, write_section
from analysis.study_output import (
    copy_pictures,
    render_plain_study,
    render_study,
    show_comparison,
    show_passed,
    show_table,
)
from analysis.training_config import load_training_config
from analysis.training_plots import draw_panels
from analysis.training_runs import all_runs, fit_layouts, format_steps, run_steps
from analysis.training_tables import (
    Steps,
    cases_table,
    layouts_table,
    measure,
    panel_table,
    settings_table,
)


def study(
    name: str,
    program: Path,
    results: Path,
    update_figures: bool,
    progress: Callable[[str], None],
) -> None:
    """The whole of it. Raises InputError and RunFailed."""
    source = Path("experiments") / name
    config = load_training_config(source / "config.toml")
    paper_csv = source / "paper.csv"
    paper = load_paper_numbers(paper_csv) if paper_csv.exists() else []
    calibration = load_calibration(config.calibration)
    check_kinds(config, calibration)
    folder = results / config.id

    runs = all_runs(config)
    found = run_steps(program, config, runs, progress)
    steps = Steps(config, found)
    fitted = fit_layouts(program, config, progress) if config.layouts else []
    write_text(folder / "rows.csv", format_steps(found))
    comparison = compare(config, paper, measure(steps))
    progress("drawing")
    svg, _ = style.save(draw_panels(steps, calibration.label), folder / f"{config.id}.svg")
    pictures = [Picture(svg, f"Simulated; calibration {calibration.label}.")]
    commands = [run.command(program, config) for run in runs]
    manifest = build_manifest(config, calibration, commands, program)
    write_manifest(folder / "manifest.json", manifest)
    update_comparison(results / "comparison.csv", config.id, comparison)
    points = [panel for panel in config.panels if panel.kind == "points"]
    tables = [
        *(panel_table(steps, panel) for panel in points),
        *([settings_table(steps)] if config.settings else []),
        *([layouts_table(fitted)] if fitted else []),
    ]
    tail = render_calibration(calibration) + render_manifest(manifest)
    everything = [*tables, cases_table(steps)]
    if comparison:
        section = render_study(config, pictures, everything, comparison, tail)
    else:
        section = render_plain_study(config.id, config.title, pictures, everything, tail)
    write_section(results, config.id, section)
    if update_figures:
        copy_pictures(pictures, source)
    for table in tables:
        show_table(table)
    print()
    if comparison:
        show_comparison(comparison)
        show_passed(comparison)
