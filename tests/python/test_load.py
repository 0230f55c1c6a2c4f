from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from conftest import MIB, make_row, write_program_csv

from analysis.load import (
    InputError,
    Row,
    format_rows,
    load_paper_numbers,
    load_program_rows,
    load_rows,
)


def test_program_rows_are_read_with_types_and_further_columns_are_allowed(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    write_program_csv(path, [make_row(size_bytes=2 * MIB, busbw_gb_per_s=40.0)], extra_column=True)
    (row,) = load_program_rows(path)
    assert row.size_bytes == 2 * MIB
    assert row.busbw_gb_per_s == 40.0
    assert row.time_us == pytest.approx(2 * MIB / 40e9 * 1e6)


def test_rows_survive_writing_and_reading(tmp_path: Path) -> None:
    rows = [make_row(), make_row(pair="inter", system="nccl:8sm", rails=4, pipelining="off")]
    path = tmp_path / "rows.csv"
    path.write_text(format_rows(rows), encoding="utf-8")
    assert load_rows(path) == rows


def _spoil(tmp_path: Path, row: Row, old: str, new: str) -> Path:
    path = tmp_path / "run.csv"
    write_program_csv(path, [row])
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    path = _spoil(tmp_path, make_row(), "time_us", "time")
    with pytest.raises(InputError, match=r"run\.csv: column 'time_us' is missing"):
        load_program_rows(path)


def test_a_cell_that_is_no_number_is_named_with_its_line(tmp_path: Path) -> None:
    path = _spoil(tmp_path, make_row(), str(MIB), "large")
    with pytest.raises(InputError, match=r"run\.csv:2: size_bytes: 'large' is not a whole number"):
        load_program_rows(path)


def test_not_a_number_is_refused(tmp_path: Path) -> None:
    path = _spoil(tmp_path, make_row(busbw_gb_per_s=40.0), "40.0", "nan")
    with pytest.raises(InputError, match="'nan' is not finite"):
        load_program_rows(path)


def test_a_short_line_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    write_program_csv(path, [make_row()])
    with path.open("a", encoding="utf-8") as file:
        file.write("sendrecv,hoccl\n")
    with pytest.raises(InputError, match=r"run\.csv:3: topology: the line is too short"):
        load_program_rows(path)


@pytest.mark.parametrize("content", ["", "pattern,system\n"])
def test_an_empty_file_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "run.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match="column"):
        load_program_rows(path)


def test_a_file_without_rows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    write_program_csv(path, [])
    with pytest.raises(InputError, match="no rows"):
        load_program_rows(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.csv: No such file"):
        load_program_rows(tmp_path / "absent.csv")


def test_a_result_that_beats_its_bound_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    write_program_csv(path, [make_row(pair="inter", busbw_gb_per_s=50.1)])
    with pytest.raises(InputError, match="faster than its lower bound"):
        load_program_rows(path)


def test_bandwidth_that_does_not_follow_from_the_time_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    row = make_row(busbw_gb_per_s=40.0)
    write_program_csv(path, [dataclasses.replace(row, time_us=row.time_us * 1.1)])
    with pytest.raises(InputError, match="is not size / time"):
        load_program_rows(path)


def test_paper_numbers_of_the_repository_are_well_formed(repository: Path) -> None:
    numbers = load_paper_numbers(repository / "experiments/fig7/paper.csv")
    assert {number.id for number in numbers} == {"p2p-intra", "p2p-inter", "small", "dma-start"}
    assert all(number.where and number.statement for number in numbers)


def test_an_unknown_claim_or_a_repeated_number_is_refused(tmp_path: Path) -> None:
    head = "id,metric,unit,claim,value,where,statement\n"
    path = tmp_path / "paper.csv"
    path.write_text(head + "a,b,GB/s,about,1,Fig. 7,x\n", encoding="utf-8")
    with pytest.raises(InputError, match="claim 'about' is none of equal, above, below"):
        load_paper_numbers(path)
    path.write_text(head + "a,b,GB/s,equal,1,Fig. 7,x\n" * 2, encoding="utf-8")
    with pytest.raises(InputError, match="a/b appears twice"):
        load_paper_numbers(path)
