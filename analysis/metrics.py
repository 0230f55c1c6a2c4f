"""Pure functions from numbers to numbers; every quantity of the comparison is one of these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

Interval = tuple[float, float]
K = TypeVar("K")


def gain_pp(ours: float, baseline: float) -> float:
    """How much `ours` exceeds `baseline`, in points of the gain: 192.2 over 156.3 is 23."""
    return (ours / baseline - 1.0) * 100.0


def loss_pct(without: float, reference: float) -> float:
    """The share of `reference` that is lost in `without`, in percent."""
    return (1.0 - without / reference) * 100.0


def error(ours: float, paper: float, unit: str) -> float:
    """Deviation in percent of the paper's value; plain in points, and where the paper has zero."""
    return ours - paper if unit == "pp" or paper == 0.0 else (ours / paper - 1.0) * 100.0


def shortfall(ours: float, bound: float, unit: str, claim: str) -> float:
    """How far a one-sided claim is missed, as error() measures it; 0 when it holds."""
    deviation = error(ours, bound, unit)
    return max(deviation, 0.0) if claim == "below" else min(deviation, 0.0)


def relative_difference_max(first: Mapping[K, float], second: Mapping[K, float]) -> float:
    """Largest |a - b| / max(|a|, |b|) over all keys. Raises ValueError unless the keys agree."""
    if first.keys() != second.keys() or not first:
        raise ValueError("the two series do not hold the same, at least one, points")
    return max(
        abs(first[key] - second[key]) / max(abs(first[key]), abs(second[key])) for key in first
    )


def best_chunk(busbw_by_chunk: Mapping[int, float]) -> int:
    """The chunk size with the highest busbw; of equals the smaller, as it needs less staging."""
    return min(busbw_by_chunk, key=lambda chunk: (-busbw_by_chunk[chunk], chunk))


def crossover_size(ours: Mapping[int, float], other: Mapping[int, float]) -> int | None:
    """The smallest size from which on `ours` is never below `other`; None if it is at the end."""
    crossover = None
    for size in sorted(ours):
        if ours[size] < other[size]:
            crossover = None
        elif crossover is None:
            crossover = size
    return crossover


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """The same points as disjoint intervals in ascending order."""
    merged: list[Interval] = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, end))
    return merged


def length(intervals: Sequence[Interval]) -> float:
    return sum(end - begin for begin, end in union(intervals))


def overlap_share(first: Sequence[Interval], second: Sequence[Interval]) -> float:
    """Time in which both are busy, as a share of the time the less busy one is; 0 to 1."""
    shorter = min(length(first), length(second))
    if shorter == 0.0:
        return 0.0
    both = length(first) + length(second) - length([*first, *second])
    return both / shorter
