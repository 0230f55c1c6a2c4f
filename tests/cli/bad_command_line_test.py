"""Wrong command lines: exit 2, one line that names option, value and what was expected."""

from __future__ import annotations

import unittest

from program import ProgramTest

# Each case: its arguments (separated by blanks) and what the line must hold.
CASES: list[tuple[str, list[str]]] = [
    ("", ["no verb", "expected plan or sim"]),
    ("simulate", ["verb 'simulate'", "expected plan or sim"]),
    ("run", ["verb 'run'", "expected plan or sim"]),
    ("validate", ["verb 'validate'", "expected plan or sim"]),
    ("train", ["verb 'train'", "expected plan or sim"]),
    ("calibrate", ["verb 'calibrate'", "expected plan or sim"]),
    ("sweep", ["verb 'sweep'", "expected plan or sim"]),
    ("tune", ["verb 'tune'", "expected plan or sim"]),
    ("doctor", ["verb 'doctor'", "expected plan or sim"]),
    ("--chunk 2MiB", ["verb '--chunk'", "expected plan or sim"]),
    ("sim --bogus 1", ["--bogus", "expected"]),
    ("sim extra", ["extra", "expected"]),
    ("plan extra", ["extra", "expected"]),
    ("plan --system hoccl", ["--system", "expected"]),
    ("sim --chunk", ["--chunk", "expected"]),
    ("sim --chunk 1MiB --chunk 2MiB", ["--chunk", "expected"]),
    ("sim --chunk 2", ["--chunk", "'2'", "expected a size with a unit"]),
    ("sim --chunk 2XiB", ["--chunk", "XiB", "expected a size with a unit"]),
    ("sim --chunk -2MiB", ["--chunk", "-2MiB", "expected a size with a unit"]),
    ("sim --chunk 0B", ["--chunk", "'0B'", "expected 1B or more"]),
    ("sim --chunk 0.3B", ["--chunk", "0.3B", "whole number of bytes"]),
    ("sim --chunk 8GiB -b 1GiB", ["chunk", "8GiB", "expected"]),
    ("sim -b 2M", ["--begin", "'M'", "expected a size with a unit"]),
    ("sim -e big", ["--end", "big", "is not a size with a unit"]),
    ("sim -f 1", ["--factor", "'1'", "expected a whole number from 2"]),
    ("sim -b 4MiB -e 2MiB", ["--begin", "4MiB", "--end", "2MiB"]),
    ("sim -e 1ZiB", ["--end", "ZiB", "expected"]),
    ("sim --ranks 0", ["--ranks", "'0'", "expected a whole number from 1"]),
    ("sim --ranks 17", ["17", "expected"]),
    ("sim --ranks 1", ["ranks", "1", "expected 2"]),
    ("sim --ranks two", ["--ranks", "two", "expected a whole number"]),
    ("sim --from -1", ["--from", "'-1'", "expected a whole number from 0"]),
    ("sim --from 16", ["--from", "'16'", "expected a rank from 0 to 15"]),
    ("sim --to 16", ["--to", "'16'", "expected a rank from 0 to 15"]),
    ("plan --to 99", ["--to", "'99'", "expected a rank from 0 to 15"]),
    ("sim --from 1 --to 1", ["target", "1", "expected another rank"]),
    ("sim --pattern allreduce", ["pattern", "allreduce", "expected", "sendrecv"]),
    ("plan --pattern zig", ["pattern", "zig", "expected", "sendrecv"]),
    ("sim --system mpi", ["system", "mpi", "expected hoccl or nccl:<k>sm"]),
    ("sim --system nccl:0sm", ["system", "nccl:0sm", "1 to 64"]),
    ("sim --system nccl:65sm", ["system", "nccl:65sm", "1 to 64"]),
    ("sim --system nccl:8", ["system", "nccl:8", "1 to 64"]),
    ("sim --system nccl:8sm --topology h200-1x1", ["nccl", "h200-1x1", "expected one rank"]),
    ("sim --to 8 --rails 0", ["--rails", "'0'", "expected a whole number from 1"]),
    ("sim --to 8 --rails 8", ["rails", "8", "expected 1 to 7"]),
    ("sim --forwarding own", ["forwarding", "own", "expected symmetric"]),
    ("sim --network tcp", ["--network", "tcp", "expected cm02 or fluid"]),
    ("sim --topology h800", ["topology", "h800", "expected", "h800-<nodes>x<gpus>"]),
    ("sim --topology h800-0x8", ["topology", "h800-0x8", "expected"]),
    ("sim --topology h800-2x73", ["topology", "h800-2x73", "expected"]),
    ("sim --topology absent.toml", ["absent.toml", "expected a readable TOML file"]),
    ("plan --topology dgx-2x8", ["topology", "dgx-2x8", "expected"]),
    ("sim --calibration b200", ["calibration", "b200", "expected", "h800"]),
    ("sim --calibration absent.toml", ["absent.toml", "expected a readable TOML file"]),
    ("sim --set nccl.proxy_step", ["--set", "nccl.proxy_step", "expected key=value"]),
    ("sim --set nccl.step=1us", ["--set", "nccl.step", "expected one of"]),
    ("sim --set nccl.proxy_step=1", ["--set", "nccl.proxy_step", "expected a time with a unit"]),
    ("sim --set nccl.fifo_slots=0", ["--set", "nccl.fifo_slots", "expected"]),
    ("sim --set nvlink.efficiency=2", ["--set", "nvlink.efficiency", "expected"]),
    ("sim --set nic.efficiency=0", ["--set", "nic.efficiency", "expected"]),
    ("sim --slots 0", ["--slots", "'0'", "expected a whole number from 1"]),
    ("sim --slots 1.5", ["--slots", "1.5", "expected a whole number"]),
    ("sim --qps 0", ["--qps", "'0'", "expected a whole number from 1"]),
    ("sim --nic-depth 0", ["--nic-depth", "'0'", "expected a whole number from 1"]),
    ("sim --streams 0", ["--streams", "'0'", "expected a whole number from 1"]),
    ("sim --quantum 0", ["--quantum", "'0'", "expected a whole number from 1"]),
    ("sim --batch -1", ["--batch", "'-1'", "expected a whole number from 0"]),
    ("sim --pipelining yes", ["--pipelining", "yes", "expected on or off"]),
    ("sim --seed -1", ["--seed", "'-1'", "expected a whole number from 0"]),
    ("sim --warmup -1", ["--warmup", "'-1'", "expected a whole number from 0"]),
    ("sim --iterations 0", ["--iterations", "'0'", "expected a whole number from 1"]),
    ("sim --jobs 0", ["--jobs", "'0'", "expected a whole number from 1"]),
    ("sim --timeout 30", ["--timeout", "'30'", "expected a time with a unit"]),
    ("sim --timeout 0s", ["--timeout", "'0s'", "expected a time above zero"]),
    ("sim --csv absent/a.csv", ["--csv", "absent/a.csv", "expected a file"]),
    ("sim --csv .", ["--csv", "'.'", "expected a file"]),
    ("sim --json absent/a.json", ["--json", "absent/a.json", "expected a file"]),
    ("sim --csv ok.csv --json absent/a.json", ["--json", "absent/a.json", "expected a file"]),
    ("sim --csv same --json same", ["--json", "same", "expected another file"]),
    ("sim -b 2MiB -e 2MiB --trace absent/t.json", ["--trace", "absent/t.json", "expected a file"]),
    ("sim -b 2MiB -e 4MiB --trace t.json", ["--trace", "t.json", "expected one size"]),
    ("plan --json absent/p.json", ["--json", "absent/p.json", "expected a file"]),
    ("plan --load absent.json", ["absent.json", "expected a plan file"]),
    ("plan --load p.json --chunk 2MiB", ["--load", "--chunk", "excludes"]),
    ("sim --plan absent.json", ["absent.json", "expected a plan file"]),
    ("sim --plan p.json -b 2MiB", ["--plan", "--begin", "excludes"]),
]


class BadCommandLine(ProgramTest):
    def test_is_refused_with_one_line(self) -> None:
        for arguments, words in CASES:
            with self.subTest(arguments=arguments):
                self.expect_refused(arguments.split(), words)

    def test_is_refused_before_a_file_of_an_earlier_run_is_touched(self) -> None:
        self.write("kept.csv", "earlier\n")
        self.expect_refused(["sim", "--csv", "kept.csv", "--system", "mpi"], ["mpi"])
        self.assertEqual(self.read("kept.csv"), "earlier\n")


if __name__ == "__main__":
    unittest.main()
