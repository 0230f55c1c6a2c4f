"""The tornado: its config, the runs it asks for, and tables from rows of a known rule."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from conftest import make_row

from analysis import tornado_tables
from analysis.calibration import Calibration, load_calibration
from analysis.compare_with_paper import ComparisonRow
from analysis.load import CollectiveRow, InputError
from analysis.reproduce import STUDIES
from analysis.style import plt
from analysis.tornado_config import TornadoConfig, load_tornado_config
from analysis.tornado_plots import draw_tornado
from analysis.tornado_runs import Result, Run, all_runs, changes, format_results
from analysis.tornado_tables import Sensitivity, fitted_line, sensitivities

MIB = 1 << 20
CALIBRATION = """
schema = 1
[nvlink.efficiency]
value = 0.9
source = "a figure"
kind = "fitted"
[copy_engine.concurrency]
value = 4
source = "assumed"
kind = "input"
[cpu.submit]
value = "8us"
source = "assumed"
kind = "input"
"""
CONFIG = """
schema = 1
id = "tornado"
title = "a test"
calibration = "machine.toml"
network = "fluid"
seed = 7
change_pct = 20
shown_above_pct = 0.1
bars_max = 10
nudges = [1e-9]
nudged = ["nvlink.efficiency"]

[[number]]
name = "send"
figure = "Fig. 7"
system = "hoccl"
topology = "h800-2x8"
options = "--to 1 --slots 16"
size = "1MiB"
column = "busbw_gb_per_s"

