"""Studies of curves: the config, the runs it asks for, and the numbers made of their rows."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from conftest import make_row

from analysis import curves
from analysis.calibration import load_calibration
from analysis.compare_with_paper import check_kinds, compare
from analysis.curves_config import CurvesConfig, load_curves_config
from analysis.curves_plots import draw_curves
from analysis.curves_runs import Result, all_runs, format_results
from analysis.curves_tables import (
    Curves,
    largest_table,
    measure,
    network_differences,
    network_table,
    panel_table,
    settings_table,
)
from analysis.load import CollectiveRow, InputError, PaperNumber
from analysis.reproduce import STUDIES
from analysis.style import plt
from analysis.units import sweep_sizes

MIB = 1 << 20
GIB = 1 << 30
CONFIG = """
schema = 1
id = "test"
title = "a test"
calibration = "sim/calibration/h800.toml"
network = "fluid"
seed = 7

[[panel]]
name = "gather"
title = "AllGather"
bound_of = "ours"

[[panel]]
name = "cost"
title = "CPU"
column = "cpu_launch_us"
log_scale = true

[[case]]
name = "ours"
label = "HOCCL"
panel = "gather"
system = "hoccl"
topology = "h800-2x8"
options = "--pattern allgather --slots 8 --in-place"
begin = "2MiB"
end = "8MiB"
factor = 2

[[case]]
name = "rival"
label = "NCCL"
panel = "gather"
system = "nccl:4sm"
topology = "h800-2x8"
options = "--pattern allgather"
begin = "2MiB"
end = "8MiB"
factor = 2

[[case]]
name = "cost"
label = "HOCCL, cost"
panel = "cost"
system = "hoccl"
topology = "h800-2x8"
options = "--to 8"
begin = "8MiB"
end = "8MiB"
factor = 2

[[setting]]
case = "ours"
name = "many slots"
options = "--slots 64"
without = ["--in-place"]

[[check]]
cases = ["ours"]
network = "cm02"
difference_max = 0.1

[[metric]]
id = "plain"
metric = "busbw"
case = "ours"
size = "8MiB"
kind = "fitted"
fitted_by = ["--slots"]
tolerance = 3.0
how = ""

[[metric]]
id = "gain"
metric = "gain"
case = "ours"
over = "rival"
size = "8MiB"
kind = "predicted"
unit = "pp"
claim = "above"
target = 0
how = ""

[[metric]]
id = "ratio"
metric = "submit"
case = "ours"
over = "rival"
ratio = true
column = "submit_us"
size = "8MiB"
kind = "predicted"
unit = "1"
claim = "below"
target = 0.5
how = ""

[[metric]]
id = "mean"
metric = "gain"
mean_over = [["ours", "rival"], ["rival", "ours"]]
size = "8MiB"
kind = "predicted"
unit = "pp"
claim = "above"
target = -3
how = ""

