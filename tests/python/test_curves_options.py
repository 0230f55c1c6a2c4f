"""Options switched on top of others."""

from __future__ import annotations

import pytest

from analysis.curves_options import option_names, switch_options


def test_an_option_that_is_switched_replaces_its_value() -> None:
    words = ("--pattern", "allgather", "--in-place", "--slots", "8", "--set", "a=1", "b=2")
    assert switch_options(words, ("--slots", "64")) == (
        *("--pattern", "allgather", "--in-place", "--set", "a=1", "b=2", "--slots", "64"),
    )
    # One flag given again stays one flag; other constants that are set stay set.
    assert switch_options(words, ("--in-place",)) == (*words[:2], *words[3:], "--in-place")
    assert switch_options(words, ("--set", "c=3")) == (*words, "--set", "c=3")
    without = switch_options(words, ("--overlap", "off"), ("--in-place", "--set"))
    assert without == ("--pattern", "allgather", "--slots", "8", "--overlap", "off")


def test_a_value_needs_an_option_before_it() -> None:
    assert option_names(("--to", "8", "--in-place")) == ["--to", "--in-place"]
    with pytest.raises(ValueError, match="'8' belongs to no option"):
        option_names(("8", "--in-place"))
