"""The validation study: its config, the records it accepts, how it judges, and what it shows."""

from __future__ import annotations

import csv
import io
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from analysis import validate
from analysis.load import InputError, ValidationRow, load_validation_rows
from analysis.runs import RunFailed
from analysis.style import plt
from analysis.units import parse_size
from analysis.validate_config import calibration_file, load_validate_config
from analysis.validate_plots import draw_algbw, draw_cpu, draw_errors, labels
from analysis.validate_records import (
    Machine,
    Point,
    Record,
    format_points,
    judged_of,
    load_machine,
    load_record,
    load_records,
)
from analysis.validate_repeats import repeats_of, repeats_table, times_again
from analysis.validate_tables import (
    by_class,
    judged,
    parts_table,
    summary_table,
    verdict,
    verdict_table,
)

CONFIG = Path("experiments/validate/config.toml")
MACHINE = """schema = 1
device = "a GPU <1>"
driver = "580.1"
date = "2026-01-02"
ranks = "threads"
"""
MACHINE_READ = Machine("a GPU <1>", "580.1", "2026-01-02", "threads", "")

# A program that says that the simulation is 4% slow from 1 MiB on and 20% fast below.
FAKE_PROGRAM = """#!/usr/bin/env python3
import json, sys
words = sys.argv[1:]
if words == ["--version"]:
    print("hoccl fake")
    sys.exit()
record = json.load(open(words[words.index("--measured") + 1], encoding="utf-8"))
with open(words[words.index("--csv") + 1], "w", encoding="utf-8") as out:
    out.write("size_bytes,part,simulated_us,measured_us,min_us,max_us,error_pct,n\\n")
    for result in record["results"]:
        size, time = result["size_bytes"], result["time_us"]
        error = 4.0 if size >= 1 << 20 else -20.0
        times = f"{time * (1 + error / 100)},{time}"
        out.write(f"{size},all,{times},{time},{time},{error},100\\n")
        out.write(f"{size},wire,0.3,,,,,1\\n")
        for part in ("stage_in", "launch", "submit", "proxy"):
            out.write(f"{size},{part},{times},,,{error},100\\n")
"""


def _record_json(sizes: list[str], **changes: Any) -> dict[str, Any]:
    report: dict[str, Any] = {
        "schema": 1,
        "kind": "measured",
        "command": "hoccl run",
        "pattern": "sendrecv",
        "ranks": 2,
        "copy": "cuda",
        "link": "loopback-map",
        "link_rate": "",
        "host": "a CPU",
        "seed": 1,
        "parameters": {"pattern": {"name": "sendrecv", "in_place": "no", "matrix": "uniform"}},
        "results": [
            {"size_bytes": parse_size(size), "message_bytes": parse_size(size), "time_us": 100.0}
            for size in sizes
        ],
    }
    return report | changes


def _config_text() -> str:
    """The repository's, without the one record that it names."""
    lines = CONFIG.read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("timeline = "))


def _study(folder: Path, records: dict[str, dict[str, Any]]) -> Path:
    """A study's folder with these records, as the repository has it."""
    (folder / "results" / "gpu").mkdir(parents=True)
    (folder / "config.toml").write_text(_config_text(), encoding="utf-8")
    for name, record in records.items():
        path = folder / "results" / "gpu" / name
        path.write_text(json.dumps(record), encoding="utf-8")
        (path.parent / "machine.toml").write_text(MACHINE, encoding="utf-8")
    return folder


def _changed_config(folder: Path, replaced: str, by: str) -> Path:
    text = _config_text()
    assert replaced in text
    path = folder / "config.toml"
    path.write_text(text.replace(replaced, by), encoding="utf-8")
    return path


def _point(size: str, error_pct: float, part: str = "all", role: Any = "checking",
           pattern: str = "sendrecv", ranks: int = 2) -> Point:
    size_bytes = parse_size(size)
    record = Record(
        path=Path("results/gpu/a.json"),
        name="gpu/a.json",
        machine=MACHINE_READ,
        pattern=pattern,
        ranks=ranks,
        backend="cuda×loopback-map",
        link_rate="",
        host="a CPU",
        seed=1,
        message_bytes={size_bytes: size_bytes},
        time_us={size_bytes: 100.0},
        has_timeline=False,
    )
    row = ValidationRow(size_bytes, part, 100.0 + error_pct, 100.0, 98.0, 105.0, error_pct, 100)
    return Point(record, role, row)


