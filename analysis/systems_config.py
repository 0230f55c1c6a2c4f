"""experiments/systems/config.toml: the systems, operations and kinds of buffers of the matrix."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from analysis.config import Table, open_table
from analysis.curves_options import option_names
from analysis.study_options import check_named_once, take_options

NAME = "systems"
# Buffers are the same in every operation; what is exchanged about them is exchanged within it.
FIRST_USE = "first use"
_OPTIONS_OF_THE_STUDY = frozenset({"--iterations", "--warmup"})


@dataclasses.dataclass(frozen=True)
class Choice:
    """A system, an operation or a kind of buffers: `name` is unique, `options` are its words.

    A system's name is what --system takes.
    """

    name: str
    label: str
    options: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class SystemsConfig:
    """`first_use` names the systems that are run once more with buffers nobody has seen."""

    path: Path
    id: str
    title: str
    calibration: Path
    network: str
    seed: int
    topology: str
    size_bytes: int
    iterations: int
    warmup: int
    systems: tuple[Choice, ...]
    operations: tuple[Choice, ...]
    buffers: tuple[Choice, ...]
    first_use: tuple[str, ...]


def _read_choices(table: Table, key: str) -> tuple[Choice, ...]:
    choices = []
    for entry in table.take_tables(key):
        choice = Choice(
            name=entry.take("name", str),
            label=entry.take("label", str),
            options=take_options(entry, "options", _OPTIONS_OF_THE_STUDY),
        )
        entry.done()
        choices.append(choice)
    check_named_once(table, key, [choice.name for choice in choices])
    return tuple(choices)


def load_systems_config(path: Path) -> SystemsConfig:
    """Raises InputError naming file and key."""
    table = open_table(path)
    if table.take("id", str) != NAME:
        raise table.fail("id", NAME)
    config = SystemsConfig(
        path=path,
        id=NAME,
        title=table.take("title", str),
        calibration=Path(table.take("calibration", str)),
        network=table.take("network", str),
        seed=table.take("seed", int),
        topology=table.take("topology", str),
        size_bytes=table.take_size("size"),
        iterations=table.take("iterations", int),
        warmup=table.take("warmup", int),
        systems=_read_choices(table, "system"),
        operations=_read_choices(table, "operation"),
        buffers=_read_choices(table, "buffers"),
        first_use=table.take_list("first_use", str),
    )
    if config.iterations < 1 or config.warmup < 1:
        raise table.fail("iterations", "iterations and warmup of at least 1")
    if any(choice.name == FIRST_USE for choice in config.buffers):
        raise table.fail("buffers", f"no '{FIRST_USE}', which the study adds itself")
    for name in config.first_use:
        if name not in [system.name for system in config.systems]:
            raise table.fail("first_use", f"names of systems, not '{name}'")
    for choices in (config.operations, config.buffers):
        for choice in choices:
            for system in config.systems:
                both = set(option_names(choice.options)) & set(option_names(system.options))
                if both:
                    raise table.fail("system", f"{min(both)} only once, not in '{choice.name}' too")
    table.done()
    return config
