"""The study of registrations: the record it accepts, its config, and what its section says."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis import registration
from analysis.calibration import Calibration, Constant
from analysis.load import InputError
from analysis.registration import (
    load_registration_config,
    model_latency_ms,
    origin,
    results_table,
)
from analysis.registration_record import AGAIN, FIRST_TOUCH, WHATS, Spread, load_record

MIB = 1 << 20
HEAD = (
    "# command: hoccl calibrate --registration nic0\n"
    "# device: nic0, driver fast, firmware 1.2\n"
    "# host: a CPU, 2 cores, Linux 6\n"
    "# huge pages: always [madvise] never\n"
    "# date: 2025-01-02\n"
)
EMULATED = "# emulated: nic0 is a software device\n"
COLUMNS = "size_bytes,what,round,time_us\n"
SAMPLES = (
    "1048576,first_touch,0,3000.0\n1048576,first_touch,1,1000.0\n1048576,first_touch,2,2000.0\n"
    "1048576,again,0,100.0\n1048576,deregister,0,10.0\n2097152,first_touch,0,4000.0\n"
)


def _record(folder: Path, head: str = HEAD, columns: str = COLUMNS, samples: str = SAMPLES) -> Path:
    path = folder / "nic.csv"
    path.write_text(head + columns + samples, encoding="utf-8")
    return path


def test_samples_of_one_size_are_summarised(tmp_path: Path) -> None:
    record = load_record(_record(tmp_path))
    assert record.sizes == [MIB, 2 * MIB]
    assert record.spread(FIRST_TOUCH, MIB) == Spread(2000.0, 1000.0, 3000.0, 3)
    assert record.spread(AGAIN, 2 * MIB) is None
    assert record.head["date"] == "2025-01-02"


@pytest.mark.parametrize(
    ("columns", "samples", "words"),
    [
        ("size_bytes,what,round\n", SAMPLES, "nic.csv: column 'time_us' is missing"),
        (COLUMNS, "1048576,again,0,soon\n", "nic.csv:7: time_us: 'soon' is not a number"),
        (COLUMNS, "1048576,later,0,1.0\n", "later of 1MiB: expected first_touch, again"),
        (COLUMNS, "1048576,again,0,-1.0\n", "size and time must be positive"),
        (COLUMNS, "", "no rows"),
    ],
)
def test_wrong_record_is_one_clear_error(
    tmp_path: Path, columns: str, samples: str, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        load_record(_record(tmp_path, columns=columns, samples=samples))


def test_record_without_its_origin_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a comment line '# date: "):
        load_record(_record(tmp_path, head=HEAD.replace("# date", "# day")))


def test_emulated_and_real_are_told_apart(tmp_path: Path, repository: Path) -> None:
    config = load_registration_config(repository / "experiments/registration/config.toml")
    real = load_record(_record(tmp_path))
    assert origin(real) == "measured on nic0, driver fast, firmware 1.2"
    assert "(measured)" in results_table(config, real).title
    emulated = load_record(_record(tmp_path, head=HEAD + EMULATED))
    assert origin(emulated) == "measured in an emulated machine (Soft-RoCE)"
    table = results_table(config, emulated)
    assert "(emulated)" in table.title
    assert "Emulated: nic0 is a software device." in table.text
    assert table.rows[0] == (
        "1MiB", "2 [1, 3]", "0.1 [0.1, 0.1]", "0.01 [0.01, 0.01]", "-",
        "ms scale; 20 to 30 ms under load",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("replaced", "by", "words"),
    [
        ("schema = 1", "schema = 2", "schema: expected 1"),
        ("high_ms = 10.0", "high_ms = 1.0", "high_ms: expected more than low_ms"),
        ('record = "rxe.csv"', "", "record: expected text"),
        ("low_ms = 20.0", "low_ms = 20.0\nmean_ms = 25.0", "mean_ms: unknown key"),
    ],
)
def test_wrong_config_is_refused(
    tmp_path: Path, repository: Path, replaced: str, by: str, words: str
) -> None:
    text = (repository / "experiments/registration/config.toml").read_text(encoding="utf-8")
    assert replaced in text
    path = tmp_path / "config.toml"
    path.write_text(text.replace(replaced, by), encoding="utf-8")
    with pytest.raises(InputError, match=words):
        load_registration_config(path)


@pytest.mark.parametrize("value", ["1us", "soon"])
def test_only_milliseconds_are_drawn(value: str) -> None:
    def calibration(text: str) -> Calibration:
        constant = Constant("registration.latency", text, "made up", "input")
        return Calibration(Path("c.toml"), "0" * 64, (constant,))

    assert model_latency_ms(calibration("1.5ms")) == 1.5
    with pytest.raises(InputError, match="expected milliseconds"):
        model_latency_ms(calibration(value))


def test_recorded_study_draws_and_writes_its_section(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    said: list[str] = []
    registration.study(Path("no program"), tmp_path, False, said.append)
    section = (tmp_path / "registration" / "section.html").read_text(encoding="utf-8")
    assert "(measured, emulated)" in section
    assert "says nothing about a NIC" in section
    assert (tmp_path / "registration" / "registration.svg").exists()
    assert len(said) == 1


def test_every_size_of_the_record_was_measured_in_all_ways(repository: Path) -> None:
    record = load_record(repository / "experiments/registration/results/rxe.csv")
    assert record.emulated
    for size in record.sizes:
        for what in WHATS:
            assert record.spread(what, size) is not None, (what, size)
