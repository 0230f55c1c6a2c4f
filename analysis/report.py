"""results/report.html: one page that opens without a network, one section per reproduced figure.

Each figure leaves its section as results/<figure>/section.html, so that reproducing one keeps the
others.
"""

from __future__ import annotations

import dataclasses
import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from analysis.calibration import Calibration
from analysis.compare_with_paper import ComparisonRow, figure_order, load_comparison
from analysis.config import KINDS, FigureConfig, Metric
from analysis.files import write_text
from analysis.load import InputError

SECTION = "section.html"

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; margin: 2rem auto; max-width: 76rem;
  padding: 0 1rem; }
h1, h2, h3 { line-height: 1.2; }
h2 { border-top: 2px solid #ddd; padding-top: 1.2rem; margin-top: 2.5rem; }
.wide { overflow-x: auto; } .wide svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-size: 13px; margin: .6rem 0; }
th, td { border: 1px solid #ddd; padding: .3rem .5rem; text-align: left; vertical-align: top; }
th { background: #f3f3f3; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.name { white-space: nowrap; }
td.yes { color: #06703c; } td.no { color: #b00020; font-weight: 600; }
pre { background: #f6f6f6; padding: .6rem; font-size: 12px; overflow-x: auto; }
figcaption, .note { color: #555; font-size: 13px; }
"""


@dataclasses.dataclass(frozen=True)
class Picture:
    svg: Path
    caption: str


@dataclasses.dataclass(frozen=True)
class DataTable:
    """A table of results. Cells that are floats are aligned as numbers."""

    title: str
    text: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str | float, ...]]


@dataclasses.dataclass(frozen=True)
class FigureReport:
    config: FigureConfig
    comparison: Sequence[ComparisonRow]
    pictures: Sequence[Picture]
    tables: Sequence[DataTable]
    calibration: Calibration
    manifest: Mapping[str, object]


def inline_svg(text: str) -> str:
    """The drawing without prolog, metadata and namespace addresses, which HTML does not need."""
    match = re.search(r"<svg\b.*</svg>", text, re.DOTALL)
    if match is None:
        raise InputError("not an SVG picture")
    drawing = re.sub(r"<metadata>.*?</metadata>", "", match.group(0), flags=re.DOTALL)
    return re.sub(r'\sxmlns(?::\w+)?="[^"]*"', "", drawing)


def _cell(value: str | float, classes: str = "") -> str:
    if isinstance(value, float):
        return f'<td class="number">{value:.6g}</td>'
    attribute = f' class="{classes}"' if classes else ""
    return f"<td{attribute}>{html.escape(value)}</td>"


def _table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    body = "\n".join(f"<tr>{''.join(cells)}</tr>" for cells in rows)
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>\n"
    )


def render_comparison(metrics: Sequence[Metric], comparison: Sequence[ComparisonRow]) -> str:
    """Paper, predicted, fitted and input have a column each: they are not the same thing."""
    how = {(metric.id, metric.metric): metric.how for metric in metrics}
    kinds = [kind for kind in KINDS if any(row.kind == kind for row in comparison)]
    columns = ["id", "metric", "unit", "paper", *(f"simulated, {kind}" for kind in kinds)]
    columns += ["error", "pass", "kind", "note", "how it was computed"]
    rows = []
    for row in comparison:
        cells = [
            _cell(row.id, "name"),
            _cell(row.metric),
            _cell(row.unit),
            _cell(row.paper, "number"),
        ]
        cells += [_cell(row.ours if row.kind == kind else "", "number") for kind in kinds]
        unit = "points" if row.unit == "pp" else "%"
        verdict = "yes" if row.passed else "no"
        cells += [_cell(f"{row.error} {unit}", "number"), _cell(verdict, verdict), _cell(row.kind)]
        cells += [_cell(row.note), _cell(how[row.id, row.metric])]
        rows.append(cells)
    return _table(columns, rows)


def _constants_table(calibration: Calibration) -> str:
    rows = [
        [
            _cell(constant.name),
            _cell(constant.value, "number"),
            _cell(constant.kind),
            _cell(constant.source),
        ]
        for constant in calibration.constants
    ]
    return _table(("constant", "value", "kind", "source"), rows)


def render_picture(picture: Picture) -> str:
    drawing = inline_svg(picture.svg.read_text(encoding="utf-8"))
    caption = f"<figcaption>{html.escape(picture.caption)}</figcaption>"
    return f'<figure class="wide">{drawing}\n{caption}</figure>\n'


def render_table(table: DataTable) -> str:
    rows = [[_cell(value) for value in row] for row in table.rows]
    head = f"<h3>{html.escape(table.title)}</h3>\n<p>{html.escape(table.text)}</p>\n"
    return head + _table(table.columns, rows)


def render_calibration(calibration: Calibration) -> str:
    fitted = ", ".join(constant.name for constant in calibration.fitted()) or "none"
    return (
        f"<h3>Calibration</h3>\n<p>{html.escape(calibration.label)}. Fitted: "
        f"{html.escape(fitted)}; all others are inputs.</p>\n" + _constants_table(calibration)
    )


def render_manifest(manifest: Mapping[str, object]) -> str:
    """The command lines are folded away."""
    rest = {key: value for key, value in manifest.items() if key != "commands"}
    commands = manifest["commands"]
    lines = "\n".join(str(command) for command in commands) if isinstance(commands, list) else ""
    return (
        f"<h3>Manifest</h3>\n<pre>{html.escape(json.dumps(rest, indent=2))}</pre>\n"
        f"<details><summary>command lines that were run</summary><pre>{html.escape(lines)}</pre>"
        "</details>\n"
    )


def render_section(report: FigureReport) -> str:
    config = report.config
    title = html.escape(f"{config.figure}: {config.title}")
    parts = [f'<section id="{html.escape(config.id)}">\n<h2>{title}</h2>\n']
    parts += [render_picture(picture) for picture in report.pictures]
    comparison = render_comparison(config.metrics, report.comparison)
    parts.append("<h3>Compared with the paper</h3>\n" + comparison)
    parts += [render_table(table) for table in report.tables]
    parts.append(render_calibration(report.calibration) + render_manifest(report.manifest))
    return "".join(parts) + "</section>\n"


def render_verdicts(comparison: Sequence[ComparisonRow]) -> str:
    """Every number of the paper: what matched, what did not, and why. Misses first."""
    rows = [row for row in comparison if row.paper]
    if not rows:
        return ""
    matched = sum(row.passed for row in rows)
    predicted = [row for row in rows if row.kind == "predicted"]
    cells = []
    for row in sorted(rows, key=lambda row: row.passed):
        verdict = "yes" if row.passed else "no"
        unit = "points" if row.unit == "pp" else "%"
        place = [_cell(row.figure, "name"), _cell(row.id, "name"), _cell(row.metric)]
        numbers = [_cell(text, "number") for text in (row.paper, row.ours, f"{row.error} {unit}")]
        cells.append([*place, _cell(row.unit), *numbers, _cell(row.kind), _cell(verdict, verdict),
                      _cell(row.note)])  # fmt: skip
    columns = ("figure", "id", "metric", "unit", "paper", "ours", "error", "kind", "matched", "why")
    return (
        "<h2>What matched</h2>\n"
        f"<p>{matched} of {len(rows)} numbers of the paper match, "
        f"{sum(row.passed for row in predicted)} of {len(predicted)} of those that are predicted. "
        "The misses come first.</p>\n" + _table(columns, cells)
    )


def assemble(sections: Mapping[str, str], comparison: Sequence[ComparisonRow] = ()) -> str:
    """The page from the sections of all figures reproduced so far, the verdicts on top."""
    figures = sorted(sections, key=figure_order)
    links = " · ".join(f'<a href="#{figure}">{figure}</a>' for figure in figures)
    body = "".join(sections[figure] for figure in figures)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>HOCCL testbed: reproduction</title><style>{_STYLE}</style></head>\n<body>\n"
        "<h1>HOCCL testbed: reproduction</h1>\n"
        "<p>Results are <strong>simulated</strong> where a section does not say "
        "<strong>measured</strong>. Columns keep apart what the "
        "paper states, what is predicted, and what a free constant was fitted to. Errors are "
        "percent of the paper's value, or points where the unit is pp; a one-sided claim has error "
        f"0 while it holds.</p>\n<p>{links}</p>\n{render_verdicts(comparison)}{body}</body></html>\n"
    )


def write_section(results: Path, name: str, section: str) -> Path:
    """Stores the section of one figure or study and rebuilds the page; returns the page."""
    write_text(results / name / SECTION, section)
    sections = {
        path.parent.name: path.read_text(encoding="utf-8") for path in results.glob(f"*/{SECTION}")
    }
    page = results / "report.html"
    write_text(page, assemble(sections, load_comparison(results / "comparison.csv")))
    return page


def write_report(results: Path, report: FigureReport) -> Path:
    """The same for a figure."""
    return write_section(results, report.config.id, render_section(report))
