from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from analysis.calibration import load_calibration
from analysis.load import InputError

CONTENT = """
schema = 1
[copy_engine.rate]
value = "192.2GB/s"
source = "paper Fig. 7"
kind = "fitted"
[sm_count]
value = 132
source = "datasheet"
kind = "input"
"""


def test_every_table_with_a_value_is_a_constant(tmp_path: Path) -> None:
    path = tmp_path / "machine.toml"
    path.write_text(CONTENT, encoding="utf-8")
    calibration = load_calibration(path)
    assert [(constant.name, constant.value) for constant in calibration.constants] == [
        ("copy_engine.rate", "192.2GB/s"),
        ("sm_count", "132"),
    ]
    assert [constant.name for constant in calibration.fitted()] == ["copy_engine.rate"]
    assert calibration.sha256 == hashlib.sha256(CONTENT.encode()).hexdigest()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('source = "datasheet"\n', "", "sm_count: 'source' is missing"),
        ('kind = "input"', 'kind = "guess"', "sm_count: kind 'guess' is not input or fitted"),
        ("schema = 1", "schema 1", "machine.toml"),
        (CONTENT, "schema = 1", "holds no constant"),
    ],
)
def test_a_constant_without_source_or_kind_is_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = tmp_path / "machine.toml"
    path.write_text(CONTENT.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        load_calibration(path)
