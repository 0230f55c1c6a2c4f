"""Attacks every port that a starting job opens, and checks that the job does not notice.

usage: impostor.py LAUNCH_PROBE

Starts four ranks; the last one waits, first before it connects and then before it joins the local
mesh, and the impostor uses that time. Rank 1 reaches rank 0 through the impostor, which relays
every byte and remembers the hello, to replay it.
"""

from __future__ import annotations

import os
import random
import re
import secrets
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

SIZE = 4
GREETING, HELLO, FRAME = 76, 108, 2**20 + 100
PATIENCE_S = 60.0
TCP_LISTEN = "0A"

Address = str | tuple[str, int]  # of a local socket, or host and port


class Relay:
    """Stands between rank 1 and rank 0."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.hello = b""
        threading.Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
        while True:
            client, _ = self.listener.accept()
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except ConnectionRefusedError:  # rank 0 does not listen yet
                client.close()
                continue
            threading.Thread(target=self.pump, args=(server, client), daemon=True).start()
            threading.Thread(target=self.pump, args=(client, server, True), daemon=True).start()

    def pump(self, source: socket.socket, sink: socket.socket, keep: bool = False) -> None:
        try:
            while data := source.recv(65536):
                if keep and len(self.hello) < HELLO:
                    self.hello += data
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def free_port(noise: random.Random) -> int:
    """Below those that the system gives to others in the meantime."""
    while True:
        port = noise.randrange(10_000, 32_000)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port


def start_rank(probe: str, rank: int, port: int, secret: str) -> subprocess.Popen[bytes]:
    environment = os.environ | {
        "HOCCL_RANK": str(rank), "HOCCL_SIZE": str(SIZE), "HOCCL_JOB_SECRET": secret,
        "HOCCL_RENDEZVOUS": f"127.0.0.1:{port}",
    }
    return subprocess.Popen([probe, str(SIZE), "come-late"], env=environment,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def sockets_of(processes: list[subprocess.Popen[bytes]]) -> set[str]:
    """The inodes of their sockets."""
    inodes = set()
    for process in processes:
        for entry in Path(f"/proc/{process.pid}/fd").iterdir():
            try:
                found = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(entry))
            except FileNotFoundError:
                continue
            if found:
                inodes.add(found[1])
    return inodes


def listeners(processes: list[subprocess.Popen[bytes]]) -> Iterator[tuple[int, Address]]:
    """Family and address of everything these processes listen on."""
    inodes = sockets_of(processes)
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        field = line.split()
        if field[3] == TCP_LISTEN and field[9] in inodes:
            yield socket.AF_INET, ("127.0.0.1", int(field[1].split(":")[1], 16))
    for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
        field = line.split()
        listens = int(field[3], 16) & 0x10000  # __SO_ACCEPTCON
        if listens and field[6] in inodes:
            yield socket.AF_UNIX, "\0" + field[7][1:]


def await_listeners(processes: list[subprocess.Popen[bytes]], family: int,
                    count: int) -> list[Address]:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        found = [address for kind, address in listeners(processes) if kind == family]
        if len(found) >= count:
            return found
        time.sleep(0.01)
    raise SystemExit(f"error: {count} listeners of family {family} did not appear")


@contextmanager
def connection(family: int, address: Address) -> Iterator[socket.socket]:
    kind = socket.SOCK_STREAM if family == socket.AF_INET else socket.SOCK_SEQPACKET
    with socket.socket(family, kind) as link:
        link.settimeout(PATIENCE_S)
        link.connect(address)
        yield link


def send(link: socket.socket, data: bytes) -> None:
    try:
        for start in range(0, len(data), 50_000):  # a packet of a local socket holds little more
            link.sendall(data[start:start + 50_000])
    except OSError:  # it has been refused before its end
        pass


def is_closed(link: socket.socket) -> bool:
    try:
        while link.recv(65536):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


def attack_tcp(address: Address, relay: Relay, noise: random.Random) -> list[socket.socket]:
    """Returns the connections that it keeps open, one byte at a time."""
    attacks: dict[str, Callable[[], bytes]] = {
        "random bytes": lambda: noise.randbytes(4096),
        "a short hello": lambda: b"HOCCLcli" + noise.randbytes(HELLO - 9) + b"x",
        "a replayed hello": lambda: relay.hello[:HELLO],
        "an oversized length": lambda: struct.pack("<I", 0xFFFFFFFF) * 64,
        "a frame without a hello": lambda: noise.randbytes(FRAME),
    }
    for name, make in attacks.items():
        with connection(socket.AF_INET, address) as link:
            send(link, make())
            if not is_closed(link):
                raise SystemExit(f"error: {name} was not refused")
    slow = []
    for _ in range(100):
        link = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        link.connect(address)
        link.send(b"H")
        slow.append(link)
    return slow


def attack_mesh(addresses: list[Address], relay: Relay,
                noise: random.Random) -> list[socket.socket]:
    """The ranks do not answer yet: everything waits in their queues, in front of the real ranks."""
    links = []
    for address in addresses:
        for data in [b"", b"H", noise.randbytes(60), noise.randbytes(4096), relay.hello[:HELLO],
                     struct.pack("<I", 0xFFFFFFFF)] * 20:
            link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            link.connect(address)
            if data:
                send(link, data)
            links.append(link)
    return links


def main(probe: str) -> None:
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    noise = random.Random(seed)
    secret = secrets.token_hex(16)
    port = free_port(noise)
    relay = Relay(port)
    ranks = [start_rank(probe, rank, relay.port if rank == 1 else port, secret)
             for rank in range(SIZE)]
    try:
        end = time.monotonic() + PATIENCE_S
        while len(relay.hello) < HELLO:
            if time.monotonic() > end:
                raise SystemExit("error: rank 1 did not say hello")
            time.sleep(0.01)
        [tcp] = await_listeners(ranks, socket.AF_INET, 1)
        slow = attack_tcp(tcp, relay, noise)
        ranks[3].stdin.write(b"!")  # type: ignore[union-attr]
        ranks[3].stdin.flush()  # type: ignore[union-attr]
        local = await_listeners(ranks[:3], socket.AF_UNIX, 3)
        waiting = attack_mesh(local, relay, noise)
        ranks[3].stdin.write(b"!")  # type: ignore[union-attr]
        ranks[3].stdin.close()  # type: ignore[union-attr]
        failed = False
        for rank, process in enumerate(ranks):
            process.stdin = None
            output = process.communicate(timeout=PATIENCE_S)[0].decode()
            print(output, end="")
            lines = output.splitlines()
            if process.returncode != 0 or f"rank {rank}: heard 3 of 3" not in lines:
                print(f"error: rank {rank} ended with {process.returncode}", file=sys.stderr)
                failed = True
            if len(lines) > 13:
                print(f"error: rank {rank} says too much", file=sys.stderr)
                failed = True
        for link in slow + waiting:
            if not is_closed(link):
                raise SystemExit("error: an impostor is still connected")
        if failed:
            raise SystemExit(1)
    finally:
        for process in ranks:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main(sys.argv[1])
