"""Figures of experiments/scheduler."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from analysis import style
from analysis.scheduler_config import SchedulerConfig
from analysis.scheduler_runs import Result
from analysis.scheduler_tables import only, select
from analysis.style import caption, plt

# Okabe and Ito's, in an order that keeps neighbours apart.
_COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999999")


def draw_skew(config: SchedulerConfig, results: Sequence[Result], calibration: str) -> Figure:
    """Percent of the bound of balanced rails by matrix, each plan a bar: median, whisker: worst."""
    skew = config.skew
    figure, grid = plt.subplots(
        1,
        len(skew.topologies),
        figsize=(4.6 * len(skew.topologies), 3.6),
        sharey=True,
        squeeze=False,
    )
    axes = grid[0]
    width = 0.8 / len(skew.plans)
    for panel, topology in zip(axes, skew.topologies, strict=True):
        for index, plan in enumerate(skew.plans):
            medians, low = [], []
            for kind in skew.kinds:
                values = [
                    result.row.share_of_balanced_bound()
                    for result in select(
                        results,
                        part="skew",
                        plan=plan.name,
                        topology=topology,
                        kind=kind,
                        concurrency=config.concurrencies[0],
                    )
                ]
                medians.append(statistics.median(values))
                low.append(medians[-1] - min(values))
            places = [
                place + (index - (len(skew.plans) - 1) / 2) * width
                for place in range(len(skew.kinds))
            ]
            none = [0.0] * len(low)
            panel.bar(
                places,
                medians,
                width=0.92 * width,
                yerr=(low, none),
                error_kw={"elinewidth": 0.8},
                color=_COLORS[index % len(_COLORS)],
                label=plan.name,
            )
        panel.axhline(skew.median_at_least[0], color="#000000", linestyle="--", linewidth=0.8)
        panel.set_xticks(range(len(skew.kinds)), skew.kinds, rotation=30, ha="right")
        panel.set_title(topology)
        panel.grid(axis="x", visible=False)
    axes[0].set_ylabel("share of the bound of balanced rails (%)")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=7, ncols=len(labels), loc="upper center")
    caption(
        figure,
        f"Simulated. Median over seeds, whisker to the worst; dashed: target of the median. "
        f"Calibration: {calibration}.",
    )
    figure.tight_layout(rect=(0, 0.04, 1, 0.93))
    return figure


def draw_ablation(config: SchedulerConfig, results: Sequence[Result], calibration: str) -> Figure:
    """busbw without each mechanism, as a share of busbw with all of them."""
    ablation = config.ablation
    variants = ablation.without[1:]
    figure, axes = plt.subplots(figsize=(10.0, 3.8))
    width = 0.8 / len(ablation.cases)
    for index, case in enumerate(ablation.cases):
        shares = []
        whole = 0.0
        for variant in ablation.without:
            busbw = only(
                results,
                part="ablation",
                name=case.name,
                plan=variant.name,
                concurrency=config.concurrencies[0],
            ).row.busbw_gb_per_s
            if variant is ablation.without[0]:
                whole = busbw
            else:
                shares.append(100.0 * busbw / whole)
        places = [
            place + (index - (len(ablation.cases) - 1) / 2) * width
            for place in range(len(variants))
        ]
        axes.bar(
            places,
            shares,
            width=0.92 * width,
            color=_COLORS[index % len(_COLORS)],
            label=f"{case.name}: {whole:.1f} GB/s",
        )
    axes.axhline(100.0, color=style.OTHER_COLOR, linestyle="--", linewidth=1)
    names = [f"{variant.name}\n§{variant.section}" for variant in variants]
    axes.set_xticks(range(len(variants)), names, rotation=30, ha="right", fontsize=8)
    axes.grid(axis="x", visible=False)
    axes.set_ylabel("busbw without (% of all mechanisms)")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=7, ncols=len(labels), loc="upper center")
    caption(
        figure, f"Simulated; each mechanism switched off alone. Calibration: {calibration}."
    )
    figure.tight_layout(rect=(0, 0.04, 1, 0.94))
    return figure


def draw_flow_times(ends_us: Mapping[str, Sequence[float]], calibration: str) -> Figure:
    """Share of flows that have ended by a time, for each plan."""
    figure, axes = plt.subplots(figsize=(5.2, 3.2))
    for index, (name, ends) in enumerate(ends_us.items()):
        shares = [100.0 * (place + 1) / len(ends) for place in range(len(ends))]
        times = [end / 1e3 for end in ends]
        axes.step(times, shares, where="post", color=_COLORS[index], label=name)
    axes.set_xlabel("time (ms)")
    axes.set_ylabel("flows that have ended (%)")
    axes.set_xlim(left=0)
    axes.legend(fontsize=7, loc="lower right")
    caption(figure, f"Simulated. Calibration: {calibration}.")
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    return figure
