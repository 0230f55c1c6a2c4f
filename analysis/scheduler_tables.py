"""Numbers and tables of experiments/scheduler, from its results."""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections.abc import Iterable, Sequence

from analysis.load import InputError
from analysis.report import DataTable
from analysis.scheduler_config import SchedulerConfig
from analysis.scheduler_runs import Result
from analysis.units import format_size


def select(results: Iterable[Result], **options: object) -> list[Result]:
    """Those whose run's fields equal `options`; InputError if there is none."""
    found = [
        result
        for result in results
        if all(getattr(result.run, key) == want for key, want in options.items())
    ]
    if not found:
        raise InputError(f"no run with {options}")
    return found


def only(results: Iterable[Result], **options: object) -> Result:
    found = select(results, **options)
    if len(found) != 1:
        raise InputError(f"{len(found)} runs with {options}, expected one")
    return found[0]


def yes_no(met: bool) -> str:
    return "yes" if met else "NO"


def target_table(config: SchedulerConfig, results: Sequence[Result]) -> DataTable:
    rows: list[tuple[str | float, ...]] = []
    for target in config.targets:
        runs = [
            only(
                results,
                part="target",
                name=target.case.name,
                topology=target.case.topology,
                concurrency=concurrency,
            ).row
            for concurrency in config.concurrencies
        ]
        first = runs[0]
        value = float(getattr(first, target.column))
        unit = "GB/s" if target.column.endswith("gb_per_s") else "% of calibrated"
        rows.append(
            (
                target.case.name,
                target.case.topology,
                *itertools.chain(
                    *((run.busbw_gb_per_s, run.bound_pct, run.calibrated_bound_pct) for run in runs)
                ),
                f"≥ {target.at_least:g} {unit}",
                yes_no(value >= target.at_least),
            )
        )
    columns = ["pattern", "topology"]
    for concurrency in config.concurrencies:
        names = ("busbw GB/s", "bound %", "calibrated %")
        columns += [f"{name}, c = {concurrency}" for name in names]
    return DataTable(
        f"Targets at {format_size(config.size_bytes)}",
        "Share of the lower bound at nominal and calibrated rates; c: copies that one copy engine "
        "interleaves. The targets are for the first c. Simulated.",
        (*columns, "target", "met"),
        rows,
    )


@dataclasses.dataclass(frozen=True)
class Spread:
    """Of percentages over seeds (and kinds)."""

    count: int
    median: float
    worst: float


def spread(values: Iterable[float]) -> Spread:
    listed = list(values)
    return Spread(len(listed), statistics.median(listed), min(listed))


def skew_spread(results: Iterable[Result], **options: object) -> Spread:
    return spread(
        result.row.share_of_balanced_bound() for result in select(results, part="skew", **options)
    )


def skew_verdicts(config: SchedulerConfig, results: Sequence[Result]) -> DataTable:
    """The targets: over the judged kinds and all topologies and seeds."""
    skew = config.skew
    rows: list[tuple[str | float, ...]] = []
    for index, concurrency in enumerate(config.concurrencies):
        own = [
            result
            for result in select(
                results, part="skew", plan=skew.plans[0].name, concurrency=concurrency
            )
            if result.run.kind in skew.judged
        ]
        found = spread(result.row.share_of_balanced_bound() for result in own)
        worst = min(own, key=lambda result: result.row.share_of_balanced_bound()).run
        median_at_least, worst_at_least = skew.median_at_least[index], skew.worst_at_least[index]
        rows.append(
            (
                str(concurrency),
                str(found.count),
                found.median,
                f"≥ {median_at_least:g}",
                yes_no(found.median >= median_at_least),
                found.worst,
                f"≥ {worst_at_least:g}",
                yes_no(found.worst >= worst_at_least),
                f"{worst.kind}, {worst.topology}, seed {worst.seed}",
            )
        )
    return DataTable(
        f"Skewed AllToAllv at {format_size(config.size_bytes)}: targets",
        "Percent of the bound of balanced rails at calibrated rates, over "
        f"{', '.join(skew.judged)}, all topologies and seeds. Simulated.",
        ("c", "runs", "median %", "target", "met", "worst %", "target", "met", "worst at"),
        rows,
    )


