"""The scheduler study: its config, its runs, and what its tables say."""

from __future__ import annotations

import csv
import io
import itertools
from pathlib import Path

import pytest

from analysis.calibration import load_calibration
from analysis.compare_with_paper import Measured, compare
from analysis.flow_times import flow_end_times_us, percentile
from analysis.load import CollectiveRow, InputError, load_collective_rows, load_paper_numbers
from analysis.scheduler_config import SchedulerConfig, load_scheduler_config
from analysis.scheduler_plots import draw_ablation, draw_flow_times, draw_skew
from analysis.scheduler_runs import Result, Run, all_runs, cpu_costs_off, format_results
from analysis.scheduler_tables import (
    ablation_table,
    select,
    skew_table,
    skew_verdicts,
    small_table,
    target_table,
)
from analysis.style import plt

CONFIG = Path("experiments/scheduler/config.toml")
CONSTANTS = ("nic.efficiency", "cpu.post_copy", "cpu.finish")


@pytest.fixture
def config() -> SchedulerConfig:
    return load_scheduler_config(CONFIG)


def _row(run: Run, balanced_pct: float) -> CollectiveRow:
    return CollectiveRow(
        pattern="alltoallv",
        system="hoccl",
        topology=run.topology,
        size_bytes=run.size_bytes,
        time_us=1000.0,
        algbw_gb_per_s=run.size_bytes / 1e6,
        busbw_gb_per_s=100.0,
        bound_pct=90.0,
        calibrated_bound_pct=91.0,
        launch_us=1.0,
        submit_us=1.0,
        proxy_us=1.0,
        sms=0.0,
        balanced_bound_pct=balanced_pct,
        message_bytes=run.size_bytes,
    )


def _results(config: SchedulerConfig, worst_seed: int = 3) -> list[Result]:
    """Every run at 95% of the bound, but one of ours at 80%."""
    ours = config.skew.plans[0].name
    results = []
    for run in all_runs(config, CONSTANTS):
        is_worst = (
            run.part == "skew"
            and run.plan == ours
            and run.concurrency == config.concurrencies[0]
            and (run.topology, run.kind, run.seed) == ("h800-4x8", "zipf", worst_seed)
        )
        results.append(Result(run, _row(run, 80.0 if is_worst else 95.0)))
    return results


def test_every_run_is_there_once(config: SchedulerConfig) -> None:
    runs = all_runs(config, CONSTANTS)
    assert len(set(runs)) == len(runs)
    ours = [
        run
        for run in runs
        if run.part == "skew"
        and run.plan == config.skew.plans[0].name
        and run.concurrency == config.concurrencies[0]
    ]
    # What the issue asks for: five kinds and a sixth shown, three topologies, 20 seeds.
    assert len(ours) == 6 * 3 * 20
    assert {run.part for run in runs} == {"target", "skew", "small", "ablation"}


def test_a_command_says_all_that_decides_the_result(config: SchedulerConfig) -> None:
    run = next(run for run in all_runs(config, CONSTANTS) if run.plan == "symmetric + bvn")
    command = " ".join(run.command(Path("hoccl"), config))
    assert command == (
        "hoccl sim --topology h800-2x8 --pattern alltoallv --matrix uniform --in-place"
        " --forwarding symmetric --order bvn --slots 64 --nic-depth 6 --streams 5 --quantum 5"
        " -b 1GiB -e 1GiB --seed 1 --calibration sim/calibration/h800.toml --set copy_engine.concurrency=4 --jobs 1"
    )


def test_cpu_costs_are_all_those_of_the_calibration() -> None:
    assert cpu_costs_off(CONSTANTS) == (
        *("--set", "cpu.post_copy=0us"),
        *("--set", "cpu.finish=0us"),
    )
    names = [item.name for item in load_calibration(Path("sim/calibration/h800.toml")).constants]
    assert "--set" in cpu_costs_off(names)


def test_verdict_names_the_worst_run(config: SchedulerConfig) -> None:
    first, second = skew_verdicts(config, _results(config)).rows
    assert first[:8] == ("4", "300", 95.0, "≥ 92", "yes", 80.0, "≥ 88", "NO")
    assert first[8] == "zipf, h800-4x8, seed 3"
    assert second[5:8] == (95.0, "≥ 78", "yes")


def test_tables_have_a_line_per_case(config: SchedulerConfig) -> None:
    results = _results(config)
    targets = target_table(config, results)
    assert len(targets.rows) == len(config.targets)
    # 100 GB/s misses the 166 asked for, 91% misses 92 and meets 90.
    assert [row[-1] for row in targets.rows[:2]] == ["NO", "NO"]
    assert targets.rows[-1][-1] == "yes"
    skew = skew_table(config, results)
    assert len(skew.rows) == (len(config.skew.plans) + 1) * len(config.skew.topologies)
    assert skew.rows[1][4:7] == ("95.0 / 95.0", "95.0 / 95.0", "95.0 / 80.0")
    small = small_table(config, results)
    assert [row[-1] for row in small.rows if row[-2]] == ["yes"]
    ablation = ablation_table(config, results)
    assert len(ablation.rows) == 2 * len(config.ablation.without)
    assert ablation.rows[1][3] == "100.0 (+0%)"
    for table in (targets, skew, small, ablation):
        assert all(len(row) == len(table.columns) for row in table.rows)


