"""How well measurements repeat: records that were made a second time."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Mapping, Sequence

from analysis.load import InputError
from analysis.report import DataTable
from analysis.units import format_size
from analysis.validate_config import ValidateConfig
from analysis.validate_records import MACHINE, Point, Record, judged_of
from analysis.validate_tables import by_class, error_pct, groups, judged


# Folder of the first measurement, backend, pattern, ranks, size.
Key = tuple[str, str, str, int, int]


@dataclasses.dataclass(frozen=True)
class Repeat:
    """A point of a record that was measured again."""

    point: Point
    again_us: float

    @property
    def difference_pct(self) -> float:
        assert self.point.row.measured_us is not None
        return 100.0 * (self.again_us / self.point.row.measured_us - 1.0)


def _key(record: Record, folder: str, size_bytes: int) -> Key:
    return folder, record.backend, record.pattern, record.ranks, size_bytes


def _is_same_machine(left: Record, right: Record) -> bool:
    return (
        left.host == right.host
        and left.link_rate == right.link_rate
        and dataclasses.replace(left.machine, repeats="", date="", note="")
        == dataclasses.replace(right.machine, repeats="", date="", note="")
    )


def times_again(records: Sequence[Record]) -> dict[Key, float]:
    """Microseconds of what was made a second time.

    Raises InputError for a record of what was not measured before, or twice already.
    """
    again: dict[Key, float] = {}
    first = {
        _key(record, record.folder, size): record
        for record in judged_of(records)
        for size in record.time_us
    }
    for record in records:
        if not record.machine.repeats or record.has_timeline:
            continue
        for size, time_us in record.time_us.items():
            key = _key(record, record.machine.repeats, size)
            what = f"{record.path}: {record.pattern}, {record.ranks} ranks, {format_size(size)}"
            if key not in first or not _is_same_machine(record, first[key]):
                raise InputError(
                    f"{what}: expected a record of that, made on the same machine, in "
                    f"{record.machine.repeats}, which {MACHINE} names"
                )
            if key in again:
                raise InputError(f"{what}: was made a second time elsewhere, too")
            again[key] = time_us
    return again


def repeats_of(again: Mapping[Key, float], points: Sequence[Point]) -> list[Repeat]:
    """Whole operations at checking sizes, in the order of the points."""
    found = []
    for point in judged(points):
        key = _key(point.record, point.record.folder, point.row.size_bytes)
        if key in again:
            found.append(Repeat(point, again[key]))
    return found


def repeats_table(config: ValidateConfig, repeats: Sequence[Repeat]) -> DataTable:
    """The second measurement and the simulation against the first measurement, side by side."""
    again = {id(repeat.point): repeat for repeat in repeats}
    rows: list[tuple[str | float, ...]] = []
    for (folder, backend), own in groups(repeat.point for repeat in repeats).items():
        for name, points in by_class(own, config.bands).items():
            within = config.bands.within_pct(points[0].row.size_bytes)
            cells: list[str | float] = []
            for values in (
                [abs(again[id(point)].difference_pct) for point in points],
                [abs(error_pct(point)) for point in points],
            ):
                inside = sum(value <= within for value in values)
                cells += [statistics.median(values), max(values), f"{inside} of {len(values)}"]
            rows.append((folder, backend, name, f"≤ {within:g}", *cells))
    return DataTable(
        "Measured again, and simulated, against measured",
        "Records made a second time on the same machine, and the simulation, both as |difference| "
        "from the first measurement in percent, at checking sizes that were measured twice. A "
        "yardstick, no bound: between two measurements lies the noise of both.",
        ("records", "backend", "sizes", "allowed", "again: median %", "again: max %",
         "again: within", "simulated: median %", "simulated: max %", "simulated: within"),
        rows,
    )
