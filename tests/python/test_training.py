"""Studies of training steps: configuration, solver, numbers and panels."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from analysis import report
from analysis.compare_with_paper import ComparisonRow
from analysis.load import InputError
from analysis.training_config import (
    COLUMNS,
    NAMES,
    Layout,
    Target,
    TrainingConfig,
    load_training_config,
)
from analysis.training_plots import binned_sms
from analysis.training_runs import (
    Result,
    Run,
    Step,
    all_runs,
    fit_layout,
    format_steps,
    read_sms,
    read_step,
)
from analysis.training_tables import Steps, layouts_table, measure, panel_series, settings_table

_CONFIG = """
schema = 1
id = "mine"
title = "Mine"
calibration = "sim/calibration/h800.toml"
network = "fluid"
seed = 1

[[panel]]
name = "tflops"
title = "Throughput"
kind = "points"
column = "tflops_per_gpu"
x_label = "micro-batch"
over = "NCCL"
why = "Because."

[[case]]
name = "nccl"
label = "NCCL"
model = "gpt-6.7b"
system = "nccl"
panel = "tflops"
x = "2"

[[case]]
name = "hoccl"
label = "HOCCL"
model = "gpt-6.7b"
system = "hoccl"
options = "--mbs 2"
panel = "tflops"
x = "2"

[[metric]]
id = "gain"
metric = "gain"
case = "hoccl"
over = "nccl"
column = "tflops_per_gpu"
kind = "predicted"
tolerance = 0.5
how = "HOCCL over NCCL"

[[metric]]
id = "slope"
metric = "slope"
case = "nccl"
over = "hoccl"
how_over = "per_isum"
column = "forward_ms"
kind = "input"
tolerance = 0.5
how = "per 10% of Isum"

