"""Judges each measured number against the paper's and keeps results/comparison.csv."""

from __future__ import annotations

import csv
import dataclasses
import io
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from analysis import metrics
from analysis.calibration import Calibration
from analysis.config import Metric
from analysis.files import write_text
from analysis.load import InputError, PaperNumber

COLUMNS = ("id", "figure", "metric", "unit", "paper", "ours", "error", "pass", "kind", "note")
_CLAIM_WORDS = {"equal": "", "above": "claim: above", "below": "claim: below"}


class Judged(Protocol):
    """A figure or study whose numbers are judged."""

    @property
    def id(self) -> str: ...
    @property
    def path(self) -> Path: ...
    @property
    def metrics(self) -> tuple[Metric, ...]: ...


@dataclasses.dataclass(frozen=True)
class Measured:
    """A number computed from the rows, with what the reader must know about this run of it."""

    value: float
    remark: str = ""


@dataclasses.dataclass(frozen=True)
class ComparisonRow:
    """A line of comparison.csv. `paper` is empty where the paper gives no number."""

    id: str
    figure: str
    metric: str
    unit: str
    paper: str
    ours: str
    error: str
    passed: bool
    kind: str
    note: str

    def cells(self) -> dict[str, str]:
        cells = {name: str(getattr(self, name)) for name in COLUMNS if name != "pass"}
        return cells | {"pass": "yes" if self.passed else "no"}


def judge(
    figure: str, metric: Metric, paper: PaperNumber | None, measured: Measured
) -> ComparisonRow:
    """One row. Raises InputError when neither the paper nor the config says what to expect."""
    place = f"{figure}: {metric.id}/{metric.metric}"
    if paper is not None:
        if metric.target is not None:
            raise InputError(f"{place}: has both a number of the paper and a target of ours")
        unit, claim, expected = paper.unit, paper.claim, paper.value
    elif metric.unit is not None and metric.claim is not None and metric.target is not None:
        unit, claim, expected = metric.unit, metric.claim, metric.target
    else:
        raise InputError(f"{place}: neither in paper.csv nor given a target in config.toml")
    if claim == "equal":
        if metric.tolerance is None:
            raise InputError(f"{place}: a tolerance is needed to compare with a number")
        error = metrics.error(measured.value, expected, unit)
        passed = abs(error) <= metric.tolerance
    else:
        error = metrics.shortfall(measured.value, expected, unit, claim)
        passed = measured.value > expected if claim == "above" else measured.value < expected
    own_target = (
        "" if paper is not None else f"target of ours, not of the paper: {claim} {expected:g}"
    )
    fitted = f"fitted by {', '.join(metric.fitted_by)}" if metric.fitted_by else ""
    notes = [own_target or _CLAIM_WORDS[claim], fitted, measured.remark, metric.note]
    return ComparisonRow(
        id=metric.id,
        figure=figure,
        metric=metric.metric,
        unit=unit,
        paper="" if paper is None else f"{paper.value:g}",
        ours=f"{measured.value:.6g}",
        # Adding 0.0 turns the negative zero of a rounded tiny error into a plain one.
        error=f"{round(error, 3) + 0.0:.3f}",
        passed=passed,
        kind=metric.kind,
        note="; ".join(note for note in notes if note),
    )


def compare(
    config: Judged,
    paper: Iterable[PaperNumber],
    measured: Mapping[tuple[str, str], Measured],
) -> list[ComparisonRow]:
    """Rows in the order of the config. Raises InputError if a number of the paper gets none."""
    numbers = {(number.id, number.metric): number for number in paper}
    keys = [(metric.id, metric.metric) for metric in config.metrics]
    for kind, given in (("paper.csv", numbers), ("the measurements", measured)):
        for key in given:
            if key not in keys:
                raise InputError(f"{config.path}: [[metric]] lacks {'/'.join(key)} of {kind}")
    rows = []
    for metric, key in zip(config.metrics, keys, strict=True):
        if key not in measured:
            raise InputError(f"{config.path}: nothing measures {'/'.join(key)}")
        rows.append(judge(config.id, metric, numbers.get(key), measured[key]))
    return rows


def check_kinds(config: Judged, calibration: Calibration) -> None:
    """Every constant a row says it was fitted by must be a fitted one. Raises InputError.

    Names that begin with "--" are options of the program, chosen among those that the paper leaves
    open: no constants of the calibration.
    """
    fitted = {constant.name for constant in calibration.fitted()}
    for metric in config.metrics:
        for name in metric.fitted_by:
            if not name.startswith("--") and name not in fitted:
                place = f"{config.path}: {metric.id}/{metric.metric}: fitted_by"
                raise InputError(f"{place}: '{name}' is no fitted constant of {calibration.path}")


def load_comparison(path: Path) -> list[ComparisonRow]:
    """Rows of an existing file; none if there is no file."""
    if not path.exists():
        return []
    reader = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")))
    if tuple(reader.fieldnames or ()) != COLUMNS:
        raise InputError(
            f"{path}: expected the columns {','.join(COLUMNS)}; remove it to start anew"
        )
    rows = []
    for record in reader:
        if any(record[name] is None for name in COLUMNS):
            raise InputError(f"{path}:{reader.line_num}: the line is too short")
        passed = record.pop("pass") == "yes"
        rows.append(ComparisonRow(passed=passed, **record))
    return rows


def figure_order(figure: str) -> list[tuple[int, str]]:
    """Sorts fig7 before fig11."""
    parts = re.findall(r"\d+|\D+", figure)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def replace_rows(
    existing: Iterable[ComparisonRow], figure: str, new: Iterable[ComparisonRow]
) -> list[ComparisonRow]:
    """All rows of other figures as they were, and the new ones of this."""
    kept = [row for row in existing if row.figure != figure]
    return sorted([*kept, *new], key=lambda row: figure_order(row.figure))


def format_comparison(rows: Iterable[ComparisonRow]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow(row.cells())
    return text.getvalue()


def update_comparison(path: Path, figure: str, new: Iterable[ComparisonRow]) -> None:
    write_text(path, format_comparison(replace_rows(load_comparison(path), figure, new)))
