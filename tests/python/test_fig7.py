"""From rows to numbers, tables, pictures and the page, with rows of a known rule."""

from __future__ import annotations

import html.parser
import json
from pathlib import Path

import pytest
from conftest import MIB, make_row

from analysis.calibration import Calibration, Constant
from analysis.compare_with_paper import compare
from analysis.config import FigureConfig, load_config
from analysis.fig7 import Fig7
from analysis.load import InputError, PaperNumber, Row, load_paper_numbers
from analysis.report import FigureReport, inline_svg, render_section, write_report
from analysis.timeline import dma_rdma_overlap, load_trace

GIB = 1024 * MIB
# (rate at large sizes in GB/s, start-up in µs): HOCCL is faster and starts later.
RULES = {
    ("intra", "hoccl"): (190.0, 50.0),
    ("intra", "nccl:4sm"): (75.0, 10.0),
    ("intra", "nccl:8sm"): (152.0, 10.0),
    ("inter", "hoccl"): (49.0, 60.0),
    ("inter", "nccl:4sm"): (48.0, 20.0),
    ("inter", "nccl:8sm"): (48.5, 20.0),
}


def _busbw(pair: str, system: str, size_bytes: int) -> float:
    rate, start_us = RULES[pair, system]
    return size_bytes / (size_bytes / rate + start_us * 1e3)


def _rows() -> list[Row]:
    sizes = [2 * MIB << doubling for doubling in range(10)]
    rows = [
        make_row(pair, system, size, _busbw(pair, system, size), network=network)
        for pair, system in RULES
        for network in ("fluid", "cm02")
        for size in sizes
    ]
    for size in sizes:
        busbw = 0.5 * _busbw("intra", "hoccl", size)
        rows.append(make_row("intra", "hoccl", size, busbw, "first-use", warmup=0))
    for pair in ("intra", "inter"):
        for state, factor in (("on", 1.0), ("off", 0.7)):
            busbw = factor * RULES[pair, "hoccl"][0]
            rows.append(make_row(pair, "hoccl", GIB, busbw, "pipelining", pipelining=state))
    for rails in (1, 4):
        for doubling in range(7):
            busbw = rails * (49.0 - abs(doubling - (4 if rails == 1 else 2)))
            rows.append(
                make_row(
                    "inter",
                    "hoccl",
                    GIB,
                    busbw,
                    "chunk-sweep",
                    "fluid",
                    rails,
                    MIB // 4 << doubling,
                )
            )
    return rows


@pytest.fixture
def config(repository: Path) -> FigureConfig:
    return load_config(repository / "experiments/fig7/config.toml")


@pytest.fixture
def paper(repository: Path) -> list[PaperNumber]:
    return load_paper_numbers(repository / "experiments/fig7/paper.csv")


CALIBRATION = Calibration(
    Path("sim/calibration/test.toml"),
    "0123456789abcdef",
    (
        Constant("rate", "192.2GB/s", "paper <Fig. 7>, https://example.org/x", "fitted"),
        Constant("port", "200GB/s", "datasheet", "input"),
    ),
)


def test_each_number_follows_from_the_rows(config: FigureConfig) -> None:
    measured = Fig7(config, _rows()).measure()
    intra, nccl = _busbw("intra", "hoccl", GIB), _busbw("intra", "nccl:8sm", GIB)
    expected = {
        ("p2p-intra", "hoccl_busbw"): intra,
        ("p2p-intra", "gain_over_nccl_8sm"): (intra / nccl - 1.0) * 100.0,
        ("p2p-intra", "nccl_8sm_busbw"): nccl,
        ("p2p-inter", "hoccl_busbw"): _busbw("inter", "hoccl", GIB),
        ("small", "ratio_to_best_nccl_intra"): _busbw("intra", "hoccl", 2 * MIB)
        / _busbw("intra", "nccl:8sm", 2 * MIB),
        ("small", "ratio_to_best_nccl_intra_first_use"): 0.5
        * _busbw("intra", "hoccl", 2 * MIB)
        / _busbw("intra", "nccl:8sm", 2 * MIB),
        ("small", "ratio_to_best_nccl_inter"): _busbw("inter", "hoccl", 2 * MIB)
        / _busbw("inter", "nccl:8sm", 2 * MIB),
        ("dma-start", "loss_unpipelined_intra"): 30.0,
        ("dma-start", "loss_unpipelined_inter"): 30.0,
        ("rails-1", "hoccl_busbw"): 49.0,
        ("rails-4", "hoccl_busbw"): 4 * 49.0,
    }
    assert {key: number.value for key, number in measured.items()} == pytest.approx(expected)
    assert measured["rails-1", "hoccl_busbw"].remark.startswith("chunk 4MiB")
    assert measured["rails-4", "hoccl_busbw"].remark.startswith("chunk 1MiB")


