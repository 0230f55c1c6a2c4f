"""Runs the program under test in a folder of its own."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

PROGRAM_VARIABLE = "HOCCL_PROGRAM"
TIMEOUT_S = 240
SOURCE_FOLDER = Path(__file__).resolve().parents[2]


@dataclasses.dataclass(frozen=True)
class Outcome:
    returncode: int
    stdout: str
    stderr: str


def children_of(parent: int) -> list[int]:
    children = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(fields[1]) == parent:
            children.append(int(stat.parent.name))
    return children


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


class ProgramTest(unittest.TestCase):
    """Each test has an empty folder, in which the program runs."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_program(self, *arguments: str, environment: dict[str, str] | None = None) -> Outcome:
        """`environment`: variables on top of this process's."""
        done = subprocess.run(
            [os.environ[PROGRAM_VARIABLE], *arguments],
            cwd=self.folder,
            env=os.environ | (environment or {}),
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    def succeed(self, *arguments: str) -> str:
        """Returns stdout."""
        outcome = self.run_program(*arguments)
        self.assertEqual((outcome.returncode, outcome.stderr), (0, ""), arguments)
        return outcome.stdout

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def read(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    def expect_refused(
        self, arguments: list[str], words: list[str], environment: dict[str, str] | None = None
    ) -> None:
        """Exit 2, one line on stderr with all the words, nothing else and no new file."""
        before = sorted(path.name for path in self.folder.iterdir())
        outcome = self.run_program(*arguments, environment=environment)
        self.assertEqual(outcome.returncode, 2, outcome)
        self.assertEqual(outcome.stdout, "", arguments)
        self.assertTrue(outcome.stderr.endswith("\n"), outcome)
        self.assertEqual(outcome.stderr.count("\n"), 1, outcome)
        for word in words:
            self.assertIn(word, outcome.stderr)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), before)
