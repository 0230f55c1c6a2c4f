"""Values of the calibration times a factor."""

from __future__ import annotations

import pytest

from analysis.scaling import scale


@pytest.mark.parametrize(
    ("value", "factor", "text", "change_pct"),
    [
        ("0.849us", 0.8, "0.6792us", -20.0),
        ("2us", 1.2, "2.4us", 20.0),
        ("22.5GB/s", 1.2, "27GB/s", 20.0),
        ("537ms", 0.8, "429.6ms", -20.0),
        # Whole bytes.
        ("512KiB", 1.2, "629146B", 20.0),
        ("64MiB", 0.8, "53687091B", -20.0),
        ("1B", 0.2, "1B", 0.0),
        # Whole counts, at least 1.
        ("4", 0.8, "3", -25.0),
        ("4", 1.2, "5", 25.0),
        ("8", 0.8, "6", -25.0),
        ("1", 0.2, "1", 0.0),
        # A share ends at 1.
        ("0.9639", 0.8, "0.77112", -20.0),
        ("0.8", 1.5, "1.0", 25.0),
        ("1.0", 1.2, "1.0", 0.0),
        ("0.0", 1.2, "0.0", 0.0),
    ],
)
def test_a_value_keeps_its_unit(value: str, factor: float, text: str, change_pct: float) -> None:
    scaled = scale(value, factor)
    assert scaled.text == text
    assert scaled.change_pct == pytest.approx(change_pct, abs=1e-4)


def test_a_tiny_change_survives_being_written_down() -> None:
    assert float(scale("0.9639", 1.0 + 1e-11, digits=16).text) > 0.9639


@pytest.mark.parametrize("value", ["", "fast", "-1us", "1 2us", "us"])
def test_what_is_no_quantity_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="no quantity"):
        scale(value, 1.2)
