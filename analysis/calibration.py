"""The model constants behind a result, for the report."""

from __future__ import annotations

import dataclasses
import hashlib
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from analysis.load import InputError


@dataclasses.dataclass(frozen=True)
class Constant:
    name: str
    value: str
    source: str
    kind: str


@dataclasses.dataclass(frozen=True)
class Calibration:
    path: Path
    sha256: str
    constants: tuple[Constant, ...]

    @property
    def label(self) -> str:
        """File and the first digits of its hash, for captions."""
        return f"{self.path.as_posix()} ({self.sha256[:10]})"

    def fitted(self) -> list[Constant]:
        return [constant for constant in self.constants if constant.kind == "fitted"]


def _constants(path: Path, table: Mapping[str, object], prefix: str) -> Iterator[Constant]:
    for key, entry in table.items():
        if not isinstance(entry, dict):
            continue
        name = f"{prefix}{key}"
        if "value" in entry:
            for field in ("source", "kind"):
                if not isinstance(entry.get(field), str):
                    raise InputError(f"{path}: {name}: '{field}' is missing or not text")
            if entry["kind"] not in ("input", "fitted"):
                raise InputError(f"{path}: {name}: kind '{entry['kind']}' is not input or fitted")
            yield Constant(name, str(entry["value"]), entry["source"], entry["kind"])
        else:
            yield from _constants(path, entry, f"{name}.")


def load_calibration(path: Path) -> Calibration:
    """Every table that holds a value. Raises InputError."""
    try:
        data = path.read_bytes()
        table = tomllib.loads(data.decode("utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from None
    constants = tuple(_constants(path, table, ""))
    if not constants:
        raise InputError(f"{path}: holds no constant with value, source and kind")
    return Calibration(path, hashlib.sha256(data).hexdigest(), constants)
