"""Study: recorded runs on real hardware beside their simulation.

Reads experiments/validate/results, writes results/validate/{validate.csv, manifest.json, pictures}
and a section of results/report.html.
"""

from __future__ import annotations

import html
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from analysis import style
from analysis.calibration import load_calibration
from analysis.files import replaced, write_text
from analysis.manifest import build_manifest, write_manifest
from analysis.report import (
    DataTable,
    Picture,
    render_calibration,
    render_manifest,
    render_picture,
    render_table,
    write_section,
)
from analysis.runs import run_program
from analysis.study_output import copy_pictures, show_table
from analysis.timeline import draw_timeline, load_trace
from analysis.units import format_size
from analysis.validate_config import NAME, ValidateConfig, load_validate_config
from analysis.validate_plots import DRAWINGS, labels
from analysis.validate_records import (
    Point,
    Record,
    command,
    compare_records,
    format_points,
    hashes,
    judged_of,
    load_records,
)
from analysis.validate_repeats import repeats_of, repeats_table, times_again
from analysis.validate_tables import (
    groups,
    judged,
    parts_table,
    summary_table,
    verdict_table,
)

SOURCE = Path("experiments") / NAME


def _file_name(folder: str, backend: str) -> str:
    return f"{folder}_{backend.replace('×', '-')}"


def draw(
    config: ValidateConfig, points: Sequence[Point], calibration: str, folder: Path
) -> list[Picture]:
    pictures = []
    for (records, backend), own in groups(points).items():
        origin = labels(config, calibration, own)
        for drawing in DRAWINGS:
            name = f"{drawing.name}_{_file_name(records, backend)}.svg"
            svg, _ = style.save(drawing.draw(config, own, origin), folder / name)
            pictures.append(Picture(svg, f"{drawing.caption}: {records}, {backend}."))
    return pictures


def _timeline_figure(config: ValidateConfig, record: Record, trace: Path, label: str) -> Figure:
    (size_bytes,) = record.message_bytes
    return draw_timeline(
        load_trace(trace),
        f"{record.pattern} of {format_size(size_bytes)}, {record.ranks} ranks: simulated and "
        "measured",
        f"Simulated: calibration {label}, network {config.network}. One operation each (n = 1), "
        f"from its first leg on.\nMeasured: {record.machine.label}, {record.backend}.",
        "simulated and measured",
    )


def draw_both_timelines(
    program: Path, config: ValidateConfig, record: Record, label: str, folder: Path
) -> Picture:
    """Of a record that holds a timeline."""
    trace = folder / "timeline.json"
    with replaced(trace) as temporary:
        run_program([*command(program, config, record), "--trace", str(temporary)])
    svg, _ = style.save(_timeline_figure(config, record, trace, label), folder / "timeline.svg")
    return Picture(svg, f"The same operation, simulated and measured (n = 1): {record.name}.")


def render(
    config: ValidateConfig, pictures: Sequence[Picture], tables: Sequence[DataTable], tail: str
) -> str:
    title = html.escape(config.title)
    return (
        f'<section id="{config.id}">\n<h2>{title}</h2>\n'
        "<p>Lines are <strong>simulated</strong>, points are <strong>measured</strong>.</p>\n"
        + "".join(render_table(table) for table in tables[:1])
        + "".join(render_picture(picture) for picture in pictures)
        + "".join(render_table(table) for table in tables[1:])
        + tail
        + "</section>\n"
    )


def study(
    program: Path,
    results: Path,
    update_figures: bool,
    progress: Callable[[str], None],
    source: Path = SOURCE,
) -> None:
    """The whole of it. Raises InputError and RunFailed."""
    config = load_validate_config(source / "config.toml")
    records = load_records(config, source / "results")
    again_us = times_again(records)
    calibration = load_calibration(config.calibration)
    folder = results / NAME
    if folder.exists():
        # Pictures of records that are gone would otherwise stay and look like results.
        shutil.rmtree(folder)

    points = compare_records(program, config, judged_of(records), progress)
    write_text(folder / "validate.csv", format_points(points))
    progress("drawing")
    pictures = draw(config, points, calibration.label, folder)
    for record in records:
        if record.name == config.timeline:
            pictures.append(
                draw_both_timelines(program, config, record, calibration.label, folder)
            )
    summary, verdicts = summary_table(config, points), verdict_table(config, points)
    repeats = repeats_of(again_us, points)
    again = [repeats_table(config, repeats)] if repeats else []
    tables = [summary, *again, verdicts, parts_table(config, points)]
    commands = [
        command(program, config, record) for record in records if not record.machine.repeats
    ]
    manifest = build_manifest(config, calibration, commands, program)
    manifest["records"] = hashes(records)
    write_manifest(folder / "manifest.json", manifest)
    tail = render_calibration(calibration) + render_manifest(manifest)
    write_section(results, NAME, render(config, pictures, tables, tail))
    for table in (summary, verdicts, *again):
        show_table(table)
    missed = [row for row in summary.rows if "NO" in row]
    print(f"{len(judged(points))} checked, {len(summary.rows) - len(missed)} of "
          f"{len(summary.rows)} classes within their band")
    if update_figures:
        copy_pictures(pictures, source)
