"""The rules of the house that a compiler does not check. Each yields findings for one file."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

import cpp_text

MAX_FILE_LINES = 450
MAX_FUNCTION_LINES = 70
TOP_FOLDERS = {"engine", "sim", "hw", "experiments", "analysis", "tests"}
CPP_SUFFIXES = {".h", ".cc", ".cpp", ".cu", ".cuh"}

_SIMGRID_HEADER = re.compile(r"^(?:simgrid|xbt)(?:/|\.h)")
_VENDOR_HEADER = re.compile(
    r"^(?:cuda|cupti|nvml|cublas|nvrtc|nccl|nvtx3?|infiniband|rdma|mlx5)[\w/.]*"
)
# Outside hw/: nothing else links what is here.
_VENDOR_PROBES = ("tests/cuda", "experiments/contention")
_CONCURRENCY_HEADERS = {
    "thread", "mutex", "shared_mutex", "atomic", "condition_variable", "future", "semaphore",
    "latch", "barrier", "stop_token", "stdatomic.h", "pthread.h",
}
_CLOCK_HEADERS = {"ctime", "time.h", "sys/time.h", "sys/timerfd.h"}
_SIMGRID_CODE = re.compile(r"\bsimgrid::|\bxbt_\w+|\bXBT_\w+|\bsg_\w+\s*\(")
_ENGINE_CODE = {
    "threads": re.compile(
        r"\bstd::(?:jthread|thread|this_thread|mutex|recursive_mutex|shared_mutex|atomic\w*|"
        r"condition_variable\w*|async|promise|future|counting_semaphore|barrier|latch|lock_guard|"
        r"unique_lock|scoped_lock)\b|\bpthread_\w+|\bthread_local\b"),
    "a clock": re.compile(
        r"\b(?:system_clock|steady_clock|high_resolution_clock|utc_clock|tai_clock)\b|"
        r"\b(?:clock_gettime|gettimeofday|nanosleep|usleep|sleep_for|sleep_until)\b|"
        r"\bstd::time\s*\("),
    "unseeded randomness": re.compile(r"\bstd::random_device\b|\b(?:std::)?s?rand\s*\("),
}
_KERNEL_LAUNCH = re.compile(r"<<<|\b__global__\b|\b(?:cudaLaunch(?!HostFunc)|cuLaunch(?!HostFunc))\w*")
_SIMGRID_CMAKE = re.compile(r"\bSimGrid::|\bhoccl_simgrid\b|\bfind_\w+\s*\([^)]*simgrid",
                            re.IGNORECASE)
_VAGUE_NAMES = {"util", "utils", "common", "misc"}
# Assembled, so that this file does not break its own rule.
_MACHINE_PATH = re.compile(r"(?<![\w.}~-])/(?:" + "|".join(["work", "tmp", "root"]) + r")/|/home/\w+/")


@dataclass(frozen=True)
class SourceFile:
    path: PurePosixPath  # below the root
    text: str

    @property
    def top(self) -> str:
        return self.path.parts[0] if len(self.path.parts) > 1 else ""

    @property
    def is_cpp(self) -> bool:
        return self.path.suffix in CPP_SUFFIXES

    def below(self, *folders: str) -> bool:
        return any(self.path.is_relative_to(folder) for folder in folders)


@dataclass(frozen=True)
class Finding:
    path: PurePosixPath
    line: int
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.message}"


Rule = Callable[[SourceFile], Iterator[Finding]]


def engine_is_pure(file: SourceFile) -> Iterator[Finding]:
    """engine/ has no clock, no threads, no vendor header and depends on nobody."""
    if not (file.is_cpp and file.below("engine")):
        return
    for include in cpp_text.includes(file.text):
        foreign = not include.system and not include.path.startswith("engine/")
        if (foreign or _SIMGRID_HEADER.match(include.path) or _VENDOR_HEADER.match(include.path)
                or include.path in _CONCURRENCY_HEADERS or include.path in _CLOCK_HEADERS):
            yield Finding(file.path, include.line, "engine-purity",
                          f"engine/ must not include {include.path}")
    code = cpp_text.code_only(file.text)
    for what, pattern in _ENGINE_CODE.items():
        for match in pattern.finditer(code):
            yield Finding(file.path, cpp_text.line_of(code, match.start()), "engine-purity",
                          f"engine/ must not use {what}: {match.group().strip()}")


def simgrid_stays_in_sim(file: SourceFile) -> Iterator[Finding]:
    # tests/tidy compiles the headers of sim/ alone, so it links what they include.
    if file.below("sim", "tests/sim", "tests/tidy"):
        return
    if file.is_cpp:
        for include in cpp_text.includes(file.text):
            if _SIMGRID_HEADER.match(include.path):
                yield Finding(file.path, include.line, "simgrid-outside-sim",
                              f"only sim/ and tests/sim/ may include {include.path}")
        code = cpp_text.code_only(file.text)
        for match in _SIMGRID_CODE.finditer(code):
            yield Finding(file.path, cpp_text.line_of(code, match.start()), "simgrid-outside-sim",
                          f"only sim/ and tests/sim/ may use {match.group().strip()}")
    elif file.path.name == "CMakeLists.txt":
        for match in _SIMGRID_CMAKE.finditer(re.sub(r"#[^\n]*", "", file.text)):
            yield Finding(file.path, cpp_text.line_of(file.text, match.start()),
                          "simgrid-outside-sim", "only sim/ and tests/sim/ may find or link SimGrid")


def vendor_headers_stay_in_hw(file: SourceFile) -> Iterator[Finding]:
    """CUDA, CUPTI, NVML and verbs headers: only in the sources and *_raii.h of hw/, and where it is
    tested and probed with kernels."""
    if not file.is_cpp:
        return
    is_header = file.path.suffix in {".h", ".cuh"}
    if file.below("hw", *_VENDOR_PROBES) and (not is_header or file.path.stem.endswith("_raii")):
        return
    for include in cpp_text.includes(file.text):
        if include.system and _VENDOR_HEADER.match(include.path):
            yield Finding(file.path, include.line, "vendor-header",
                          f"{include.path} belongs in a source or *_raii.h file of hw/")


def hw_has_no_kernels(file: SourceFile) -> Iterator[Finding]:
    """Zero SM: what hw/ is built from cannot even name a kernel."""
    if not file.below("hw"):
        return
    if file.path.suffix in {".cu", ".cuh"}:
        yield Finding(file.path, 1, "kernel", "hw/ has no kernels, so no CUDA source either")
    elif file.is_cpp:
        code = cpp_text.code_only(file.text)
        for match in _KERNEL_LAUNCH.finditer(code):
            yield Finding(file.path, cpp_text.line_of(code, match.start()), "kernel",
                          f"hw/ must not launch kernels: {match.group().strip()}")


def dependencies_point_one_way(file: SourceFile) -> Iterator[Finding]:
    forbidden = {"sim": ("hw/", "experiments/", "tests/"), "hw": ("sim/", "experiments/", "tests/"),
                 "experiments": ("tests/",)}
    if not file.is_cpp:
        return
    for include in cpp_text.includes(file.text):
        if include.path.startswith(forbidden.get(file.top, ())):
            yield Finding(file.path, include.line, "dependency",
                          f"{file.top}/ must not include {include.path}")


def includes_start_at_the_root(file: SourceFile) -> Iterator[Finding]:
    if not file.is_cpp:
        return
    for include in cpp_text.includes(file.text):
        if include.path.startswith("./") or "../" in include.path:
            yield Finding(file.path, include.line, "relative-include",
                          f"{include.path}: paths start at the root of the project")


def headers_are_guarded(file: SourceFile) -> Iterator[Finding]:
    if file.path.suffix not in {".h", ".cuh"}:
        return
    code = cpp_text.code_only(file.text).strip()
    if not code.startswith("#pragma once"):
        yield Finding(file.path, 1, "pragma-once", "a header starts with #pragma once")


def files_are_short(file: SourceFile) -> Iterator[Finding]:
    count = len(file.text.splitlines())
    if (file.is_cpp or file.path.suffix == ".py") and count > MAX_FILE_LINES:
        yield Finding(file.path, count, "file-length", f"{count} lines; at most {MAX_FILE_LINES}")


def functions_are_short(file: SourceFile) -> Iterator[Finding]:
    if file.is_cpp:
        for function in cpp_text.functions(file.text):
            if function.line_count > MAX_FUNCTION_LINES:
                yield Finding(file.path, function.line, "function-length",
                              f"{function.line_count} lines; at most {MAX_FUNCTION_LINES}: "
                              f"{function.head[:60]}")
    elif file.path.suffix == ".py":
        for node in ast.walk(ast.parse(file.text, str(file.path))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                count = (node.end_lineno or node.lineno) - node.lineno + 1
                if count > MAX_FUNCTION_LINES:
                    yield Finding(file.path, node.lineno, "function-length",
                                  f"{count} lines; at most {MAX_FUNCTION_LINES}: {node.name}")


def names_say_something(file: SourceFile) -> Iterator[Finding]:
    for part in (*file.path.parent.parts, file.path.stem):
        if part in _VAGUE_NAMES or part.endswith("_utils"):
            yield Finding(file.path, 1, "vague-name", f"'{part}' does not say what is inside")


def whitespace_is_clean(file: SourceFile) -> Iterator[Finding]:
    if not (file.is_cpp or file.path.suffix == ".py" or file.path.name == "CMakeLists.txt"):
        return
    for number, line in enumerate(file.text.split("\n"), start=1):
        if line != line.rstrip():
            yield Finding(file.path, number, "whitespace", "trailing whitespace")
        if "\t" in line:
            yield Finding(file.path, number, "whitespace", "a tab")


def no_machine_paths(file: SourceFile) -> Iterator[Finding]:
    """Nothing depends on one person's or one machine's folders."""
    for number, line in enumerate(file.text.splitlines(), start=1):
        match = _MACHINE_PATH.search(line)
        if match:
            yield Finding(file.path, number, "machine-path",
                          f"{match.group()} exists only on some machine")


def top_level_is_closed(file: SourceFile) -> Iterator[Finding]:
    if file.top and file.top not in TOP_FOLDERS and not file.top.startswith("."):
        yield Finding(file.path, 1, "top-level",
                      f"folder {file.top}/ is none of {', '.join(sorted(TOP_FOLDERS))}")


ALL_RULES: tuple[Rule, ...] = (
    engine_is_pure, simgrid_stays_in_sim, vendor_headers_stay_in_hw, hw_has_no_kernels,
    dependencies_point_one_way,
    includes_start_at_the_root, headers_are_guarded, files_are_short, functions_are_short,
    names_say_something, whitespace_is_clean, no_machine_paths, top_level_is_closed,
)
