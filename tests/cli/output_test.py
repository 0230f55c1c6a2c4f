"""What the program writes: the table, the CSV contract, JSON, traces, and that runs repeat."""

from __future__ import annotations

import csv
import io
import json
import re
import unittest

from program import ProgramTest

# The columns that scripts rely on, in this order; more may follow.
CSV_CONTRACT = (
    "pattern,system,topology,size_bytes,time_us,algbw_gb_per_s,busbw_gb_per_s,bound_pct,"
    "calibrated_bound_pct,launch_us,submit_us,proxy_us,sms"
)
INTER = ("sim", "--to", "8")
FIGURE = (*INTER, "-b", "2MiB", "-e", "1GiB", "-f", "8")
ONE_SIZE = (*INTER, "-b", "16MiB", "-e", "16MiB", "--chunk", "2MiB")


class Output(ProgramTest):
    def rows(self, *arguments: str) -> list[dict[str, str]]:
        self.succeed(*arguments, "--csv", "rows.csv")
        return list(csv.DictReader(io.StringIO(self.read("rows.csv"))))

    def test_csv_begins_with_the_contracts_columns(self) -> None:
        rows = self.rows("sim", "-b", "2MiB", "-e", "8MiB")
        self.assertTrue(self.read("rows.csv").startswith(CSV_CONTRACT))
        self.assertEqual([row["size_bytes"] for row in rows], ["2097152", "4194304", "8388608"])
        for row in rows:
            self.assertEqual(
                (row["pattern"], row["system"], row["topology"], row["sms"]),
                ("sendrecv", "hoccl", "h800-2x8", "0"),
            )

    def test_numbers_agree_with_each_other(self) -> None:
        for system in ("hoccl", "nccl:8sm"):
            for row in self.rows(*FIGURE, "--system", system):
                rate = int(row["size_bytes"]) / float(row["time_us"]) / 1e3
                self.assertAlmostEqual(float(row["algbw_gb_per_s"]) / rate, 1.0, places=6)
                self.assertEqual(row["algbw_gb_per_s"], row["busbw_gb_per_s"])
                # One NIC of 50 GB/s.
                self.assertAlmostEqual(float(row["bound_pct"]), rate / 50 * 100, places=4)
                self.assertLess(float(row["bound_pct"]), float(row["calibrated_bound_pct"]))
                self.assertLessEqual(float(row["calibrated_bound_pct"]), 100.0)

    def test_table_has_the_columns_of_nccl_tests_and_says_that_it_is_simulated(self) -> None:
        text = self.succeed(*ONE_SIZE, "--seed", "42")
        lines = text.splitlines()
        head = [line for line in lines if line.startswith("#")]
        self.assertEqual(
            re.split(r"\s+", head[-1].lstrip("# ")),
            ["size(B)", "time(us)", "algbw(GB/s)", "busbw(GB/s)", "bound(%)", "calibrated(%)",
             "launch(us)", "submit(us)", "proxy(us)", "SMs"],
        )
        for word in ("simulated", "h800-2x8", "H800", "seed 42", "hoccl"):
            self.assertIn(word, "\n".join(head))
        cells = lines[len(head)].split()
        self.assertEqual((cells[0], len(cells), len(lines)), ("16777216", 10, len(head) + 1))

    def test_csv_and_traces_repeat_byte_by_byte(self) -> None:
        for system in ("hoccl", "nccl:4sm"):
            for network in ("fluid", "cm02"):
                options = (*ONE_SIZE, "--system", system, "--network", network)
                for run in ("a", "b"):
                    self.succeed(*options, "--csv", f"{run}.csv", "--trace", f"{run}.json")
                    self.succeed(*options, "--trace", f"{run}_trace.csv")
                for name in (".csv", ".json", "_trace.csv"):
                    self.assertEqual(self.read(f"a{name}"), self.read(f"b{name}"), name)

    def test_jobs_do_not_change_the_result(self) -> None:
        one = self.rows(*FIGURE, "--jobs", "1")
        self.assertEqual(one, self.rows(*FIGURE, "--jobs", "4"))

    def test_repeated_iterations_take_the_same_time(self) -> None:
        one = float(self.rows(*ONE_SIZE)[0]["time_us"])
        many = float(self.rows(*ONE_SIZE, "--iterations", "5")[0]["time_us"])
        self.assertAlmostEqual(many / one, 1.0, places=6)

    def test_first_iteration_pays_for_the_exchange_of_buffers(self) -> None:
        cold = float(self.rows("sim", "-e", "2MiB", "--warmup", "0")[0]["time_us"])
        warm = float(self.rows("sim", "-e", "2MiB", "--warmup", "1")[0]["time_us"])
        # cpu.export_buffer + cpu.import_buffer
        self.assertGreater(cold - warm, 100.0)

    def test_both_network_models_agree(self) -> None:
        for system in ("hoccl", "nccl:8sm"):
            fluid = self.rows(*FIGURE, "--system", system, "--network", "fluid")
            cm02 = self.rows(*FIGURE, "--system", system, "--network", "cm02")
            for ours, simgrid in zip(fluid, cm02, strict=True):
                ratio = float(ours["time_us"]) / float(simgrid["time_us"])
                self.assertLess(abs(ratio - 1.0), 1e-6, ours["size_bytes"])

    def test_json_holds_the_rows_of_the_csv(self) -> None:
        rows = self.rows(*FIGURE, "--json", "report.json")
        report = json.loads(self.read("report.json"))
        self.assertEqual(report["kind"], "simulated")
        self.assertEqual(
            [f"{result['time_us']:.6f}" for result in report["results"]],
            [row["time_us"] for row in rows],
        )

    def test_trace_is_for_perfetto_and_shows_every_leg(self) -> None:
        self.succeed(*ONE_SIZE, "--trace", "trace.json")
        events = json.loads(self.read("trace.json"))["traceEvents"]
        names = [event["name"] for event in events if event["ph"] == "X"]
        # Eight chunks; the wire shows at the sending and at the receiving NIC.
        for leg, count in {"stage_in": 8, "wire": 16, "deliver": 8}.items():
            self.assertEqual(names.count(leg), count, leg)
        self.assertTrue(all(event["ts"] >= 0 for event in events if "ts" in event))

    def test_trace_of_nccl_shows_kernels_channels_and_nics(self) -> None:
        self.succeed(*ONE_SIZE, "--system", "nccl:8sm", "--trace", "trace.json")
        events = json.loads(self.read("trace.json"))["traceEvents"]
        names = [event["name"] for event in events if event["ph"] == "X"]
        steps = (16 << 20) // (128 << 10)
        expected = {"nccl_kernel": 2, "sm_send": steps, "sm_receive": steps, "wire": 2 * steps}
        for name, count in expected.items():
            self.assertEqual(names.count(name), count, name)

    def test_set_changes_one_constant(self) -> None:
        row = self.rows("sim", "-b", "1GiB", "--set", "nvlink.efficiency=0.5")[0]
        self.assertLess(float(row["algbw_gb_per_s"]), 100.0)
        self.assertGreater(float(row["algbw_gb_per_s"]), 95.0)

    def test_calibration_is_printed_with_its_sources(self) -> None:
        text = self.succeed("sim", "--print-calibration", "--set", "nccl.fifo_slots=3")
        self.assertRegex(text, r"nccl\.fifo_slots +3 +input +--set")
        self.assertRegex(text, r"nvlink\.efficiency +0\.\d+ +fitted +HOCCL paper")

    def test_pipelining_off_is_much_slower(self) -> None:
        for target in ("1", "8"):
            options = ("sim", "--to", target, "-b", "1GiB")
            on = float(self.rows(*options)[0]["time_us"])
            off = float(self.rows(*options, "--pipelining", "off")[0]["time_us"])
            self.assertGreater(off, on / 0.8, target)  # over 20% lost (paper §1)

    def test_help_and_version(self) -> None:
        self.assertIn("usage: hoccl", self.succeed("--help"))
        self.assertIn("--topology", self.succeed("sim", "--help"))
        self.assertIn("--load", self.succeed("plan", "--help"))
        self.assertNotIn("Excludes", self.succeed("sim", "--help"))
        self.assertRegex(self.succeed("--version"), r"^hoccl \d+\.\d+\.\d+\n$")

    def test_failed_operation_ends_with_its_status_and_exit_1(self) -> None:
        # A timeout below the time of one chunk.
        outcome = self.run_program(*ONE_SIZE, "--timeout", "1ns", "--csv", "out.csv")
        self.assertEqual(outcome.returncode, 1)
        self.assertIn("16MiB", outcome.stderr)
        self.assertEqual(outcome.stderr.count("\n"), 1)
        self.assertEqual(list(self.folder.iterdir()), [])


