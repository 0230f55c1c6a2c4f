"""Options of the program as words: one switched on top of others, and what a study may give."""

from __future__ import annotations

from collections.abc import Sequence

# Given by the study itself, to every run alike.
OF_THE_STUDY = frozenset(
    {
        *("--system", "--topology", "--begin", "-b", "--end", "-e", "--factor", "-f"),
        *("--calibration", "--network", "--seed", "--jobs", "--csv", "--json", "--trace"),
    }
)
# Each replaces another constant, so a second one leaves the first alone.
_MANY_TIMES = frozenset({"--set"})


def group_options(words: Sequence[str]) -> list[tuple[str, ...]]:
    """Each option with its values. Raises ValueError when the words begin with none."""
    groups: list[list[str]] = []
    for word in words:
        if word.startswith("-"):
            groups.append([word])
        elif groups:
            groups[-1].append(word)
        else:
            raise ValueError(f"'{word}' belongs to no option")
    return [tuple(group) for group in groups]


def option_names(words: Sequence[str]) -> list[str]:
    return [group[0] for group in group_options(words)]


def switch_options(
    words: Sequence[str], changes: Sequence[str], without: Sequence[str] = ()
) -> tuple[str, ...]:
    """`words` with `changes` on top: one of the same name goes, as do those named by `without`.

    The program refuses an option that is given twice.
    """
    gone = {*without, *(set(option_names(changes)) - _MANY_TIMES)}
    kept = [group for group in group_options(words) if group[0] not in gone]
    return tuple(word for group in [*kept, *group_options(changes)] for word in group)
