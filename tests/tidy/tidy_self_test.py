#!/usr/bin/env python3
"""Feeds small bad trees to the checker and expects each to be found, and good ones to pass."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import cpp_text
from rules import MAX_FILE_LINES, MAX_FUNCTION_LINES, Finding
from tidy import check

TIDY = Path(__file__).with_name("tidy.py")
HEADER = "#pragma once\n"


def write_tree(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")


def findings(files: dict[str, str]) -> list[Finding]:
    with tempfile.TemporaryDirectory() as folder:
        write_tree(Path(folder), files)
        return check(Path(folder))


def function_of(lines: int) -> str:
    """A function of exactly `lines` lines, head and closing brace included."""
    return "int grow(int value) {\n" + "  ++value;\n" * (lines - 3) + "  return value;\n}\n"


class TidyTest(unittest.TestCase):
    def expect(self, rule: str, path: str, text: str, line: int = 1) -> None:
        found = findings({path: text})
        self.assertEqual([(str(f.path), f.line, f.rule) for f in found], [(path, line, rule)],
                         [str(f) for f in found])

    def expect_clean(self, path: str, text: str) -> None:
        self.assertEqual([str(f) for f in findings({path: text})], [])

    def test_engine_includes_nothing_foreign(self) -> None:
        for header in ("<simgrid/s4u.hpp>", "<xbt/log.h>"):
            found = findings({"engine/a.cc": f"#include {header}\n"})
            self.assertEqual({f.rule for f in found}, {"engine-purity", "simgrid-outside-sim"})
        for header in ("<cuda_runtime.h>", "<cuda.h>", "<infiniband/verbs.h>", "<cupti.h>",
                       "<nvml.h>"):
            found = findings({"engine/a.cc": f"#include {header}\n"})
            self.assertEqual({f.rule for f in found}, {"engine-purity", "vendor-header"}, header)
        for header in ("<thread>", "<mutex>", "<atomic>", "<condition_variable>", "<future>",
                       "<ctime>", "<time.h>", '"hw/link.h"', '"sim/machine/clock.h"',
                       '"tests/support/ideal_fabric.h"'):
            self.expect("engine-purity", "engine/a.cc", f"\n#include {header}\n", line=2)

    def test_engine_uses_no_clock_and_no_threads(self) -> None:
        for code in ("auto t = std::chrono::system_clock::now();", "using C = steady_clock;",
                     "std::thread t;", "std::mutex m;", "std::atomic<int> n;",
                     "std::atomic_int n;", "clock_gettime(0, &t);", "std::random_device seed;",
                     "thread_local int n;"):
            self.expect("engine-purity", "engine/pipeline/a.cc", f"{code}\n")

    def test_engine_may_use_durations_and_mention_clocks_in_comments(self) -> None:
        self.expect_clean("engine/a.h", HEADER + "#include <chrono>\n// std::mutex, <thread>\n"
                          'using Seconds = std::chrono::duration<double>;\n'
                          'const char* text = "std::thread";\n/* steady_clock */\n'
                          '// #include <thread>\n')

    def test_other_folders_may_use_clocks_and_threads(self) -> None:
        self.expect_clean("hw/a.cc", "#include <thread>\nauto t = steady_clock::now();\n")

    def test_simgrid_stays_in_sim(self) -> None:
        include = "#include <simgrid/s4u.hpp>\n"
        self.expect("simgrid-outside-sim", "experiments/hoccl/main.cc", include)
        self.expect("simgrid-outside-sim", "tests/engine/a.cc", include)
        self.expect("simgrid-outside-sim", "hw/a.cc", "using E = simgrid::s4u::Engine;\n")
        self.expect("simgrid-outside-sim", "tests/CMakeLists.txt", "find_package(SimGrid)\n")
        self.expect("simgrid-outside-sim", "engine/CMakeLists.txt",
                    "target_link_libraries(a SimGrid::SimGrid)\n")
        self.expect("simgrid-outside-sim", "experiments/hoccl/CMakeLists.txt",
                    "# SimGrid\ntarget_link_libraries(a hoccl_simgrid)\n", line=2)
        self.expect("simgrid-outside-sim", "hw/CMakeLists.txt", "find_library(A simgrid)\n")
        self.expect_clean("sim/a.cc", include)
        self.expect_clean("tests/sim/a.cc", include)
        self.expect_clean("sim/CMakeLists.txt", "find_package(SimGrid)\n")

    def test_vendor_headers_stay_in_hw_sources_and_raii_headers(self) -> None:
        for header in ("cuda_runtime_api.h", "infiniband/verbs.h", "rdma/rdma_cma.h", "cupti.h",
                       "nvml.h", "nccl.h", "cublas_v2.h"):
            include = f"#include <{header}>\n"
            self.expect("vendor-header", "sim/a.cc", include)
            self.expect("vendor-header", "tests/hw/a.cc", include)
            self.expect("vendor-header", "hw/stream.h", HEADER + include, line=2)
            self.expect_clean("hw/stream.cc", include)
            self.expect_clean("hw/stream_raii.h", HEADER + include)

    def test_vendor_headers_may_be_where_the_gpu_is_tested_and_probed(self) -> None:
        include = "#include <cuda_runtime.h>\n"
        for folder in ("tests/cuda", "experiments/contention"):
            self.expect_clean(f"{folder}/a.cu", include)
            self.expect_clean(f"{folder}/a.cc", include)
            self.expect_clean(f"{folder}/a_raii.h", HEADER + include)
            self.expect("vendor-header", f"{folder}/a.h", HEADER + include, line=2)
        self.expect("vendor-header", "tests/hw/a.cu", include)
        self.expect("vendor-header", "experiments/hoccl/a.cu", include)

    def test_hw_has_no_kernels(self) -> None:
        self.expect("kernel", "hw/copy/a.cu", "int a;\n")
        for code in ("__global__ void f();", "f<<<1, 1>>>();", "cudaLaunchKernel(f);",
                     "cuLaunchKernelEx(f);", "cudaLaunchCooperativeKernel(f);"):
            self.expect("kernel", "hw/a.cc", f"{code}\n")
        self.expect_clean("hw/a.cc", "cudaLaunchHostFunc(f);  // no <<<kernel>>>\n")
        self.expect_clean("tests/cuda/a.cu", "__global__ void f();\n")

    def test_sim_and_hw_do_not_know_each_other(self) -> None:
        self.expect("dependency", "sim/a.cc", '#include "hw/link.h"\n')
        self.expect("dependency", "hw/a.cc", '#include "sim/machine/cpu.h"\n')
        self.expect("dependency", "sim/a.cc", '#include "tests/support/a.h"\n')
        self.expect_clean("sim/a.cc", '#include "engine/fabric.h"\n')

    def test_includes_start_at_the_root(self) -> None:
        self.expect("relative-include", "sim/a.cc", '#include "../engine/fabric.h"\n')
        self.expect("relative-include", "sim/a.cc", '#include "machine/../a.h"\n')
        self.expect("relative-include", "sim/a.cc", '#include "./a.h"\n')

    def test_headers_are_guarded(self) -> None:
        self.expect("pragma-once", "sim/a.h", "int a;\n")
        self.expect("pragma-once", "sim/a.h", "// #pragma once\nint a;\n")
        self.expect("pragma-once", "sim/a.h", "int a;\n#pragma once\n")
        self.expect_clean("sim/a.h", "// What it is.\n" + HEADER)

    def test_files_are_short(self) -> None:
        self.expect_clean("sim/a.cc", "int a;\n" * MAX_FILE_LINES)
        self.expect("file-length", "sim/a.cc", "int a;\n" * (MAX_FILE_LINES + 1),
                    line=MAX_FILE_LINES + 1)
        self.expect("file-length", "analysis/a.py", "a = 1\n" * (MAX_FILE_LINES + 1),
                    line=MAX_FILE_LINES + 1)

    def test_functions_are_short(self) -> None:
        self.expect_clean("sim/a.cc", function_of(MAX_FUNCTION_LINES))
        self.expect("function-length", "sim/a.cc", "\n" + function_of(MAX_FUNCTION_LINES + 1),
                    line=2)
        self.expect("function-length", "sim/a.cc", "namespace hoccl {\nclass A {\n"
                    + function_of(MAX_FUNCTION_LINES + 1) + "};\n}\n", line=3)
        python = "def grow() -> None:\n" + "    pass\n" * MAX_FUNCTION_LINES
        self.expect("function-length", "analysis/a.py", python)

    def test_vague_names_are_refused(self) -> None:
        for name in ("sim/utils.cc", "sim/common.cc", "sim/misc.cc", "sim/util/a.cc",
                     "sim/string_utils.cc"):
            self.expect("vague-name", name, "int a;\n")
        self.expect_clean("sim/utilization.cc", "int a;\n")

    def test_whitespace_is_clean(self) -> None:
        self.expect("whitespace", "sim/a.cc", "int a; \nint b;\n")
        self.expect("whitespace", "sim/a.cc", "int a;\n  \tint b;\n", line=2)
        self.expect("whitespace", "sim/a.cc", "int a;\r\n")

    def test_machine_paths_are_refused_in_every_text_file(self) -> None:
        for folder in ("work", "tmp", "root"):
            self.expect("machine-path", "README.md", f"see /{folder}/notes.md\n")
        self.expect("machine-path", "experiments/run.sh", "cd /home/" + "ann/hoccl\n")
        self.expect_clean("README.md", "frame/wo" "rk/flow and build/tmp/a, ${T:-/tmp}, /usr/bin/env\n")

    def test_no_further_top_folder(self) -> None:
        self.expect("top-level", "lib/a.cc", "int a;\n")
        self.expect_clean(".ci/run", "true\n")

    def test_build_and_result_folders_are_not_read(self) -> None:
        self.assertEqual(findings({"build/dev/a.cc": "int a; \n", "results/a.cc": "int a; \n",
                                   ".git/a.cc": "int a; \n"}), [])


class CommandTest(unittest.TestCase):
    def run_tidy(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, str(TIDY), *arguments], capture_output=True,
                              text=True, check=False)

    def test_exits_with_1_and_names_file_line_and_rule(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            write_tree(Path(folder), {"engine/a.cc": "\n#include <mutex>\n"})
            result = self.run_tidy(folder)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout,
                         "engine/a.cc:2: engine-purity: engine/ must not include mutex\n")

    def test_exits_with_0_on_a_clean_tree(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            write_tree(Path(folder), {"engine/a.h": HEADER})
            result = self.run_tidy(folder)
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_exits_with_2_on_wrong_use(self) -> None:
        self.assertEqual(self.run_tidy().returncode, 2)
        self.assertEqual(self.run_tidy("no/such/folder").returncode, 2)


class LexingTest(unittest.TestCase):
    def lengths(self, text: str) -> list[int]:
        return [function.line_count for function in cpp_text.functions(text)]

    def test_braces_in_strings_comments_and_characters_do_not_count(self) -> None:
        self.assertEqual(self.lengths('int f() {\n  g("{", \'{\', R"({)");  // {\n  /* { */\n}\n'),
                         [4])

    def test_digit_separators_are_no_characters(self) -> None:
        self.assertEqual(self.lengths("int f() {\n  return 1'000;\n}\nint g() { return 2'0; }\n"),
                         [3, 1])

    def test_a_constructor_with_an_initializer_list_is_one_function(self) -> None:
        self.assertEqual(self.lengths("A::A(int b) : b_{b}, c_{0} {\n  d();\n}\n"), [3])
        self.assertEqual(self.lengths("A::A(int b)\n    : b_(b), c_(0) {\n  d();\n}\n"), [4])

    def test_the_head_of_a_function_counts(self) -> None:
        self.assertEqual(self.lengths("int f(int a,\n      int b) const\n{\n}\n"), [4])

    def test_loops_and_lambdas_belong_to_their_function(self) -> None:
        self.assertEqual(
            self.lengths("int f() {\n  for (int i = 0; i < 3; ++i) {\n    g([] {\n    });\n  }\n}\n"),
            [6])

    def test_classes_enums_and_tables_are_no_functions(self) -> None:
        self.assertEqual(self.lengths("class A : public B {\n};\nenum class E { a, b };\n"
                                      "constexpr std::array kTable = {\n  1, 2};\n"), [])

    def test_includes_keep_their_line(self) -> None:
        found = cpp_text.includes('// #include <a>\n\n#include <b>\n#  include "c/d.h"\n')
        self.assertEqual([(i.line, i.system, i.path) for i in found],
                         [(3, True, "b"), (4, False, "c/d.h")])


if __name__ == "__main__":
    unittest.main()
