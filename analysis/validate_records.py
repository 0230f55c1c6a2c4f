"""Recorded runs and what `hoccl validate --measured` says of each.

experiments/validate/results/<folder>/ holds the records of one machine and way of running, and
machine.toml, which describes both.
"""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import io
import json
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from analysis.config import open_table
from analysis.load import InputError, ValidationRow, load_validation_rows
from analysis.runs import run_program, run_side_by_side
from analysis.units import format_size
from analysis.validate_config import Role, ValidateConfig

MACHINE = "machine.toml"


@dataclasses.dataclass(frozen=True)
class Machine:
    """What made the measurements; the CPU is in every record."""

    device: str
    driver: str
    date: str
    # Threads of one process, or processes.
    ranks: str
    note: str
    # The folder whose records were made again here, to tell how well measurements repeat; or empty.
    repeats: str = ""

    @property
    def label(self) -> str:
        return f"{self.device}, driver {self.driver}, {self.date}, ranks as {self.ranks}"


@dataclasses.dataclass(frozen=True)
class Record:
    """One file of `hoccl run --json`."""

    path: Path
    # "folder/file.json"
    name: str
    machine: Machine
    # With what else tells it from another, where it has that.
    pattern: str
    ranks: int
    # "cuda×loopback-map"
    backend: str
    link_rate: str
    host: str
    seed: int
    message_bytes: dict[int, int]
    # Median of the rounds, by size.
    time_us: dict[int, float]
    # Then it is there to be drawn, and not judged.
    has_timeline: bool

    @property
    def folder(self) -> str:
        return self.path.parent.name


@dataclasses.dataclass(frozen=True)
class Point:
    """One part of one size of one record, simulated beside measured."""

    record: Record
    role: Role
    row: ValidationRow

    @property
    def group(self) -> tuple[str, str]:
        """What is drawn together: the folder and the backend."""
        return self.record.folder, self.record.backend

    def algbw_gb_per_s(self, time_us: float) -> float:
        return self.record.message_bytes[self.row.size_bytes] / time_us / 1e3


def load_machine(path: Path) -> Machine:
    """Raises InputError naming file and key."""
    table = open_table(path)
    machine = Machine(
        device=table.take("device", str),
        driver=table.take("driver", str),
        date=table.take("date", str),
        ranks=table.take_one_of("ranks", ("threads", "processes")),
        note=table.take_optional("note", str) or "",
        repeats=table.take_optional("repeats", str) or "",
    )
    table.done()
    return machine


def _pattern_label(name: str, request: dict[str, str]) -> str:
    words = [name]
    if name == "alltoallv":
        words.append(request["matrix"])
    if request["in_place"] == "yes":
        words.append("in place")
    return " ".join(words)


def load_record(path: Path, machine: Machine) -> Record:
    """Raises InputError when it is none. The program checks it in full."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        if entries["kind"] != "measured":
            raise InputError(f"{path}: kind '{entries['kind']}' is not measured")
        results = entries["results"]
        return Record(
            path=path,
            name=f"{path.parent.name}/{path.name}",
            machine=machine,
            pattern=_pattern_label(entries["pattern"], entries["parameters"]["pattern"]),
            ranks=int(entries["ranks"]),
            backend=f"{entries['copy']}×{entries['link']}",
            link_rate=str(entries["link_rate"]),
            host=str(entries["host"]),
            seed=int(entries["seed"]),
            message_bytes={
                int(result["size_bytes"]): int(result["message_bytes"]) for result in results
            },
            time_us={int(result["size_bytes"]): float(result["time_us"]) for result in results},
            has_timeline=any("trace" in result for result in results),
        )
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: not what 'hoccl run --json' writes: {error!r}") from None


def load_records(config: ValidateConfig, folder: Path) -> list[Record]:
    """All below `folder`, in the order of their names. Raises InputError.

    Refuses names of the config that are not there, and two records of the same, because one would
    hide the other.
    """
    paths = sorted(folder.glob("*/*.json"))
    if not paths:
        raise InputError(
            f"{folder}: holds no record; expected FOLDER/*.json of 'hoccl run --json' beside "
            f"FOLDER/{MACHINE}, see {folder.parent}/README.md"
        )
    machines = {place: load_machine(place / MACHINE) for place in {path.parent for path in paths}}
    records = [load_record(path, machines[path.parent]) for path in paths]
    by_name = {record.name: record for record in records}
    for name in (*config.fitting_records, config.timeline):
        if name and name not in by_name:
            raise InputError(f"{config.path}: no record {name} in {folder}")
    if config.timeline and not by_name[config.timeline].has_timeline:
        raise InputError(
            f"{folder}/{config.timeline}: holds no timeline: expected one of 'hoccl run --json "
            "FILE --trace FILE'"
        )
    for record in records:
        if record.seed != config.seed:
            raise InputError(f"{record.path}: seed {record.seed}: expected {config.seed}")
    _refuse_repetition(record for record in records if not record.has_timeline)
    return records


def judged_of(records: Iterable[Record]) -> list[Record]:
    """Those that are simulated and compared."""
    return [
        record for record in records if not record.has_timeline and not record.machine.repeats
    ]


def _refuse_repetition(records: Iterable[Record]) -> None:
    seen: dict[object, Record] = {}
    for record in records:
        for size in record.message_bytes:
            what = (record.folder, record.backend, record.pattern, record.ranks, size)
            if what in seen:
                raise InputError(
                    f"{record.path}: {record.pattern}, {record.ranks} ranks, {format_size(size)}: "
                    f"is in {seen[what].path}, too"
                )
            seen[what] = record


def command(program: Path, config: ValidateConfig, record: Record) -> list[str]:
    return [
        *(str(program), "validate"),
        *("--measured", record.path.as_posix()),
        *("--calibration", config.calibration.as_posix()),
        *("--network", config.network),
        # Sizes one after another: several programs run already.
        *("--jobs", "1"),
    ]


def compare_record(program: Path, config: ValidateConfig, record: Record) -> list[Point]:
    """Raises RunFailed (the program's line) and InputError."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "rows.csv"
        run_program([*command(program, config, record), "--csv", str(target)])
        rows = load_validation_rows(target)
    if {row.size_bytes for row in rows} != set(record.message_bytes):
        raise InputError(f"{record.path}: compared at other sizes than it holds")
    return [Point(record, config.role(record.name, row.size_bytes), row) for row in rows]


def compare_records(
    program: Path,
    config: ValidateConfig,
    records: Sequence[Record],
    progress: Callable[[str], None],
) -> list[Point]:
    """In the order of the records."""

    def compare_one(record: Record) -> list[Point]:
        points = compare_record(program, config, record)
        progress(f"{record.name}: {record.pattern}, {record.ranks} ranks, {record.backend}")
        return points

    return [point for points in run_side_by_side(compare_one, records) for point in points]


def hashes(records: Iterable[Record]) -> dict[str, str]:
    """For the manifest: by name."""
    return {
        record.name: hashlib.sha256(record.path.read_bytes()).hexdigest() for record in records
    }


def format_points(points: Iterable[Point]) -> str:
    """CSV text: what was run, then the program's columns."""
    columns = [field.name for field in dataclasses.fields(ValidationRow)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["record", "device", "ranks_as", "backend", "link_rate", "pattern", "ranks",
                     "role", *columns])
    for point in points:
        record, row = point.record, dataclasses.asdict(point.row)
        writer.writerow(
            [record.name, record.machine.device, record.machine.ranks, record.backend,
             record.link_rate, record.pattern, record.ranks, point.role,
             *("" if row[name] is None else row[name] for name in columns)]
        )
    return text.getvalue()
