"""Recorded registrations: what `hoccl calibrate --registration DEVICE --csv FILE` has written."""

from __future__ import annotations

import dataclasses
import hashlib
import statistics
from pathlib import Path

from analysis.load import InputError, read_csv, read_lines
from analysis.units import format_size

# The program's names for what it times.
FIRST_TOUCH = "first_touch"
AGAIN = "again"
DEREGISTER = "deregister"
CACHED = "cached"
WHATS = (FIRST_TOUCH, AGAIN, DEREGISTER, CACHED)

_HEAD = ("command", "device", "host", "huge pages", "date")


@dataclasses.dataclass(frozen=True)
class RegistrationRow:
    """One sample."""

    size_bytes: int
    what: str
    round: int
    time_us: float


@dataclasses.dataclass(frozen=True)
class Spread:
    """Of the rounds of one size."""

    median_us: float
    min_us: float
    max_us: float
    n: int


@dataclasses.dataclass(frozen=True)
class Record:
    path: Path
    sha256: str
    # By the names in _HEAD.
    head: dict[str, str]
    # What was no hardware, one line each.
    emulated: tuple[str, ...]
    rows: tuple[RegistrationRow, ...]

    @property
    def sizes(self) -> list[int]:
        return sorted({row.size_bytes for row in self.rows})

    def spread(self, what: str, size_bytes: int) -> Spread | None:
        """Nothing where that was not measured."""
        times = [
            row.time_us for row in self.rows if (row.what, row.size_bytes) == (what, size_bytes)
        ]
        if not times:
            return None
        return Spread(statistics.median(times), min(times), max(times), len(times))


def _load_head(path: Path) -> tuple[dict[str, str], tuple[str, ...]]:
    pairs = [
        (name, value.strip())
        for line in read_lines(path)
        if line.startswith("# ")
        for name, _, value in [line.removeprefix("# ").partition(": ")]
    ]
    head = {name: value for name, value in pairs if name in _HEAD}
    missing = [name for name in _HEAD if name not in head]
    if missing:
        raise InputError(f"{path}: expected a comment line '# {missing[0]}: ...'")
    return head, tuple(value for name, value in pairs if name == "emulated")


def load_record(path: Path) -> Record:
    """Raises InputError naming file and place."""
    rows = read_csv(path, RegistrationRow)
    for row in rows:
        place = f"{path}: {row.what} of {format_size(row.size_bytes)}"
        if row.what not in WHATS:
            raise InputError(f"{place}: expected {', '.join(WHATS)}")
        if row.size_bytes <= 0 or row.time_us <= 0:
            raise InputError(f"{place}: size and time must be positive")
    head, emulated = _load_head(path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Record(path, digest, head, emulated, tuple(rows))
