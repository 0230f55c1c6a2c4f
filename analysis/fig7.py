"""Fig. 7: point-to-point bandwidth. Which rows give which number of the comparison."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from analysis import metrics, plots, style
from analysis.compare_with_paper import Measured
from analysis.config import FigureConfig
from analysis.load import InputError, PaperNumber, Row
from analysis.report import DataTable, Picture
from analysis.timeline import dma_rdma_overlap, draw_timeline, load_trace
from analysis.units import format_size

# The model that draws the curves; the other one only has to agree with it.
_NETWORK = "fluid"
_OTHER_NETWORK = "cm02"


def select(rows: Sequence[Row], **options: object) -> list[Row]:
    """Rows whose fields equal `options`; InputError if there is none."""
    found = [row for row in rows if all(getattr(row, key) == want for key, want in options.items())]
    if not found:
        raise InputError(f"no run with {options}")
    return found


def _only(rows: Sequence[Row], **options: object) -> Row:
    found = select(rows, **options)
    if len(found) != 1:
        raise InputError(f"{len(found)} runs with {options}, expected one")
    return found[0]


def _rails_label(count: int) -> str:
    return f"{count} rail" if count == 1 else f"{count} rails"


@dataclasses.dataclass(frozen=True)
class Fig7:
    """The rows of all groups of experiments/fig7/config.toml."""

    config: FigureConfig
    rows: Sequence[Row]

    def _group(self, name: str) -> list[Row]:
        return select(self.rows, group=name)

    def _curve(self) -> list[Row]:
        return select(self.rows, group="curve", network=_NETWORK)

    def _busbw(self, pair: str, system: str, size_bytes: int) -> float:
        row = _only(self._curve(), pair=pair, system=system, size_bytes=size_bytes)
        return row.busbw_gb_per_s

    def _small(self, pair: str, group: str = "curve") -> Measured:
        """HOCCL as run in `group` over the better NCCL of the curves, at the smallest size."""
        size = self.config.groups["curve"].begin_bytes
        ours = plots.series(
            select(self.rows, group=group, pair=pair, system="hoccl"), network=_NETWORK
        )
        rivals = plots.rivals(self._curve(), pair)
        best = max(rivals, key=lambda rival: rivals[rival][size])
        level = metrics.crossover_size(ours, plots.best_rival(self._curve(), pair))
        ahead = "never ahead" if level is None else f"ahead from {format_size(level)} on"
        return Measured(
            ours[size] / rivals[best][size],
            f"{format_size(size)} against {plots.system_label(best)}; {ahead}",
        )

    def _loss(self, pair: str) -> Measured:
        rows = select(self.rows, group="pipelining", pair=pair)
        without = _only(rows, pipelining="off")
        reference = _only(rows, pipelining="on")
        return Measured(
            metrics.loss_pct(without.busbw_gb_per_s, reference.busbw_gb_per_s),
            f"chunk {format_size(reference.chunk_bytes)}; --pipelining on: "
            f"{reference.busbw_gb_per_s:.1f}, off: {without.busbw_gb_per_s:.1f} GB/s",
        )

    def _rails(self, rails: int) -> Measured:
        points = {
            row.chunk_bytes: row.busbw_gb_per_s
            for row in select(self._group("chunk-sweep"), rails=rails)
        }
        chunk = metrics.best_chunk(points)
        return Measured(points[chunk], f"chunk {format_size(chunk)}, the best of the sweep")

    def measure(self) -> dict[tuple[str, str], Measured]:
        """Every number of the comparison, by (id, metric)."""
        largest = self.config.groups["curve"].end_bytes
        intra = self._busbw("intra", "hoccl", largest)
        intra_nccl = self._busbw("intra", "nccl:8sm", largest)
        return {
            ("p2p-intra", "hoccl_busbw"): Measured(intra),
            ("p2p-intra", "gain_over_nccl_8sm"): Measured(metrics.gain_pp(intra, intra_nccl)),
            ("p2p-intra", "nccl_8sm_busbw"): Measured(intra_nccl),
            ("p2p-inter", "hoccl_busbw"): Measured(self._busbw("inter", "hoccl", largest)),
            ("small", "ratio_to_best_nccl_intra"): self._small("intra"),
            ("small", "ratio_to_best_nccl_intra_first_use"): self._small("intra", "first-use"),
            ("small", "ratio_to_best_nccl_inter"): self._small("inter"),
            ("dma-start", "loss_unpipelined_intra"): self._loss("intra"),
            ("dma-start", "loss_unpipelined_inter"): self._loss("inter"),
            ("rails-1", "hoccl_busbw"): self._rails(1),
            ("rails-4", "hoccl_busbw"): self._rails(4),
        }

    def network_difference(self) -> float:
        """Largest relative difference of a time between the two network models, over all curves."""
        first, second = (
            {
                (row.pair, row.system, row.size_bytes): row.time_us
                for row in select(self.rows, group="curve", network=network)
            }
            for network in (_NETWORK, _OTHER_NETWORK)
        )
        return metrics.relative_difference_max(first, second)

    def _curve_table(self) -> DataTable:
        systems = list(dict.fromkeys(row.system for row in self._curve()))
        rows: list[tuple[str | float, ...]] = []
        for hoccl in select(self._curve(), system="hoccl"):
            values = [self._busbw(hoccl.pair, system, hoccl.size_bytes) for system in systems]
            place = (hoccl.pair, format_size(hoccl.size_bytes))
            costs = (hoccl.launch_us, hoccl.submit_us, hoccl.proxy_us)
            shares = (hoccl.bound_pct, hoccl.calibrated_bound_pct)
            rows.append((*place, *values, *shares, *costs))
        columns = ("pair", "size", *(f"{plots.system_label(system)} GB/s" for system in systems))
        return DataTable(
            "Curves",
            "busbw by size, and for HOCCL its share of the lower bound at nominal and calibrated "
            "rates and its CPU costs. Simulated.",
            (*columns, "bound %", "calibrated %", "launch µs", "submit µs", "proxy µs"),
            rows,
        )

    def _sweep_table(self) -> DataTable:
        sweep = self._group("chunk-sweep")
        rails = sorted({row.rails for row in sweep})
        best = {count: self._rails(count).value for count in rails}
        rows: list[tuple[str | float, ...]] = []
        for chunk in sorted({row.chunk_bytes for row in sweep}):
            values = [
                _only(sweep, chunk_bytes=chunk, rails=count).busbw_gb_per_s for count in rails
            ]
            marks = [
                _rails_label(count)
                for count, value in zip(rails, values, strict=True)
                if value == best[count]
            ]
            rows.append((format_size(chunk), *values, ", ".join(marks)))
        size = format_size(sweep[0].size_bytes)
        return DataTable(
            "Chunk sweep",
            f"busbw in GB/s of one {size} transfer between nodes. The paper does not state its "
            "chunk size. Simulated.",
            ("chunk", *(_rails_label(count) for count in rails), "best for"),
            rows,
        )

    def _pipelining_table(self) -> DataTable:
        rows: list[tuple[str | float, ...]] = [
            (row.pair, row.pipelining, row.time_us, row.busbw_gb_per_s)
            for row in self._group("pipelining")
        ]
        return DataTable(
            "Pipelining",
            "dma-start: the same transfer with --pipelining on and off (one chunk at a time, each "
            "leg awaited). Simulated.",
            ("pair", "pipelining", "time µs", "busbw GB/s"),
            rows,
        )

    def _network_table(self) -> DataTable:
        return DataTable(
            "Network models",
            "Largest relative difference of any time of the curves between --network "
            f"{_NETWORK} and {_OTHER_NETWORK}.",
            ("points", "largest relative difference", "allowed"),
            [
                (
                    str(len(self._curve())),
                    f"{self.network_difference():.3g}",
                    f"{self.config.network_difference_max:g}",
                )
            ],
        )

    def tables(self) -> list[DataTable]:
        return [
            self._sweep_table(),
            self._pipelining_table(),
            self._network_table(),
            self._curve_table(),
        ]

    def draw(
        self,
        folder: Path,
        paper: Sequence[PaperNumber],
        calibration: str,
        trace: Path,
        progress: Callable[[str], None],
    ) -> list[Picture]:
        """Writes the pictures into `folder`, SVG and PNG."""
        numbers = {(number.id, number.metric): number for number in paper}
        marked = {
            "intra": {
                "hoccl": numbers["p2p-intra", "hoccl_busbw"],
                "nccl:8sm": numbers["p2p-intra", "nccl_8sm_busbw"],
            },
            "inter": {"hoccl": numbers["p2p-inter", "hoccl_busbw"]},
        }
        events = load_trace(trace)
        timeline = self.config.timeline
        size = format_size(timeline.size_bytes)
        overlap = f"both are busy for {dma_rdma_overlap(events):.0%} of the shorter one's time"
        pictures = {
            self.config.id: (
                plots.draw_bandwidth(self._curve(), self._group("first-use"), marked, calibration),
                "Simulated curves; black circles are the paper's numbers at 1 GB.",
            ),
            f"{self.config.id}_choices": (
                plots.draw_choices(
                    self._group("chunk-sweep"), self._group("pipelining"), calibration
                ),
                "Simulated: choice of the chunk size, and what pipelining is worth.",
            ),
            f"timeline_{size}": (
                draw_timeline(
                    events,
                    f"One {size} send/recv between nodes: DMA and RDMA overlap",
                    f"Simulated ({timeline.network} network), chunk "
                    f"{format_size(timeline.chunk_bytes)}. Calibration: {calibration}.",
                ),
                f"Simulated timeline of one {size} transfer. DMA and RDMA overlap: {overlap}.",
            ),
        }
        drawn = []
        for name, (figure, caption) in pictures.items():
            progress(f"drawing {name}")
            svg, _ = style.save(figure, folder / f"{name}.svg")
            drawn.append(Picture(svg, caption))
        return drawn
