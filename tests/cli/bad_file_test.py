"""Malformed topology, calibration and plan files: exit 2, one line that names file and key."""

from __future__ import annotations

import json
import unittest
from typing import Any

from program import SOURCE_FOLDER, ProgramTest

TOPOLOGY = """schema = 1
nodes = 2
gpus_per_node = 4
nics_per_gpu = 1
nic_rate = "50GB/s"
[nvlink]
out = "200GB/s"
in = "200GB/s"
[pcie]
one_way = "55GB/s"
duplex_each = "50GB/s"
"""

# Each case: what is replaced in the good file, by what, and what the line must hold.
Replacement = tuple[str, str, list[str]]

TOPOLOGY_CASES: list[Replacement] = [
    ("schema = 1\n", "", ["schema", "expected"]),
    ("schema = 1", "schema = 2", ["schema", "2", "expected 1"]),
    ("nodes = 2\n", "", ["nodes", "expected"]),
    ("nodes = 2", "nodes = 0", ["nodes", "0", "expected"]),
    ("nodes = 2", 'nodes = "2"', ["nodes", "expected a whole number"]),
    ("nodes = 2", "nodes = 2.5", ["nodes", "2.5", "expected a whole number"]),
    ("nodes = 2", "nodes =", ["line 2", "expected valid TOML"]),
    ("nodes = 2", "nodes = 2\nnodes = 3", ["line 3", "expected valid TOML"]),
    ("gpus_per_node = 4", "gpus_per_node = [4]", ["gpus_per_node", "expected"]),
    ("gpus_per_node", "gpu_per_node", ["gpus_per_node"]),
    ("gpus_per_node = 4", "gpus_per_node = 4\ncolour = 1", ["colour", "unknown key"]),
    ('"50GB/s"', "50", ["nic_rate", "50", "expected"]),
    ('"50GB/s"', '"50"', ["nic_rate", "50", "expected"]),
    ('"50GB/s"', '"50GiB"', ["nic_rate", "50GiB", "expected"]),
    ('"50GB/s"', '"0GB/s"', ["nic_rate", "expected a rate above zero"]),
    ('"50GB/s"', '"-1GB/s"', ["nic_rate", "-1GB/s", "expected"]),
    ('"50GB/s"', '"infGB/s"', ["nic_rate", "expected"]),
    ("[nvlink]", "[nvlinks]", ["nvlink", "expected"]),
    ('in = "200GB/s"', "", ["nvlink.in", "expected"]),
    ('duplex_each = "50GB/s"', 'duplex_each = "60GB/s"', ["duplex_each", "expected"]),
    ("[nvlink]", 'staging = "moon"\n[nvlink]', ["staging", "moon", "expected"]),
    ("[nvlink]", "ranks = [9]\n[nvlink]", ["ranks", "9", "expected"]),
    ("[nvlink]", "ranks = [0, 0]\n[nvlink]", ["ranks", "expected"]),
    ("[nvlink]", "rails = 3\n[nvlink]", ["rails", "3", "expected"]),
]

CALIBRATION_CASES: list[Replacement] = [
    ("schema = 1\n", "", ["schema", "expected"]),
    ("schema = 1", "schema = 9", ["schema", "9", "expected 1"]),
    ("[nvlink.efficiency]\nvalue = 0", "[nvlink.efficiency]\nvalue = 1",
     ["nvlink.efficiency", "value", "expected a number from"]),
    ("[nvlink.efficiency]\nvalue = 0.", "[nvlink.efficiency]\nvalue = 0.00",
     ["nvlink.efficiency", "expected"]),
    ("[nvlink.efficiency]\nvalue = ", '[nvlink.efficiency]\nvalue = "much" # ',
     ["nvlink.efficiency", "much", "expected"]),
    ("[nccl.proxy_step]", "[nccl.proxy_steps]", ["nccl.proxy_step", "expected"]),
    ("[nccl.fifo_slots]\nvalue = 8", "[nccl.fifo_slots]\nvalue = 0",
     ["nccl.fifo_slots", "0", "expected"]),
    ('[nccl.net_step]\nvalue = "128KiB"', '[nccl.net_step]\nvalue = "0B"',
     ["nccl.net_step", "expected"]),
    ('[nccl.net_step]\nvalue = "128KiB"', '[nccl.net_step]\nvalue = "128us"',
     ["nccl.net_step", "128us", "expected"]),
    ('kind = "fitted"', 'kind = "guessed"', ["kind", "guessed", "expected"]),
    ('kind = "fitted"\n', "", ["kind", "expected"]),
    ("machine =", "machines =", ["machine", "expected"]),
    ("[nic.efficiency]\n", "[nic.efficiency]\nweight = 1\n", ["weight", "unknown key"]),
]

