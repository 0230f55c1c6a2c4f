"""Numbers and tables of experiments/validate, from its points."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterable, Sequence

from analysis.report import DataTable
from analysis.units import format_size
from analysis.validate_config import Bands, ValidateConfig
from analysis.validate_records import Point

WHOLE = "all"
LEGS = ("stage_in", "wire", "deliver", "direct")
CPU_PARTS = ("launch", "submit", "proxy")


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The checking sizes of one class, judged by the worst of them."""

    count: int
    median_pct: float
    max_pct: float
    # The worst, with its sign.
    worst: Point
    within_pct: float

    @property
    def passed(self) -> bool:
        return self.max_pct <= self.within_pct


def error_pct(point: Point) -> float:
    """Of a point that has one."""
    assert point.row.error_pct is not None
    return point.row.error_pct


def judged(points: Iterable[Point]) -> list[Point]:
    """Whole operations at checking sizes."""
    return [point for point in points if point.row.part == WHOLE and point.role == "checking"]


def verdict(points: Sequence[Point], bands: Bands) -> Verdict:
    """Of points of one size class, at least one."""
    errors = [abs(error_pct(point)) for point in points]
    worst = points[errors.index(max(errors))]
    return Verdict(
        len(points),
        statistics.median(errors),
        max(errors),
        worst,
        bands.within_pct(worst.row.size_bytes),
    )


def by_class(points: Iterable[Point], bands: Bands) -> dict[str, list[Point]]:
    """Small sizes first."""
    classes: dict[str, list[Point]] = {}
    for point in sorted(points, key=lambda point: point.row.size_bytes):
        classes.setdefault(bands.name(point.row.size_bytes), []).append(point)
    return classes


def groups(points: Iterable[Point]) -> dict[tuple[str, str], list[Point]]:
    """By folder and backend, in the order of the records."""
    found: dict[tuple[str, str], list[Point]] = {}
    for point in points:
        found.setdefault(point.group, []).append(point)
    return found


def ranks_of(points: Iterable[Point]) -> list[int]:
    return sorted({point.record.ranks for point in points})


def patterns_of(points: Iterable[Point]) -> list[str]:
    return list(dict.fromkeys(point.record.pattern for point in points))


def _cells(found: Verdict) -> tuple[str | float, ...]:
    return (
        str(found.count),
        found.median_pct,
        found.max_pct,
        f"{error_pct(found.worst):+.1f} at {format_size(found.worst.row.size_bytes)}",
        f"≤ {found.within_pct:g}",
        "yes" if found.passed else "NO",
    )


_VERDICT_COLUMNS = ("checked", "median |error| %", "max |error| %", "worst", "allowed", "pass")
_ERROR = (
    "Error: (simulated − measured) / measured of the whole operation's time. Only checking sizes "
    "count: nothing of the calibration was fitted to them."
)


def summary_table(config: ValidateConfig, points: Sequence[Point]) -> DataTable:
    rows: list[tuple[str | float, ...]] = []
    for (folder, backend), own in groups(judged(points)).items():
        for name, members in by_class(own, config.bands).items():
            found = verdict(members, config.bands)
            worst = f"{found.worst.record.pattern}, {found.worst.record.ranks} ranks"
            rows.append((folder, backend, name, *_cells(found), worst))
    return DataTable(
        "Simulated against measured: all patterns",
        f"{_ERROR} All patterns and numbers of ranks of a folder together.",
        ("records", "backend", "sizes", *_VERDICT_COLUMNS, "worst in"),
        rows,
    )


def verdict_table(config: ValidateConfig, points: Sequence[Point]) -> DataTable:
    """Per pattern, ranks and size class."""
    rows: list[tuple[str | float, ...]] = []
    for (folder, backend), own in groups(judged(points)).items():
        for pattern in sorted(patterns_of(own)):
            members = [point for point in own if point.record.pattern == pattern]
            for ranks in ranks_of(members):
                same = [point for point in members if point.record.ranks == ranks]
                for name, sizes in by_class(same, config.bands).items():
                    cells = _cells(verdict(sizes, config.bands))
                    rows.append((folder, backend, pattern, str(ranks), name, *cells))
    return DataTable(
        "Simulated against measured: each pattern",
        _ERROR,
        ("records", "backend", "pattern", "ranks", "sizes", *_VERDICT_COLUMNS),
        rows,
    )


def parts_table(config: ValidateConfig, points: Sequence[Point]) -> DataTable:
    """Legs and CPU times: shown, not judged."""
    rows: list[tuple[str | float, ...]] = []
    for (folder, backend), own in groups(points).items():
        for part in (*LEGS, *CPU_PARTS):
            members = [
                point
                for point in own
                if point.row.part == part
                and point.role == "checking"
                and point.row.error_pct is not None
            ]
            for name, sizes in by_class(members, config.bands).items():
                errors = [error_pct(point) for point in sizes]
                rows.append(
                    (folder, backend, part, name, str(len(errors)), statistics.median(errors),
                     min(errors), max(errors))
                )
    return DataTable(
        "Legs and CPU times",
        "Errors with their sign, in percent, at checking sizes; not judged. Legs: engine time per "
        "leg of one traced operation (n = 1). launch, submit, proxy: CPU time of an operation on "
        "the busiest rank; the measured proxy also looks for what has not come yet.",
        ("records", "backend", "part", "sizes", "checked", "median", "lowest", "highest"),
        rows,
    )
