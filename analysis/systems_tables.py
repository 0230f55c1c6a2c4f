"""The matrix of systems in words: one wide table, one with every column, first use of buffers."""

from __future__ import annotations

from collections.abc import Sequence

from analysis import metrics
from analysis.load import InputError
from analysis.report import DataTable
from analysis.systems_config import FIRST_USE, Choice, SystemsConfig
from analysis.systems_runs import Cell
from analysis.units import format_size

_MARKS = "abcdefghijklmnopqrstuvwxyz"
OWN_BOUND = (
    "The bound is the lower bound, at calibrated rates, of how this system may route: HOCCL stages "
    "over any NIC of the node, NCCL's kernels send through the NIC of the receiver's rail, "
    "NCCL-ZERO and VCCL through their own. So shares of two systems may have different wholes: "
    "compare speeds by busbw."
)


class Matrix:
    """Cells by operation, buffers and system."""

    def __init__(self, config: SystemsConfig, cells: Sequence[Cell]) -> None:
        self.config = config
        self.cells = tuple(cells)
        self._cells = {
            (cell.run.operation.name, cell.run.buffers, cell.run.system.name): cell
            for cell in cells
        }
        # In the order in which a reader meets them.
        self.footnotes: dict[str, str] = {}
        for operation, buffers in self.lines():
            for system in config.systems:
                reason = footnote(self.cell(operation, buffers.name, system))
                if reason and reason not in self.footnotes:
                    self.footnotes[reason] = _MARKS[len(self.footnotes)]

    def lines(self) -> list[tuple[Choice, Choice]]:
        return [
            (operation, buffers)
            for operation in self.config.operations
            for buffers in self.config.buffers
        ]

    def cell(self, operation: Choice, buffers: str, system: Choice) -> Cell:
        """Raises InputError where there is no such run."""
        key = (operation.name, buffers, system.name)
        if key not in self._cells:
            raise InputError(f"{self.config.path}: no run of {key}")
        return self._cells[key]

    def mark(self, cell: Cell) -> str:
        """The letter of its footnote; empty where the system ran as it is named."""
        return self.footnotes.get(footnote(cell), "")


def footnote(cell: Cell) -> str:
    """The program's reason, without the pattern, so that equal reasons are one footnote."""
    if cell.fallback is None:
        return ""
    reason = cell.fallback.reason.removeprefix(f"{cell.row.pattern}: ")
    return f"{cell.fallback.system} runs kernels of {cell.fallback.sms} SMs instead: {reason}"


def cpu_us(cell: Cell) -> tuple[float, float]:
    """What the caller waits for, and all that the busiest proxy spends (posting included)."""
    return cell.row.launch_us, cell.row.proxy_us


def _text(matrix: Matrix, cell: Cell) -> str:
    launch, proxy = cpu_us(cell)
    mark = matrix.mark(cell)
    sms = f"{cell.row.sms:g} SMs" + (f" [{mark}]" if mark else "")
    return (
        f"{cell.row.busbw_gb_per_s:.1f} | {sms} | {launch:.1f} + {proxy:.0f} | "
        f"{cell.row.calibrated_bound_pct:.1f}%"
    )


def matrix_table(matrix: Matrix) -> DataTable:
    config = matrix.config
    rows: list[tuple[str | float, ...]] = [
        (
            operation.label,
            buffers.label,
            *(
                _text(matrix, matrix.cell(operation, buffers.name, system))
                for system in config.systems
            ),
        )
        for operation, buffers in matrix.lines()
    ]
    notes = "; ".join(f"[{mark}] {reason}" for reason, mark in matrix.footnotes.items())
    return DataTable(
        f"Systems at {format_size(config.size_bytes)} on {config.topology}",
        "Each cell: busbw in GB/s | SMs held | CPU time in µs, caller's launch + busiest proxy | "
        f"share of its own bound. {OWN_BOUND} {notes}. Simulated.",
        ("operation", "buffers", *(system.label for system in config.systems)),
        rows,
    )


def cells_table(matrix: Matrix) -> DataTable:
    """Every run with all that was read off it."""
    rows: list[tuple[str | float, ...]] = []
    for cell in matrix.cells:
        row = cell.row
        rows.append(
            (
                *(cell.run.operation.label, cell.run.buffers, cell.run.system.label),
                *(row.busbw_gb_per_s, row.time_us, f"{row.sms:g}"),
                *(row.launch_us, row.submit_us, row.proxy_us),
                *(row.bound_pct, row.calibrated_bound_pct),
                cell.fallback.reason if cell.fallback else "",
            )
        )
    return DataTable(
        "Every run",
        "launch: the caller's cost; submit: posting by the source's proxy, which is part of proxy: "
        "all CPU time of the busiest rank's proxy. Simulated.",
        (
            *("operation", "buffers", "system", "busbw GB/s", "time µs", "SMs"),
            *("launch µs", "submit µs", "proxy µs", "bound %", "calibrated %"),
            "kernels instead, because",
        ),
        rows,
    )


def first_use_table(matrix: Matrix) -> DataTable:
    """What the exchange of buffers costs, which no cell of the matrix holds."""
    config = matrix.config
    first = config.buffers[0].name
    rows: list[tuple[str | float, ...]] = []
    for system in config.systems:
        if system.name not in config.first_use:
            continue
        for operation in config.operations:
            known = matrix.cell(operation, first, system).row
            new = matrix.cell(operation, FIRST_USE, system).row
            change = metrics.gain_pp(new.busbw_gb_per_s, known.busbw_gb_per_s)
            rows.append(
                (
                    *(system.label, operation.label),
                    *(known.busbw_gb_per_s, new.busbw_gb_per_s, f"{change:+.1f}%"),
                    *(known.proxy_us, new.proxy_us),
                )
            )
    return DataTable(
        "First use of buffers",
        "HOCCL registers nothing, and the program takes the IPC handles of a node's buffers as "
        "exchanged before, with --dynamic-buffers too. This is the first operation between two "
        "buffers (--warmup 0), with the exchange in it: what HOCCL pays where every operation "
        "really has buffers that nobody has seen. Simulated.",
        (
            *("system", "operation", "busbw GB/s, known", "busbw GB/s, first use", "change"),
            *("proxy µs, known", "proxy µs, first use"),
        ),
        rows,
    )