def test_figures_are_drawn(config: SchedulerConfig) -> None:
    results = _results(config)
    for figure in (
        draw_skew(config, results, "test"),
        draw_ablation(config, results, "test"),
        draw_flow_times({"ours": [1.0, 2.0], "naive": [3.0]}, "test"),
    ):
        plt.close(figure)


def test_numbers_of_the_paper_all_have_their_row(config: SchedulerConfig) -> None:
    paper = load_paper_numbers(CONFIG.parent / "paper.csv")
    order = Measured(1.5)
    measured = {("order", "nic_imbalance"): order, ("order", "p99_flow_time"): order}
    rows = compare(config, paper, measured)
    assert [(row.id, row.passed) for row in rows] == [("order", True), ("order", True)]


def test_results_are_stored_with_their_options(config: SchedulerConfig) -> None:
    results = _results(config)[:3]
    rows = list(csv.DictReader(io.StringIO(format_results(results))))
    assert [row["part"] for row in rows] == ["target"] * 3
    assert rows[0]["options"] == "--pattern allgather --in-place --chunk 4MiB --slots 64"
    assert "options_" not in rows[0] and rows[0]["size_bytes"] == str(1 << 30)


def test_a_run_that_is_not_there_is_an_error(config: SchedulerConfig) -> None:
    with pytest.raises(InputError, match="no run with"):
        select(_results(config), part="skew", plan="none")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("schema = 1", "schema = 2", "schema: expected 1"),
        ('column = "busbw_gb_per_s"', 'column = "speed"', r"target\[0\]\.column: expected"),
        ("at_least = 166.0", 'at_least = "much"', r"target\[0\]\.at_least: expected a number"),
        ("seeds = [20, 3]", "seeds = [20]", r"skew\.seeds: expected 2 numbers"),
        ("quanta = [5, 2]", "quanta = [5]", r"skew\.quanta: expected 2 numbers"),
        ("quanta = [5, 2]", "quanta = [5, 0]", r"skew\.quanta: expected 1 or more"),
        ("seeds_of_others = 2", "seeds_of_others = 0", r"skew\.seeds: expected 1 or more"),
        ('judged = ["uniform"', 'judged = ["hot"', r"skew\.judged: expected some of the kinds"),
        ('section = ""\noptions = ""', 'section = ""\noptions = "-x"', "without: expected nothing"),
        ("[order]", "[order]\nmore = 1", r"order\.|more"),
    ],
)
def test_a_malformed_config_is_refused_by_key(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    text = CONFIG.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "config.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        load_scheduler_config(path)


def test_flows_end_with_their_last_chunk(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    lines = ["time_ns,rank,engine,event,flow,chunk,bytes"]
    events = itertools.chain(
        [(1000, "direct_end", "0"), (2500, "direct_end", "0"), (9000, "wire_end", "1")],
        [(4000, "deliver_end", "1"), (5000, "gate_ready_end", "")],
    )
    lines += [f"{time},0,lane,{event},{flow},0,1" for time, event, flow in events]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert flow_end_times_us(path) == [2.5, 4.0]
    path.write_text(lines[0] + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="no flow ended"):
        flow_end_times_us(path)


def test_percentile_is_the_nearest_rank() -> None:
    values = [float(value) for value in range(1, 201)]
    assert percentile(values, 99) == 198.0
    assert percentile(values, 100) == 200.0
    assert percentile([7.0], 50) == 7.0
    with pytest.raises(ValueError, match="no values"):
        percentile([], 50)


def test_algbw_counts_the_largest_buffer(tmp_path: Path, config: SchedulerConfig) -> None:
    run = all_runs(config, CONSTANTS)[0]
    header = "pattern,system,topology,size_bytes,time_us,algbw_gb_per_s,busbw_gb_per_s,bound_pct,"
    header += "calibrated_bound_pct,launch_us,submit_us,proxy_us,sms,message_bytes,"
    header += "balanced_bound_pct\n"
    path = tmp_path / "run.csv"
    line = "alltoallv,hoccl,{topology},1000000,1000.0,{algbw},1.0,90,91,1,1,1,0,2000000,120\n"
    path.write_text(header + line.format(topology=run.topology, algbw=2.0), encoding="utf-8")
    (row,) = load_collective_rows(path)
    # A plan that loads its rails otherwise may beat the bound of balanced rails.
    assert row.share_of_balanced_bound() == 120.0
    without = line.replace(",120\n", ",\n").format(topology=run.topology, algbw=2.0)
    path.write_text(header + without, encoding="utf-8")
    (row,) = load_collective_rows(path)
    assert row.balanced_bound_pct is None
    with pytest.raises(InputError, match="no bound of balanced rails"):
        row.share_of_balanced_bound()
    path.write_text(header + line.format(topology=run.topology, algbw=1.0), encoding="utf-8")
    with pytest.raises(InputError, match="algbw"):
        load_collective_rows(path)
