"""What a saved schedule sends where, and the pictures of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analysis import plan_chart
from analysis.load import InputError
from analysis.plan_file import (
    Mark,
    StageBytes,
    StageList,
    imbalance,
    load_plan,
    received_by_nic,
    segments,
    sent_by_nic,
    stage_bytes,
)

CHUNK = 10


def _staged(send: int, receive: int, size: int, **more: object) -> dict[str, object]:
    return {
        "route": "staged",
        "send_nic": send,
        "receive_nic": receive,
        "size_bytes": size,
        **(more or {"stage": 0}),
    }


def _plan(folder: Path, name: str = "plan.json", **changes: Any) -> Path:
    plan = {
        "schema": 2,
        "pattern": "alltoallv",
        "topology": "h800-2x2",
        "rank_count": 4,
        "message_size_bytes": 100,
        "chunk_size_bytes": CHUNK,
        "order": "critical",
        "stage_lists": [{"total": 4, "marks": [[0, 3], [2, 4]]}],
        "transfers": [
            {"route": "direct", "size_bytes": 1000},
            _staged(0, 2, 35, stage_list=0),
            _staged(1, 3, 20, stage=1, branches=[{"receive_nic": 2, "stage": 2}]),
        ],
    }
    path = folder / name
    path.write_text(json.dumps(plan | changes), encoding="utf-8")
    return path


def test_chunks_go_to_the_stage_that_their_middle_falls_into() -> None:
    stages = StageList(4, (Mark(0, 3), Mark(2, 4)))
    assert list(segments(stages, 4)) == [(0, 3), (2, 1)]
    # The middles of two chunks are at 1/4 and 3/4, and a mark ends before 3/4.
    assert list(segments(stages, 2)) == [(0, 1), (2, 1)]
    assert list(segments(stages, 1)) == [(0, 1)]


def test_bytes_of_stages_are_those_of_the_transfers(tmp_path: Path) -> None:
    plan = load_plan(_plan(tmp_path))
    assert stage_bytes(plan) == [
        StageBytes(0, 0, 2, 30),
        StageBytes(1, 1, 3, 20),
        StageBytes(2, 0, 2, 5),
        StageBytes(2, 1, 2, 20),
    ]
    # A branch is a wire leg of its own.
    assert sent_by_nic(plan) == {0: 35, 1: 40}
    assert received_by_nic(plan) == {2: 55, 3: 20}


def test_imbalance_counts_idle_ports() -> None:
    assert imbalance([10, 30], 2) == 1.5
    assert imbalance([10, 30], 4) == 3.0
    assert imbalance([], 4) == 1.0


def test_a_presets_name_says_how_many_nics_a_node_has(tmp_path: Path) -> None:
    assert load_plan(_plan(tmp_path)).nics_per_node() == 2
    with pytest.raises(InputError, match="--nics-per-node"):
        load_plan(_plan(tmp_path, topology="mine")).nics_per_node()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema": 1}, "schema 1: expected 2"),
        ({"transfers": [{"route": "staged"}]}, "not a saved schedule"),
        ({"stage_lists": []}, "not a saved schedule"),
    ],
)
def test_what_is_no_schedule_is_refused(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        load_plan(_plan(tmp_path, **changes))


def test_charts_are_written(tmp_path: Path) -> None:
    plan = str(_plan(tmp_path))
    other = str(_plan(tmp_path, "other.json", transfers=[_staged(0, 2, 75)]))
    assert plan_chart.main([plan, str(tmp_path / "stages.svg")]) == 0
    assert plan_chart.main([plan, str(tmp_path / "balance.svg"), "--before", other]) == 0
    for name in ("stages.svg", "stages.png", "balance.svg", "balance.png"):
        assert (tmp_path / name).stat().st_size > 0


def test_a_bad_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _plan(tmp_path, "empty.json", transfers=[])
    for name in ("absent.json", "empty.json"):
        assert plan_chart.main([str(tmp_path / name), str(tmp_path / "out.svg")]) == 2
        assert capsys.readouterr().err.count("\n") == 1