def test_sizes_are_for_fitting_or_for_checking() -> None:
    config = load_validate_config(CONFIG)
    assert not set(config.fitting_bytes) & set(config.checking_bytes)
    assert config.role("gpu/a.json", parse_size("2MiB")) == "fitting"
    assert config.role("gpu/a.json", parse_size("4MiB")) == "checking"
    with pytest.raises(InputError, match="gpu/a.json holds 3MiB: expected it in fitting.sizes"):
        config.role("gpu/a.json", parse_size("3MiB"))


def test_targets_are_those_of_the_design() -> None:
    bands = load_validate_config(CONFIG).bands
    assert (bands.within_pct((1 << 20) - 1), bands.within_pct(1 << 20)) == (15.0, 5.0)


@pytest.mark.parametrize(
    ("replaced", "by", "words"),
    [
        ('"1MiB", "4MiB"', '"1MiB", "2MiB", "4MiB"', "checking.sizes: expected none of .*2MiB"),
        ("seed = 1", "seed = 1\ncolour = 1", "colour: unknown key"),
        ('network = "fluid"', 'network = "tcp"', "network: expected fluid or cm02"),
        ("large_within_pct = 5.0", "large_within_pct = 0", "bands.large_within_pct: expected"),
        ("[checking]", 'records = ["a"]\n[checking]\nrecords = ["a"]', "checking.records: unknown"),
    ],
)
def test_wrong_config_is_refused(tmp_path: Path, replaced: str, by: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        load_validate_config(_changed_config(tmp_path, replaced, by))


def test_record_for_fitting_is_so_at_every_size(tmp_path: Path) -> None:
    by = '[checking]'
    config = load_validate_config(
        _changed_config(tmp_path, by, f'records = ["gpu/fit.json"]\n{by}')
    )
    assert config.role("gpu/fit.json", parse_size("4MiB")) == "fitting"
    assert config.role("gpu/other.json", parse_size("4MiB")) == "checking"


def test_calibration_is_a_preset_or_a_file() -> None:
    assert calibration_file("h200") == Path("sim/calibration/h200.toml")
    assert calibration_file("mine/here.toml") == Path("mine/here.toml")


def test_record_says_what_was_run(tmp_path: Path) -> None:
    path = tmp_path / "gpu" / "a.json"
    path.parent.mkdir()
    pattern = {"name": "alltoallv", "in_place": "yes", "matrix": "zipf"}
    report = _record_json(["1MiB"], pattern="alltoallv", parameters={"pattern": pattern})
    report["results"][0]["trace"] = {}
    path.write_text(json.dumps(report), encoding="utf-8")
    record = load_record(path, MACHINE_READ)
    assert (record.name, record.pattern) == ("gpu/a.json", "alltoallv zipf in place")
    assert (record.backend, record.ranks, record.has_timeline) == ("cuda×loopback-map", 2, True)
    for text in ("[]", "{}", "{", json.dumps(report | {"kind": "simulated"})):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match="a.json"):
            load_record(path, MACHINE_READ)


def test_machine_is_described(tmp_path: Path) -> None:
    path = tmp_path / "machine.toml"
    path.write_text(MACHINE, encoding="utf-8")
    assert load_machine(path) == MACHINE_READ
    assert MACHINE_READ.label == "a GPU <1>, driver 580.1, 2026-01-02, ranks as threads"
    path.write_text(MACHINE.replace("threads", "fibres"), encoding="utf-8")
    with pytest.raises(InputError, match="ranks: expected threads or processes"):
        load_machine(path)


def test_without_records_one_line_says_so(tmp_path: Path) -> None:
    source = _study(tmp_path / "study", {})
    with pytest.raises(InputError, match="holds no record; expected .*README.md") as error:
        validate.study(Path("hoccl"), tmp_path / "out", False, print, source)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("records", "words"),
    [
        ({"a.json": _record_json(["1MiB"]), "b.json": _record_json(["1MiB"])}, "a.json, too"),
        ({"a.json": _record_json(["1MiB"], seed=2)}, "seed 2: expected 1"),
    ],
)
def test_records_that_do_not_fit_are_refused(
    tmp_path: Path, records: dict[str, dict[str, Any]], words: str
) -> None:
    source = _study(tmp_path / "study", records)
    with pytest.raises(InputError, match=words):
        load_records(load_validate_config(source / "config.toml"), source / "results")


