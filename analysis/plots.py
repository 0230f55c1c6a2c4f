"""Draws the figures. Every number in them comes from rows of the program or from paper.csv."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis import style
from analysis.load import PaperNumber, Row
from analysis.metrics import best_chunk
from analysis.style import caption, plt
from analysis.units import format_size


def system_label(system: str) -> str:
    """ "NCCL-8SM" for nccl:8sm, as the paper writes it."""
    return system.upper().replace(":", "-")


def series(rows: Iterable[Row], **options: object) -> dict[int, float]:
    """busbw in GB/s by size of the rows whose fields equal `options`."""
    return {
        row.size_bytes: row.busbw_gb_per_s
        for row in rows
        if all(getattr(row, name) == value for name, value in options.items())
    }


def size_axis(axes: Axes, sizes: Sequence[int], label: str) -> None:
    """Ticks at the sizes that were run."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [format_size(size) for size in sizes], rotation=45, ha="right")
    axes.minorticks_off()
    axes.set_xlabel(label)


def _nominal_bound(rows: Sequence[Row], pair: str) -> float:
    """The port's rate in GB/s as the program used it: busbw over its share of the bound."""
    largest = max((row for row in rows if row.pair == pair), key=lambda row: row.size_bytes)
    return largest.busbw_gb_per_s / (largest.bound_pct / 100.0)


def _draw_curves(
    axes: Axes, rows: Sequence[Row], pair: str, paper: Mapping[str, PaperNumber]
) -> None:
    sizes = sorted({row.size_bytes for row in rows})
    for system in dict.fromkeys(row.system for row in rows):
        points = series(rows, pair=pair, system=system)
        axes.plot(
            list(points),
            list(points.values()),
            color=style.SYSTEM_COLORS[system],
            marker=style.SYSTEM_MARKERS[system],
            markersize=4,
            # Between nodes both NCCLs are the same curve: dashes let the lower one show.
            linestyle="--" if system == "nccl:4sm" else "-",
            zorder=3 if system == "nccl:4sm" else 2,
            label=f"{system_label(system)}, simulated",
        )
    bound = _nominal_bound(rows, pair)
    axes.axhline(bound, color=style.OTHER_COLOR, linestyle="--", linewidth=1)
    axes.annotate(
        f"port rate {bound:.0f}",
        (sizes[0], bound),
        textcoords="offset points",
        xytext=(0, 3),
        color="#555555",
        fontsize=7,
    )
    for system, number in paper.items():
        axes.plot(
            [sizes[-1]],
            [number.value],
            linestyle="none",
            marker="o",
            markersize=10,
            markerfacecolor="none",
            markeredgecolor=style.PAPER_COLOR,
            label=f"{system_label(system)}, paper: {number.value:g}",
        )
    axes.set_ylim(0, bound * 1.1)
    axes.set_ylabel("busbw (GB/s)")
    size_axis(axes, sizes, "message size")
    axes.legend(loc="lower right", fontsize=7)


def rivals(rows: Sequence[Row], pair: str) -> dict[str, dict[int, float]]:
    """busbw by size of each NCCL."""
    systems = dict.fromkeys(row.system for row in rows if row.system.startswith("nccl:"))
    return {system: series(rows, pair=pair, system=system) for system in systems}


def best_rival(rows: Sequence[Row], pair: str) -> dict[int, float]:
    """busbw by size of whichever NCCL is better there."""
    curves = list(rivals(rows, pair).values())
    return {size: max(curve[size] for curve in curves) for size in curves[0]}


def _draw_ratio(axes: Axes, rows: Sequence[Row], first_use: Sequence[Row]) -> None:
    sizes = sorted({row.size_bytes for row in rows})
    for pair, line in zip(dict.fromkeys(row.pair for row in rows), ("-", ":"), strict=False):
        rival = best_rival(rows, pair)
        for label, own, color in (
            (pair, rows, style.SYSTEM_COLORS["hoccl"]),
            (f"{pair}, first use of the buffers", first_use, style.OTHER_COLOR),
        ):
            ours = series(own, pair=pair, system="hoccl")
            if ours:
                ratio = [ours[size] / rival[size] for size in sizes]
                axes.plot(sizes, ratio, linestyle=line, color=color, label=label)
    axes.axhline(1.0, color=style.OTHER_COLOR, linestyle="--", linewidth=1)
    axes.set_ylabel("HOCCL / better NCCL")
    axes.set_ylim(bottom=0)
    axes.set_title("HOCCL over the better NCCL")
    size_axis(axes, sizes, "message size")
    axes.legend(loc="lower right", fontsize=7)


def draw_bandwidth(
    rows: Sequence[Row],
    first_use: Sequence[Row],
    paper: Mapping[str, Mapping[str, PaperNumber]],
    calibration: str,
) -> Figure:
    """Fig. 7: busbw by size for each pair, and HOCCL over the best NCCL.

    `paper[pair][system]` are the numbers to mark at the largest size.
    """
    pairs = list(dict.fromkeys(row.pair for row in rows))
    figure, axes = plt.subplots(1, len(pairs) + 1, figsize=(4.0 * (len(pairs) + 1), 3.9))
    for panel, pair in zip(axes, pairs, strict=False):
        _draw_curves(panel, rows, pair, paper.get(pair, {}))
        panel.set_title(f"send/recv, {pair}-node")
    _draw_ratio(axes[-1], rows, first_use)
    networks = ", ".join(dict.fromkeys(row.network for row in rows))
    caption(figure, f"Simulated ({networks} network). Calibration: {calibration}.")
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    return figure


def draw_choices(sweep: Sequence[Row], pipelining: Sequence[Row], calibration: str) -> Figure:
    """The chunk sweep by number of rails, and bandwidth with and without pipelining."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.6), width_ratios=(2, 1))
    chunks = sorted({row.chunk_bytes for row in sweep})
    for rails in sorted({row.rails for row in sweep}):
        own = {row.chunk_bytes: row for row in sweep if row.rails == rails}
        best = own[best_chunk({chunk: row.busbw_gb_per_s for chunk, row in own.items()})]
        label = (
            f"{rails} rail{'s' if rails > 1 else ''}: {best.busbw_gb_per_s:.1f} GB/s "
            f"at {format_size(best.chunk_bytes)}"
        )
        shares = [own[chunk].bound_pct for chunk in chunks]
        (line,) = left.plot(chunks, shares, marker="o", markersize=4, label=label)
        place = (best.chunk_bytes, best.bound_pct)
        left.plot(*place, marker="*", markersize=13, color=line.get_color())
    left.margins(y=0.2)
    left.set_ylabel("share of the lower bound (%)")
    left.set_title("chunk sweep, inter-node (star: best)")
    size_axis(left, chunks, "chunk size")
    left.legend()

    pairs = list(dict.fromkeys(row.pair for row in pipelining))
    for index, (state, color) in enumerate((("on", "#0072B2"), ("off", "#999999"))):
        heights = [series(pipelining, pair=pair, pipelining=state) for pair in pairs]
        places = [place + (index - 0.5) * 0.38 for place in range(len(pairs))]
        values = [max(points.items())[1] for points in heights]
        bars = right.bar(places, values, width=0.36, color=color, label=f"pipelining {state}")
        right.bar_label(bars, fmt="%.1f", fontsize=7)
    right.set_xticks(range(len(pairs)), pairs)
    right.set_title("pipelining")
    right.set_ylabel("busbw (GB/s)")
    right.legend(fontsize=7, loc="center right")
    caption(figure, f"Simulated. Calibration: {calibration}.")
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    return figure
