from __future__ import annotations

import pytest

from analysis.units import format_size, parse_size


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [("64B", 64), ("256KiB", 256 * 1024), ("2MiB", 2 * 1024**2), ("1GiB", 1024**3)],
)
def test_sizes_go_both_ways(text: str, size_bytes: int) -> None:
    assert parse_size(text) == size_bytes
    assert format_size(size_bytes) == text


def test_a_size_that_is_no_whole_unit_is_spelled_in_the_next_smaller_one() -> None:
    assert format_size(1536) == "1536B"
    assert format_size(1536 * 1024) == "1536KiB"


@pytest.mark.parametrize("text", ["2", "2MB", "MiB", "-2MiB", "2.5MiB", ""])
def test_a_size_without_a_binary_unit_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="2MiB"):
        parse_size(text)
