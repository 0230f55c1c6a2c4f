"""Measures experiments/loopback on this machine: real processes, no GPU. Not a figure of the paper.

Writes results/loopback/{run.csv, manifest.json, timeline.svg, timeline.png} and a section of
results/report.html.
"""

from __future__ import annotations

import dataclasses
import html
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from analysis import style
from analysis.config import Table, open_table
from analysis.files import replaced, write_text
from analysis.load import MeasuredRow, load_measured_rows
from analysis.manifest import commit, program_version
from analysis.report import DataTable, Picture, render_picture, render_table, write_section
from analysis.runs import run_program
from analysis.timeline import dma_rdma_overlap, draw_timeline, load_trace
from analysis.units import format_size

NAME = "loopback"
CONFIG = Path("experiments") / NAME / "config.toml"


@dataclasses.dataclass(frozen=True)
class LoopbackConfig:
    title: str
    topology: str
    pattern: str
    begin_bytes: int
    end_bytes: int
    factor: int
    seed: int
    # Given to every run as --name value.
    options: dict[str, str]
    timeline_bytes: int
    timeline_streams: int

    def command(self, program: Path, begin_bytes: int, end_bytes: int) -> list[str]:
        """Everything is spelled out, so that a result does not hang on the program's defaults."""
        return [
            *(str(program), "run"),
            *("--topology", self.topology),
            *("--pattern", self.pattern),
            *("-b", format_size(begin_bytes)),
            *("-e", format_size(end_bytes)),
            *("-f", str(self.factor)),
            *("--seed", str(self.seed)),
            *itertools.chain(*((f"--{name}", value) for name, value in self.options.items())),
        ]


def _read_options(table: Table) -> dict[str, str]:
    texts = ("link", "chunk")
    options = {
        name: table.take(name, str) if name in texts else str(table.take(name, int))
        for name in table.unread()
    }
    table.done()
    return options


def load_loopback_config(path: Path) -> LoopbackConfig:
    """Raises InputError naming file and key."""
    table = open_table(path)
    if table.take("id", str) != NAME:
        raise table.fail("id", NAME)
    timeline = table.take_table("timeline")
    config = LoopbackConfig(
        title=table.take("title", str),
        topology=table.take("topology", str),
        pattern=table.take("pattern", str),
        begin_bytes=table.take_size("begin"),
        end_bytes=table.take_size("end"),
        factor=table.take("factor", int),
        seed=table.take("seed", int),
        options=_read_options(table.take_table("options")),
        timeline_bytes=timeline.take_size("size"),
        timeline_streams=timeline.take("streams", int),
    )
    timeline.done()
    table.done()
    return config


def results_table(rows: Sequence[MeasuredRow]) -> DataTable:
    first = rows[0]
    return DataTable(
        title="Measured on this machine",
        text=(
            f"{first.pattern} on {first.copy}×{first.link}, {first.host}. Time: median of "
            f"{first.rounds} rounds; n: operations in all; spread: (slowest − fastest round) / "
            "median. Every received byte of one more operation was compared with what its source "
            "sent. No bound: the rates of the topology are not those of this machine."
        ),
        columns=("size", "time (µs)", "busbw (GB/s)", "spread (%)", "min (µs)", "max (µs)", "n"),
        rows=[
            (
                format_size(row.size_bytes),
                row.time_us,
                row.busbw_gb_per_s,
                row.spread_pct,
                row.min_us,
                row.max_us,
                str(row.rounds * row.iterations),
            )
            for row in rows
        ],
    )


def _draw(config: LoopbackConfig, trace: Path, folder: Path, host: str) -> Picture:
    events = load_trace(trace)
    size = format_size(config.timeline_bytes)
    overlap = f"{dma_rdma_overlap(events):.0%}"
    figure = draw_timeline(
        events,
        f"{config.pattern} of {size} on {config.topology}, one process per rank",
        f"Measured: one operation (n = 1), chunk {config.options['chunk']}. {host}.",
        "measured",
    )
    svg, _ = style.save(figure, folder / "timeline.svg")
    caption = (
        f"Measured timeline of one {size} operation (n = 1): threads that copy stand in for the "
        f"copy engines, shared memory for the NICs. Both are busy for {overlap} of the shorter "
        "one's time."
    )
    return Picture(svg, caption)


def render(
    config: LoopbackConfig, picture: Picture, table: DataTable, manifest: Mapping[str, object]
) -> str:
    return (
        f'<section id="{NAME}">\n<h2>{html.escape(config.title)} (measured)</h2>\n'
        + render_picture(picture)
        + render_table(table)
        + f"<h3>Manifest</h3>\n<pre>{html.escape(json.dumps(manifest, indent=2))}</pre>\n</section>\n"
    )


def measure(program: Path, results: Path, progress: Callable[[str], None]) -> None:
    """Raises InputError and RunFailed."""
    config = load_loopback_config(CONFIG)
    folder = results / NAME
    sweep = [*config.command(program, config.begin_bytes, config.end_bytes), "--check"]
    progress("measuring: " + " ".join(sweep))
    with replaced(folder / "run.csv") as temporary:
        print(run_program([*sweep, "--csv", str(temporary)]), end="", flush=True)
        rows = load_measured_rows(temporary)
    traced = config.command(program, config.timeline_bytes, config.timeline_bytes)
    traced[traced.index("--streams") + 1] = str(config.timeline_streams)
    progress(f"timeline of one {format_size(config.timeline_bytes)} operation")
    trace = folder / "timeline.json"
    with replaced(trace) as temporary:
        run_program([*traced, "--trace", str(temporary)])
    picture = _draw(config, trace, folder, rows[0].host)
    manifest = {
        "study": NAME,
        "kind": "measured",
        "commit": commit(),
        "seed": config.seed,
        "host": rows[0].host,
        "hoccl": program_version(program),
        "commands": [" ".join(sweep), " ".join(traced)],
    }
    write_text(folder / "manifest.json", json.dumps(manifest, indent=2) + "\n")
    page = write_section(results, NAME, render(config, picture, results_table(rows), manifest))
    progress(f"timeline in {picture.svg} and .png, section in {page}")