class SavedPlan(ProgramTest):
    def test_is_verified_shown_and_run_like_the_compiled_one(self) -> None:
        options = ("--to", "8", "--rails", "2")
        shown = self.succeed("plan", *options, "-b", "64MiB", "--json", "plan.json")
        self.assertEqual(self.succeed("plan", "--load", "plan.json"), shown)
        self.succeed("sim", "--plan", "plan.json", "--csv", "saved.csv")
        self.succeed("sim", *options, "-b", "64MiB", "-e", "64MiB", "--csv", "compiled.csv")
        times = []
        for name in ("saved.csv", "compiled.csv"):
            (row,) = csv.DictReader(io.StringIO(self.read(name)))
            self.assertEqual(row["size_bytes"], str(64 << 20))
            times.append(float(row["time_us"]))
        self.assertAlmostEqual(times[0] / times[1], 1.0, places=4)

    def test_is_the_same_file_every_time(self) -> None:
        for name in ("a.json", "b.json"):
            self.succeed("plan", "--pattern", "sendrecv-ring", "-b", "1MiB", "--json", name)
        self.assertEqual(self.read("a.json"), self.read("b.json"))

    def test_of_a_topology_file_needs_that_file(self) -> None:
        self.write(
            "lab.toml",
            'schema = 1\nnodes = 2\ngpus_per_node = 2\nnics_per_gpu = 1\nnic_rate = "25GB/s"\n'
            '[nvlink]\nout = "100GB/s"\nin = "100GB/s"\n'
            '[pcie]\none_way = "55GB/s"\nduplex_each = "50GB/s"\n',
        )
        self.succeed("plan", "--topology", "lab.toml", "--to", "2", "--json", "plan.json")
        self.expect_refused(["sim", "--plan", "plan.json"], ["plan.json", "lab", "--topology"])
        self.succeed("sim", "--plan", "plan.json", "--topology", "lab.toml")
        for verb in ("plan", "sim", "validate"):
            self.expect_refused([verb, "--topology", "lab.toml", "--json", "./lab.toml"],
                                ["--json", "./lab.toml", "expected another file than --topology"])

    def test_is_not_overwritten_by_its_run(self) -> None:
        self.succeed("plan", "--to", "8", "-b", "1MiB", "--json", "plan.json")
        self.expect_refused(["sim", "--plan", "plan.json", "--csv", "./plan.json"],
                            ["--csv", "./plan.json", "expected another file than --plan"])

    def test_of_fewer_ranks_runs_on_as_many(self) -> None:
        self.succeed("plan", "--ranks", "4", "--to", "2", "-b", "8MiB", "--json", "plan.json")
        self.assertIn("(4 ranks)", self.succeed("sim", "--plan", "plan.json"))


if __name__ == "__main__":
    unittest.main()
