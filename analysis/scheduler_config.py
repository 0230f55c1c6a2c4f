"""experiments/scheduler/config.toml: every run of the study and what is asked of it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from analysis.config import Metric, Table, open_table, read_metric
from analysis.load import CollectiveRow


@dataclasses.dataclass(frozen=True)
class Case:
    """One operation. `options` are words of the command line."""

    name: str
    topology: str
    options: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Target:
    case: Case
    column: str
    at_least: float


@dataclasses.dataclass(frozen=True)
class Variant:
    """Options on top of a case's. `section` of the paper, where a mechanism is switched off."""

    name: str
    options: tuple[str, ...]
    section: str = ""


@dataclasses.dataclass(frozen=True)
class Skew:
    topologies: tuple[str, ...]
    kinds: tuple[str, ...]
    judged: tuple[str, ...]
    # By concurrency.
    seeds: tuple[int, ...]
    seeds_of_others: int
    # Copies ahead of each engine, by concurrency.
    quanta: tuple[int, ...]
    # By concurrency.
    median_at_least: tuple[float, ...]
    worst_at_least: tuple[float, ...]
    # The first is ours.
    plans: tuple[Variant, ...]


@dataclasses.dataclass(frozen=True)
class Small:
    topology: str
    size_bytes: int
    seeds: int
    options: tuple[str, ...]
    median_at_most: float


@dataclasses.dataclass(frozen=True)
class Ablation:
    cases: tuple[Case, ...]
    # The first switches nothing off.
    without: tuple[Variant, ...]


@dataclasses.dataclass(frozen=True)
class Order:
    case: Case
    size_bytes: int
    staged: tuple[str, ...]
    naive: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class SchedulerConfig:
    path: Path
    id: str
    title: str
    calibration: Path
    seed: int
    size_bytes: int
    concurrencies: tuple[int, ...]
    targets: tuple[Target, ...]
    skew: Skew
    small: Small
    ablation: Ablation
    order: Order
    metrics: tuple[Metric, ...]


def _words(table: Table, key: str = "options") -> tuple[str, ...]:
    return tuple(table.take(key, str).split())


def _case(table: Table) -> Case:
    return Case(table.take("name", str), table.take("topology", str), _words(table))


def _column(table: Table) -> str:
    columns = tuple(field.name for field in dataclasses.fields(CollectiveRow))
    return table.take_one_of("column", columns)


def _read_target(table: Table) -> Target:
    target = Target(_case(table), _column(table), table.take("at_least", float))
    table.done()
    return target


def _read_variant(table: Table) -> Variant:
    section = table.take_optional("section", str) or ""
    variant = Variant(table.take("name", str), _words(table), section)
    table.done()
    return variant


def _read_skew(table: Table, concurrencies: int) -> Skew:
    skew = Skew(
        topologies=table.take_list("topologies", str),
        kinds=table.take_list("kinds", str),
        judged=table.take_list("judged", str),
        seeds=table.take_list("seeds", int),
        seeds_of_others=table.take("seeds_of_others", int),
        quanta=table.take_list("quanta", int),
        median_at_least=table.take_list("median_at_least", float),
        worst_at_least=table.take_list("worst_at_least", float),
        plans=tuple(_read_variant(entry) for entry in table.take_tables("plan")),
    )
    for key in ("seeds", "quanta", "median_at_least", "worst_at_least"):
        if len(getattr(skew, key)) != concurrencies:
            raise table.fail(key, f"{concurrencies} numbers, one per concurrency")
    if not set(skew.judged) <= set(skew.kinds):
        raise table.fail("judged", "some of the kinds")
    if min(*skew.seeds, skew.seeds_of_others) < 1:
        raise table.fail("seeds", "1 or more")
    if min(skew.quanta) < 1:
        raise table.fail("quanta", "1 or more")
    table.done()
    return skew


def _read_small(table: Table) -> Small:
    small = Small(
        topology=table.take("topology", str),
        size_bytes=table.take_size("size"),
        seeds=table.take("seeds", int),
        options=_words(table),
        median_at_most=table.take("median_at_most", float),
    )
    table.done()
    return small


def _read_ablation(table: Table) -> Ablation:
    cases = []
    for entry in table.take_tables("case"):
        cases.append(_case(entry))
        entry.done()
    without = tuple(_read_variant(entry) for entry in table.take_tables("without"))
    if without[0].options:
        raise table.fail("without", "nothing switched off in the first")
    table.done()
    return Ablation(tuple(cases), without)


def _read_order(table: Table) -> Order:
    order = Order(
        case=Case("poor task order", table.take("topology", str), _words(table)),
        size_bytes=table.take_size("size"),
        staged=_words(table, "staged"),
        naive=_words(table, "naive"),
    )
    table.done()
    return order


def load_scheduler_config(path: Path) -> SchedulerConfig:
    """Raises InputError naming file and key."""
    table = open_table(path)
    concurrencies = table.take_list("concurrencies", int)
    config = SchedulerConfig(
        path=path,
        id=table.take("id", str),
        title=table.take("title", str),
        calibration=Path(table.take("calibration", str)),
        seed=table.take("seed", int),
        size_bytes=table.take_size("size"),
        concurrencies=concurrencies,
        targets=tuple(_read_target(entry) for entry in table.take_tables("target")),
        skew=_read_skew(table.take_table("skew"), len(concurrencies)),
        small=_read_small(table.take_table("small")),
        ablation=_read_ablation(table.take_table("ablation")),
        order=_read_order(table.take_table("order")),
        metrics=tuple(read_metric(entry) for entry in table.take_tables("metric")),
    )
    table.done()
    return config
