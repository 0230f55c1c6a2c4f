"""Reads the program's CSV and the paper's numbers into typed rows; refuses what is malformed."""

from __future__ import annotations

import csv
import dataclasses
import io
import itertools
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, TypeVar, get_type_hints

# A lower bound and a time are both printed rounded, so their ratio may pass 100% by a rounding.
_BOUND_PCT_MAX = 100.001

Claim = Literal["equal", "above", "below"]
CLAIMS: tuple[Claim, ...] = ("equal", "above", "below")


class InputError(Exception):
    """A file is not as agreed; the text names file, place and what was expected."""


@dataclasses.dataclass(frozen=True)
class ProgramRow:
    """One line of `hoccl sim --csv`. Columns beyond these are allowed and ignored."""

    pattern: str
    system: str
    topology: str
    size_bytes: int
    time_us: float
    algbw_gb_per_s: float
    busbw_gb_per_s: float
    bound_pct: float
    calibrated_bound_pct: float
    launch_us: float
    submit_us: float
    proxy_us: float
    sms: float


@dataclasses.dataclass(frozen=True)
class CollectiveRow(ProgramRow):
    """The same with the bound of plans whose rails carry equal shares, at calibrated rates.

    It is no bound of other plans, which may be above 100%. Nothing where no such plan was asked for.
    """

    balanced_bound_pct: float | None
    # What algbw counts; another than size_bytes where a matrix is drawn.
    message_bytes: int

    def share_of_balanced_bound(self) -> float:
        """In percent. Raises InputError where there is no such bound."""
        if self.balanced_bound_pct is None:
            raise InputError(f"{self.pattern} on {self.topology}: no bound of balanced rails")
        return self.balanced_bound_pct


@dataclasses.dataclass(frozen=True)
class Row(ProgramRow):
    """A program row and the options it was run with."""

    group: str
    pair: str
    network: str
    rails: int
    chunk_bytes: int
    pipelining: str
    warmup: int


@dataclasses.dataclass(frozen=True)
class MeasuredRow:
    """One line of `hoccl run --csv`. Columns beyond these are allowed and ignored."""

    pattern: str
    topology: str
    size_bytes: int
    time_us: float
    algbw_gb_per_s: float
    busbw_gb_per_s: float
    proxy_us: float
    rounds: int
    iterations: int
    spread_pct: float
    min_us: float
    max_us: float
    copy: str
    link: str
    host: str


@dataclasses.dataclass(frozen=True)
class ValidationRow:
    """One line of `hoccl validate --csv`: the whole operation ("all"), a kind of leg, or CPU time.

    Nothing where one side has no such leg; the rounds' extremes are those of "all".
    """

    size_bytes: int
    part: str
    simulated_us: float | None
    measured_us: float | None
    min_us: float | None
    max_us: float | None
    error_pct: float | None
    n: int


@dataclasses.dataclass(frozen=True)
class PaperNumber:
    """A number the paper states, and nothing else."""

    id: str
    metric: str
    unit: str
    claim: Claim
    value: float
    where: str
    statement: str


R = TypeVar("R")


def _parse_cell(text: str, kind: type, place: str) -> object:
    try:
        value = kind(text)
    except ValueError:
        raise InputError(f"{place}: '{text}' is not {_NAMES[kind]}") from None
    if kind is float and not math.isfinite(value):
        raise InputError(f"{place}: '{text}' is not finite")
    return value


_NAMES = {int: "a whole number", float: "a number", str: "text"}


def read_lines(path: Path) -> list[str]:
    """With their ends. Raises InputError."""
    try:
        return path.read_text(encoding="utf-8").splitlines(keepends=True)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def read_csv(path: Path, row_type: type[R]) -> list[R]:
    """One row_type per line, behind comment lines. Raises InputError."""
    lines = read_lines(path)
    comments = sum(1 for _ in itertools.takewhile(lambda line: line.startswith("#"), lines))
    text = "".join(lines[comments:])
    reader = csv.DictReader(io.StringIO(text))
    hints = get_type_hints(row_type)
    missing = [name for name in hints if name not in (reader.fieldnames or [])]
    if missing:
        raise InputError(f"{path}: column '{missing[0]}' is missing")
    rows = []
    for record in reader:
        values: dict[str, object] = {}
        for name, hint in hints.items():
            place = f"{path}:{comments + reader.line_num}: {name}"
            if record[name] is None:
                raise InputError(f"{place}: the line is too short")
            if hint == float | None:
                values[name] = _parse_cell(record[name], float, place) if record[name] else None
                continue
            values[name] = _parse_cell(record[name], hint if hint in _NAMES else str, place)
        rows.append(row_type(**values))
    if not rows:
        raise InputError(f"{path}: no rows")
    return rows