# Each case: path of the changed entry (None as value: removed), and what the line must hold.
PLAN_CASES: list[tuple[list[str | int], Any, list[str]]] = [
    (["schema"], 7, ["schema", "7", "expected"]),
    (["schema"], None, ["schema", "missing", "expected"]),
    (["pattern"], 5, ["pattern", "5", "expected"]),
    (["topology"], "elsewhere", ["topology", "elsewhere", "expected"]),
    (["rank_count"], 4, ["transfers[0].target", "8", "expected a whole number from 0 to 3"]),
    (["rank_count"], -1, ["rank_count", "-1", "expected"]),
    (["message_size_bytes"], "64MiB", ["message_size_bytes", "64MiB", "expected"]),
    (["message_size_bytes"], 1, ["transfer 0", "more than rank 0 sends"]),
    (["chunk_size_bytes"], 0, ["chunk_size_bytes", "0", "expected"]),
    (["transfers"], [], ["67108864 bytes", "never delivered"]),
    (["transfers"], None, ["transfers", "missing", "expected"]),
    (["surprise"], 1, ["surprise", "expected no such key"]),
    (["transfers", 0, "surprise"], 1, ["surprise", "expected no such key"]),
    (["transfers", 0, "source"], 99, ["source", "99", "expected"]),
    (["transfers", 0, "target"], 0, ["transfer 0"]),
    (["transfers", 0, "size_bytes"], 1024, ["1024 to 33554431", "never delivered"]),
    (["transfers", 0, "size_bytes"], 1.5, ["size_bytes", "1.5", "expected"]),
    (["transfers", 0, "target_offset_bytes"], 64, ["transfer 1", "again, after transfer 0"]),
    (["transfers", 0, "send_nic"], 99, ["send NIC 99", "expected"]),
    (["transfers", 0, "send_nic"], 0, ["transfer 0"]),
    (["transfers", 0, "receive_nic"], 1, ["transfer 0"]),
    (["transfers", 0, "route"], "pigeon", ["route", "pigeon", "expected"]),
    (["transfers", 0, "class"], "royal", ["class", "royal", "expected"]),
    (["transfers", 0, "stage"], -1, ["stage", "-1", "expected"]),
]


class BadFile(ProgramTest):
    def test_good_files_are_accepted(self) -> None:
        self.write("lab.toml", TOPOLOGY)
        self.write("h800.toml", self.calibration())
        self.succeed("plan", "--topology", "lab.toml", "--to", "4")
        self.succeed("sim", "--topology", "lab.toml", "--calibration", "h800.toml", "-e", "2MiB")

    def test_topology_is_refused(self) -> None:
        self.refuse_replacements(TOPOLOGY, "lab.toml", TOPOLOGY_CASES, "--topology")

    def test_calibration_is_refused(self) -> None:
        self.refuse_replacements(self.calibration(), "mine.toml", CALIBRATION_CASES,
                                 "--calibration")

    def test_plan_is_refused_by_both_verbs(self) -> None:
        good = json.loads(self.plan())
        for path, value, words in PLAN_CASES:
            with self.subTest(path=path, value=value):
                bad = json.loads(json.dumps(good))
                self.replace(bad, path, value)
                self.write("bad.json", json.dumps(bad))
                self.expect_refused(["plan", "--load", "bad.json"], ["bad.json", *words])
                self.expect_refused(["sim", "--plan", "bad.json", "--csv", "out.csv"],
                                    ["bad.json", *words])

    def test_plan_that_is_no_json_is_refused(self) -> None:
        good = self.plan()
        for name, text in {
            "empty": "",
            "cut short": good[: len(good) // 2],
            "list": "[]",
            "key twice": good.replace('"schema": 2,', '"schema": 2, "schema": 2,'),
            "trailing": good + "}",
        }.items():
            with self.subTest(name):
                self.write("bad.json", text)
                self.expect_refused(["plan", "--load", "bad.json"], ["bad.json", "expected"])

    def test_plan_of_another_topology_is_refused(self) -> None:
        self.write("good.json", self.plan())
        self.expect_refused(["sim", "--plan", "good.json", "--topology", "h800-4x8"],
                            ["good.json", "topology", "h800-2x8", "expected 'h800-4x8'"])

    def test_folder_is_no_file(self) -> None:
        (self.folder / "folder.toml").mkdir()
        self.expect_refused(["sim", "--topology", "folder.toml"], ["folder.toml", "expected"])
        self.expect_refused(["plan", "--load", "folder.toml"], ["folder.toml", "expected"])

    def refuse_replacements(self, good: str, name: str, cases: list[Replacement],
                            option: str) -> None:
        for old, new, words in cases:
            with self.subTest(old=old, new=new):
                self.assertTrue(old in good, f"{name} no longer holds {old!r}")
                self.write(name, good.replace(old, new, 1))
                self.expect_refused(["sim", option, name, "--csv", "out.csv"], [name, *words])

    @staticmethod
    def replace(root: Any, path: list[str | int], value: Any) -> None:
        *parents, last = path
        for step in parents:
            root = root[step]
        if value is None:
            del root[last]
        else:
            root[last] = value

    @staticmethod
    def calibration() -> str:
        return (SOURCE_FOLDER / "sim/calibration/h800.toml").read_text(encoding="utf-8")

    def plan(self) -> str:
        self.succeed("plan", "--to", "8", "--rails", "2", "-b", "64MiB", "--json", "good.json")
        text = self.read("good.json")
        (self.folder / "good.json").unlink()
        return text


if __name__ == "__main__":
    unittest.main()
