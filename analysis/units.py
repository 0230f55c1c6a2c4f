"""Message sizes as the command line spells them: binary, always with a unit."""

from __future__ import annotations

import re

_FACTORS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_SIZE = re.compile(r"(\d+)\s*(B|KiB|MiB|GiB)")


def parse_size(text: str) -> int:
    """Bytes of "2MiB". Raises ValueError for anything without a binary unit."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"'{text}' is not a size such as 2MiB")
    return int(match.group(1)) * _FACTORS[match.group(2)]


def format_size(size_bytes: int) -> str:
    """The shortest exact spelling, so that parse_size(format_size(n)) == n."""
    for unit in ("GiB", "MiB", "KiB"):
        if size_bytes >= _FACTORS[unit] and size_bytes % _FACTORS[unit] == 0:
            return f"{size_bytes // _FACTORS[unit]}{unit}"
    return f"{size_bytes}B"


def sweep_sizes(begin_bytes: int, end_bytes: int, factor: int) -> list[int]:
    """What the command line's -b, -e and -f run: begin, begin × factor, … up to end."""
    sizes = []
    size = begin_bytes
    while size <= end_bytes:
        sizes.append(size)
        size *= factor
    return sizes
