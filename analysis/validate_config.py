"""experiments/validate/config.toml: which sizes and records are for fitting, which for checking."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Literal

from analysis.config import Table, open_table
from analysis.load import InputError
from analysis.units import format_size

NAME = "validate"
# What a calibration was fitted to says nothing about how well it predicts.
Role = Literal["fitting", "checking"]

_CALIBRATIONS = Path("sim/calibration")


@dataclasses.dataclass(frozen=True)
class Bands:
    """How far a simulated time may be off, in percent of the measured one."""

    small_below_bytes: int
    small_within_pct: float
    large_within_pct: float

    def is_small(self, size_bytes: int) -> bool:
        return size_bytes < self.small_below_bytes

    def within_pct(self, size_bytes: int) -> float:
        return self.small_within_pct if self.is_small(size_bytes) else self.large_within_pct

    def name(self, size_bytes: int) -> str:
        limit = format_size(self.small_below_bytes)
        return f"< {limit}" if self.is_small(size_bytes) else f"≥ {limit}"


@dataclasses.dataclass(frozen=True)
class ValidateConfig:
    path: Path
    id: str
    title: str
    calibration: Path
    network: str
    # Of the recorded runs.
    seed: int
    bands: Bands
    fitting_bytes: tuple[int, ...]
    checking_bytes: tuple[int, ...]
    # Records of which all sizes are for fitting, as "folder/file.json" below results/.
    fitting_records: tuple[str, ...]
    # The one record whose timeline is drawn; empty: none.
    timeline: str

    def role(self, record: str, size_bytes: int) -> Role:
        """Raises InputError when the size is in neither list."""
        if record in self.fitting_records or size_bytes in self.fitting_bytes:
            return "fitting"
        if size_bytes in self.checking_bytes:
            return "checking"
        raise InputError(
            f"{self.path}: {record} holds {format_size(size_bytes)}: expected it in fitting.sizes "
            "or in checking.sizes"
        )


def calibration_file(text: str) -> Path:
    """A preset's name is its file's."""
    return Path(text) if text.endswith(".toml") else _CALIBRATIONS / f"{text}.toml"


def _read_bands(table: Table) -> Bands:
    bands = Bands(
        small_below_bytes=table.take_size("small_below"),
        small_within_pct=table.take("small_within_pct", float),
        large_within_pct=table.take("large_within_pct", float),
    )
    for key in ("small_within_pct", "large_within_pct"):
        if getattr(bands, key) <= 0:
            raise table.fail(key, "a number above 0")
    table.done()
    return bands


def load_validate_config(path: Path) -> ValidateConfig:
    """Raises InputError naming file and key; also when a size is for fitting and for checking."""
    table = open_table(path)
    if table.take("id", str) != NAME:
        raise table.fail("id", NAME)
    fitting, checking = table.take_table("fitting"), table.take_table("checking")
    config = ValidateConfig(
        path=path,
        id=NAME,
        title=table.take("title", str),
        calibration=calibration_file(table.take("calibration", str)),
        network=table.take_one_of("network", ("fluid", "cm02")),
        seed=table.take("seed", int),
        bands=_read_bands(table.take_table("bands")),
        fitting_bytes=fitting.take_sizes("sizes"),
        checking_bytes=checking.take_sizes("sizes"),
        fitting_records=(
            fitting.take_list("records", str) if "records" in fitting.unread() else ()
        ),
        timeline=table.take_optional("timeline", str) or "",
    )
    both = sorted(set(config.fitting_bytes) & set(config.checking_bytes))
    if both:
        sizes = ", ".join(format_size(size) for size in both)
        raise checking.fail("sizes", f"none of fitting.sizes, not {sizes}")
    for part in (fitting, checking, table):
        part.done()
    return config
