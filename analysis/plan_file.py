"""Reads a saved schedule (`hoccl plan --json`) and says what each NIC sends in which stage."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from analysis.load import InputError

SCHEMA = 2
# "h800-4x8": the presets have a NIC beside every GPU.
_PRESET = re.compile(r".*-(\d+)x(\d+)")


@dataclasses.dataclass(frozen=True)
class Mark:
    """Part of a list of stages, up to `end` of its total."""

    stage: int
    end: int


@dataclasses.dataclass(frozen=True)
class StageList:
    total: int
    marks: tuple[Mark, ...]


@dataclasses.dataclass(frozen=True)
class WireLeg:
    """What one NIC sends to another for one transfer."""

    send_nic: int
    receive_nic: int
    size_bytes: int
    stages: StageList


@dataclasses.dataclass(frozen=True)
class PlanFile:
    pattern: str
    topology: str
    order: str
    message_size_bytes: int
    chunk_size_bytes: int
    legs: tuple[WireLeg, ...]

    def nics_per_node(self) -> int:
        """Raises InputError where the topology's name does not tell."""
        match = _PRESET.fullmatch(self.topology)
        if match is None:
            raise InputError(
                f"topology '{self.topology}' does not say how many NICs a node has: expected "
                "--nics-per-node N"
            )
        return int(match[2])


@dataclasses.dataclass(frozen=True)
class StageBytes:
    """What one NIC sends to one NIC in one stage."""

    stage: int
    send_nic: int
    receive_nic: int
    size_bytes: int


def _stages(entry: dict[str, Any], lists: Sequence[StageList]) -> StageList:
    if "stage_list" in entry:
        return lists[int(entry["stage_list"])]
    return StageList(1, (Mark(int(entry["stage"]), 1),))


def _legs(transfers: Iterable[dict[str, Any]], lists: Sequence[StageList]) -> Iterator[WireLeg]:
    for transfer in transfers:
        if transfer["route"] not in ("staged", "registered"):
            continue
        for entry in (transfer, *transfer.get("branches", [])):
            yield WireLeg(
                send_nic=int(transfer["send_nic"]),
                receive_nic=int(entry["receive_nic"]),
                size_bytes=int(transfer["size_bytes"]),
                stages=_stages(entry, lists),
            )


def load_plan(path: Path) -> PlanFile:
    """Raises InputError. The program's own reader is the strict one."""
    try:
        plan = json.loads(path.read_text(encoding="utf-8"))
        if plan["schema"] != SCHEMA:
            raise InputError(f"{path}: schema {plan['schema']}: expected {SCHEMA}")
        lists = [
            StageList(entry["total"], tuple(Mark(stage, end) for stage, end in entry["marks"]))
            for entry in plan["stage_lists"]
        ]
        return PlanFile(
            pattern=str(plan["pattern"]),
            topology=str(plan["topology"]),
            order=str(plan["order"]),
            message_size_bytes=int(plan["message_size_bytes"]),
            chunk_size_bytes=int(plan["chunk_size_bytes"]),
            legs=tuple(_legs(plan["transfers"], lists)),
        )
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise InputError(f"{path}: not a saved schedule: {error!r}") from None


def segments(stages: StageList, chunks: int) -> Iterator[tuple[int, int]]:
    """(stage, number of chunks); the middle of chunk k, at (k + 1/2) / chunks, falls into a mark."""
    begin = 0
    for mark in stages.marks:
        end = max(-((stages.total - 2 * mark.end * chunks) // (2 * stages.total)), 0)
        if end > begin:
            yield mark.stage, end - begin
        begin = max(begin, end)


def stage_bytes(plan: PlanFile) -> list[StageBytes]:
    """Sums over transfers, by stage, sending and receiving NIC."""
    sums: dict[tuple[int, int, int], int] = {}
    for leg in plan.legs:
        chunks = -(-leg.size_bytes // plan.chunk_size_bytes)
        left = leg.size_bytes
        for stage, count in segments(leg.stages, chunks):
            # Only the last chunk is short.
            size = min(count * plan.chunk_size_bytes, left)
            left -= size
            key = (stage, leg.send_nic, leg.receive_nic)
            sums[key] = sums.get(key, 0) + size
    return [StageBytes(*key, size) for key, size in sorted(sums.items())]


def sent_by_nic(plan: PlanFile) -> dict[int, int]:
    """Bytes that each NIC sends; NICs without any are left out."""
    sums: dict[int, int] = {}
    for leg in plan.legs:
        sums[leg.send_nic] = sums.get(leg.send_nic, 0) + leg.size_bytes
    return dict(sorted(sums.items()))


def received_by_nic(plan: PlanFile) -> dict[int, int]:
    """Bytes that each NIC receives; NICs without any are left out."""
    sums: dict[int, int] = {}
    for leg in plan.legs:
        sums[leg.receive_nic] = sums.get(leg.receive_nic, 0) + leg.size_bytes
    return dict(sorted(sums.items()))


def imbalance(loads: Iterable[int], ports: int) -> float:
    """The busiest port's load over the mean of all `ports`; 1 is balance, also without any load."""
    values = list(loads)
    total = sum(values)
    return max(values) * ports / total if total else 1.0
