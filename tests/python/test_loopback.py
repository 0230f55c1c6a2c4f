"""The measured study: its config, the rows it accepts, and what its section says."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.load import InputError, load_measured_rows
from analysis.loopback import CONFIG, load_loopback_config, render, results_table
from analysis.report import Picture

HEADER = (
    "pattern,system,topology,size_bytes,time_us,algbw_gb_per_s,busbw_gb_per_s,bound_pct,"
    "calibrated_bound_pct,launch_us,submit_us,proxy_us,sms,rounds,iterations,spread_pct,min_us,"
    "max_us,copy,link,link_rate,link_delay,host,seed\n"
)
ROW = (
    'sendrecv-ring,hoccl,h800-2x4,1000000,{time},1.0,1.0,,,1,2,3,0,5,20,10.0,950.0,1050.0,host,'
    'loopback,,0ns,"a <CPU>, 2 cores",1\n'
)


def _csv(folder: Path, time: str = "1000.0") -> Path:
    path = folder / "run.csv"
    path.write_text(HEADER + ROW.format(time=time), encoding="utf-8")
    return path


def test_config_is_the_command_line() -> None:
    config = load_loopback_config(CONFIG)
    command = config.command(Path("hoccl"), config.begin_bytes, config.end_bytes)
    assert command[:4] == ["hoccl", "run", "--topology", "h800-2x4"]
    assert command[command.index("-e") + 1] == "16MiB"
    assert command[command.index("--link") + 1] == "loopback"


@pytest.mark.parametrize(
    ("replaced", "by", "words"),
    [
        ("schema = 1", "schema = 2", "schema: expected 1"),
        ("factor = 4", "factor = 4\ncolour = 1", "colour: unknown key"),
        ("slots = 16", 'slots = "16"', "options.slots: expected a whole number"),
        ('size = "4MiB"', "", "timeline.size: expected text"),
    ],
)
def test_wrong_config_is_refused(tmp_path: Path, replaced: str, by: str, words: str) -> None:
    text = CONFIG.read_text(encoding="utf-8")
    assert replaced in text
    path = tmp_path / "config.toml"
    path.write_text(text.replace(replaced, by), encoding="utf-8")
    with pytest.raises(InputError, match=words):
        load_loopback_config(path)


def test_rows_need_no_bound(tmp_path: Path) -> None:
    (row,) = load_measured_rows(_csv(tmp_path))
    assert (row.size_bytes, row.rounds * row.iterations) == (1_000_000, 100)
    assert row.host == "a <CPU>, 2 cores"


@pytest.mark.parametrize("time", ["900.0", "-1", "1100.0"])
def test_time_outside_its_rounds_is_refused(tmp_path: Path, time: str) -> None:
    with pytest.raises(InputError):
        load_measured_rows(_csv(tmp_path, time))


def test_section_says_measured_with_n_and_spread(tmp_path: Path) -> None:
    svg = tmp_path / "timeline.svg"
    svg.write_text("<svg></svg>", encoding="utf-8")
    table = results_table(load_measured_rows(_csv(tmp_path)))
    config = load_loopback_config(CONFIG)
    section = render(config, Picture(svg, "Measured timeline"), table, {"kind": "measured"})
    for words in ("(measured)", "spread (%)", "<th>n</th>", ">100<", "a &lt;CPU&gt;"):
        assert words in section
    assert "simulated" not in section
