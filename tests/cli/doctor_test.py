"""`hoccl doctor`: what this machine offers."""

from __future__ import annotations

import unittest

from program import ProgramTest

# Without any of these `hoccl run` could not work, and other tests would fail, too.
WORKING = ("shared memory", "futex", "Unix sockets", "loopback TCP")


class Doctor(ProgramTest):
    def test_finds_no_problem_where_the_tests_run(self) -> None:
        text = self.succeed("doctor", "--topology", "h800-1x2", "--slots", "1")
        for subject in WORKING:
            self.assertRegex(text, rf"(?m)^{subject} +ok ")
        self.assertIn("# 0 problems found", text)

    def test_names_the_launcher(self) -> None:
        outcome = self.run_program(
            "doctor",
            environment={"HOCCL_JOB_SECRET": "0" * 32, "RANK": "1", "WORLD_SIZE": "4",
                         "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"})
        self.assertIn("torchrun: rank 1 of 4", outcome.stdout)

    def test_problem_gives_exit_code_1_and_says_what_to_do(self) -> None:
        # A launcher without a secret.
        outcome = self.run_program("doctor", environment={
            "RANK": "1", "WORLD_SIZE": "4", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"})
        self.assertEqual((outcome.returncode, outcome.stderr), (1, ""))
        self.assertRegex(outcome.stdout, r"(?m)^launcher +problem +.*HOCCL_JOB_SECRET")
        self.assertIn("# 1 problem found", outcome.stdout)


if __name__ == "__main__":
    unittest.main()
