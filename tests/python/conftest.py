"""Small inputs that the tests share: rows as the program would write them."""

from __future__ import annotations

import csv
import dataclasses
from pathlib import Path

import pytest

from analysis.load import ProgramRow, Row

MIB = 1 << 20
PORT_GB_PER_S = {"intra": 200.0, "inter": 50.0}


def make_row(
    pair: str = "intra",
    system: str = "hoccl",
    size_bytes: int = MIB,
    busbw_gb_per_s: float = 40.0,
    group: str = "curve",
    network: str = "fluid",
    rails: int = 1,
    chunk_bytes: int = 2 * MIB,
    pipelining: str = "on",
    warmup: int = 1,
) -> Row:
    share = busbw_gb_per_s / (PORT_GB_PER_S[pair] * rails)
    return Row(
        pattern="sendrecv",
        system=system,
        topology="h800-2x8",
        size_bytes=size_bytes,
        time_us=size_bytes / busbw_gb_per_s / 1e3,
        algbw_gb_per_s=busbw_gb_per_s,
        busbw_gb_per_s=busbw_gb_per_s,
        bound_pct=share * 100.0,
        calibrated_bound_pct=share * 100.0,
        launch_us=1.0,
        submit_us=10.0,
        proxy_us=12.0,
        sms=0.0,
        group=group,
        pair=pair,
        network=network,
        rails=rails,
        chunk_bytes=chunk_bytes,
        pipelining=pipelining,
        warmup=warmup,
    )


def write_program_csv(path: Path, rows: list[Row], extra_column: bool = False) -> None:
    """As the program writes it: only its own columns."""
    names = [field.name for field in dataclasses.fields(ProgramRow)]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names + (["new_column"] if extra_column else []))
        for row in rows:
            values = [getattr(row, name) for name in names]
            writer.writerow(values + (["7"] if extra_column else []))


@pytest.fixture
def repository() -> Path:
    return Path(__file__).resolve().parents[2]
