from __future__ import annotations

from pathlib import Path

import pytest
from conftest import MIB

from analysis.config import load_config
from analysis.load import InputError
from analysis.runs import expand, timeline_cell

GIB = 1024 * MIB


def test_config_of_the_repository_declares_the_whole_figure(repository: Path) -> None:
    config = load_config(repository / "experiments/fig7/config.toml")
    curve = list(expand(config, config.groups["curve"]))
    assert {(cell.system, cell.pair.name, cell.network) for cell in curve} == {
        (system, pair, network)
        for system in ("hoccl", "nccl:4sm", "nccl:8sm")
        for pair in ("intra", "inter")
        for network in ("fluid", "cm02")
    }
    assert curve[0].sizes_bytes() == [2 * MIB << doubling for doubling in range(10)]
    assert curve[0].sizes_bytes()[-1] == GIB


def test_a_cell_spells_out_every_option(repository: Path) -> None:
    config = load_config(repository / "experiments/fig7/config.toml")
    arguments = " ".join(timeline_cell(config).arguments(config))
    expected = (
        "sim --topology h800-2x8 --pattern sendrecv --from 0 --to 8 --system hoccl -b 64MiB"
        " -e 64MiB -f 2 --chunk 2MiB --rails 1 --pipelining on --warmup 1 --network fluid"
        " --calibration sim/calibration/h800.toml --seed 1"
        " --slots 16 --qps 4 --nic-depth 4 --streams 4 --quantum 8 --batch 1 --jobs 1"
    )
    assert arguments == expected


def test_no_two_runs_share_a_name(repository: Path) -> None:
    config = load_config(repository / "experiments/fig7/config.toml")
    names = [cell.name for group in config.groups.values() for cell in expand(config, group)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("schema = 1", "schema = 2", "schema: expected 1"),
        ('id = "fig7"', 'id = "fig7"\nsize = 3', "size: unknown key"),
        ('id = "fig7"', "id = 7", "id: expected text"),
        ('chunks = ["2MiB"]', "chunks = [2]", r"group\[0\]\.chunks: expected a list of text"),
        (
            'chunks = ["2MiB"]',
            'chunks = ["2MB"]',
            r"group\[0\]\.chunks: expected a size such as 2MiB",
        ),
        ('begin = "2MiB"', 'begin = "2GiB"', r"group\[0\]\.begin: expected 0 < begin <= end"),
        ('pairs = ["intra", "inter"]', 'pairs = ["outer"]', r"pairs: expected names of \[pairs\]"),
        ('kind = "predicted"', 'kind = "guessed"', "kind: expected input or fitted or predicted"),
        (
            'kind = "fitted"',
            'kind = "predicted"',
            "fitted_by: expected constants of the calibration",
        ),
        ("target = 48.5", "", "expected unit, claim and target together"),
        ("schema = 1", "schema 1", "config.toml"),
    ],
)
def test_a_malformed_config_is_refused_by_key(
    repository: Path, tmp_path: Path, old: str, new: str, message: str
) -> None:
    text = (repository / "experiments/fig7/config.toml").read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "config.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        load_config(path)