def test_record_with_a_timeline_is_drawn_and_not_judged(tmp_path: Path) -> None:
    traced = _record_json(["4MiB"])
    traced["results"][0]["trace"] = {}
    records = {"a.json": _record_json(["4MiB"]), "timeline.json": traced}
    source = _study(tmp_path / "study", records)
    config = load_validate_config(source / "config.toml")
    found = load_records(config, source / "results")
    assert [record.has_timeline for record in found] == [False, True]
    path = _changed_config(source, "seed = 1", 'seed = 1\ntimeline = "gpu/a.json"')
    with pytest.raises(InputError, match="gpu/a.json: holds no timeline"):
        load_records(load_validate_config(path), source / "results")


def test_one_pattern_may_lie_in_two_records(tmp_path: Path) -> None:
    records = {"a.json": _record_json(["1MiB"]), "b.json": _record_json(["4MiB"])}
    source = _study(tmp_path / "study", records)
    found = load_records(load_validate_config(source / "config.toml"), source / "results")
    assert [record.name for record in found] == ["gpu/a.json", "gpu/b.json"]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("1,all,104.0,100.0,,,4.0,1", "not compared"),
        ("1,wire,104.0,100.0,,,5.0,1", "error 5.0% is not 4.0000%"),
        ("1,wire,,100.0,,,5.0,1", "an error of nothing"),
    ],
)
def test_wrong_rows_are_refused(tmp_path: Path, row: str, words: str) -> None:
    path = tmp_path / "rows.csv"
    head = "size_bytes,part,simulated_us,measured_us,min_us,max_us,error_pct,n\n"
    path.write_text(head + "1,wire,0.3,,,,,1\n" + row + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=words):
        load_validation_rows(path)


def test_worst_checking_size_decides() -> None:
    config = load_validate_config(CONFIG)
    points = [
        _point("512KiB", -14.0),
        _point("1MiB", 1.0),
        _point("4MiB", -6.0),
        _point("8MiB", 2.0),
        _point("2MiB", 50.0, role="fitting"),
        _point("8MiB", 80.0, part="wire"),
    ]
    classes = by_class(judged(points), config.bands)
    assert list(classes) == ["< 1MiB", "≥ 1MiB"]
    small, large = (verdict(own, config.bands) for own in classes.values())
    assert (small.count, small.max_pct, small.passed) == (1, 14.0, True)
    assert (large.count, large.median_pct, large.max_pct, large.passed) == (3, 2.0, 6.0, False)
    (below, above) = summary_table(config, points).rows
    assert below[-2] == "yes"
    assert above[-4:] == ("-6.0 at 4MiB", "≤ 5", "NO", "sendrecv, 2 ranks")


def test_tables_keep_patterns_ranks_and_parts_apart() -> None:
    config = load_validate_config(CONFIG)
    points = [
        _point("4MiB", 1.0),
        _point("4MiB", 2.0, ranks=4),
        _point("4MiB", 3.0, pattern="gather"),
        _point("4MiB", -4.0, part="launch"),
        _point("4MiB", 30.0, part="deliver"),
        _point("2MiB", 90.0, part="deliver", role="fitting"),
    ]
    rows = verdict_table(config, points).rows
    assert [(row[2], row[3], row[7]) for row in rows] == [
        ("gather", "2", 3.0),
        ("sendrecv", "2", 1.0),
        ("sendrecv", "4", 2.0),
    ]
    parts = parts_table(config, points).rows
    assert [(row[2], row[-1]) for row in parts] == [("deliver", 30.0), ("launch", -4.0)]


def test_figures_name_both_origins() -> None:
    config = load_validate_config(CONFIG)
    points = [
        _point(size, error, part, role)
        for size, error, role in (("64KiB", 9.0, "checking"), ("2MiB", -2.0, "fitting"))
        for part in ("all", "stage_in", "launch", "submit", "proxy")
    ]
    origin = labels(config, "h200.toml (abc)", points)
    figures = (
        draw_algbw(points, origin),
        draw_errors(config, points, origin),
        draw_cpu(points, origin),
    )
    for figure in figures:
        (text,) = (found.get_text() for found in figure.texts)
        for words in ("Simulated: calibration h200.toml (abc), network fluid", "n = 100",
                      "Measured: a GPU <1>, driver 580.1", "cuda×loopback-map"):
            assert words in text
        legend = [entry.get_text() for entry in figure.legends[0].get_texts()]
        assert "measured, fitting size" in legend
        plt.close(figure)
    # Hollow is what the calibration may have been fitted to.
    (whole, _) = figures[1].axes
    fills = {line.get_ydata()[0]: line.get_markerfacecolor() for line in whole.lines[:2]}
    assert fills[-2.0] == "white"
    assert fills[9.0] != "white"


