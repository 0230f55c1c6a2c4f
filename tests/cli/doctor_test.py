"""`hoccl doctor`: what this machine offers."""

from __future__ import annotations

import os
import unittest
from pathlib import Path

from program import ProgramTest

# Without any of these `hoccl run` could not work, and other tests would fail, too.
WORKING = ("shared memory", "futex", "Unix sockets", "loopback TCP")


class Doctor(ProgramTest):
    def test_finds_no_problem_where_the_tests_run(self) -> None:
        text = self.succeed("doctor", "--topology", "h800-1x2", "--slots", "1")
        for subject in WORKING:
            self.assertRegex(text, rf"(?m)^{subject} +ok ")
        self.assertIn("# 0 problems found", text)

    def test_speaks_of_the_launchers_job_and_on_rank_0_only(self) -> None:
        job = {"HOCCL_JOB_SECRET": "0" * 32, "WORLD_SIZE": "4", "MASTER_ADDR": "127.0.0.1",
               "MASTER_PORT": "29500"}
        first = self.run_program("doctor", environment=job | {"RANK": "0"})
        self.assertIn("torchrun: rank 0 of 4", first.stdout)
        self.assertIn("host×loopback, 4 ranks", first.stdout)
        second = self.run_program("doctor", environment=job | {"RANK": "1"})
        self.assertEqual((second.returncode, second.stdout, second.stderr), (0, "", ""))

    def test_chunk_and_slots_say_how_much_memory_there_must_be(self) -> None:
        text = self.succeed("doctor", "--topology", "h800-1x2", "--slots", "4", "--chunk", "16MiB")
        self.assertIn("slots take 0.2 GiB", text)  # 2 ranks x 2 pools x 4 x 16 MiB = 0.25 GiB

    def test_warns_of_cores_that_it_may_not_use(self) -> None:
        cores = os.sched_getaffinity(0)
        if len(cores) < 2:
            self.skipTest("this process has one core itself")
        os.sched_setaffinity(0, {min(cores)})
        self.addCleanup(os.sched_setaffinity, 0, cores)
        text = self.succeed("doctor", "--topology", "h800-1x2", "--slots", "1")
        self.assertRegex(text, r"(?m)^cores +warn +1 of \d+ cores usable for 2 ranks .*--bind-to none")

    def test_tells_of_rdma_devices_and_needs_none(self) -> None:
        folder = Path("/sys/class/infiniband")
        devices = sorted(folder.iterdir()) if folder.is_dir() else []
        text = self.succeed("doctor", "--topology", "h800-1x2", "--slots", "1")
        if not devices:
            self.assertRegex(text, r"(?m)^RDMA devices +info +none -> .*--link loopback")
            self.assertNotIn("registration", text)
        for device in devices:
            self.assertRegex(text, rf"(?m)^RDMA devices .*\b{device.name}\b")
            for port in (device / "ports").iterdir():
                self.assertRegex(text, rf"(?m)^{device.name}:{port.name} +\w+ +\d: [A-Z]+, ")
        if devices:
            self.assertRegex(text, r"(?m)^verbs files ")
            self.assertRegex(text, r"(?m)^registration +\w+ +host memory")

    def test_help_does_not_speak_of_schedules(self) -> None:
        self.assertNotIn("schedule", self.succeed("doctor", "--help"))

    def test_problem_gives_exit_code_1_and_says_what_to_do(self) -> None:
        # A launcher without a secret.
        outcome = self.run_program("doctor", environment={
            "RANK": "1", "WORLD_SIZE": "4", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"})
        self.assertEqual((outcome.returncode, outcome.stderr), (1, ""))
        self.assertRegex(outcome.stdout, r"(?m)^launcher +problem +.*HOCCL_JOB_SECRET")
        self.assertIn("# 1 problem found", outcome.stdout)


if __name__ == "__main__":
    unittest.main()
