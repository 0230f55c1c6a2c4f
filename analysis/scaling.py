"""A constant of the calibration times a factor, spelled as --set takes it."""

from __future__ import annotations

import dataclasses
import re

_QUANTITY = re.compile(r"(\d+(?:\.\d*)?)\s*([A-Za-z]+(?:/s)?)?")
_SIZES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
# A share of a whole ends here; the program refuses more.
_SHARE_MAX = 1.0


@dataclasses.dataclass(frozen=True)
class Scaled:
    """`change_pct` is the real change of the value, limited by rounding and a share's end."""

    text: str
    change_pct: float


def _scaled(text: str, before: float, after: float) -> Scaled:
    # Nothing times a factor is nothing: such a constant cannot be varied this way.
    return Scaled(text, 100.0 * (after / before - 1.0) if before else 0.0)


def scale(value: str, factor: float, digits: int = 10) -> Scaled:
    """`value` as analysis.calibration holds it. Raises ValueError for what is no quantity.

    Without a unit, a value with a decimal point is a share, clipped at 1, and one without is a
    count. Counts and sizes become whole numbers, at least 1.
    """
    match = _QUANTITY.fullmatch(value.strip())
    if match is None or factor <= 0:
        raise ValueError(f"'{value}' times {factor:g} is no quantity")
    number, unit = float(match.group(1)), match.group(2)
    if unit in _SIZES:
        size_bytes = number * _SIZES[unit]
        whole = max(1, round(size_bytes * factor))
        return _scaled(f"{whole}B", size_bytes, whole)
    if unit is not None:
        after = number * factor
        return _scaled(f"{after:.{digits}g}{unit}", number, after)
    if "." not in value:
        whole = max(1, round(number * factor))
        return _scaled(str(whole), number, whole)
    share = min(_SHARE_MAX, number * factor)
    # The program tells a share from a count by the point, too.
    text = f"{share:.{digits}g}"
    return _scaled(text if "." in text else f"{text}.0", number, share)
