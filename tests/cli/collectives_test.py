"""Patterns and their options as users give them: simulated, run with bytes checked, refused."""

from __future__ import annotations

import csv
import io
import json
import unittest

from program import ProgramTest

COLLECTIVES = ("allgather", "alltoall", "alltoallv", "broadcast", "gather", "scatter")
SIM = ("sim", "--topology", "h800-2x4", "-b", "8MiB", "-e", "8MiB", "--chunk", "256KiB")
EIGHT = ("run", "--topology", "h800-2x4", "-b", "1000001B", "-e", "1000001B", "--chunk", "64KiB",
         "--slots", "4", "--iterations", "1", "--rounds", "1", "--check")
FLOWS = {
    "schema": 1,
    "name": "my-pattern",
    "rank_count": 8,
    "flows": [
        {"source": 0, "targets": [1, 4, 6], "source_offset_bytes": 0, "target_offset_bytes": 0,
         "size_bytes": 500_000},
        {"source": 5, "targets": [0], "source_offset_bytes": 7, "target_offset_bytes": 100,
         "size_bytes": 300_001},
        {"source": 5, "targets": [5], "source_offset_bytes": 0, "target_offset_bytes": 0,
         "size_bytes": 1000},
    ],
}

# Each case: its arguments (separated by blanks) and what the line must hold.
REFUSED: list[tuple[str, list[str]]] = [
    ("sim --pattern allgather --from 0", ["--from", "'0'", "allgather", "expected sendrecv"]),
    ("sim --pattern sendrecv-ring --to 1", ["--to", "sendrecv-ring", "expected sendrecv"]),
    ("run --pattern alltoall --root 1", ["--root", "alltoall", "broadcast, gather, scatter"]),
    ("plan --root 0", ["--root", "sendrecv", "expected broadcast, gather, scatter"]),
    ("sim --in-place", ["--in-place", "sendrecv", "expected allgather"]),
    ("sim --pattern ppchain --self-copy none", ["--self-copy", "ppchain", "expected allgather"]),
    ("sim --pattern alltoall --matrix zipf", ["--matrix", "alltoall", "expected alltoallv"]),
    ("sim --pattern alltoall --algorithm p2p", ["--algorithm", "alltoall", "expected allgather"]),
    ("sim --pattern gather --nics 2", ["--nics", "gather", "expected allgather, broadcast"]),
    ("sim --pattern allgather --nics 2", ["--nics", "'2'", "expected --algorithm ring"]),
    ("sim --pattern broadcast --algorithm ring --nodes-per-stage-in 2",
     ["--nodes-per-stage-in", "expected --algorithm multicast"]),
    ("sim --pattern allgather --nodes-per-stage-in 5", ["--nodes-per-stage-in", "'5'", "1 to 4"]),
    ("sim --pattern allgather --algorithm tree", ["algorithm", "tree", "expected", "multicast"]),
    ("sim --pattern alltoall --self-copy sm", ["--self-copy", "'sm'", "not built", "peer or none"]),
    ("sim --pattern alltoall --self-copy all", ["--self-copy", "'all'", "expected peer or none"]),
    ("sim --pattern alltoall --in-place --self-copy peer", ["--self-copy", "expected none"]),
    ("sim --pattern alltoallv --matrix hot", ["matrix", "hot", "expected", "zipf-source"]),
    ("sim --pattern alltoallv --matrix absent.csv", ["absent.csv", "expected"]),
    ("sim --pattern absent.csv", ["absent.csv", "expected"]),
    ("sim --pattern absent.json", ["absent.json", "expected"]),
    ("sim --pattern x.json -b 1MiB", ["--begin", "x.json", "expected a pattern's name"]),
    ("run --pattern x.csv -e 1MiB", ["--end", "x.csv", "expected a pattern's name"]),
    ("plan --pattern x.csv -b 1MiB", ["--begin", "x.csv", "expected a pattern's name"]),
    ("sim --pattern alltoallv --matrix x.csv -f 4", ["--factor", "'4'", "x.csv"]),
    ("sim --pattern x.json --group 0,1", ["--group", "x.json", "expected a pattern's name"]),
    ("sim --pattern gather --root 16", ["--root", "'16'", "expected a rank from 0 to 15"]),
    ("sim --pattern gather --group 1,2 --root 2", ["--root", "'2'", "a rank from 0 to 1"]),
    ("sim --group 0,1 --to 2", ["--to", "'2'", "expected a rank from 0 to 1"]),
    ("sim --pattern alltoall --group 2,1", ["--group", "'2,1'", "expected ascending"]),
    ("sim --pattern alltoall --group 1,1", ["--group", "'1,1'", "expected ascending"]),
    ("sim --pattern alltoall --group 0,16", ["--group", "'16'", "number from 0 to 15"]),
    ("sim --pattern alltoall --group 0,", ["--group", "''", "expected a whole number"]),
    ("sim --group 3", ["ranks", "1", "expected 2"]),
    ("sim --order first", ["order", "first", "expected", "critical"]),
    ("sim --order local --quantise 5", ["--quantise", "expected --order critical or bvn"]),
    ("sim --quantise 100", ["--quantise", "'100'", "percentage from 0 to below 100"]),
    ("sim --quantise five", ["--quantise", "'five'", "percentage"]),
    ("sim --pattern alltoallv --quantise 5", ["--quantise", "expected --order critical or bvn"]),
    ("sim --overlap yes", ["--overlap", "yes", "expected on or off"]),
    ("sim --interleave 1", ["--interleave", "'1'", "expected on or off"]),
    ("sim --slack-fill 1", ["--slack-fill", "'1'", "expected on or off"]),
    ("sim --rails 0", ["--rails", "'0'", "expected a whole number from 1"]),
    ("sim --system nccl:zero --pattern alltoall", ["nccl:zero", "expected --in-place"]),
    ("sim --busy-driver 101", ["--busy-driver", "'101'", "percentage"]),
    ("sim --topology h800-2x1 --pattern allgather", ["h800-2x1", "expected"]),
    ("sim --plan p.json --in-place", ["--plan", "--in-place", "excludes"]),
    ("plan --load p.json --seed 2", ["--load", "--seed", "excludes"]),
    ("validate --measured m.json --matrix zipf", ["--measured", "--matrix", "excludes"]),
]


