"""`hoccl run`: real processes that move real bytes, started by the program itself and by others."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

from program import PROGRAM_VARIABLE, ProgramTest, children_of, is_running

CSV_CONTRACT = (
    "pattern,system,topology,size_bytes,time_us,algbw_gb_per_s,busbw_gb_per_s,bound_pct,"
    "calibrated_bound_pct,launch_us,submit_us,proxy_us,sms"
)
QUICK = ("--iterations", "2", "--rounds", "3")
RING = ("run", "--topology", "h800-2x4", "--pattern", "sendrecv-ring", *QUICK)
PAIR = ("run", "--topology", "h800-1x2", *QUICK)
# For a process that has been told to end, or whose peer was killed.
END_TIMEOUT_S = 20


def secret() -> dict[str, str]:
    return {"HOCCL_JOB_SECRET": secrets.token_hex(16)}


def environment_of(process: int) -> list[str]:
    return Path(f"/proc/{process}/environ").read_text(encoding="utf-8").split("\0")


def shared_kib(process: int) -> int:
    """Shared memory it has touched: what it has received is part of it."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    found = re.search(r"RssShmem:\s+(\d+) kB", status)
    assert found is not None, status
    return int(found[1])


class Run(ProgramTest):
    def rows(self, *arguments: str) -> list[dict[str, str]]:
        self.succeed(*arguments, "--csv", "rows.csv")
        return list(csv.DictReader(io.StringIO(self.read("rows.csv"))))

    def test_two_ranks_check_every_byte(self) -> None:
        rows = self.rows(*PAIR, "-b", "1B", "-e", "1MiB", "-f", "1024", "--check")
        self.assertEqual([row["size_bytes"] for row in rows], ["1", "1024", "1048576"])

    def test_eight_ranks_check_every_byte(self) -> None:
        rows = self.rows(*RING, "-b", "100001B", "-e", "5MiB", "-f", "33", "--chunk", "64KiB",
                         "--slots", "2", "--check")
        self.assertEqual([row["size_bytes"] for row in rows], ["100001", "3300033"])

    def test_slots_that_change_owner_carry_the_same_bytes(self) -> None:
        self.rows(*RING, "-b", "3MiB", "-e", "3MiB", "--link", "loopback-map", "--check")

    def test_csv_begins_with_the_contracts_columns_and_has_no_bound(self) -> None:
        (row,) = self.rows(*PAIR, "-b", "64KiB", "-e", "64KiB")
        self.assertTrue(self.read("rows.csv").startswith(CSV_CONTRACT))
        self.assertEqual((row["bound_pct"], row["calibrated_bound_pct"]), ("", ""))
        self.assertEqual((row["rounds"], row["iterations"], row["sms"]), ("3", "2", "0"))
        self.assertEqual((row["copy"], row["link"], row["seed"]), ("host", "loopback", "1"))
        settings = {"ranks": "2", "from": "0", "to": "1", "chunk_bytes": str(2 << 20),
                    "slots": "16", "qps": "4", "streams": "4", "warmup": "1"}
        self.assertEqual({name: row[name] for name in settings}, settings)
        low, time_us, high = (float(row[name]) for name in ("min_us", "time_us", "max_us"))
        self.assertTrue(0.0 < low <= time_us <= high, row)
        self.assertAlmostEqual(float(row["spread_pct"]), (high - low) / time_us * 100, places=3)
        self.assertAlmostEqual(float(row["algbw_gb_per_s"]), 65536 / time_us / 1e3, places=5)
        for name in ("launch_us", "submit_us", "proxy_us"):
            self.assertGreater(float(row[name]), 0.0, name)

    def test_table_says_that_it_is_measured_and_where(self) -> None:
        text = self.succeed(*PAIR, "-b", "64KiB", "-e", "64KiB", "--seed", "42")
        for word in ("measured", "host×loopback", "h800-1x2 (2 ranks)", "seed 42", os.uname().release):
            self.assertIn(word, text)
        cells = text.splitlines()[-1].split()
        self.assertEqual((cells[0], cells[4], cells[5], cells[-1]), ("65536", "-", "-", "6"))

    def test_one_round_has_no_spread(self) -> None:
        text = self.succeed("run", "--topology", "h800-1x2", "-b", "64KiB", "-e", "64KiB",
                            "--iterations", "2", "--rounds", "1", "--csv", "rows.csv", "--json",
                            "run.json")
        self.assertNotIn("1 rounds", text)
        self.assertEqual(text.splitlines()[-1].split()[-2:], ["-", "2"])
        (row,) = csv.DictReader(io.StringIO(self.read("rows.csv")))
        self.assertEqual(row["spread_pct"], "")
        self.assertIsNone(json.loads(self.read("run.json"))["results"][0]["spread_pct"])

    def test_outputs_go_to_devices_and_links_and_not_in_their_place(self) -> None:
        self.write("kept.csv", "old")
        (self.folder / "link.csv").symlink_to("kept.csv")
        self.succeed(*PAIR, "-b", "1KiB", "-e", "1KiB", "--csv", "link.csv", "--json", "/dev/null")
        self.assertTrue((self.folder / "link.csv").is_symlink())
        self.assertTrue(self.read("kept.csv").startswith(CSV_CONTRACT))
        self.assertTrue(Path("/dev/null").is_char_device())

    def test_output_is_not_an_input(self) -> None:
        self.succeed("plan", "--topology", "h800-1x2", "-b", "1KiB", "--json", "plan.json")
        kept = self.read("plan.json")
        self.expect_refused(["run", "--plan", "plan.json", "--json", "./plan.json"],
                            ["--json", "./plan.json", "expected another file than --plan"])
        self.assertEqual(self.read("plan.json"), kept)

    def test_table_that_cannot_be_printed_is_an_error(self) -> None:
        with open("/dev/full", "w", encoding="utf-8") as full:
            for words in (PAIR, ("plan",), ("--help",)):
                done = subprocess.run([os.environ[PROGRAM_VARIABLE], *words], cwd=self.folder,
                                      stdout=full, stderr=subprocess.PIPE, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done)

    def test_json_tells_the_legs_of_one_operation(self) -> None:
        self.succeed(*RING, "-b", "4MiB", "-e", "4MiB", "--chunk", "1MiB", "--json", "run.json")
        report = json.loads(self.read("run.json"))
        self.assertEqual((report["kind"], report["ranks"]), ("measured", 8))
        counts = {leg: values["count"] for leg, values in report["results"][0]["legs"].items()}
        # Two of eight messages go to the other node; each has four chunks.
        self.assertEqual(counts, {"stage_in": 8, "wire": 8, "deliver": 8, "direct": 24})

    def test_trace_holds_the_legs_of_all_ranks(self) -> None:
        self.succeed(*RING, "-b", "4MiB", "-e", "4MiB", "--chunk", "1MiB", "--trace", "trace.json")
        events = json.loads(self.read("trace.json"))["traceEvents"]
        legs = [event for event in events if event["ph"] == "X"]
        names = [event["name"] for event in legs]
        for leg, count in {"stage_in": 8, "wire": 8, "deliver": 8, "direct": 24}.items():
            self.assertEqual(names.count(leg), count, leg)
        self.assertEqual(min(event["ts"] for event in legs), 0)
        self.assertEqual(len({event["pid"] for event in legs}), 8)

    def test_json_holds_the_timeline_where_one_is_asked_for(self) -> None:
        size = ("-b", "64KiB", "-e", "64KiB")
        self.succeed(*PAIR, *size, "--json", "run.json")
        self.assertNotIn("trace", json.loads(self.read("run.json"))["results"][0])
        self.succeed(*PAIR, *size, "--json", "run.json", "--trace", "trace.json")
        trace = json.loads(self.read("run.json"))["results"][0]["trace"]
        # One direct copy by rank 0. An array is one line, however many events there are.
        self.assertEqual((trace["rank"], trace["leg"], trace["bytes"]), ([0], [3], [65536]))
        self.assertRegex(self.read("run.json"), r'(?m)^        "end_ns": \[\d+\],$')

    def test_rate_and_delay_of_the_link_are_kept(self) -> None:
        (row,) = self.rows("run", "--topology", "h800-2x2", "--to", "2", *QUICK, "-b", "1MiB", "-e",
                           "1MiB", "--link-rate", "0.5GB/s", "--link-delay", "3ms")
        bound_us = (1 << 20) / 0.5e3 + 3000
        self.assertGreaterEqual(float(row["min_us"]), bound_us)
        self.assertAlmostEqual(float(row["bound_pct"]), bound_us / float(row["time_us"]) * 100, 3)
        self.assertEqual(row["calibrated_bound_pct"], "")

    def test_saved_plan_is_run(self) -> None:
        self.succeed("plan", "--topology", "h800-2x2", "--to", "2", "-b", "3MiB", "--json",
                     "plan.json")
        (row,) = self.rows("run", "--plan", "plan.json", *QUICK, "--check")
        self.assertEqual((row["size_bytes"], row["topology"]), ("3145728", "h800-2x2"))

    def test_operation_that_fails_ends_all_ranks(self) -> None:
        outcome = self.run_program("run", "--topology", "h800-2x2", "--to", "2", "--timeout", "1ns",
                                   "--csv", "rows.csv")
        self.assertEqual(outcome.returncode, 1)
        self.assertIn("timeout: operation", outcome.stderr)
        self.assertIn("was lost", outcome.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen([os.environ[PROGRAM_VARIABLE], *arguments], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        return process

    def test_killed_rank_ends_the_job_and_nothing_is_left(self) -> None:
        # One rank's place in the ring is slow to pass, so that all are in the midst of it.
        job = self.start("run", "--topology", "h800-2x2", "--pattern", "sendrecv-ring", "-b", "1MiB",
                         "-e", "1GiB", "-f", "2", "--link-rate", "0.01GB/s")
        assert job.stdout is not None
        while not job.stdout.readline().lstrip().startswith("1048576"):
            self.assertIsNone(job.poll(), "ended before its first row")
        ranks = children_of(job.pid)
        self.assertEqual(len(ranks), 4)
        os.kill(ranks[-1], signal.SIGKILL)
        begin = time.monotonic()
        _, errors = job.communicate(timeout=END_TIMEOUT_S)
        self.assertLess(time.monotonic() - begin, 5.0)
        self.assertEqual(job.returncode, 1)
        self.assertIn("was killed by signal 9", errors)
        self.assertRegex(errors, "rank 3 was lost|peer lost")
        self.assertEqual([rank for rank in ranks if is_running(rank)], [])
        self.assertEqual(list(self.folder.iterdir()), [])


    def test_frozen_rank_does_not_hold_the_job(self) -> None:
        # Two minutes for the second size.
        job = self.start("run", "--topology", "h800-2x2", "--to", "2", "-b", "1MiB", "-e", "256MiB",
                         "-f", "256", "--chunk", "256KiB", "--link-rate", "0.002GB/s", "--rounds", "1",
                         "--timeout", "1s")
        assert job.stdout is not None
        while not job.stdout.readline().lstrip().startswith("1048576"):
            self.assertIsNone(job.poll(), "ended before its first row")
        ranks = children_of(job.pid)
        self.assertEqual(len(ranks), 4)
        (target,) = (rank for rank in ranks if "HOCCL_RANK=2" in environment_of(rank))
        before = shared_kib(target)
        while shared_kib(target) < before + 512:  # until it has been given some of it
            self.assertIsNone(job.poll(), "ended by itself")
            time.sleep(0.01)
        os.kill(target, signal.SIGSTOP)
        begin = time.monotonic()
        _, errors = job.communicate(timeout=3 * END_TIMEOUT_S)
        self.assertLess(time.monotonic() - begin, END_TIMEOUT_S)
        self.assertEqual(job.returncode, 1)
        self.assertIn("timeout: operation", errors)
        self.assertEqual([rank for rank in ranks if is_running(rank)], [])
        self.assert_dumped_once(errors)

    def assert_dumped_once(self, errors: str) -> None:
        """The watchdog tells each operation's state once on each rank that waits for it."""
        dumps = re.findall(r"(?m)^hoccl: rank (\d+): operations? (.*) made no progress for 1 s$",
                           errors)
        told = [(rank, name) for rank, names in dumps for name in names.split(", ")]
        self.assertIn("0", [rank for rank, _ in told])
        self.assertEqual(sorted(told), sorted(set(told)), errors)
        self.assertRegex(errors, r"(?m)^  sends flow 0 to rank 2, .* of 1024 chunks copied")


class OtherLaunchers(ProgramTest):
    def torchrun(self, commands: list[list[str]]) -> list[tuple[int, str, str]]:
        """One process per command, with torchrun's variables."""
        shared = secret() | {
            "WORLD_SIZE": str(len(commands)),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(20000 + os.getpid() % 10000),
        }
        processes = [
            subprocess.Popen([os.environ[PROGRAM_VARIABLE], *command], cwd=self.folder,
                             env=os.environ | shared | {"RANK": str(rank)},
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for rank, command in enumerate(commands)
        ]
        outcomes = []
        for process in processes:
            self.addCleanup(process.kill)
            output, errors = process.communicate(timeout=60)
            outcomes.append((process.returncode, output, errors))
        return outcomes

    def test_torchrun_starts_ranks_and_rank_0_prints(self) -> None:
        outcomes = self.torchrun([[*PAIR, "-b", "64KiB", "-e", "64KiB", "--check"]] * 2)
        self.assertEqual([(code, errors) for code, _, errors in outcomes], [(0, ""), (0, "")])
        self.assertIn("65536", outcomes[0][1])
        self.assertEqual(outcomes[1][1], "")

    def test_ranks_with_different_commands_refuse_to_run(self) -> None:
        outcomes = self.torchrun([[*PAIR, "-e", "2MiB"], [*PAIR, "-e", "4MiB"]])
        for code, _, errors in outcomes:
            self.assertEqual(code, 1)
            self.assertIn("rank 1 has another command line than rank 0", errors)

    def test_mpirun_starts_ranks(self) -> None:
        mpirun = shutil.which("mpirun")
        if mpirun is None:
            self.skipTest("mpirun is not installed: Debian package openmpi-bin")
        done = subprocess.run(
            [mpirun, "--allow-run-as-root", "--oversubscribe", "-np", "4",
             os.environ[PROGRAM_VARIABLE], "run", "--topology", "h800-2x2", "--pattern",
             "sendrecv-ring", "-b", "64KiB", "-e", "64KiB", "--check", *QUICK],
            cwd=self.folder, env=os.environ | secret(), capture_output=True, text=True, timeout=60,
            check=False)
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("65536", done.stdout)

    def test_missing_secret_is_refused_with_what_to_do(self) -> None:
        self.expect_refused(
            ["run"], ["HOCCL_JOB_SECRET", "export HOCCL_JOB_SECRET=$(openssl rand -hex 16)"],
            {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2",
             "OMPI_COMM_WORLD_LOCAL_SIZE": "2"})

    def test_another_number_of_ranks_than_the_jobs_is_refused(self) -> None:
        job = secret() | {"RANK": "0", "WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1",
                          "MASTER_PORT": "29500"}
        self.expect_refused(["run", "--ranks", "2"], ["--ranks", "'2'", "expected 3"], job)
        self.expect_refused(["run", "--topology", "h800-1x2"], ["3", "expected"], job)


if __name__ == "__main__":
    unittest.main()
