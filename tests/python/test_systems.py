"""The matrix of systems: its config, why kernels ran, and tables from rows of a known rule."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from conftest import make_row

from analysis.load import CollectiveRow, InputError
from analysis.reproduce import STUDIES
from analysis.style import plt
from analysis.systems_config import SystemsConfig, load_systems_config
from analysis.systems_plots import draw_systems
from analysis.systems_runs import Cell, Fallback, Run, all_runs, format_cells, parse_fallback
from analysis.systems_tables import Matrix, cells_table, first_use_table, footnote, matrix_table

MIB = 1 << 20
CONFIG = """
schema = 1
id = "systems"
title = "a test"
calibration = "machine.toml"
network = "fluid"
seed = 7
topology = "h800-2x8"
size = "1MiB"
iterations = 1
warmup = 1
first_use = ["hoccl"]

[[system]]
name = "hoccl"
label = "HOCCL"
options = "--slots 64"

[[system]]
name = "nccl:zero"
label = "NCCL-ZERO"
options = ""

[[operation]]
name = "gather"
label = "AllGather"
options = "--pattern allgather --in-place"

[[operation]]
name = "send"
label = "send/recv"
options = "--pattern sendrecv --to 8"

[[buffers]]
name = "registered"
label = "registered buffers"
options = ""

[[buffers]]
name = "dynamic"
label = "dynamic buffers"
options = "--dynamic-buffers"
"""
OUTPUT = """# hoccl sim --system nccl:zero
# simulated: pattern broadcast, system nccl:zero
# nccl:zero runs kernels of 8 SMs instead: broadcast: only allgather and alltoall run without SMs
#    size(B)     time(us)
  1073741824     22342.13