def test_the_best_rival_is_the_better_of_both(config: FigureConfig) -> None:
    remark = Fig7(config, _rows()).measure()["small", "ratio_to_best_nccl_intra"].remark
    assert "NCCL-8SM" in remark


def test_the_difference_of_the_network_models_is_the_worst_point(config: FigureConfig) -> None:
    rows = _rows()
    assert Fig7(config, rows).network_difference() == 0.0
    index = next(i for i, row in enumerate(rows) if row.network == "cm02" and row.pair == "inter")
    row = rows[index]
    rows[index] = make_row(
        row.pair, row.system, row.size_bytes, row.busbw_gb_per_s * 0.99, network="cm02"
    )
    assert Fig7(config, rows).network_difference() == pytest.approx(0.01)


def test_a_missing_run_is_named(config: FigureConfig) -> None:
    rows = [row for row in _rows() if row.pipelining == "on"]
    with pytest.raises(InputError, match="no run with .*'pipelining': 'off'"):
        Fig7(config, rows).measure()


def _trace(path: Path) -> Path:
    """Two chunks of 10 µs legs: stage-in at 0 and 10, wire at 10 and 20, deliver at 20 and 30."""
    names = {1: "copy engine peer lane 0", 2: "NIC send", 3: "NIC send (2)"}
    events: list[dict[str, object]] = [
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "rank 0"}}
    ]
    for thread, name in names.items():
        args = {"name": name}
        events.append({"ph": "M", "name": "thread_name", "pid": 1, "tid": thread, "args": args})
    for leg, thread, begin in (
        ("stage_in", 1, 0.0),
        ("stage_in", 1, 10.0),
        ("wire", 2, 10.0),
        ("wire", 3, 20.0),
        ("deliver", 1, 20.0),
        ("deliver", 1, 30.0),
    ):
        events.append({"ph": "X", "name": leg, "pid": 1, "tid": thread, "ts": begin, "dur": 10.0})
    events.append({"ph": "s", "name": "chunk", "id": 1, "pid": 1, "tid": 1, "ts": 0.0})
    path.write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
    return path


def test_a_trace_is_read_with_overflow_rows_on_their_track(tmp_path: Path) -> None:
    events = load_trace(_trace(tmp_path / "trace.json"))
    assert [(event.track, event.row) for event in events if event.name == "wire"] == [
        ("NIC send", 0),
        ("NIC send", 1),
    ]
    # The wire is busy from 10 to 30, DMA from 0 to 40: all of the shorter is covered.
    assert dma_rdma_overlap(events) == pytest.approx(1.0)


@pytest.mark.parametrize("content", ["", "{}", '{"traceEvents": [{"ph": "X", "pid": 1}]}'])
def test_what_is_no_trace_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "trace.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"trace\.json: not a trace"):
        load_trace(path)


class _Links(html.parser.HTMLParser):
    """Collects what a page would load or lead to, and whether tags are balanced."""

    VOID = ("meta", "br", "link", "img", "use", "path", "rect", "line", "circle")

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.targets += [
            value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "srcset")
        ]


def _report(
    config: FigureConfig, paper: list[PaperNumber], folder: Path
) -> tuple[Fig7, FigureReport]:
    evaluation = Fig7(config, _rows())
    trace = _trace(folder / "trace.json")
    pictures = evaluation.draw(folder, paper, CALIBRATION.label, trace, lambda text: None)
    manifest: dict[str, object] = {"commit": "abc", "commands": ["hoccl sim --to 1"]}
    comparison = compare(config, paper, evaluation.measure())
    report = FigureReport(config, comparison, pictures, evaluation.tables(), CALIBRATION, manifest)
    return evaluation, report


