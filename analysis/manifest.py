"""What a result came from: enough to run it again, and nothing that differs between equal runs."""

from __future__ import annotations

import json
import platform
import subprocess
from pathlib import Path
from typing import Protocol

import matplotlib
import numpy

from analysis.calibration import Calibration
from analysis.files import write_text


def _output(command: list[str]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def commit() -> str:
    """The checkout's, with "+changes" if tracked files differ; "unknown" outside a checkout."""
    revision = _output(["git", "rev-parse", "HEAD"])
    changes = _output(["git", "status", "--porcelain", "--untracked-files=no"])
    if revision is None or changes is None:
        return "unknown"
    return revision + ("+changes" if changes else "")


def _package_version(package: str) -> str:
    query = ["dpkg-query", "--show", "--showformat=${Version}", package]
    return _output(query) or "unknown"


def program_version(program: Path) -> str:
    return _output([str(program), "--version"]) or "unknown"


class Reproduced(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def seed(self) -> int: ...


def build_manifest(
    config: Reproduced, calibration: Calibration, commands: list[list[str]], program: Path
) -> dict[str, object]:
    compiler = _output(["c++", "--version"])
    return {
        "figure": config.id,
        "commit": commit(),
        "seed": config.seed,
        "calibration": {"file": calibration.path.as_posix(), "sha256": calibration.sha256},
        "versions": {
            "hoccl": program_version(program),
            "simgrid": _package_version("libsimgrid-dev"),
            "compiler": compiler.splitlines()[0] if compiler else "unknown",
            "system": platform.platform(terse=True),
            "python": platform.python_version(),
            "numpy": numpy.__version__,
            "matplotlib": matplotlib.__version__,
        },
        "commands": [" ".join(command) for command in commands],
    }


def write_manifest(path: Path, manifest: dict[str, object]) -> None:
    write_text(path, json.dumps(manifest, indent=2) + "\n")