[[metric]]
id = "cpu"
metric = "launch"
case = "cost"
column = "cpu_launch_us"
size = "8MiB"
kind = "predicted"
unit = "us"
claim = "below"
target = 12
how = ""
"""
PAPER = [PaperNumber("plain", "busbw", "GB/s", "equal", 50.0, "Fig. 8", "50 GB/s")]


def _load(tmp_path: Path, text: str = CONFIG) -> CurvesConfig:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    return load_curves_config(path)


@pytest.fixture
def config(tmp_path: Path) -> CurvesConfig:
    return _load(tmp_path)


def _row(system: str, size_bytes: int, busbw: float) -> CollectiveRow:
    row = make_row("inter", system, size_bytes, busbw)
    program = {
        field.name: getattr(row, field.name)
        for field in dataclasses.fields(CollectiveRow)
        if hasattr(row, field.name)
    }
    return CollectiveRow(**program, balanced_bound_pct=None, message_bytes=size_bytes)


def _curves(config: CurvesConfig) -> Curves:
    """48 GB/s of ours, 40 of the rival; settings gain 2 GB/s, the other network a twentieth."""
    results = []
    for run in all_runs(config):
        busbw = 40.0 if run.case == "rival" else 48.0
        busbw += 2.0 if run.setting else 0.0
        busbw *= 0.95 if run.network == "cm02" else 1.0
        for size in sweep_sizes(run.begin_bytes, run.end_bytes, run.factor):
            results.append(Result(run, _row(run.system, size, busbw)))
    return Curves(config, results)


def test_a_command_says_all_that_decides_the_result(config: CurvesConfig) -> None:
    commands = [" ".join(run.command(Path("hoccl"), config)) for run in all_runs(config)]
    assert commands[0] == (
        "hoccl sim --system hoccl --topology h800-2x8 --pattern allgather --slots 8 --in-place"
        " -b 2MiB -e 8MiB -f 2 --network fluid --calibration sim/calibration/h800.toml --seed 7"
        " --jobs 1"
    )
    assert "--pattern allgather --slots 64 -b 8MiB -e 8MiB" in commands[3]
    assert "--network cm02" in commands[4]
    assert len(commands) == len(set(commands)) == 5


def test_each_kind_of_number(config: CurvesConfig) -> None:
    measured = measure(_curves(config))
    assert measured["plain", "busbw"].value == 48.0
    assert measured["gain", "gain"].value == pytest.approx(20.0)
    assert measured["ratio", "submit"].value == 1.0
    assert measured["mean", "gain"].value == pytest.approx((20.0 + 100.0 * (40 / 48 - 1)) / 2)
    # Launch 1 µs and submit 10 µs.
    assert measured["cpu", "launch"].value == 11.0
    rows = compare(config, PAPER, measured)
    assert [row.passed for row in rows] == [False, True, False, True, True]
    assert "fitted by --slots" in rows[0].note


def test_tables_have_a_cell_per_column(config: CurvesConfig) -> None:
    found = _curves(config)
    (setting,) = settings_table(found).rows
    assert setting[1:3] == ("many slots", "--slots 64 (without --in-place)")
    assert setting[4:] == (48.0, 50.0, "+4.2%")
    (difference,) = network_differences(found)
    assert difference.value == pytest.approx(0.05)
    panel = panel_table(found, config.panels[0])
    assert panel.rows[0] == ("2MiB", 48.0, 40.0)
    for table in (largest_table(found), settings_table(found), network_table(found), panel):
        assert all(len(row) == len(table.columns) for row in table.rows)
    with pytest.raises(InputError, match="no run of"):
        found.rows("ours", "no such setting")


def test_the_picture_shows_bound_and_paper(config: CurvesConfig) -> None:
    figure = draw_curves(_curves(config), PAPER, "test")
    _, labels = figure.axes[0].get_legend_handles_labels()
    assert labels == [
        "HOCCL: lower bound on time, calibrated rates",
        "HOCCL, simulated",
        "NCCL, simulated",
        "HOCCL, paper: 50",
    ]
    plt.close(figure)


def test_results_are_stored_with_their_options(config: CurvesConfig) -> None:
    runs = all_runs(config)
    lines = format_results([Result(runs[0], _row("hoccl", 2 * MIB, 48.0))]).splitlines()
    assert lines[0].startswith("case,setting,network,options,begin_bytes,")
    assert lines[1].startswith("ours,,fluid,--pattern allgather --slots 8 --in-place,")


@pytest.mark.parametrize("name", curves.NAMES)
def test_studies_of_the_repository_are_whole(name: str, repository: Path) -> None:
    folder = repository / "experiments" / name
    config = load_curves_config(folder / "config.toml")
    assert config.id == name and name in STUDIES and (folder / "README.md").exists()
    assert max(size for case in config.cases.values() for size in case.sizes_bytes()) == GIB
    check_kinds(config, load_calibration(repository / config.calibration))
    commands = [run.command(Path("hoccl"), config) for run in all_runs(config)]
    assert len({tuple(command) for command in commands}) == len(commands)
    for command in commands:
        options = [word for word in command if word.startswith("-") and word != "--set"]
        assert len(options) == len(set(options)), command


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("schema = 1", "schema = 2", "schema: expected 1"),
        ("seed = 7", "seed = 7\nmore = 1", "more: unknown key"),
        ('title = "CPU"', 'title = "CPU"\nmore = 1', r"panel\[1\]\.more: unknown key"),
        ('title = "CPU"', 'title = "CPU"\nbound_of = "cost"', r"bound_of: expected column"),
        ('bound_of = "ours"', 'bound_of = "cost"', "panel: expected cases in 'gather'"),
        ('"cpu_launch_us"', '"speed"', r"panel\[1\]\.column: expected busbw_gb_per_s or"),
        ('panel = "cost"', 'panel = "gather"', "panel: expected cases in 'cost'"),
        ('panel = "cost"', 'panel = "none"', r"case\[2\]\.panel: expected gather or cost"),
        ('name = "rival"', 'name = "ours"', "case: expected each name once"),
        ('options = "--to 8"', 'options = "8"', "'8' belongs to no option"),
        ('options = "--to 8"', 'options = "--jobs 2"', "none that the study gives itself"),
        ("factor = 2", "factor = 1", r"case\[0\]\.begin: expected 0 < begin"),
        ('without = ["--in-place"]', 'without = ["--qps"]', "options that the case has"),
        ('cases = ["ours"]', 'cases = ["none"]', r"check\[0\]\.cases: expected names of cases"),
        ('over = "rival"', 'over = "none"', r"metric\[1\]\.over: expected ours or rival or"),
        ('size = "8MiB"', 'size = "3MiB"', r"metric\[0\]\.size: expected a size that ours run"),
        ('["rival", "ours"]]', '["rival"]]', "mean_over: expected pairs of names"),
        ('over = "rival"\nratio = true', "ratio = true", "ratio: expected one case over another"),
        ('fitted_by = ["--slots"]', 'fitted_by = ["--qps"]', "options that the case has"),
        ('kind = "fitted"', 'kind = "guessed"', "kind: expected input or fitted or predicted"),
    ],
)
def test_a_malformed_config_is_refused_by_key(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in CONFIG
    with pytest.raises(InputError, match=message):
        _load(tmp_path, CONFIG.replace(old, new, 1))