def test_pictures_are_drawn_as_svg_and_png_and_repeat_byte_by_byte(
    config: FigureConfig, paper: list[PaperNumber], tmp_path: Path
) -> None:
    for folder in (tmp_path / "first", tmp_path / "second"):
        folder.mkdir()
        _, report = _report(config, paper, folder)
        assert [picture.svg.name for picture in report.pictures] == [
            "fig7.svg",
            "fig7_choices.svg",
            "timeline_64MiB.svg",
        ]
    for first in sorted((tmp_path / "first").iterdir()):
        assert first.stat().st_size > 0
        assert first.read_bytes() == (tmp_path / "second" / first.name).read_bytes(), first.name
    assert len(list((tmp_path / "first").glob("*.png"))) == 3


def test_the_page_needs_nothing_from_outside(
    config: FigureConfig, paper: list[PaperNumber], tmp_path: Path
) -> None:
    _, report = _report(config, paper, tmp_path)
    page = write_report(tmp_path / "results", report).read_text(encoding="utf-8")
    links = _Links()
    links.feed(page)
    assert links.targets
    assert all(target.startswith("#") for target in links.targets)
    assert links.tags.isdisjoint({"script", "link", "img", "iframe", "object"})
    assert "url(http" not in page and "@import" not in page
    assert page.count("<svg") == 3


def test_the_page_shows_calibration_commands_and_escapes_text(
    config: FigureConfig, paper: list[PaperNumber], tmp_path: Path
) -> None:
    _, report = _report(config, paper, tmp_path)
    section = render_section(report)
    assert "paper &lt;Fig. 7&gt;" in section
    assert "hoccl sim --to 1" in section
    assert "0123456789" in section
    assert "largest relative difference" in section


def test_fitted_and_predicted_numbers_stand_in_different_columns(
    config: FigureConfig, paper: list[PaperNumber], tmp_path: Path
) -> None:
    _, report = _report(config, paper, tmp_path)
    section = render_section(report)
    table = section[section.index("<h3>Compared") :]
    heads = [cell.split("</th>")[0] for cell in table.split("<th>")[1:]]
    columns = {kind: heads.index(f"simulated, {kind}") for kind in ("fitted", "predicted")}
    lines = table.split("<tbody>")[1].split("</tbody>")[0].split("<tr>")[1:]
    assert len(lines) == len(report.comparison)
    for line, row in zip(lines, report.comparison, strict=True):
        cells = [cell.split(">", 1)[1].split("</td>")[0] for cell in line.split("<td")[1:]]
        assert cells[columns[row.kind]] == row.ours
        for kind in columns.keys() - {row.kind}:
            assert cells[columns[kind]] == ""


def test_reproducing_one_figure_keeps_the_sections_of_others(
    config: FigureConfig, paper: list[PaperNumber], tmp_path: Path
) -> None:
    _, report = _report(config, paper, tmp_path)
    other = tmp_path / "results" / "fig11" / "section.html"
    other.parent.mkdir(parents=True)
    other.write_text('<section id="fig11">kept</section>', encoding="utf-8")
    for _ in range(2):
        page = write_report(tmp_path / "results", report).read_text(encoding="utf-8")
    assert page.count("<section") == 2
    assert page.index('id="fig7"') < page.index('id="fig11"')


def test_an_inlined_drawing_has_no_prolog_and_no_addresses() -> None:
    text = (
        '<?xml version="1.0"?><!DOCTYPE svg PUBLIC "x" "http://www.w3.org/x.dtd">'
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        'width="1">'
        '<metadata>http://purl.org</metadata><use xlink:href="#a"/></svg>\n'
    )
    assert inline_svg(text) == '<svg width="1"><use xlink:href="#a"/></svg>'
    with pytest.raises(InputError):
        inline_svg("<p>no picture</p>")
