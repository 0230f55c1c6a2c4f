"""Draws a saved schedule (`hoccl plan --json`).

python3 -m analysis.plan_chart PLAN.json OUT
    what every NIC sends in every stage
python3 -m analysis.plan_chart --before OTHER.json PLAN.json OUT
    what every NIC sends and receives under two schedules of one demand, side by side
Both write OUT.svg and OUT.png.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from analysis import style
from analysis.load import InputError
from analysis.plan_file import (
    PlanFile,
    imbalance,
    load_plan,
    received_by_nic,
    sent_by_nic,
    stage_bytes,
)
from analysis.style import plt

_MIB = 1 << 20


def _stage_begins(plan: PlanFile) -> dict[int, float]:
    """In MiB of one NIC: a stage lasts as long as its busiest NIC sends."""
    busiest: dict[int, dict[int, int]] = {}
    for part in stage_bytes(plan):
        loads = busiest.setdefault(part.stage, {})
        loads[part.send_nic] = loads.get(part.send_nic, 0) + part.size_bytes
    begins, begin = {}, 0.0
    for stage in sorted(busiest):
        begins[stage] = begin
        begin += max(busiest[stage].values()) / _MIB
    begins[max(begins, default=-1) + 1] = begin
    return begins


def draw_stages(plan: PlanFile, nics_per_node: int) -> Figure:
    """A row per NIC; a stage is as wide as the most that a NIC sends in it."""
    parts = stage_bytes(plan)
    if not parts:
        raise InputError("the schedule sends nothing between nodes")
    nics = sorted({part.send_nic for part in parts})
    row = {nic: position for position, nic in enumerate(nics)}
    begins = _stage_begins(plan)
    nodes = sorted({part.receive_nic // nics_per_node for part in parts})
    few = len(nodes) <= 10
    palette = plt.get_cmap("tab10" if few else "tab20")
    colors = {node: palette(node % (10 if few else 20)) for node in nodes}
    figure, axes = plt.subplots(figsize=(10.0, 1.4 + 0.16 * len(nics)))
    filled: dict[tuple[int, int], float] = {}
    for part in parts:
        key = (part.stage, part.send_nic)
        begin = begins[part.stage] + filled.get(key, 0.0)
        width = part.size_bytes / _MIB
        filled[key] = filled.get(key, 0.0) + width
        axes.broken_barh(
            [(begin, width)],
            (row[part.send_nic] - 0.4, 0.8),
            facecolors=[colors[part.receive_nic // nics_per_node]],
            linewidth=0,
        )
    for begin in begins.values():
        axes.axvline(begin, color="#bbbbbb", linewidth=0.4, zorder=0)
    labels = [f"{nic // nics_per_node}.{nic % nics_per_node}" for nic in nics]
    axes.set_yticks(range(len(nics)), labels, fontsize=6)
    axes.set_ylim(len(nics) - 0.5, -0.5)
    axes.grid(visible=False)
    axes.set_xlabel("sent by one NIC, stage after stage (MiB)")
    axes.set_ylabel("NIC (node.rail)")
    stages = len(begins) - 1
    axes.set_title(
        f"{plan.pattern} of {plan.message_size_bytes / _MIB:.6g} MiB on {plan.topology}, order "
        f"{plan.order}: {stages} stage{'s' if stages != 1 else ''}"
    )
    handles = [Patch(color=colors[node], label=f"to node {node}") for node in nodes]
    axes.legend(handles=handles, fontsize=6, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    figure.tight_layout()
    return figure


def _grid(loads: dict[int, int], nodes: int, rails: int) -> list[list[float]]:
    return [
        [loads.get(node * rails + rail, 0) / _MIB for rail in range(rails)] for node in range(nodes)
    ]


def _draw_heat(
    axes: Axes, loads: dict[int, int], nodes: int, rails: int, top: float, title: str
) -> None:
    grid = _grid(loads, nodes, rails)
    axes.imshow(grid, vmin=0.0, vmax=top, cmap="YlOrRd", aspect="auto")
    for node in range(nodes):
        for rail in range(rails):
            value = grid[node][rail]
            color = "white" if value > 0.6 * top else "black"
            axes.text(rail, node, f"{value:.0f}", ha="center", va="center", fontsize=6, color=color)
    spread = imbalance(loads.values(), nodes * rails)
    axes.set_title(f"{title}: busiest NIC {spread:.2f} × mean", fontsize=8)
    axes.set_xticks(range(rails))
    axes.set_yticks(range(nodes))
    axes.grid(visible=False)
    axes.set_xlabel("rail", fontsize=7)
    axes.set_ylabel("node", fontsize=7)


def draw_balance(
    before: PlanFile, after: PlanFile, labels: tuple[str, str], nics_per_node: int
) -> Figure:
    """MiB that each NIC sends (above) and receives (below) under both."""
    loads = [(sent_by_nic(plan), received_by_nic(plan)) for plan in (before, after)]
    busiest = [nic for pair in loads for side in pair for nic in side]
    if not busiest:
        raise InputError("neither schedule sends anything between nodes")
    nodes = max(busiest) // nics_per_node + 1
    top = max(size for pair in loads for side in pair for size in side.values()) / _MIB
    figure, axes = plt.subplots(
        2, 2, figsize=(2.0 + 0.8 * nics_per_node, 2.2 + 0.7 * nodes), squeeze=False
    )
    for column, (pair, label) in enumerate(zip(loads, labels, strict=True)):
        for line, (side, word) in enumerate(zip(pair, ("sends", "receives"), strict=True)):
            title = f"{label}, {word}"
            _draw_heat(axes[line][column], side, nodes, nics_per_node, top, title)
    figure.suptitle(
        f"{after.pattern} on {after.topology}: MiB per NIC before and after", fontsize=9
    )
    figure.tight_layout()
    return figure


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python3 -m analysis.plan_chart",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("plan", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--before", type=Path, help="another schedule, to compare the balance with")
    parser.add_argument("--labels", nargs=2, default=("before", "after"))
    parser.add_argument("--nics-per-node", type=int, help="where the topology is no preset")
    options = parser.parse_args(arguments)
    try:
        plan = load_plan(options.plan)
        nics = options.nics_per_node or plan.nics_per_node()
        if options.before is None:
            figure = draw_stages(plan, nics)
        else:
            labels = (options.labels[0], options.labels[1])
            figure = draw_balance(load_plan(options.before), plan, labels, nics)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    style.save(figure, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
