"""Writing results so that a reader never sees half a file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Yields a temporary name beside `path`; renames it to `path` unless the body raised.

    The suffix stays last, because matplotlib takes the format from it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    with replaced(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
