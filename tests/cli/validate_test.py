"""`hoccl validate`: simulated and measured side by side, here and from a file."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import time
import unittest
from typing import Any

from program import PROGRAM_VARIABLE, ProgramTest, children_of

WORK = ("--topology", "h800-2x2", "--to", "2", "-b", "2MiB", "-e", "4MiB", "--chunk", "1MiB",
        "--link-rate", "0.2GB/s", "--iterations", "1", "--rounds", "3")
ONE_SIZE = ("--topology", "h800-2x2", "--to", "2", "-b", "2MiB", "-e", "2MiB", "--chunk", "1MiB",
            "--rounds", "1")
LEGS = ("stage_in", "wire", "deliver")
CPU = ("launch", "submit", "proxy")

# Each case: path of the changed entry (None as value: removed), and what the line must hold.
CASES: list[tuple[list[str | int], Any, list[str]]] = [
    (["schema"], 2, ["schema", "2", "expected"]),
    (["kind"], "simulated", ["kind", "simulated", "expected"]),
    (["host"], None, ["host", "missing", "expected a text"]),
    (["parameters"], None, ["parameters", "missing", "expected an object"]),
    (["parameters", "topology"], "elsewhere", ["topology", "elsewhere", "expected"]),
    (["parameters", "ranks"], 17, ["17", "expected"]),
    (["parameters", "pattern", "to"], 4, ["target", "4", "expected"]),
    (["parameters", "pattern", "name"], "zig", ["pattern", "zig", "expected"]),
    (["parameters", "pattern", "in_place"], True, ["pattern.in_place", "expected a text"]),
    (["parameters", "pattern", "in_place"], "maybe", ["pattern.in_place", "maybe", "expected"]),
    (["parameters", "pattern", "seed"], "-1", ["seed", "-1", "expected"]),
    (["parameters", "pattern", "group"], [0, 9], ["group", "expected"]),
    (["parameters", "compile", "chunk_bytes"], 0, ["compile.chunk_bytes", "0", "expected"]),
    (["parameters", "compile", "order"], "first", ["order", "first", "expected"]),
    (["parameters", "compile", "nics"], None, ["compile.nics", "missing", "expected"]),
    (["parameters", "colour"], "red", ["parameters.colour", "expected no such key"]),
    (["parameters", "pipeline", "overlap"], "off", ["pipeline.overlap", "off", "expected"]),
    (["parameters", "pipeline", "streams"], "4", ["pipeline.streams", "expected a whole number"]),
    (["parameters", "hardware", "link"], "string", ["link", "string", "expected"]),
    (["parameters", "hardware", "link_rate"], "fast", ["link_rate", "fast", "expected"]),
    (["results"], [], ["results", "expected at least one size"]),
    (["results", 0, "time_us"], 0, ["results[0].time_us", "expected a time above zero"]),
    (["results", 1, "size_bytes"], "4MiB", ["results[1].size_bytes", "4MiB", "expected"]),
    (["results", 1, "legs"], None, ["results[1].legs", "missing", "expected an object"]),
    (["results", 0, "legs", "wire", "count"], 0, ["results[0].legs.wire.count", "expected"]),
    (["results", 0, "legs", "walk"], {}, ["results[0].legs.walk", "expected no such key"]),
    (["results", 0, "launch_us"], None, ["results[0].launch_us", "missing", "expected a number"]),
    (["results", 1, "submit_us"], -1, ["results[1].submit_us", "-1", "expected a number"]),
    (["results", 1, "proxy_us"], "2us", ["results[1].proxy_us", "2us", "expected a number"]),
]

# The same with the timeline of a file.
TRACE_CASES: list[tuple[list[str | int], Any, list[str]]] = [
    ([], [], ["results[0].trace", "expected an object"]),
    (["rank"], None, ["trace.rank", "missing", "expected an array"]),
    (["rank", 0], 4, ["trace.rank", "expected ranks below 4"]),
    (["track", 0], 3, ["trace.track", "expected an array of whole numbers from 0 to 2"]),
    (["index", 0], 3 << 8, ["trace.index", "expected lanes of a copy engine"]),
    (["index", 0], 1 << 16, ["trace.index", "expected lanes of a copy engine"]),
    (["leg"], [0], ["trace.leg", "expected as many numbers as in the other columns"]),
    (["end_ns", 2], 0, ["trace.end_ns", "expected no end before its begin"]),
    (["begin_ns", 0], 0.5, ["trace.begin_ns", "expected an array of whole numbers"]),
    (["source", 0], 1 << 16, ["trace.source", "expected an array of whole numbers"]),
    (["colour"], [1], ["trace.colour", "expected no such key"]),
]


def changed(good: str, path: list[str | int], value: Any) -> str:
    """The JSON text with one entry replaced, or removed where the value is None."""
    bad = json.loads(good)
    place = bad
    for step in path[:-1]:
        place = place[step]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return json.dumps(bad)


class Validate(ProgramTest):
    def rows(self, *arguments: str) -> dict[tuple[int, str], dict[str, str]]:
        self.succeed("validate", *arguments, "--csv", "rows.csv")
        rows = csv.DictReader(io.StringIO(self.read("rows.csv")))
        return {(int(row["size_bytes"]), row["part"]): row for row in rows}

    def test_measures_and_simulates_the_same(self) -> None:
        rows = self.rows(*WORK)
        for size in (2 << 20, 4 << 20):
            for part in ("all", *LEGS, *CPU):
                row = rows[size, part]
                simulated, measured = float(row["simulated_us"]), float(row["measured_us"])
                error = (simulated - measured) / measured * 100
                self.assertAlmostEqual(float(row["error_pct"]), error, places=3)
            # Both wires move one chunk of 1 MiB at 0.2 GB/s, and no faster.
            chunk_us = (1 << 20) / 0.2e3
            self.assertAlmostEqual(float(rows[size, "wire"]["simulated_us"]) / chunk_us, 1.0, 2)
            self.assertGreaterEqual(float(rows[size, "wire"]["measured_us"]), 0.999 * chunk_us)
            self.assertEqual([rows[size, part]["n"] for part in ("all", "wire", *CPU)],
                             ["3", "1", "3", "3", "3"])
        self.assertEqual(len(rows), 14)

    def test_table_says_what_is_compared_with_what(self) -> None:
        text = self.succeed("validate", *WORK)
        for words in ("# measured: hoccl run", "host×loopback", "# simulated:", "H800",
                      "only the wire is expected to agree", "(n = 1)", "mean of n"):
            self.assertIn(words, text)

    def test_json_holds_the_rows_of_the_csv(self) -> None:
        rows = self.rows(*WORK, "--json", "report.json")
        report = json.loads(self.read("report.json"))
        self.assertEqual(report["kind"], "comparison")
        self.assertEqual(report["measured"]["link_rate"], "200MB/s")
        self.assertEqual(len(report["results"]), len(rows))
        for result in report["results"]:
            row = rows[result["size_bytes"], result["part"]]
            self.assertEqual(f"{result['measured_us']:.6f}", row["measured_us"])
            self.assertEqual(result["n"], int(row["n"]))
            self.assertEqual(result["min_us"] is None, result["part"] != "all")

    def test_under_a_launcher_is_refused(self) -> None:
        for job in ({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"},
                    {"HOCCL_JOB_SECRET": "0" * 32, "RANK": "1", "WORLD_SIZE": "2",
                     "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}):
            self.expect_refused(["validate", *WORK],
                                ["hoccl run --json FILE", "hoccl validate --measured FILE"], job)

    def test_told_to_end_it_leaves_nothing(self) -> None:
        process = subprocess.Popen(
            [os.environ[PROGRAM_VARIABLE], "validate", *WORK[:-1], "1000"], cwd=self.folder,
            env=os.environ | {"TMPDIR": str(self.folder)}, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        deadline = time.monotonic() + 20
        while not children_of(process.pid):
            self.assertLess(time.monotonic(), deadline, "it starts no ranks")
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        self.assertEqual(process.returncode, 128 + signal.SIGINT)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_recorded_run_is_compared_offline(self) -> None:
        self.succeed("run", *WORK, "--json", "run.json")
        rows = self.rows("--measured", "run.json")
        recorded = json.loads(self.read("run.json"))["results"]
        for result in recorded:
            for part, key in (("all", "time_us"), ("launch", "launch_us"),
                              ("submit", "submit_us"), ("proxy", "proxy_us")):
                row = rows[result["size_bytes"], part]
                self.assertAlmostEqual(float(row["measured_us"]), result[key], places=3)
        # A simulation repeats itself.
        self.assertEqual(rows, self.rows("--measured", "run.json"))
        changed = self.rows("--measured", "run.json", "--set", "queue_pair.message_overhead=1ms")
        size = recorded[0]["size_bytes"]
        self.assertGreater(float(changed[size, "all"]["simulated_us"]),
                           float(rows[size, "all"]["simulated_us"]) + 500)

    def test_recorded_plan_travels_with_the_run(self) -> None:
        self.succeed("plan", "--topology", "h800-2x2", "--to", "2", "-b", "2MiB", "--json", "p.json")
        self.succeed("run", "--plan", "p.json", "--rounds", "1", "--json", "run.json")
        (self.folder / "p.json").unlink()
        self.assertIn((2 << 20, "wire"), self.rows("--measured", "run.json"))

    def test_wire_that_moves_nothing_is_compared_with_one(self) -> None:
        rows = self.rows("--topology", "h800-2x2", "--to", "2", "-b", "1MiB", "-e", "1MiB",
                         "--link", "loopback-map", "--rounds", "1")
        self.assertIn((1 << 20, "deliver"), rows)

    def test_wire_without_a_rate_beside_one_that_moves_nothing(self) -> None:
        text = self.succeed("validate", "--topology", "h200-1x1", "-b", "64KiB", "-e", "64KiB",
                            "--rounds", "1")
        self.assertIn("the simulated wire moves nothing, this host's wire has no rate", text)

    def timelines(self, *arguments: str) -> dict[str, list[dict[str, Any]]]:
        """Slices by the name of their process."""
        self.succeed("validate", *arguments, "--trace", "both.json")
        events = json.loads(self.read("both.json"))["traceEvents"]
        names = {event["pid"]: event["args"]["name"] for event in events
                 if event["name"] == "process_name"}
        lines: dict[str, list[dict[str, Any]]] = {name: [] for name in names.values()}
        for event in events:
            if event["ph"] == "X":
                lines[names[event["pid"]]].append(event)
        self.assertEqual(len(names), len(lines))
        return lines

    def expect_both_timelines(self, lines: dict[str, list[dict[str, Any]]]) -> None:
        self.assertEqual(sorted(lines), [f"{origin} rank {rank}" for origin in
                                         ("measured", "simulated") for rank in (0, 1, 2)])
        for origin in ("measured", "simulated"):
            # Two chunks; nothing but legs, each once, so that the same lies beside the same.
            for rank, leg in enumerate(LEGS):
                slices = lines[f"{origin} rank {rank}"]
                self.assertEqual([event["name"] for event in slices], [leg, leg])
            self.assertEqual(min(event["ts"] for event in lines[f"{origin} rank 0"]), 0)

    def test_both_timelines_are_in_one_trace(self) -> None:
        self.expect_both_timelines(self.timelines(*ONE_SIZE))

    def test_recorded_timeline_lies_beside_the_simulated_one(self) -> None:
        self.succeed("run", *ONE_SIZE, "--json", "run.json", "--trace", "run_trace.json")
        lines = self.timelines("--measured", "run.json")
        self.expect_both_timelines(lines)
        alone = [event for event in json.loads(self.read("run_trace.json"))["traceEvents"]
                 if event["ph"] == "X"]
        for event in alone:
            recorded = lines[f"measured rank {event['pid'] - 1}"]
            times = [(found["name"], found["ts"], found["dur"], found["args"])
                     for found in recorded]
            self.assertIn((event["name"], event["ts"], event["dur"], event["args"]), times)

    def test_trace_that_cannot_be_drawn_is_refused(self) -> None:
        self.succeed("run", *ONE_SIZE, "--json", "one.json")
        self.succeed("run", *WORK, "--json", "two.json")
        for arguments, words in (
            (["--measured", "one.json", "--trace", "t.json"],
             ["one.json", "holds no timeline", "hoccl run --json FILE --trace FILE"]),
            (["--measured", "two.json", "--trace", "t.json"], ["--trace", "one size", "not 2"]),
            ([*WORK, "--trace", "t.json"], ["--trace", "one size", "not 2"]),
            ([*ONE_SIZE, "--trace", "t.csv"], ["t.csv", "expected a .json file"]),
            (["--measured", "one.json", "--trace", "one.json"], ["--trace", "--measured"]),
        ):
            with self.subTest(arguments):
                self.expect_refused(["validate", *arguments], words)

    def test_measurement_that_fails_ends_it(self) -> None:
        outcome = self.run_program("validate", *WORK, "--timeout", "1ns", "--csv", "rows.csv")
        self.assertEqual((outcome.returncode, outcome.stdout), (1, ""))
        self.assertIn("timeout", outcome.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_bad_files_are_refused(self) -> None:
        self.succeed("run", *WORK, "--json", "run.json")
        good = self.read("run.json")
        for path, value, words in CASES:
            with self.subTest(path=path, value=value):
                self.write("bad.json", changed(good, path, value))
                self.expect_refused(["validate", "--measured", "bad.json"], words)
        self.succeed("run", *ONE_SIZE, "--json", "run.json", "--trace", "run_trace.json")
        with_trace = self.read("run.json")
        for path, value, words in TRACE_CASES:
            with self.subTest(path=path, value=value):
                self.write("bad.json", changed(with_trace, ["results", 0, "trace", *path], value))
                self.expect_refused(["validate", "--measured", "bad.json"], words)
        for name, text in {"cut short": good[: len(good) // 2], "empty": "", "CSV": "a,b\n1,2\n",
                           "list": "[]", "trailing": good + "}"}.items():
            with self.subTest(name):
                self.write("bad.json", text)
                self.expect_refused(["validate", "--measured", "bad.json"],
                                    ["bad.json", "expected"])


if __name__ == "__main__":
    unittest.main()
