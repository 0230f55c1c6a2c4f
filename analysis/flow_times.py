"""When the flows of one operation ended, from its trace (`hoccl sim --trace FILE.csv`)."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from analysis.load import InputError

# A flow has ended when the last of its chunks is in a target's buffer.
_LAST_LEGS = ("deliver_end", "direct_end")


def flow_end_times_us(path: Path) -> list[float]:
    """Ascending, one per transfer of the plan. Raises InputError."""
    ends: dict[str, float] = {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if row["event"] in _LAST_LEGS:
                    end = int(row["time_ns"]) / 1e3
                    ends[row["flow"]] = max(end, ends.get(row["flow"], 0.0))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: not a trace of this program: {error!r}") from None
    if not ends:
        raise InputError(f"{path}: no flow ended")
    return sorted(ends.values())


def percentile(ascending: Sequence[float], percent: int) -> float:
    """The smallest value that so many percent of all are at most (nearest rank)."""
    if not ascending:
        raise ValueError("no values")
    rank = -(-percent * len(ascending) // 100)
    return ascending[max(rank, 1) - 1]
