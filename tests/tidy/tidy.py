#!/usr/bin/env python3
"""Checks the house rules on a source tree: tidy.py ROOT. Exit 0 clean, 1 findings, 2 wrong use."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from rules import ALL_RULES, Finding, SourceFile

# Not ours: version control, what a build or a run writes, caches.
_SKIPPED = {".git", "build", "results", ".venv", "node_modules", ".snakemake"}
_TEXT_SUFFIXES = {
    ".h", ".cc", ".cpp", ".cu", ".cuh", ".py", ".sh", ".txt", ".cmake", ".toml", ".md", ".json",
    ".csv", ".yml", ".yaml", ".cfg", "",
}


def source_files(root: Path) -> Iterator[SourceFile]:
    for path in sorted(root.rglob("*")):
        relative = PurePosixPath(path.relative_to(root).as_posix())
        skipped = any(part in _SKIPPED or part.endswith("cache") or part.endswith("cache__")
                      for part in relative.parts)
        if skipped or path.suffix not in _TEXT_SUFFIXES or not path.is_file():
            continue
        try:
            yield SourceFile(relative, path.read_bytes().decode("utf-8"))
        except UnicodeDecodeError:
            continue  # binary, such as a picture without an ending


def check(root: Path) -> list[Finding]:
    return [finding for file in source_files(root) for rule in ALL_RULES for finding in rule(file)]


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print("usage: tidy.py ROOT (an existing folder)", file=sys.stderr)
        return 2
    findings = check(Path(arguments[0]))
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
