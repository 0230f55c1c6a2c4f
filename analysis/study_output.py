"""What every study does with its results: a section of the page, lines on the screen, pictures."""

from __future__ import annotations

import html
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from analysis.compare_with_paper import ComparisonRow, Judged
from analysis.files import replaced
from analysis.report import DataTable, Picture, render_comparison, render_picture, render_table

_COMPARED = ("id", "metric", "unit", "paper", "ours", "error", "pass", "kind")


class Titled(Judged, Protocol):
    """A study whose section has a heading of its own."""

    @property
    def title(self) -> str: ...


def render_study(
    config: Titled,
    pictures: Sequence[Picture],
    tables: Sequence[DataTable],
    comparison: Sequence[ComparisonRow],
    tail: str,
) -> str:
    of_paper = any(row.paper for row in comparison)
    heading = "Compared with the paper" if of_paper else "Targets of ours"
    return (
        f'<section id="{html.escape(config.id)}">\n<h2>{html.escape(config.title)}</h2>\n'
        + "".join(render_table(table) for table in tables)
        + "".join(render_picture(picture) for picture in pictures)
        + f"<h3>{heading}</h3>\n"
        + render_comparison(config.metrics, comparison)
        + tail
        + "</section>\n"
    )


def render_plain_study(
    name: str, title: str, pictures: Sequence[Picture], tables: Sequence[DataTable], tail: str
) -> str:
    """The section of a study that is compared with nothing: pictures first, then its tables."""
    return (
        f'<section id="{html.escape(name)}">\n<h2>{html.escape(title)}</h2>\n'
        + "".join(render_picture(picture) for picture in pictures)
        + "".join(render_table(table) for table in tables)
        + tail
        + "</section>\n"
    )


def _print_aligned(lines: Sequence[Sequence[str]]) -> None:
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print("  ".join(padded).rstrip())


def show_table(table: DataTable) -> None:
    print(f"\n{table.title}")
    cells = [
        [f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in line]
        for line in table.rows
    ]
    _print_aligned([table.columns, *cells])


def show_comparison(rows: Sequence[ComparisonRow]) -> None:
    """The rows without their notes, which are long."""
    cells = [[row.cells()[name] for name in _COMPARED] for row in rows]
    _print_aligned([_COMPARED, *cells])


def show_passed(rows: Sequence[ComparisonRow], of: str = "rows") -> None:
    missed = sum(not row.passed for row in rows)
    print(f"{len(rows) - missed} of {len(rows)} {of} pass")


def copy_pictures(pictures: Sequence[Picture], folder: Path) -> None:
    """Into the experiment's own folder, where the README files show them."""
    for picture in pictures:
        with replaced(folder / picture.svg.name) as temporary:
            shutil.copyfile(picture.svg, temporary)