def _again(folder: Path, record: dict[str, Any], name: str = "gpu-again") -> None:
    """A second measurement of the study's folder."""
    path = folder / "results" / name / "a.json"
    path.parent.mkdir()
    path.write_text(json.dumps(record), encoding="utf-8")
    (path.parent / "machine.toml").write_text(MACHINE + 'repeats = "gpu"\n', encoding="utf-8")


def test_what_was_measured_again_is_not_simulated_and_tells_how_measurements_repeat(
    tmp_path: Path,
) -> None:
    source = _study(tmp_path / "study", {"a.json": _record_json(["512KiB", "2MiB", "4MiB"])})
    again = _record_json(["2MiB", "4MiB"])
    again["results"][1]["time_us"] = 110.0
    _again(source, again)
    traced = _record_json(["4MiB"])
    traced["results"][0] |= {"trace": {}, "time_us": 500.0}
    (source / "results" / "gpu-again" / "b_timeline.json").write_text(json.dumps(traced))
    config = load_validate_config(source / "config.toml")
    records = load_records(config, source / "results")
    first = [record for record in records if record.folder == "gpu"]
    assert judged_of(records) == first
    points = [
        Point(first[0], config.role("gpu/a.json", size),
              ValidationRow(size, "all", 104.0, 100.0, 98.0, 105.0, 4.0, 100))
        for size in first[0].time_us
    ]
    repeats = repeats_of(times_again(records), points)
    assert [(repeat.point, round(repeat.difference_pct, 6)) for repeat in repeats] == [
        (points[2], 10.0)
    ]
    (row,) = repeats_table(config, repeats).rows
    cells = [round(cell, 6) if isinstance(cell, float) else cell for cell in row]
    assert cells == ["gpu", "cuda×loopback-map", "≥ 1MiB", "≤ 5", 10.0, 10.0, "0 of 1", 4.0, 4.0,
                     "1 of 1"]


@pytest.mark.parametrize(
    ("again", "words"),
    [
        ([_record_json(["8MiB"])], "8MiB: expected a record of that"),
        ([_record_json(["4MiB"], host="another CPU")], "made on the same machine, in gpu"),
        ([_record_json(["4MiB"])] * 2, "was made a second time elsewhere, too"),
    ],
)
def test_second_measurements_that_do_not_fit_are_refused(
    tmp_path: Path, again: list[dict[str, Any]], words: str
) -> None:
    source = _study(tmp_path / "study", {"a.json": _record_json(["4MiB"])})
    for number, record in enumerate(again):
        _again(source, record, f"gpu-again{number}")
    records = load_records(load_validate_config(source / "config.toml"), source / "results")
    with pytest.raises(InputError, match=words):
        times_again(records)


def test_csv_holds_every_point() -> None:
    points = [_point("4MiB", 1.0), _point("2MiB", 2.0, part="wire", role="fitting")]
    rows = list(csv.DictReader(io.StringIO(format_points(points))))
    assert [(row["role"], row["part"], row["error_pct"]) for row in rows] == [
        ("checking", "all", "1.0"),
        ("fitting", "wire", "2.0"),
    ]
    assert (rows[0]["device"], rows[0]["backend"]) == ("a GPU <1>", "cuda×loopback-map")


def test_study_of_a_program(tmp_path: Path) -> None:
    program = tmp_path / "hoccl"
    program.write_text(FAKE_PROGRAM, encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    source = _study(tmp_path / "study", {"a.json": _record_json(["512KiB", "2MiB", "4MiB"])})
    results = tmp_path / "out"
    validate.study(program, results, True, lambda text: None, source)
    section = (results / "validate" / "section.html").read_text(encoding="utf-8")
    for words in ("+4.0 at 4MiB", "-20.0 at 512KiB", "<td>NO</td>", "<td>yes</td>",
                  "a GPU &lt;1&gt;"):
        assert words in section
    manifest = json.loads((results / "validate" / "manifest.json").read_text(encoding="utf-8"))
    assert list(manifest["records"]) == ["gpu/a.json"]
    drawn = sorted(path.name for path in source.glob("*.svg"))
    assert drawn == [f"{kind}_gpu_cuda-loopback-map.svg" for kind in ("algbw", "cpu", "error")]
    text = (results / "validate" / "validate.csv").read_text(encoding="utf-8")
    roles = {row["size_bytes"]: row["role"] for row in csv.DictReader(io.StringIO(text))}
    assert roles == {"524288": "checking", "2097152": "fitting", "4194304": "checking"}
    with pytest.raises(RunFailed):
        validate.study(tmp_path / "none", results, False, print, source)
