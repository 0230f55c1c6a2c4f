"""`hoccl run` under srun, on a Slurm of one node that this test starts and ends. Needs root.

usage: slurm_test.py HOCCL_PROGRAM
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable
from pathlib import Path

DAEMONS = ("munged", "slurmctld", "slurmd")
PROGRAM = ""
START_TIMEOUT_S = 30
RUN_TIMEOUT_S = 60

SLURM_CONF = """ClusterName=hoccl
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SlurmdParameters=config_overrides
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
NodeName={host} NodeHostname={host} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=test Nodes={host} Default=YES State=UP
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def missing() -> str:
    """Why the test cannot run here; empty if it can."""
    if os.geteuid() != 0:
        return "not root: slurmd runs jobs for others"
    absent = [daemon for daemon in (*DAEMONS, "srun", "sinfo") if shutil.which(daemon) is None]
    if absent:
        return f"not installed: {', '.join(absent)} (Debian packages munge slurmctld slurmd slurm-client)"
    return ""


class Srun(unittest.TestCase):
    """On daemons whose files are all in `folder`."""

    folder: Path
    host: str
    environment: dict[str, str]

    @classmethod
    def setUpClass(cls) -> None:
        reason = missing()
        if reason:
            print(f"SKIPPED: no srun test here: {reason}", flush=True)
            raise unittest.SkipTest(reason)
        folder = tempfile.TemporaryDirectory(prefix="hoccl-slurm-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.host = socket.gethostname().partition(".")[0]
        for name in ("state", "spool"):
            (cls.folder / name).mkdir(mode=0o700)
        key = cls.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        (cls.folder / "slurm.conf").write_text(
            SLURM_CONF.format(host=cls.host, folder=cls.folder, controller_port=free_port(),
                              node_port=free_port()), encoding="utf-8")
        cls.environment = {**os.environ, "SLURM_CONF": str(cls.folder / "slurm.conf")}
        at = str(cls.folder)
        cls.start("munged", "--foreground", "--force", f"--socket={at}/munge.socket",
                  f"--key-file={at}/munge.key", f"--pid-file={at}/munge.pid",
                  f"--log-file={at}/munge.log", f"--seed-file={at}/munge.seed")
        cls.wait_until("munged", lambda: (cls.folder / "munge.socket").exists())
        cls.start("slurmctld", "-D")
        cls.start("slurmd", "-D", "-N", cls.host)
        cls.wait_until("slurmd", lambda: cls.output("sinfo", "--noheader", "--format=%t") == "idle")

    @classmethod
    def start(cls, *command: str) -> None:
        with (cls.folder / f"{command[0]}.out").open("w", encoding="utf-8") as log:
            daemon = subprocess.Popen(command, env=cls.environment, stdout=log, stderr=log)
        cls.addClassCleanup(daemon.wait, 30)
        cls.addClassCleanup(daemon.terminate)

    @classmethod
    def output(cls, *command: str) -> str:
        done = subprocess.run(command, env=cls.environment, capture_output=True, text=True,
                              check=False)
        return done.stdout.strip()

    @classmethod
    def wait_until(cls, what: str, reached: Callable[[], bool]) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while not reached():
            if time.monotonic() > deadline:
                logs = "\n".join(f"--- {log.name}\n{log.read_text(encoding='utf-8')[-2000:]}"
                                 for log in sorted(cls.folder.glob("*.[lo][ou][gt]")))
                raise AssertionError(f"{what} did not come up in {START_TIMEOUT_S} s\n{logs}")
            time.sleep(0.1)

    def srun(self, *arguments: str, secret: str = "") -> subprocess.CompletedProcess[str]:
        extra = {"HOCCL_JOB_SECRET": secret} if secret else {}
        return subprocess.run(
            ["srun", "--ntasks=4", "--overcommit", PROGRAM, "run", "--topology", "h800-2x2",
             "--pattern", "sendrecv-ring", *arguments],
            env={**self.environment, **extra}, cwd=self.folder, capture_output=True, text=True,
            timeout=RUN_TIMEOUT_S, check=False)

    def test_starts_four_ranks_that_check_every_byte(self) -> None:
        done = self.srun("-b", "64KiB", "-e", "1MiB", "-f", "4", "--check", "--iterations", "2",
                         secret=secrets.token_hex(16))
        self.assertEqual(done.returncode, 0, done)
        for size in ("65536", "262144", "1048576"):
            self.assertIn(f" {size} ", done.stdout)
        self.assertEqual(done.stdout.count("# measured"), 1)  # rank 0 alone prints

    def test_missing_secret_is_refused(self) -> None:
        done = self.srun()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("HOCCL_JOB_SECRET", done.stderr)


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
