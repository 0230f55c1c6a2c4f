"""Running the program: stand-ins that fail or answer wrongly."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from conftest import MIB, make_row, write_program_csv

from analysis.config import FigureConfig, load_config
from analysis.load import InputError
from analysis.runs import Cell, RunFailed, expand, run_all, run_cell


@pytest.fixture
def config(repository: Path) -> FigureConfig:
    return load_config(repository / "experiments/fig7/config.toml")


@pytest.fixture
def cell(config: FigureConfig) -> Cell:
    first = next(expand(config, config.groups["curve"]))
    return dataclasses.replace(first, begin_bytes=2 * MIB, end_bytes=4 * MIB)


def _program(tmp_path: Path, body: str) -> Path:
    """A shell program; "$csv" is the file that --csv names."""
    path = tmp_path / "program"
    find = 'while [ $# -gt 0 ]; do if [ "$1" = --csv ]; then csv=$2; fi; shift; done\n'
    path.write_text(f"#!/bin/sh\n{find}{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def _answering(tmp_path: Path, sizes: list[int]) -> Path:
    answer = tmp_path / "answer.csv"
    write_program_csv(answer, [make_row(size_bytes=size) for size in sizes])
    return _program(tmp_path, f'cp "{answer}" "$csv"')


def test_rows_carry_the_options_they_were_run_with(
    tmp_path: Path, config: FigureConfig, cell: Cell
) -> None:
    program = _answering(tmp_path, [2 * MIB, 4 * MIB])
    outcome = run_cell(program, config, cell, tmp_path)
    assert [row.size_bytes for row in outcome.rows] == [2 * MIB, 4 * MIB]
    assert {(row.group, row.pair, row.network) for row in outcome.rows} == {
        ("curve", cell.pair.name, cell.network)
    }
    assert outcome.command[:2] == [str(program), "sim"]
    assert (tmp_path / f"{cell.name}.csv").exists()


def test_the_programs_own_line_is_the_error_and_no_file_is_left(
    tmp_path: Path, config: FigureConfig, cell: Cell
) -> None:
    program = _program(tmp_path, 'echo half > "$csv"; echo "error: no such topology" >&2; exit 2')
    with pytest.raises(RunFailed, match=r"^error: no such topology \(exit 2: "):
        run_cell(program, config, cell, tmp_path / "runs")
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_missing_program_is_named(tmp_path: Path, config: FigureConfig, cell: Cell) -> None:
    with pytest.raises(RunFailed, match="absent: No such file"):
        run_cell(tmp_path / "absent", config, cell, tmp_path)


def test_a_run_that_answers_other_sizes_is_refused(
    tmp_path: Path, config: FigureConfig, cell: Cell
) -> None:
    with pytest.raises(RunFailed, match="other sizes"):
        run_cell(_answering(tmp_path, [2 * MIB]), config, cell, tmp_path)


def test_a_run_that_writes_no_table_is_refused(
    tmp_path: Path, config: FigureConfig, cell: Cell
) -> None:
    with pytest.raises(InputError, match="No such file"):
        run_cell(_program(tmp_path, "exit 0"), config, cell, tmp_path)


def test_outcomes_keep_the_order_of_the_cells(
    tmp_path: Path, config: FigureConfig, cell: Cell
) -> None:
    program = _answering(tmp_path, [2 * MIB, 4 * MIB])
    cells = [dataclasses.replace(cell, chunk_bytes=MIB << doubling) for doubling in range(5)]
    lines: list[str] = []
    outcomes = run_all(program, config, cells, tmp_path / "runs", lines.append)
    assert [outcome.rows[0].chunk_bytes for outcome in outcomes] == [
        cell.chunk_bytes for cell in cells
    ]
    assert len(lines) == len(cells)
    assert lines[-1].startswith("run 5/5 ")


def test_one_failing_run_fails_all(tmp_path: Path, config: FigureConfig, cell: Cell) -> None:
    program = _program(tmp_path, "echo 'error: boom' >&2; exit 3")
    with pytest.raises(RunFailed, match="error: boom"):
        run_all(program, config, [cell] * 4, tmp_path, print)
