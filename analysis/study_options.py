"""Words of the command line in a config.toml, checked against what the study gives itself."""

from __future__ import annotations

from analysis.config import Table
from analysis.curves_options import OF_THE_STUDY, option_names


def take_options(table: Table, key: str, reserved: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Raises InputError for words before the first option and for options of the study."""
    words = tuple(table.take(key, str).split())
    try:
        names = option_names(words)
    except ValueError as error:
        raise table.fail(key, f"options: {error}") from None
    for name in names:
        if name in OF_THE_STUDY or name in reserved:
            raise table.fail(key, f"none that the study gives itself, as {name}")
    return words


def check_named_once(table: Table, key: str, names: list[str]) -> None:
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise table.fail(key, f"each name once, not '{repeated[0]}' again")