[[number]]
name = "launch"
figure = "Fig. 9"
system = "hoccl"
topology = "h800-2x8"
options = "--to 8"
size = "1MiB"
column = "cpu_launch_us"
"""


def _load(tmp_path: Path, text: str = CONFIG) -> TornadoConfig:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    return load_tornado_config(path)


@pytest.fixture
def config(tmp_path: Path) -> TornadoConfig:
    return _load(tmp_path)


@pytest.fixture
def calibration(tmp_path: Path) -> Calibration:
    path = tmp_path / "machine.toml"
    path.write_text(CALIBRATION, encoding="utf-8")
    return load_calibration(path)


def _row(busbw: float) -> CollectiveRow:
    row = make_row("intra", "hoccl", MIB, busbw)
    program = {
        field.name: getattr(row, field.name)
        for field in dataclasses.fields(CollectiveRow)
        if hasattr(row, field.name)
    }
    return CollectiveRow(**program, balanced_bound_pct=None, message_bytes=MIB)


def _measure(run: Run) -> Result:
    """100 GB/s, in proportion to the share of NVLink; a nudge moves it by half a percent."""
    busbw = 100.0
    if run.change is not None and run.change.step == "nudge":
        busbw = 100.5 if run.change.change_pct > 0 else 99.8
    elif run.change is not None and run.change.constant == "nvlink.efficiency":
        busbw = 100.0 * float(run.change.value) / 0.9
    return Result(run, _row(busbw))


def _found(config: TornadoConfig, calibration: Calibration) -> list[Sensitivity]:
    return sensitivities(config, [_measure(run) for run in all_runs(config, calibration)])


def test_every_constant_goes_down_and_up(config: TornadoConfig, calibration: Calibration) -> None:
    found = changes(config, calibration)
    steps = [(change.constant, change.step, change.value) for change in found]
    assert steps[:6] == [
        ("nvlink.efficiency", "-20%", "0.72"),
        ("nvlink.efficiency", "+20%", "1.0"),
        ("copy_engine.concurrency", "-20%", "3"),
        ("copy_engine.concurrency", "+20%", "5"),
        ("cpu.submit", "-20%", "6.4us"),
        ("cpu.submit", "+20%", "9.6us"),
    ]
    assert [step[:2] for step in steps[6:]] == [("nvlink.efficiency", "nudge")] * 2
    runs = all_runs(config, calibration)
    assert [run.change for run in runs[:2]] == [None, None] and len(runs) == 2 + 2 * 8


def test_a_command_says_all_that_decides_the_result(
    config: TornadoConfig, calibration: Calibration
) -> None:
    runs = all_runs(config, calibration)
    commands = [" ".join(run.command(Path("hoccl"), config)) for run in runs]
    assert commands[0] == (
        "hoccl sim --system hoccl --topology h800-2x8 --to 1 --slots 16 -b 1MiB -e 1MiB"
        " --network fluid --calibration machine.toml --seed 7 --jobs 1"
    )
    assert "--set nvlink.efficiency=0.72 " in commands[2]
    assert len(set(commands)) == len(commands)


def test_effects_are_sorted_and_ties_kept_apart(
    config: TornadoConfig, calibration: Calibration
) -> None:
    send, launch = _found(config, calibration)
    (effect,) = send.above(config.shown_above_pct)
    assert effect.constant == "nvlink.efficiency"
    assert effect.down_pct == pytest.approx(-20.0)
    assert effect.up_pct == pytest.approx(100.0 / 9.0)
    assert send.ties_pct == pytest.approx(0.5)
    # Launch 1 µs and submit 10 µs, whatever the constant.
    assert launch.value == 11.0 and launch.ties_pct == 0.0
    assert launch.above(config.shown_above_pct) == []


def test_tables_have_a_cell_per_column(config: TornadoConfig, calibration: Calibration) -> None:
    found = _found(config, calibration)
    numbers = tornado_tables.numbers_table(config, found)
    assert numbers.rows[0][0] == "Fig. 7, send" and numbers.rows[0][5] == "1"
    assert numbers.rows[1][6] == "none"
    effects = tornado_tables.effects_table(config, found)
    assert effects.rows == [
        (
            *("Fig. 7, send", "nvlink.efficiency", "fitted", "0.72 / 1.0"),
            *("-20.0% / +11.1%", "-20.00", "+11.11", ""),
        )
    ]
    assert "2 of 3 constants change no number" in effects.text
    fitted = tornado_tables.fitted_table(config, found, calibration, [])
    assert fitted.rows == [("nvlink.efficiency", "0.9", "Fig. 7, send -20.0/+11.1%")]
    for table in (numbers, effects, fitted):
        assert all(len(row) == len(table.columns) for row in table.rows)


def test_effects_no_larger_than_ties_say_so(
    config: TornadoConfig, calibration: Calibration
) -> None:
    found = [dataclasses.replace(entry, ties_pct=30.0) for entry in _found(config, calibration)]
    assert tornado_tables.effects_table(config, found).rows[0][-1] == "no more than ties"


def test_fitted_constants_are_counted_against_rows_of_the_paper(calibration: Calibration) -> None:
    def row(kind: str, paper: str, passed: bool) -> ComparisonRow:
        return ComparisonRow("a", "fig7", "b", "us", paper, "1", "0", passed, kind, "")

    rows = [row("fitted", "1", True), row("predicted", "1", False), row("predicted", "", True)]
    line = fitted_line(calibration, rows)
    assert "1 fitted constants: nvlink.efficiency." in line
    assert "(fig7): 1 fitted (1 pass), 1 predicted (0 pass)." in line
    assert "no rows of the paper" in fitted_line(calibration, [])


def test_the_picture_has_a_panel_per_number(
    config: TornadoConfig, calibration: Calibration
) -> None:
    figure = draw_tornado(config, _found(config, calibration), "test")
    assert figure.axes[0].get_title().startswith("Fig. 7, send\n1MiB: 100")
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == ["nvlink.efficiency\n(-20.0% / +11.1%)"]
    assert any("Simulated" in text.get_text() for text in figure.texts)
    plt.close(figure)


def test_results_say_what_was_changed(config: TornadoConfig, calibration: Calibration) -> None:
    runs = all_runs(config, calibration)
    lines = format_results([_measure(run) for run in runs]).splitlines()
    assert lines[0].startswith("figure,number,column,constant,kind,step,value,change_pct,options,")
    assert lines[3].startswith("Fig. 7,send,busbw_gb_per_s,nvlink.efficiency,fitted,-20%,0.72,")


def test_the_study_of_the_repository_is_whole(repository: Path) -> None:
    folder = repository / "experiments" / "tornado"
    config = load_tornado_config(folder / "config.toml")
    assert config.id in STUDIES and (folder / "README.md").exists()
    runs = all_runs(config, load_calibration(repository / config.calibration))
    commands = {tuple(run.command(Path("hoccl"), config)) for run in runs if run.change is None}
    # Fig. 7 and Fig. 9 read two numbers off one run.
    assert len(config.numbers) - 1 <= len(commands) <= len(config.numbers)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("schema = 1", "schema = 2", "schema: expected 1"),
        ('id = "tornado"', 'id = "fig7"', "id: expected tornado"),
        ("seed = 7", "seed = 7\nmore = 1", "more: unknown key"),
        ("change_pct = 20", "change_pct = 100", "change_pct: expected above 0"),
        ("bars_max = 10", "bars_max = 0", "bars_max of at least 1"),
        ("nudges = [1e-9]", "nudges = [0.1]", "nudges: expected relative changes"),
        ('"launch"', '"launch"\nmore = 1', r"number\[1\]\.more: unknown key"),
        ('"cpu_launch_us"', '"speed"', r"number\[1\]\.column: expected busbw_gb_per_s or"),
        ('options = "--to 8"', 'options = "8"', "'8' belongs to no option"),
        ('options = "--to 8"', 'options = "--set a=1"', "as --set"),
        ('options = "--to 8"', 'options = "-b 1MiB"', "as -b"),
        ('"launch"\nfigure = "Fig. 9"', '"send"\nfigure = "Fig. 7"', "number: expected each name"),
    ],
)
def test_a_malformed_config_is_refused_by_key(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in CONFIG
    with pytest.raises(InputError, match=message):
        _load(tmp_path, CONFIG.replace(old, new, 1))


def test_unknown_constants_and_values_are_refused(
    tmp_path: Path, calibration: Calibration
) -> None:
    text = CONFIG.replace('nudged = ["nvlink.efficiency"]', 'nudged = ["no.such"]')
    with pytest.raises(InputError, match="no constant 'no.such'"):
        changes(_load(tmp_path, text), calibration)
    odd = dataclasses.replace(calibration.constants[0], value="fast")
    with pytest.raises(InputError, match=r"nvlink\.efficiency: 'fast'"):
        changes(_load(tmp_path), dataclasses.replace(calibration, constants=(odd,)))