"""
WINDOW = "buffers are in no registered window"


def _load(tmp_path: Path, text: str = CONFIG) -> SystemsConfig:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    return load_systems_config(path)


@pytest.fixture
def config(tmp_path: Path) -> SystemsConfig:
    return _load(tmp_path)


def _cell(run: Run) -> Cell:
    """40 GB/s; a first use takes a quarter of it, kernels a half and 8 SMs."""
    kernels = run.system.name == "nccl:zero" and (
        run.buffers == "dynamic" or run.operation.name == "send"
    )
    busbw = 20.0 if kernels else 30.0 if run.warmup == 0 else 40.0
    row = make_row("inter", run.system.name, MIB, busbw)
    program = {
        field.name: getattr(row, field.name)
        for field in dataclasses.fields(CollectiveRow)
        if hasattr(row, field.name)
    }
    program["sms"] = 8.0 if kernels else 0.0
    reason = "sendrecv: only allgather and alltoall" if run.operation.name == "send" else WINDOW
    return Cell(
        run,
        CollectiveRow(**program, balanced_bound_pct=None, message_bytes=MIB),
        Fallback(run.system.name, 8, reason) if kernels else None,
    )


def _matrix(config: SystemsConfig) -> Matrix:
    return Matrix(config, [_cell(run) for run in all_runs(config)])


def test_the_program_says_why_kernels_run() -> None:
    fallback = parse_fallback(OUTPUT)
    reason = "broadcast: only allgather and alltoall run without SMs"
    assert fallback == Fallback("nccl:zero", 8, reason)
    assert parse_fallback(OUTPUT.replace(" runs kernels ", " has kernels ")) is None
    assert parse_fallback("") is None


def test_a_command_says_all_that_decides_the_result(config: SystemsConfig) -> None:
    commands = [" ".join(run.command(Path("hoccl"), config)) for run in all_runs(config)]
    assert commands[2] == (
        "hoccl sim --system hoccl --topology h800-2x8 --pattern allgather --in-place --slots 64"
        " --dynamic-buffers -b 1MiB -e 1MiB --iterations 1 --warmup 1 --network fluid"
        " --calibration machine.toml --seed 7 --jobs 1"
    )
    assert ["--warmup 0" in command for command in commands] == [False] * 8 + [True] * 2
    assert len(set(commands)) == len(commands) == 10


def test_the_matrix_says_speed_sms_cpu_and_share(config: SystemsConfig) -> None:
    matrix = _matrix(config)
    table = matrix_table(matrix)
    assert table.columns == ("operation", "buffers", "HOCCL", "NCCL-ZERO")
    # Launch 1 µs, proxy 12 µs, 50 GB/s between nodes.
    free, held = "40.0 | 0 SMs | 1.0 + 12 | 80.0%", "20.0 | 8 SMs [a] | 1.0 + 12 | 40.0%"
    assert table.rows[0] == ("AllGather", "registered buffers", free, free)
    assert table.rows[1] == ("AllGather", "dynamic buffers", free, held)
    assert table.rows[2][3] == held.replace("[a]", "[b]")
    assert f"[a] nccl:zero runs kernels of 8 SMs instead: {WINDOW};" in table.text
    assert list(matrix.footnotes.values()) == ["a", "b"]


def test_equal_reasons_are_one_footnote(config: SystemsConfig) -> None:
    matrix = _matrix(config)
    (send,) = {footnote(cell) for cell in matrix.cells if cell.run.operation.name == "send"} - {""}
    # Without the pattern, which the line of the table says.
    assert send == "nccl:zero runs kernels of 8 SMs instead: only allgather and alltoall"


def test_tables_have_a_cell_per_column(config: SystemsConfig) -> None:
    matrix = _matrix(config)
    every, first = cells_table(matrix), first_use_table(matrix)
    assert len(every.rows) == 10 and every.rows[3][-1] == WINDOW
    assert first.rows[0] == ("HOCCL", "AllGather", 40.0, 30.0, "-25.0%", 12.0, 12.0)
    for table in (matrix_table(matrix), every, first):
        assert all(len(row) == len(table.columns) for row in table.rows)
    operation, system = config.operations[0], config.systems[1]
    with pytest.raises(InputError, match="no run of"):
        matrix.cell(operation, "first use", system)


def test_the_picture_hatches_held_sms(config: SystemsConfig) -> None:
    figure = draw_systems(_matrix(config), "test")
    hatched = [patch for patch in figure.axes[0].patches if patch.get_hatch()]
    assert len(hatched) == 3
    words = [text.get_text() for text in figure.axes[0].texts]
    assert words[:4] == ["40.0 GB/s\n0 SMs"] * 3 + ["20.0 GB/s\n8 SMs [a]"]
    assert any("Simulated" in text.get_text() for text in figure.texts)
    plt.close(figure)


def test_results_say_why_kernels_ran(config: SystemsConfig) -> None:
    lines = format_cells([_cell(run) for run in all_runs(config)]).splitlines()
    assert lines[0].startswith("operation,buffers,options,warmup,kernels_of_sms,kernels_reason,")
    assert lines[1].startswith("gather,registered,--pattern allgather --in-place --slots 64,1,,,")
    assert f",1,8,{WINDOW}," in lines[4]


def test_the_study_of_the_repository_is_whole(repository: Path) -> None:
    folder = repository / "experiments" / "systems"
    config = load_systems_config(folder / "config.toml")
    assert config.id in STUDIES and (folder / "README.md").exists()
    commands = {tuple(run.command(Path("hoccl"), config)) for run in all_runs(config)}
    cells = len(config.systems) * len(config.operations) * len(config.buffers)
    assert len(commands) == cells + len(config.first_use) * len(config.operations)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("schema = 1", "schema = 2", "schema: expected 1"),
        ('id = "systems"', 'id = "fig7"', "id: expected systems"),
        ("seed = 7", "seed = 7\nmore = 1", "more: unknown key"),
        ("warmup = 1", "warmup = 0", "iterations and warmup of at least 1"),
        ('first_use = ["hoccl"]', 'first_use = ["none"]', "first_use: expected names of systems"),
        ('label = "HOCCL"', 'label = "HOCCL"\nmore = 1', r"system\[0\]\.more: unknown key"),
        ('name = "nccl:zero"', 'name = "hoccl"', "system: expected each name once"),
        ('name = "dynamic"', 'name = "first use"', "no 'first use'"),
        ('"--slots 64"', '"64"', "'64' belongs to no option"),
        ('"--slots 64"', '"--warmup 2"', "as --warmup"),
        ('"--slots 64"', '"--in-place"', "--in-place only once"),
    ],
)
def test_a_malformed_config_is_refused_by_key(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in CONFIG
    with pytest.raises(InputError, match=message):
        _load(tmp_path, CONFIG.replace(old, new, 1))
