"""experiments/tornado/config.toml: the numbers whose dependence on the constants is shown."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from analysis.config import Table, open_table
from analysis.curves_config import COLUMNS
from analysis.study_options import check_named_once, take_options

NAME = "tornado"
_OPTIONS_OF_THE_STUDY = frozenset({"--set"})


@dataclasses.dataclass(frozen=True)
class Number:
    """One number of a figure: a column of one run."""

    name: str
    figure: str
    system: str
    topology: str
    options: tuple[str, ...]
    size_bytes: int
    column: str

    @property
    def label(self) -> str:
        return f"{self.figure}, {self.name}"


@dataclasses.dataclass(frozen=True)
class TornadoConfig:
    """`nudges` are relative changes too small to mean anything: what moves then is ties alone."""

    path: Path
    id: str
    title: str
    calibration: Path
    network: str
    seed: int
    change_pct: float
    shown_above_pct: float
    bars_max: int
    nudges: tuple[float, ...]
    nudged: tuple[str, ...]
    numbers: tuple[Number, ...]


def _read_number(table: Table) -> Number:
    number = Number(
        name=table.take("name", str),
        figure=table.take("figure", str),
        system=table.take("system", str),
        topology=table.take("topology", str),
        options=take_options(table, "options", _OPTIONS_OF_THE_STUDY),
        size_bytes=table.take_size("size"),
        column=table.take_one_of("column", tuple(COLUMNS)),
    )
    table.done()
    return number


def load_tornado_config(path: Path) -> TornadoConfig:
    """Raises InputError naming file and key."""
    table = open_table(path)
    if table.take("id", str) != NAME:
        raise table.fail("id", NAME)
    config = TornadoConfig(
        path=path,
        id=NAME,
        title=table.take("title", str),
        calibration=Path(table.take("calibration", str)),
        network=table.take("network", str),
        seed=table.take("seed", int),
        change_pct=table.take("change_pct", float),
        shown_above_pct=table.take("shown_above_pct", float),
        bars_max=table.take("bars_max", int),
        nudges=table.take_list("nudges", float),
        nudged=table.take_list("nudged", str),
        numbers=tuple(_read_number(entry) for entry in table.take_tables("number")),
    )
    if not 0.0 < config.change_pct < 100.0:
        raise table.fail("change_pct", "above 0 and below 100")
    if config.shown_above_pct < 0.0 or config.bars_max < 1:
        raise table.fail("shown_above_pct", "0 or more, and bars_max of at least 1")
    if any(not 0.0 < nudge < 1e-3 for nudge in config.nudges):
        raise table.fail("nudges", "relative changes above 0 and below 1e-3")
    check_named_once(table, "number", [number.label for number in config.numbers])
    table.done()
    return config
