"""`hoccl calibrate`: measures a GPU, or fits recorded samples."""

from __future__ import annotations

import tomllib
import unittest
from pathlib import Path

from program import SOURCE_FOLDER, ProgramTest

HEADER = "measurement,subject,size_bytes,count,connections,sample,time_us"
MACHINE = "# device: Fake GPU\n# driver: 1.2\n# toolkit: 13.0\n# date: 2025-01-02\n"
RATE_GB_PER_S = 55.0
SETUP_US = 1.75


def recorded() -> str:
    """What --csv of a machine has written whose D2H engine needs 1.75 us and bytes / 55 GB/s."""
    lines = [MACHINE + "# a note", HEADER]
    for size in (65536, 1 << 20, 64 << 20):
        for sample in range(3):
            time_us = SETUP_US + size / RATE_GB_PER_S / 1e3
            lines.append(f"engine_time,d2h,{size},1,0,{sample},{time_us:.4f}")
    lines.append("gate_ready_latency,memory-operations,0,0,8,0,3.25")
    lines.append("gate_ready_latency,host-functions,0,0,1,0,9.5")
    return "\n".join(lines) + "\n"


def has_gpu() -> bool:
    return any(Path("/dev").glob("nvidia[0-9]*"))


class Calibrate(ProgramTest):
    def test_without_a_gpu_it_says_so_and_writes_nothing(self) -> None:
        if has_gpu():
            self.skipTest("this machine has a GPU")
        for arguments in (["--out", "new.toml", "--csv", "raw.csv"], ["--gates-only"]):
            outcome = self.run_program("calibrate", *arguments)
            self.expect_refused(["calibrate", *arguments], ["hoccl calibrate: this "])
            self.assertRegex(outcome.stderr, "built without CUDA|no GPU that CUDA can use")

    def test_wrong_use_is_refused(self) -> None:
        self.write("raw.csv", recorded())
        self.write("broken.csv", HEADER + "\nengine_time,d2h\n")
        cases: tuple[tuple[list[str], list[str]], ...] = (
            ([], ["--out"]),
            (["--out", "new.toml", "--base", "h900"], ["h900", "h200"]),
            (["--out", "new.toml", "--topology", "h900"], ["h900"]),
            (["--out", "new.toml", "--device", "-1"], ["--device", "-1"]),
            (["--out", "new.toml", "--samples", "none.csv"], ["--samples", "none.csv"]),
            (["--out", "new.toml", "--samples", "broken.csv"], ["broken.csv", "line 2"]),
            (["--out", "raw.csv", "--samples", "raw.csv"], ["--out", "--samples"]),
            (["--out", "a.toml", "--csv", "a.toml", "--samples", "raw.csv"], ["--csv", "--out"]),
        )
        for arguments, words in cases:
            self.expect_refused(["calibrate", *arguments], words)

    def test_registration_needs_a_device_of_this_machine_and_options_of_its_own(self) -> None:
        cases: tuple[tuple[list[str], list[str]], ...] = (
            # Of a program with RDMA, and of one without.
            (["--registration", "no_such_nic", "--csv", "r.csv"], ["--registration", "RDMA"]),
            (["--registration", "rxe0", "--out", "new.toml"], ["--out", "excludes --registration"]),
            (["--registration", "rxe0", "--gates-only"], ["--gates-only", "excludes"]),
            (["--registration", "rxe0", "--rounds", "0"], ["--rounds", "'0'"]),
            (["--registration", "rxe0", "--begin", "1"], ["--begin", "a size with a unit"]),
            (["--out", "new.toml", "--rounds", "3"], ["--rounds", "requires --registration"]),
            (["--out", "new.toml", "-b", "1MiB"], ["--begin", "requires --registration"]),
        )
        for arguments, words in cases:
            self.expect_refused(["calibrate", *arguments], words)

    def test_recorded_samples_give_a_calibration_that_the_model_takes(self) -> None:
        self.write("raw.csv", recorded())
        text = self.succeed("calibrate", "--samples", "raw.csv", "--out", "new.toml", "--csv", "again.csv")
        self.assertIn("# measured: Fake GPU, driver 1.2, CUDA 13.0, 2025-01-02\n# a note\n", text)
        self.assertRegex(text, r"(?m)^copy_engine_d2h\.setup +1\.75us +1\.880us$")
        self.assertRegex(text, r"(?m)^memory-operations, CUDA_DEVICE_MAX_CONNECTIONS=8$")
        self.assertRegex(text, r"ready latency 9\.50 \[9\.50, 9\.50\]")
        new = tomllib.loads(self.read("new.toml"))
        base = tomllib.loads((SOURCE_FOLDER / "sim/calibration/h200.toml").read_text(encoding="utf-8"))
        setup = new["copy_engine_d2h"]["setup"]
        self.assertEqual((setup["value"], setup["kind"]), ("1.75us", "input"))
        self.assertIn("measured on Fake GPU, driver 1.2, CUDA 13.0, 2025-01-02, n = 9, spread 0%", setup["source"])
        self.assertEqual(new["gate"]["ready_latency"]["value"], "3.25us")
        # What was not measured is the base's, source and all.
        self.assertEqual(new["nccl"], base["nccl"])
        self.assertEqual(new["copy_engine"], base["copy_engine"])
        self.assertEqual(set(new), set(base))
        # And every sample is still there.
        again = [line for line in self.read("again.csv").splitlines() if line.startswith("engine_time")]
        self.assertEqual(len(again), 9)
        self.succeed("sim", "--topology", "h200-1x1", "--ranks", "2", "-b", "1MiB", "-e", "1MiB",
                     "--calibration", "new.toml")


if __name__ == "__main__":
    unittest.main()
