"""Runs programs and says what they cost."""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

LIMIT = 900  # Seconds that one process may take.


class Failed(Exception):
    """A client did not do its work."""


@dataclass
class Run:
    """What one run of a client said and cost."""

    wall: float
    cpu: float
    """Seconds in user and in kernel mode."""
    said: dict
    started: float
    """When it was started, in seconds since 1970."""
    checked: tuple = field(init=False)
    memory: int = field(init=False)
    """The most that was resident, in bytes."""

    def __post_init__(self):
        self.checked = tuple(self.said.get(key) for key in ("text_bytes", "arguments", "calls"))
        self.memory = self.said.get("peak_memory", 0)


def run(command, limit=LIMIT):
    """Runs a client to its end and measures it."""
    read, write = os.pipe()
    started = time.time()
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=write, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    os.close(write)
    # What is printed is one line: it fits into the pipe.
    status, usage = wait(process, begun + limit)
    wall = time.monotonic() - begun
    with os.fdopen(read) as output:
        text = output.read()
    errors = process.stderr.read().decode(errors="replace")
    process.stderr.close()
    if status != 0:
        raise Failed(f"{' '.join(map(str, command[-5:]))}: {errors.strip().splitlines()[-1:] or status}")
    line = text.strip().splitlines()[-1] if text.strip() else "{}"
    return Run(wall, usage.ru_utime + usage.ru_stime, json.loads(line), started)


def wait(process, until):
    """Waits for a child; its status and what it used."""
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage
        if time.monotonic() > until:
            process.kill()
            os.wait4(process.pid, 0)
            process.returncode = -9
            raise Failed("it took too long")
        time.sleep(0.001)


def instructions(command, profile: Path, limit=LIMIT):
    """How many instructions callgrind counts, and what the client says. The profile is kept."""
    profile.parent.mkdir(parents=True, exist_ok=True)
    tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", "-q"]
    said = run([*tool, *command], limit)
    for line in profile.read_text(errors="replace").splitlines():
        if line.startswith(("summary:", "totals:")):
            return int(line.split()[1]), said
    raise Failed("callgrind counted nothing")


class Server:
    """The server of the benchmark while it runs."""

    def __init__(self, program: Path):
        self.process = subprocess.Popen([program], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        port = self.process.stdout.readline().strip()
        if not port:
            sys.exit("the server did not start")
        self.url = f"http://127.0.0.1:{port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