class Collectives(ProgramTest):
    def row(self, *arguments: str) -> dict[str, str]:
        self.succeed(*arguments, "--csv", "rows.csv")
        (row,) = csv.DictReader(io.StringIO(self.read("rows.csv")))
        return row

    def write_flows(self, **changes: object) -> None:
        self.write("flows.json", json.dumps(FLOWS | changes))

    def write_matrix(self) -> None:
        # Nobody sends to rank 3; rank 7 sends nothing.
        rows = [[0 if t == 3 or s == 7 else 1000 * (s + 1) + t for t in range(8)] for s in range(8)]
        self.write("matrix.csv", "".join(",".join(map(str, row)) + "\n" for row in rows))

    def test_are_refused_with_one_line(self) -> None:
        for arguments, words in REFUSED:
            with self.subTest(arguments=arguments):
                self.expect_refused(arguments.split(), words)

    def test_each_is_simulated_below_its_bound_with_what_was_chosen(self) -> None:
        for pattern in COLLECTIVES:
            with self.subTest(pattern=pattern):
                row = self.row(*SIM, "--pattern", pattern)
                self.assertEqual((row["pattern"], row["in_place"]), (pattern, "no"))
                order = "local" if pattern == "alltoallv" else "critical"
                self.assertEqual((row["forwarding"], row["order"]), ("balanced", order))
                self.assertEqual((row["barrier"], row["overlap"]), ("no", "yes"))
                self.assertLessEqual(float(row["calibrated_bound_pct"]), 100.0)
                # No plan has more time than that of balanced rails allows, but for the hot ones.
                self.assertGreaterEqual(float(row["balanced_bound_pct"]),
                                        float(row["calibrated_bound_pct"]) - 1e-6)

    def test_columns_hold_the_options_that_count(self) -> None:
        row = self.row(*SIM, "--pattern", "broadcast", "--root", "5", "--algorithm", "p2p",
                       "--self-copy", "none", "--forwarding", "balanced", "--rails", "2", "--order",
                       "rotation", "--barrier", "--overlap", "off", "--interleave", "off",
                       "--slack-fill", "off")
        expected = {"root": "5", "algorithm": "p2p", "in_place": "yes", "rails": "2", "from": "",
                    "order": "rotation", "barrier": "yes", "overlap": "no", "interleave": "no",
                    "slack_fill": "no", "matrix": ""}
        self.assertEqual({name: row[name] for name in expected}, expected)
        row = self.row(*SIM, "--pattern", "allgather", "--algorithm", "ring", "--nics", "2")
        self.assertEqual((row["algorithm"], row["nics"]), ("ring", "2"))
        row = self.row(*SIM, "--to", "4", "--quantise", "5%")
        self.assertEqual((row["forwarding"], row["from"], row["to"], row["quantise_pct"]),
                         ("symmetric", "0", "4", "5"))

    def test_table_names_them_too(self) -> None:
        text = self.succeed(*SIM, "--pattern", "alltoallv", "--matrix", "zipf", "--in-place")
        for words in ("pattern alltoallv", "matrix zipf", "in_place yes", "forwarding balanced",
                      "order local", "largest buffer"):
            self.assertIn(words, text)

    def test_seed_draws_the_matrix(self) -> None:
        options = (*SIM, "--pattern", "alltoallv", "--matrix", "random")
        first, again, other = (self.row(*options, "--seed", seed) for seed in ("1", "1", "2"))
        self.assertEqual(first, again)
        self.assertNotEqual(first["message_bytes"], other["message_bytes"])
        self.assertEqual(first["size_bytes"], other["size_bytes"])

    def test_algbw_counts_as_nccl_tests(self) -> None:
        for pattern in COLLECTIVES:
            row = self.row(*SIM, "--pattern", pattern)
            rate = int(row["message_bytes"]) / float(row["time_us"]) / 1e3
            self.assertAlmostEqual(float(row["algbw_gb_per_s"]) / rate, 1.0, places=6)
            factor = 1.0 if pattern == "broadcast" else 7 / 8
            self.assertAlmostEqual(float(row["busbw_gb_per_s"]) / rate, factor, places=6)
            if pattern != "alltoallv":
                self.assertEqual(row["message_bytes"], row["size_bytes"])

    def test_in_place_moves_fewer_bytes(self) -> None:
        for pattern in ("alltoall", "alltoallv"):
            options = (*SIM, "--pattern", pattern)
            out, in_place = self.row(*options), self.row(*options, "--in-place")
            self.assertLess(int(in_place["nvlink_bytes"]), int(out["nvlink_bytes"]))
            self.assertEqual(in_place["nic_bytes"], out["nic_bytes"])

    def test_own_nics_need_no_nvlink_between_nodes(self) -> None:
        row = self.row(*SIM, "--pattern", "alltoall", "--in-place", "--forwarding", "own-nic")
        self.assertEqual((row["forwarding"], row["balanced_bound_pct"]), ("own-nic", ""))
        # Of eight ranks three are on the same node and four on the other, an eighth for each.
        self.assertEqual(int(row["nvlink_bytes"]), 8 * 3 * (8 << 20) // 8)
        self.assertEqual(int(row["nic_bytes"]), 8 * 4 * (8 << 20) // 8)

    def test_allgather_crosses_the_network_once_per_node_unless_told_otherwise(self) -> None:
        options = (*SIM, "--pattern", "allgather", "--in-place")
        size = 8 << 20
        # Each node sends its half to the other once; p2p sends it to all four ranks there.
        self.assertEqual(int(self.row(*options)["nic_bytes"]), size)
        self.assertEqual(int(self.row(*options, "--algorithm", "p2p")["nic_bytes"]), 4 * size)

    def test_some_ranks_of_a_job(self) -> None:
        row = self.row(*SIM, "--pattern", "alltoall", "--in-place", "--group", "0,1,4,5")
        self.assertEqual(row["group"], "0 1 4 5")
        # Of four ranks two are on the other node: half of what everyone sends.
        self.assertEqual(int(row["nic_bytes"]), 4 * (8 << 20) // 2)

    def test_files_bring_their_size(self) -> None:
        self.write_matrix()
        self.write_flows()
        topology = ("sim", "--topology", "h800-2x4", "--chunk", "64KiB")
        named = self.row(*topology, "--pattern", "matrix.csv")
        as_matrix = self.row(*topology, "--pattern", "alltoallv", "--matrix", "matrix.csv")
        self.assertEqual(named, as_matrix)
        self.assertEqual((named["pattern"], named["matrix"]), ("alltoallv", "file"))
        flows = self.row(*topology, "--pattern", "flows.json")
        # The most that a rank sends, each multicast once.
        self.assertEqual((flows["pattern"], flows["size_bytes"]), ("my-pattern", "500000"))

    def test_a_file_for_other_ranks_is_refused(self) -> None:
        self.write_matrix()
        self.write_flows(rank_count=9)
        self.expect_refused(["sim", "--pattern", "matrix.csv"], ["8", "expected 16"])
        self.expect_refused(["sim", "--topology", "h800-2x4", "--pattern", "flows.json"],
                            ["my-pattern", "9", "expected 8"])
        self.write_flows()
        self.expect_refused(["sim", "--topology", "h800-2x4", "--pattern", "flows.json", "--csv",
                             "./flows.json"], ["--csv", "expected another file than --pattern"])

    def test_plan_shows_saves_and_predicts(self) -> None:
        options = ("plan", "--topology", "h800-2x4", "--pattern", "alltoallv", "--matrix", "zipf",
                   "-b", "8MiB", "--chunk", "256KiB")
        shown = self.succeed(*options, "--json", "plan.json")
        self.assertRegex(shown, r"predicted time: [0-9.]+ us \(simulated, calibration H800")
        self.assertEqual(self.succeed("plan", "--load", "plan.json"), shown)
        unpredicted = self.succeed(*options, "--predict", "off")
        self.assertTrue(shown.startswith(unpredicted))
        self.assertNotIn("predicted", unpredicted)

    def test_eight_processes_check_every_byte(self) -> None:
        for pattern in (*COLLECTIVES, "sendrecv-ring", "ppchain"):
            with self.subTest(pattern=pattern):
                self.succeed(*EIGHT, "--pattern", pattern)
        self.succeed(*EIGHT, "--to", "5")

    def test_eight_processes_check_every_byte_between_registered_buffers(self) -> None:
        for pattern in (*COLLECTIVES, "sendrecv-ring"):
            with self.subTest(pattern=pattern):
                self.succeed(*EIGHT, "--pattern", pattern, "--forwarding", "own-nic")

    def test_eight_processes_check_every_byte_of_other_choices(self) -> None:
        for options in ("allgather --in-place --algorithm ring --nics 2",
                        "broadcast --root 3 --algorithm p2p --self-copy none",
                        "alltoallv --matrix sparse --order local --in-place",
                        "alltoallv --matrix moe --barrier --seed 3",
                        "alltoall --overlap off --order rotation",
                        "allgather --group 1,2,4,7",
                        "alltoallv --matrix zipf --group 0,3,5 --forwarding symmetric"):
            with self.subTest(options=options):
                self.succeed(*EIGHT, "--pattern", *options.split())

    def test_eight_processes_check_every_byte_of_files(self) -> None:
        self.write_matrix()
        self.write_flows()
        eight = [word for word in EIGHT if word not in ("-b", "-e", "1000001B")]
        for pattern in ("matrix.csv", "flows.json"):
            with self.subTest(pattern=pattern):
                self.succeed(*eight, "--pattern", pattern)

    def test_what_was_run_is_compared_with_its_simulation(self) -> None:
        self.write_flows()
        for options in ("--pattern allgather --algorithm p2p -b 1MiB -e 1MiB",
                        "--pattern alltoallv --matrix zipf --seed 9 -b 1MiB -e 1MiB",
                        "--pattern flows.json"):
            with self.subTest(options=options):
                self.succeed("validate", "--topology", "h800-2x4", "--chunk", "64KiB", "--rounds",
                             "1", "--iterations", "1", *options.split(), "--csv", "v.csv")
                rows = {row["part"]: row
                        for row in csv.DictReader(io.StringIO(self.read("v.csv")))}
                for leg in ("stage_in", "wire", "deliver", "direct"):
                    self.assertIn(leg, rows)
                    self.assertNotEqual(rows[leg]["simulated_us"], "", leg)
                    self.assertNotEqual(rows[leg]["measured_us"], "", leg)


class Degenerate(ProgramTest):
    def test_few_bytes_few_ranks_and_few_nics(self) -> None:
        one = ("-b", "1B", "-e", "1B")
        for pattern in COLLECTIVES:
            for topology in ("h800-2x4", "h800-1x4", "h800-1x2"):
                with self.subTest(pattern=pattern, topology=topology):
                    self.succeed("sim", "--topology", topology, "--pattern", pattern, *one)
            with self.subTest(pattern=pattern, ranks=1):
                self.succeed("sim", "--topology", "h800-1x2", "--ranks", "1", "--pattern", pattern,
                             "--in-place", *one)

    def test_one_nic_for_a_node(self) -> None:
        self.write(
            "lab.toml",
            'schema = 1\nnodes = 2\ngpus_per_node = [3, 4]\n'
            '[nvlink]\nout = "100GB/s"\nin = "100GB/s"\n'
            '[pcie]\none_way = "55GB/s"\nduplex_each = "50GB/s"\n'
            '[[nic]]\ngpu = 1\nrate = "25GB/s"\nnode = 0\n'
            '[[nic]]\ngpu = 2\nrate = "25GB/s"\nnode = 1\n',
        )
        # A GPU beside its node's only NIC cannot use it: its bytes would stay within the GPU.
        self.expect_refused(["sim", "--topology", "lab.toml", "--pattern", "alltoall"],
                            ["NIC", "expected"])
        self.succeed("sim", "--topology", "lab.toml", "--pattern", "alltoall", "--group", "0,2,3,4",
                     "-b", "1MiB", "-e", "1MiB")

    def test_files_that_move_nothing(self) -> None:
        self.write("zero.csv", "0,0\n0,0\n")
        self.write("zero.json", json.dumps(FLOWS | {"rank_count": 2, "flows": [
            {"source": 0, "targets": [1], "source_offset_bytes": 0, "target_offset_bytes": 0,
             "size_bytes": 0}]}))
        for pattern in ("zero.csv", "zero.json"):
            self.succeed("sim", "--topology", "h800-1x2", "--pattern", pattern)
            self.succeed("plan", "--topology", "h800-1x2", "--pattern", pattern)
            self.succeed("run", "--topology", "h800-1x2", "--pattern", pattern, "--check")

    def test_ten_terabytes_are_planned(self) -> None:
        text = self.succeed("plan", "--pattern", "alltoall", "-b", "640GiB", "--predict", "off")
        self.assertIn("alltoall", text)


if __name__ == "__main__":
    unittest.main()
