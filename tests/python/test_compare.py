from __future__ import annotations

import csv
import dataclasses
from pathlib import Path

import pytest

from analysis.calibration import Calibration, Constant
from analysis.compare_with_paper import (
    COLUMNS,
    ComparisonRow,
    Measured,
    check_kinds,
    compare,
    judge,
    load_comparison,
    replace_rows,
    update_comparison,
)
from analysis.config import FigureConfig, Metric, load_config
from analysis.load import InputError, PaperNumber

METRIC = Metric(
    id="p2p",
    metric="busbw",
    kind="predicted",
    fitted_by=(),
    how="",
    note="",
    tolerance=3.0,
    unit=None,
    claim=None,
    target=None,
)
PAPER = PaperNumber("p2p", "busbw", "GB/s", "equal", 50.0, "Fig. 7", "50 GB/s")


@pytest.mark.parametrize(
    ("ours", "error", "passed"),
    [(50.0, "0.000", True), (51.4, "2.800", True), (48.4, "-3.200", False), (52.0, "4.000", False)],
)
def test_a_number_passes_within_its_tolerance_in_percent(
    ours: float, error: str, passed: bool
) -> None:
    row = judge("fig7", METRIC, PAPER, Measured(ours))
    assert (row.paper, row.error, row.passed) == ("50", error, passed)


def test_a_gain_is_judged_in_points() -> None:
    metric = dataclasses.replace(METRIC, tolerance=1.0)
    paper = dataclasses.replace(PAPER, unit="pp", value=23.0)
    row = judge("fig7", metric, paper, Measured(22.2))
    assert (row.error, row.passed) == ("-0.800", True)
    assert not judge("fig7", metric, paper, Measured(21.8)).passed


@pytest.mark.parametrize(
    ("ours", "error", "passed"),
    [(30.0, "0.000", True), (20.0, "0.000", False), (15.0, "-25.000", False)],
)
def test_a_claim_above_passes_only_above(ours: float, error: str, passed: bool) -> None:
    row = judge(
        "fig7", METRIC, dataclasses.replace(PAPER, claim="above", value=20.0), Measured(ours)
    )
    assert (row.error, row.passed) == (error, passed)
    assert "claim: above" in row.note


def test_a_target_of_ours_never_stands_in_the_papers_column() -> None:
    metric = dataclasses.replace(METRIC, unit="GB/s", claim="above", target=48.5, tolerance=None)
    row = judge("fig7", metric, None, Measured(48.6, "chunk 4MiB"))
    assert row.passed
    assert row.paper == ""
    assert row.note == "target of ours, not of the paper: above 48.5; chunk 4MiB"


def test_a_row_is_fitted_only_by_options_and_by_constants_that_are(config: FigureConfig) -> None:
    constants = (Constant("rate", "1", "", "fitted"), Constant("port", "1", "", "input"))
    calibration = Calibration(Path("machine.toml"), "", constants)
    for name, fits in (("rate", True), ("--slots", True), ("port", False), ("absent", False)):
        metric = dataclasses.replace(METRIC, kind="fitted", fitted_by=(name,))
        judged = dataclasses.replace(config, metrics=(metric,))
        if fits:
            check_kinds(judged, calibration)
        else:
            with pytest.raises(InputError, match=f"'{name}' is no fitted constant of machine.toml"):
                check_kinds(judged, calibration)


def test_a_row_without_expectation_or_with_two_is_refused() -> None:
    with pytest.raises(InputError, match="p2p/busbw: neither in paper.csv nor given a target"):
        judge("fig7", METRIC, None, Measured(1.0))
    both = dataclasses.replace(METRIC, unit="GB/s", claim="above", target=48.5)
    with pytest.raises(InputError, match="both a number of the paper and a target of ours"):
        judge("fig7", both, PAPER, Measured(1.0))
    with pytest.raises(InputError, match="a tolerance is needed"):
        judge("fig7", dataclasses.replace(METRIC, tolerance=None), PAPER, Measured(1.0))


@pytest.fixture
def config(repository: Path) -> FigureConfig:
    base = load_config(repository / "experiments/fig7/config.toml")
    return dataclasses.replace(base, metrics=(METRIC,))


def test_every_number_of_the_paper_needs_a_row_and_every_row_a_measurement(
    config: FigureConfig,
) -> None:
    key = ("p2p", "busbw")
    assert len(compare(config, [PAPER], {key: Measured(50.0)})) == 1
    with pytest.raises(InputError, match="nothing measures p2p/busbw"):
        compare(config, [PAPER], {})
    other = dataclasses.replace(PAPER, metric="algbw")
    with pytest.raises(InputError, match="lacks p2p/algbw of paper.csv"):
        compare(config, [PAPER, other], {key: Measured(50.0)})
    with pytest.raises(InputError, match="lacks p2p/x of the measurements"):
        compare(config, [PAPER], {key: Measured(50.0), ("p2p", "x"): Measured(1.0)})


def _row(figure: str, ours: str) -> ComparisonRow:
    return ComparisonRow(
        id="id",
        figure=figure,
        metric="m",
        unit="GB/s",
        paper="1",
        ours=ours,
        error="0.000",
        passed=False,
        kind="fitted",
        note='with, comma and "quotes"',
    )


def test_a_figure_replaces_only_its_own_rows() -> None:
    existing = [_row("fig7", "old"), _row("fig7", "old"), _row("fig11", "kept")]
    rows = replace_rows(existing, "fig7", [_row("fig7", "new")])
    assert [(row.figure, row.ours) for row in rows] == [("fig7", "new"), ("fig11", "kept")]


def test_figures_are_sorted_by_number() -> None:
    rows = replace_rows([_row("fig11", "a"), _row("fig2", "b")], "fig7", [_row("fig7", "c")])
    assert [row.figure for row in rows] == ["fig2", "fig7", "fig11"]


def test_the_file_has_the_agreed_columns_and_survives_a_second_update(tmp_path: Path) -> None:
    path = tmp_path / "results" / "comparison.csv"
    update_comparison(path, "fig8", [_row("fig8", "other")])
    update_comparison(path, "fig7", [_row("fig7", "first")])
    update_comparison(path, "fig7", [_row("fig7", "second")])
    assert load_comparison(path) == [_row("fig7", "second"), _row("fig8", "other")]
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        assert reader.fieldnames == [
            "id", "figure", "metric", "unit", "paper", "ours", "error", "pass", "kind", "note"
        ]  # fmt: skip
        assert [record["pass"] for record in reader] == ["no", "no"]
    assert [entry.name for entry in path.parent.iterdir()] == ["comparison.csv"]


def test_a_file_of_other_columns_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "comparison.csv"
    path.write_text("something,else\n1,2\n", encoding="utf-8")
    with pytest.raises(InputError, match=f"expected the columns {COLUMNS[0]},"):
        update_comparison(path, "fig7", [])
    assert path.read_text(encoding="utf-8") == "something,else\n1,2\n"
