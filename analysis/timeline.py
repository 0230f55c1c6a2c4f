"""Draws a trace of the program (Chrome JSON) as a picture: one lane per track.

python3 -m analysis.timeline TRACE.json OUT [simulated|measured]  writes OUT.svg and OUT.png.
"""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, cast, get_args

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from analysis import metrics, style
from analysis.load import InputError
from analysis.style import plt

# Legs in the order a chunk takes them; the same words as the program's trace events.
LEG_LABELS = {
    "stage_in": "DMA stage-in (copy engine)",
    "wire": "RDMA wire (NIC)",
    "deliver": "DMA deliver (copy engine)",
    "direct": "DMA direct (copy engine)",
}
# Where the times of a trace come from.
Origin = Literal["simulated", "measured", "simulated and measured"]
_DMA_LEGS = ("stage_in", "deliver", "direct")
# The writer puts overlapping events of a track on further rows, named "track (2)", "track (3)", …
_ROW_SUFFIX = re.compile(r"(.*?)(?: \((\d+)\))?")


@dataclasses.dataclass(frozen=True)
class Event:
    process: str
    track: str
    row: int
    name: str
    begin_us: float
    end_us: float


def _names(events: Sequence[dict[str, Any]], kind: str, keys: tuple[str, ...]) -> dict[Any, str]:
    return {
        tuple(event[key] for key in keys): event["args"]["name"]
        for event in events
        if event.get("ph") == "M" and event["name"] == kind
    }


def load_trace(path: Path) -> list[Event]:
    """Complete events in the order of the file. Raises InputError."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
        processes = _names(entries, "process_name", ("pid",))
        threads = _names(entries, "thread_name", ("pid", "tid"))
        events = []
        for entry in entries:
            if entry.get("ph") != "X":
                continue
            thread = threads[entry["pid"], entry["tid"]]
            match = _ROW_SUFFIX.fullmatch(thread)
            assert match is not None  # the pattern matches any name
            events.append(
                Event(
                    process=processes[(entry["pid"],)],
                    track=match[1],
                    row=int(match[2] or 1) - 1,
                    name=entry["name"],
                    begin_us=float(entry["ts"]),
                    end_us=float(entry["ts"]) + float(entry["dur"]),
                )
            )
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: not a trace of this program: {error!r}") from None
    if not events:
        raise InputError(f"{path}: the trace holds no event")
    return events


def busy(events: Sequence[Event], names: Sequence[str]) -> list[metrics.Interval]:
    return [(event.begin_us, event.end_us) for event in events if event.name in names]


def dma_rdma_overlap(events: Sequence[Event]) -> float:
    """Time with both a DMA leg and a wire leg under way, as a share of the shorter of the two."""
    return metrics.overlap_share(busy(events, _DMA_LEGS), busy(events, ("wire",)))


def _lanes(events: Sequence[Event]) -> list[tuple[str, str]]:
    """Tracks from first use on, those with legs first: a transfer reads from top to bottom."""
    first: dict[tuple[str, str], tuple[bool, float]] = {}
    for event in events:
        key = (event.process, event.track)
        without_legs, begin = first.get(key, (True, event.begin_us))
        has_leg = event.name in LEG_LABELS
        first[key] = (without_legs and not has_leg, min(begin, event.begin_us))
    return sorted(first, key=lambda key: (first[key], key))


def draw_timeline(
    events: Sequence[Event], title: str, caption: str, origin: Origin = "simulated"
) -> Figure:
    lanes = _lanes(events)
    rows = dict.fromkeys(lanes, 1)
    for event in events:
        lane = (event.process, event.track)
        rows[lane] = max(rows[lane], event.row + 1)
    figure, axes = plt.subplots(figsize=(10.0, 1.3 + 0.36 * len(lanes)))
    for position, lane in enumerate(lanes):
        height = 0.8 / rows[lane]
        own = [event for event in events if (event.process, event.track) == lane]
        for name in dict.fromkeys(event.name for event in own):
            for row in range(rows[lane]):
                bars = [
                    (event.begin_us, event.end_us - event.begin_us)
                    for event in own
                    if event.name == name and event.row == row
                ]
                if not bars:
                    continue
                axes.broken_barh(
                    bars,
                    (position - 0.4 + row * height, height * 0.92),
                    facecolors=style.LEG_COLORS.get(name, style.OTHER_COLOR),
                    edgecolor="white",
                    linewidth=0.3,
                )
    axes.set_yticks(range(len(lanes)), [f"{process}: {track}" for process, track in lanes])
    axes.set_ylim(len(lanes) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(f"{origin} time (µs)")
    axes.set_title(title)
    used = [leg for leg in LEG_LABELS if any(event.name == leg for event in events)]
    handles = [Patch(color=style.LEG_COLORS[leg], label=LEG_LABELS[leg]) for leg in used]
    handles.append(Patch(color=style.OTHER_COLOR, label="other (control, gates)"))
    figure.legend(handles=handles, loc="upper right", ncols=len(handles), fontsize=7)
    figure.text(0.005, 0.005, caption, fontsize=7, color="#555555", ha="left", va="bottom")
    figure.tight_layout(rect=(0, 0.03 + 0.04 * caption.count("\n"), 1, 0.96))
    return figure


def main(arguments: Sequence[str]) -> int:
    origin = arguments[2] if len(arguments) == 3 else "simulated"
    if len(arguments) not in (2, 3) or origin not in get_args(Origin):
        print(
            "usage: python3 -m analysis.timeline TRACE.json OUT [simulated|measured]",
            file=sys.stderr,
        )
        return 2
    try:
        events = load_trace(Path(arguments[0]))
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    title = f"DMA and RDMA overlap {dma_rdma_overlap(events):.0%}"
    caption = f"{origin.capitalize()}. Trace: {arguments[0]}."
    style.save(draw_timeline(events, title, caption, cast(Origin, origin)), Path(arguments[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
