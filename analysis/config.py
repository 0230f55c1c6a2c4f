"""One figure's config.toml: which runs it takes and how each row of the comparison is judged."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from analysis.load import CLAIMS, Claim, InputError
from analysis.units import parse_size

Kind = Literal["input", "fitted", "predicted"]
KINDS: tuple[Kind, ...] = ("input", "fitted", "predicted")


@dataclasses.dataclass(frozen=True)
class Pair:
    name: str
    source: int
    target: int


@dataclasses.dataclass(frozen=True)
class Group:
    """The product of all lists, each cell of it one run over the sizes begin, begin × factor, …"""

    name: str
    systems: tuple[str, ...]
    pairs: tuple[str, ...]
    networks: tuple[str, ...]
    rails: tuple[int, ...]
    chunks_bytes: tuple[int, ...]
    pipelining: tuple[str, ...]
    # Iterations before the measured one; at 0 the buffers are exchanged within it.
    warmup: int
    begin_bytes: int
    end_bytes: int
    factor: int


@dataclasses.dataclass(frozen=True)
class Timeline:
    """The one run whose trace is drawn."""

    system: str
    pair: str
    network: str
    size_bytes: int
    chunk_bytes: int


@dataclasses.dataclass(frozen=True)
class Metric:
    """How one row is judged. `target` and `claim` only where the paper has no number of its own.

    `fitted_by` names the constants of the calibration, or the options ("--slots"), that were chosen
    to match this very number.
    """

    id: str
    metric: str
    kind: Kind
    fitted_by: tuple[str, ...]
    how: str
    note: str
    tolerance: float | None
    unit: str | None
    claim: Claim | None
    target: float | None


@dataclasses.dataclass(frozen=True)
class FigureConfig:
    path: Path
    id: str
    figure: str
    title: str
    topology: str
    pattern: str
    calibration: Path
    network_difference_max: float
    seed: int
    # Given to every run as --name value.
    options: dict[str, int]
    pairs: dict[str, Pair]
    groups: dict[str, Group]
    timeline: Timeline
    metrics: tuple[Metric, ...]


T = TypeVar("T")
_TYPE_NAMES = {
    str: "text",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a table",
}


class Table:
    """A TOML table that is read key by key; done() refuses what nobody read.

    Whatever is not as asked for is an InputError naming file and key.
    """

    def __init__(self, path: Path, name: str, entries: dict[str, Any]) -> None:
        self._path = path
        self._name = name
        self._entries = dict(entries)

    def fail(self, key: str, expected: str) -> InputError:
        return InputError(f"{self._path}: {self._name}{key}: expected {expected}")

    def take(self, key: str, kind: type[T]) -> T:
        value = self._entries.pop(key, None)
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            raise self.fail(key, _TYPE_NAMES[kind])
        return value

    def take_optional(self, key: str, kind: type[T]) -> T | None:
        return self.take(key, kind) if key in self._entries else None

    def take_list(self, key: str, kind: type[T]) -> tuple[T, ...]:
        values = self.take(key, list)
        if not values or any(type(value) is not kind for value in values):
            raise self.fail(key, f"a list of {_TYPE_NAMES[kind]}, not empty")
        return tuple(values)

    def take_one_of(self, key: str, allowed: tuple[T, ...]) -> T:
        value = self.take(key, str)
        if value not in allowed:
            raise self.fail(key, " or ".join(str(choice) for choice in allowed))
        return cast(T, value)

    def take_size(self, key: str) -> int:
        return self._size(key, self.take(key, str))

    def take_sizes(self, key: str) -> tuple[int, ...]:
        return tuple(self._size(key, text) for text in self.take_list(key, str))

    def take_tables(self, key: str) -> list[Table]:
        return [
            Table(self._path, f"{self._name}{key}[{index}].", entry)
            for index, entry in enumerate(self.take_list(key, dict))
        ]

    def take_table(self, key: str) -> Table:
        return Table(self._path, f"{self._name}{key}.", self.take(key, dict))

    def unread(self) -> list[str]:
        return list(self._entries)

    def done(self) -> None:
        for key in self._entries:
            raise InputError(f"{self._path}: {self._name}{key}: unknown key")

    def _size(self, key: str, text: str) -> int:
        try:
            return parse_size(text)
        except ValueError:
            raise self.fail(key, f"a size such as 2MiB, not '{text}'") from None


def _read_pairs(table: Table) -> dict[str, Pair]:
    pairs = {}
    for name in table.unread():
        entry = table.take_table(name)
        pairs[name] = Pair(name, entry.take("from", int), entry.take("to", int))
        entry.done()
    return pairs


def _read_options(table: Table) -> dict[str, int]:
    options = {name: table.take(name, int) for name in table.unread()}
    table.done()
    return options


def _read_group(table: Table, pairs: dict[str, Pair]) -> Group:
    group = Group(
        name=table.take("name", str),
        systems=table.take_list("systems", str),
        pairs=table.take_list("pairs", str),
        networks=table.take_list("networks", str),
        rails=table.take_list("rails", int),
        chunks_bytes=table.take_sizes("chunks"),
        pipelining=table.take_list("pipelining", str),
        warmup=table.take("warmup", int),
        begin_bytes=table.take_size("begin"),
        end_bytes=table.take_size("end"),
        factor=table.take("factor", int),
    )
    for pair in group.pairs:
        if pair not in pairs:
            raise table.fail("pairs", f"names of [pairs], not '{pair}'")
    if group.factor < 2 or not 0 < group.begin_bytes <= group.end_bytes:
        raise table.fail("begin", "0 < begin <= end and factor >= 2")
    table.done()
    return group


def _read_timeline(table: Table) -> Timeline:
    timeline = Timeline(
        system=table.take("system", str),
        pair=table.take("pair", str),
        network=table.take("network", str),
        size_bytes=table.take_size("size"),
        chunk_bytes=table.take_size("chunk"),
    )
    table.done()
    return timeline


def read_metric(table: Table) -> Metric:
    claims_allowed: tuple[Claim, ...] = CLAIMS
    metric = Metric(
        id=table.take("id", str),
        metric=table.take("metric", str),
        kind=table.take_one_of("kind", KINDS),
        fitted_by=table.take_list("fitted_by", str) if "fitted_by" in table.unread() else (),
        how=table.take("how", str),
        note=table.take_optional("note", str) or "",
        tolerance=table.take_optional("tolerance", float),
        unit=table.take_optional("unit", str),
        claim=table.take_one_of("claim", claims_allowed) if "claim" in table.unread() else None,
        target=table.take_optional("target", float),
    )
    if (metric.kind == "fitted") != bool(metric.fitted_by):
        expected = "constants of the calibration or options, if and only if kind is fitted"
        raise table.fail("fitted_by", expected)
    own = (metric.unit, metric.claim, metric.target)
    if any(field is None for field in own) and any(field is not None for field in own):
        raise table.fail("target", "unit, claim and target together, or none of them")
    table.done()
    return metric


def open_table(path: Path) -> Table:
    """The whole of a config.toml, its schema read. Raises InputError naming file and key."""
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: {error}") from None
    table = Table(path, "", entries)
    if table.take("schema", int) != 1:
        raise table.fail("schema", "1")
    return table


def load_config(path: Path) -> FigureConfig:
    """Raises InputError naming file, key and what was expected; unknown keys are refused."""
    table = open_table(path)
    pairs = _read_pairs(table.take_table("pairs"))
    groups = [_read_group(entry, pairs) for entry in table.take_tables("group")]
    config = FigureConfig(
        path=path,
        id=table.take("id", str),
        figure=table.take("figure", str),
        title=table.take("title", str),
        topology=table.take("topology", str),
        pattern=table.take("pattern", str),
        calibration=Path(table.take("calibration", str)),
        network_difference_max=table.take("network_difference_max", float),
        seed=table.take("seed", int),
        options=_read_options(table.take_table("options")),
        pairs=pairs,
        groups={group.name: group for group in groups},
        timeline=_read_timeline(table.take_table("timeline")),
        metrics=tuple(read_metric(entry) for entry in table.take_tables("metric")),
    )
    table.done()
    return config