def _check_rate(place: str, row: ProgramRow | MeasuredRow) -> None:
    message_bytes = row.message_bytes if isinstance(row, CollectiveRow) else row.size_bytes
    if message_bytes <= 0 or row.time_us <= 0:
        raise InputError(f"{place}: size and time must be positive")
    algbw = message_bytes / row.time_us / 1e3
    # Printed values carry at least four digits.
    if not math.isclose(algbw, row.algbw_gb_per_s, rel_tol=1e-3):
        raise InputError(f"{place}: algbw {row.algbw_gb_per_s} is not size / time = {algbw:.4f}")


def _check_physics(path: Path, row: ProgramRow) -> None:
    place = f"{path}: {row.system} at {row.size_bytes} B"
    _check_rate(place, row)
    if max(row.bound_pct, row.calibrated_bound_pct) > _BOUND_PCT_MAX:
        raise InputError(f"{place}: faster than its lower bound")


def load_program_rows(path: Path) -> list[ProgramRow]:
    """Rows of one run. Raises InputError; also when a time beats its bound."""
    rows = read_csv(path, ProgramRow)
    for row in rows:
        _check_physics(path, row)
    return rows


def load_collective_rows(path: Path) -> list[CollectiveRow]:
    """As load_program_rows."""
    rows = read_csv(path, CollectiveRow)
    for row in rows:
        _check_physics(path, row)
    return rows


def load_measured_rows(path: Path) -> list[MeasuredRow]:
    """Rows of one run on real processes. Raises InputError."""
    rows = read_csv(path, MeasuredRow)
    for row in rows:
        place = f"{path}: {row.size_bytes} B"
        _check_rate(place, row)
        if not 0 < row.min_us <= row.time_us <= row.max_us:
            raise InputError(f"{place}: time {row.time_us} is not between its rounds")
    return rows


def load_validation_rows(path: Path) -> list[ValidationRow]:
    """Rows of one comparison. Raises InputError."""
    rows = read_csv(path, ValidationRow)
    for row in rows:
        place = f"{path}: {row.part} at {row.size_bytes} B"
        if row.part == "all" and None in (row.error_pct, row.min_us, row.max_us):
            raise InputError(f"{place}: not compared")
        if row.error_pct is None:
            continue
        if row.simulated_us is None or not row.measured_us:
            raise InputError(f"{place}: an error of nothing")
        error_pct = (row.simulated_us / row.measured_us - 1.0) * 100.0
        # Printed times carry six decimals: little of a short one.
        if not math.isclose(error_pct, row.error_pct, rel_tol=1e-3, abs_tol=1e-2):
            raise InputError(f"{place}: error {row.error_pct}% is not {error_pct:.4f}%")
    return rows


def load_rows(path: Path) -> list[Row]:
    """Rows of a whole figure, as write_rows stored them."""
    rows = read_csv(path, Row)
    for row in rows:
        _check_physics(path, row)
    return rows


def format_rows(rows: Iterable[Row]) -> str:
    """CSV text with the options first, then the program's columns."""
    names = [field.name for field in dataclasses.fields(Row)]
    program = [field.name for field in dataclasses.fields(ProgramRow)]
    columns = [name for name in names if name not in program] + program
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow(dataclasses.asdict(row))
    return text.getvalue()


def format_tagged_rows(tagged: Iterable[tuple[Mapping[str, object], CollectiveRow]]) -> str:
    """CSV text: what was run, as far as the row lacks it, then the program's columns.

    Words of a command line become one cell.
    """
    of_row = [field.name for field in dataclasses.fields(CollectiveRow)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    header: list[str] = []
    for run, row in tagged:
        words = {name: value for name, value in run.items() if name not in of_row}
        if not header:
            header = [*words, *of_row]
            writer.writerow(header)
        cells = [" ".join(value) if isinstance(value, tuple) else value for value in words.values()]
        writer.writerow([*cells, *(getattr(row, name) for name in of_row)])
    return text.getvalue()


def load_paper_numbers(path: Path) -> list[PaperNumber]:
    numbers = read_csv(path, PaperNumber)
    for number in numbers:
        if number.claim not in CLAIMS:
            raise InputError(f"{path}: claim '{number.claim}' is none of {', '.join(CLAIMS)}")
    keys = [(number.id, number.metric) for number in numbers]
    repeated = [key for key in keys if keys.count(key) > 1]
    if repeated:
        raise InputError(f"{path}: {'/'.join(repeated[0])} appears twice")
    return numbers