[[setting]]
name = "more"
case = "hoccl"
over = "nccl"
columns = ["tflops_per_gpu"]
options = "--mbs 4"
"""


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str], TrainingConfig]:
    def read(text: str) -> TrainingConfig:
        path = tmp_path / "config.toml"
        path.write_text(text, encoding="utf-8")
        return load_training_config(path)

    return read


def _step(**values: float) -> Step:
    return dict.fromkeys(COLUMNS, 1.0) | values


def _steps(config: TrainingConfig) -> Steps:
    found = {
        ("nccl", ""): _step(tflops_per_gpu=200.0, forward_ms=10.5, isum_forward_pct=5.0),
        ("hoccl", ""): _step(tflops_per_gpu=210.0, forward_ms=10.0),
        ("nccl", "more"): _step(tflops_per_gpu=220.0, overlapped_sms=12.0),
        ("hoccl", "more"): _step(tflops_per_gpu=220.0),
    }
    runs = {(run.case.name, run.setting): run for run in all_runs(config)}
    return Steps(config, [Result(runs[key], step, [], []) for key, step in found.items()])


@pytest.mark.parametrize("name", NAMES)
def test_every_study_of_the_repository_is_read(name: str) -> None:
    config = load_training_config(Path("experiments") / name / "config.toml")
    assert config.id == name
    assert all(config.cases_of(panel) for panel in config.panels)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ('kind = "points"', 'kind = "dots"', "kind"),
        ('column = "tflops_per_gpu"\nx_label', "x_label", "column"),
        ('why = "Because."', "", "why"),
        ('x = "2"', "", "x"),
        ('panel = "tflops"\nx = "2"\n\n[[case]]', 'panel = "tflop"\nx = "2"\n\n[[case]]', "panel"),
        ('options = "--mbs 2"', 'options = "--csv a"', "--csv"),
        ('options = "--mbs 2"', 'options = "--model a"', "--model"),
        ('over = "NCCL"', 'over = "VCCL"', "over"),
        ('how_over = "per_isum"', 'how_over = "per_sm"', "how_over"),
        ('columns = ["tflops_per_gpu"]', 'columns = ["tflops"]', "columns"),
        ("seed = 1", "seed = 1\nsede = 2", "sede"),
    ],
)
def test_bad_keys_are_refused(
    load: Callable[[str], TrainingConfig], before: str, after: str, words: str
) -> None:
    assert before in _CONFIG
    with pytest.raises(InputError, match=words):
        load(_CONFIG.replace(before, after, 1))


def test_settings_run_both_cases_once(load: Callable[[str], TrainingConfig]) -> None:
    runs = all_runs(load(_CONFIG))
    assert [(run.case.name, run.setting) for run in runs] == [
        ("nccl", ""),
        ("hoccl", ""),
        ("hoccl", "more"),
        ("nccl", "more"),
    ]
    assert runs[2].options == ("--mbs", "4")


def test_numbers_are_gains_and_slopes(load: Callable[[str], TrainingConfig]) -> None:
    found = measure(_steps(load(_CONFIG)))
    assert found["gain", "gain"].value == pytest.approx(5.0)
    # 5% longer at 5% of Isum: 10% at 10%.
    assert found["slope", "slope"].value == pytest.approx(10.0)


def test_panels_show_gains_over_a_series(load: Callable[[str], TrainingConfig]) -> None:
    config = load(_CONFIG)
    series = panel_series(_steps(config), config.panels[0])
    assert list(series) == ["HOCCL"]
    ((place, gain),) = series["HOCCL"]
    assert place == "2"
    assert gain == pytest.approx(5.0)


def test_settings_table_shows_before_and_after(load: Callable[[str], TrainingConfig]) -> None:
    (row,) = settings_table(_steps(load(_CONFIG))).rows
    assert row[-3:] == ("+5.00%", "+0.00%", 12.0)


def test_steps_are_read_and_written(load: Callable[[str], TrainingConfig]) -> None:
    text = ",".join(["model", *COLUMNS]) + "\n" + ",".join(["m", *("2" for _ in COLUMNS)]) + "\n"
    step = read_step(text, "here")
    assert step["step_ms"] == 2.0
    with pytest.raises(InputError, match="here"):
        read_step("model\nm\n", "here")
    config = load(_CONFIG)
    run = Run(config.cases["hoccl"], "", ("--mbs", "2"))
    lines = format_steps([Result(run, step, [], [])]).splitlines()
    assert lines[1].startswith("hoccl,,gpt-6.7b,hoccl,--mbs 2,2,")


def test_sms_are_read_in_milliseconds() -> None:
    text = "time_us,tp_sms,pp_sms,dp_sms,ep_sms\n1500,16,0,8,0\n"
    assert read_sms(text) == [(1.5, {"tp": 16, "pp": 0, "dp": 8, "ep": 0})]


def test_sms_are_averaged_over_spans_of_time() -> None:
    none = {"tp": 0, "pp": 0, "dp": 0, "ep": 0}
    samples = [
        (0.0, none),
        (1.0, none | {"pp": 8}),
        (3.0, none),
        (4.0, none),
    ]
    times, held = binned_sms(samples, 2)
    assert times == [1.0, 3.0]
    assert held["pp"] == [4.0, 4.0]
    assert held["tp"] == [0.0, 0.0]


def _machine(system: str, options: tuple[str, ...]) -> Step:
    """Kernels of 6 and 10 ms at speed 1, half a millisecond of communication, HOCCL 5% faster."""
    values = dict(word.split("=") for word in options if "=" in word)
    faster = 1.05 if system == "hoccl" else 1.0
    forward = (0.5 + 6.0 / float(values["speed.forward"])) / faster
    backward = (0.5 + 10.0 / float(values["speed.backward"])) / faster
    overhead = float(values.get("speed.step_overhead", "0ms").removesuffix("ms"))
    step = 10.0 * (forward + backward) + overhead
    return _step(
        forward_ms=forward, backward_ms=backward, step_ms=step, tflops_per_gpu=1e5 / step
    )


def test_a_layout_is_fitted_to_nccl_and_predicts_the_gain() -> None:
    target = Target("m", tflops_per_gpu=200.0, forward_ms=13.0, backward_ms=23.0)
    fitted = fit_layout(Layout(target, ("--tp", "2")), _machine)
    assert fitted.nccl is not None
    assert fitted.nccl["forward_ms"] == pytest.approx(13.0, rel=1e-3)
    assert fitted.nccl["backward_ms"] == pytest.approx(23.0, rel=1e-3)
    assert fitted.nccl["tflops_per_gpu"] == pytest.approx(200.0, rel=1e-3)
    assert fitted.overhead_ms == pytest.approx(500.0 - 360.0, rel=1e-2)
    # Less than 5%, as the overhead does not shrink.
    assert 3.0 < fitted.gains["tflops_per_gpu"] < 4.0
    (row,) = layouts_table([fitted]).rows
    assert row[1] == "--tp 2"


@pytest.mark.parametrize(
    ("changes", "why"),
    [({"forward_ms": 6.4}, "speed"), ({"tflops_per_gpu": 300.0}, "slower")],
)
def test_a_layout_that_can_not_meet_nccl_says_so(changes: dict[str, float], why: str) -> None:
    target = Target("m", tflops_per_gpu=200.0, forward_ms=13.0, backward_ms=23.0)
    changed = dataclasses.replace(target, **changes)
    fitted = fit_layout(Layout(changed, ("--tp", "2")), _machine)
    assert fitted.nccl is None
    (row,) = layouts_table([fitted]).rows
    assert why in str(row[2])


def test_one_speed_is_fitted_where_no_passes_are_known() -> None:
    fitted = fit_layout(Layout(Target("m", 300.0, None, None), ("--tp", "2")), _machine)
    assert fitted.nccl is not None
    assert fitted.nccl["tflops_per_gpu"] == pytest.approx(300.0, rel=1e-3)
    assert fitted.speeds[0] == fitted.speeds[1]


def test_the_page_begins_with_what_matched() -> None:
    row = ComparisonRow("a", "fig1", "m", "ms", "2", "3", "50.000", False, "predicted", "because <b>")
    rows = [dataclasses.replace(row, id="fine", passed=True, paper="3"), row]
    page = report.assemble({"fig1": "<section>one</section>"}, rows)
    assert "1 of 2 numbers of the paper match" in page
    assert page.index("because &lt;b&gt;") < page.index("fine") < page.index("<section>one")
    assert "What matched" not in report.assemble({"fig1": ""}, [dataclasses.replace(row, paper="")])