def skew_table(config: SchedulerConfig, results: Sequence[Result]) -> DataTable:
    skew = config.skew
    rows: list[tuple[str | float, ...]] = []
    for index, plan in enumerate(skew.plans):
        counts = skew.seeds if index == 0 else (skew.seeds_of_others,)
        for concurrency, seeds in zip(config.concurrencies, counts, strict=False):
            for topology in skew.topologies:
                cells: list[str] = []
                for kind in skew.kinds:
                    found = skew_spread(
                        results,
                        plan=plan.name,
                        concurrency=concurrency,
                        topology=topology,
                        kind=kind,
                    )
                    cells.append(f"{found.median:.1f} / {found.worst:.1f}")
                rows.append((plan.name, str(concurrency), topology, str(seeds), *cells))
    return DataTable(
        f"Skewed AllToAllv at {format_size(config.size_bytes)}: against alternatives",
        "Median / worst percent of the bound of balanced rails at calibrated rates. That is no "
        "bound of plans that load rails otherwise, which may be above 100. The alternatives ran "
        "with fewer seeds. Simulated.",
        ("plan", "c", "topology", "seeds", *skew.kinds),
        rows,
    )


def small_table(config: SchedulerConfig, results: Sequence[Result]) -> DataTable:
    small = config.small
    rows: list[tuple[str | float, ...]] = []
    plans = list(dict.fromkeys(result.run.plan for result in select(results, part="small")))
    for plan in plans:
        for kind in (*config.skew.kinds, "all judged"):
            kinds = config.skew.judged if kind == "all judged" else (kind,)
            ratios = [
                100.0 / result.row.share_of_balanced_bound()
                for result in select(results, part="small", plan=plan)
                if result.run.kind in kinds
            ]
            median = statistics.median(ratios)
            judged = kind == "all judged" and plan == plans[0]
            verdict = yes_no(median <= small.median_at_most) if judged else ""
            target = f"≤ {small.median_at_most:g}" if judged else ""
            rows.append((plan, kind, str(len(ratios)), median, max(ratios), target, verdict))
    return DataTable(
        f"AllToAllv of {format_size(small.size_bytes)} on {small.topology}",
        "Time over the bound of balanced rails at calibrated rates. Simulated, "
        f"{' '.join(small.options)}.",
        ("costs", "matrix", "runs", "median", "worst", "target", "met"),
        rows,
    )


def ablation_table(config: SchedulerConfig, results: Sequence[Result]) -> DataTable:
    """busbw, and in brackets how much of it is lost without the mechanism."""
    ablation = config.ablation
    rows: list[tuple[str | float, ...]] = []
    for concurrency in config.concurrencies:
        for variant in ablation.without:
            cells = []
            for case in ablation.cases:
                whole, without = (
                    only(
                        results,
                        part="ablation",
                        name=case.name,
                        plan=plan,
                        concurrency=concurrency,
                    ).row.busbw_gb_per_s
                    for plan in (ablation.without[0].name, variant.name)
                )
                change = (without / whole - 1.0) * 100.0
                first = variant is ablation.without[0]
                cells.append(f"{without:.1f}" if first else f"{without:.1f} ({change:+.0f}%)")
            section = f"§{variant.section}" if variant.section else ""
            rows.append(
                (variant.name, section, str(concurrency), *cells, " ".join(variant.options))
            )
    return DataTable(
        "Each mechanism switched off alone",
        f"busbw in GB/s at {format_size(config.size_bytes)}, and the change. c: copies that one "
        "copy engine interleaves. Simulated.",
        ("without", "paper", "c", *(case.name for case in ablation.cases), "options"),
        rows,
    )
