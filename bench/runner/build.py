"""Builds the programs, and says what they are made of."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
ROOT = BENCH.parent


def target():
    """Where cargo puts what it builds."""
    return Path(os.environ.get("CARGO_TARGET_DIR", BENCH / "target"))


def cargo(*arguments, **options):
    """Calls cargo in the tree of the benchmark."""
    return subprocess.run(["cargo", *arguments], cwd=BENCH, check=True, **options)


def build(packages):
    """Builds each package by itself: together they would share the features of what they share."""
    jobs = ["-j", os.environ["CARGO_BUILD_JOBS"]] if "CARGO_BUILD_JOBS" in os.environ else []
    for package in packages:
        cargo("build", "--release", "--locked", *jobs, "-p", f"bench-{package}")


def program(package):
    """The program of a package."""
    return target() / "release" / f"bench-{package}"


# How a client is built: its package, and with what. `allm` speaks all four wires; the peers speak to one provider, and the
# second client of allm does, too.
CLIENTS = {"allm, one provider": ("allm", ["--no-default-features"])}


def client(name):
    """The package of a client, and the arguments that cargo gets for it."""
    package, chosen = CLIENTS.get(name, (name, []))
    return ["-p", f"bench-{package}", *chosen]


def size(program):
    """How large a program is without what only a debugger reads."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "stripped"
        shutil.copy(program, copy)
        subprocess.run(["strip", copy], check=True)
        return copy.stat().st_size


def crates(name):
    """How many crates a client is built from, without its own two."""
    tree = cargo("tree", "--locked", *client(name), "-e", "normal,build", "--prefix", "none",
                 "--format", "{p}", capture_output=True, text=True).stdout
    names = {" ".join(line.split()[:2]) for line in tree.splitlines() if line.strip()}
    own = ("bench-", "stats_alloc ", "anyhow ")
    return len([name for name in names if not name.startswith(own)])


@dataclass
class CleanBuild:
    """A build that found nothing built."""

    program: Path
    wall: float
    cpu: float


def clean_build(name):
    """Builds a client where nothing is built, and says how long that took."""
    folder = target() / "clean" / name.replace(", ", "-").replace(" ", "-")
    shutil.rmtree(folder, ignore_errors=True)
    environment = dict(os.environ, CARGO_TARGET_DIR=str(folder), CARGO_INCREMENTAL="0")
    before, begun = os.times(), time.monotonic()
    cargo("build", "--release", "--locked", *client(name), env=environment, capture_output=True)
    wall, after = time.monotonic() - begun, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    package = CLIENTS.get(name, (name, []))[0]
    return CleanBuild(folder / "release" / f"bench-{package}", wall, cpu)


SHOWN = ["allm", "rig-core", "genai", "async-openai", "llm", "reqwest", "hyper", "tokio", "serde_json"]


def versions():
    """The versions that were measured, by name."""
    text = cargo("metadata", "--format-version", "1", "--locked", capture_output=True, text=True).stdout
    found = {}
    for package in json.loads(text)["packages"]:
        if package["name"] in SHOWN:
            found.setdefault(package["name"], set()).add(package["version"])
    return {name: ", ".join(sorted(found[name])) for name in SHOWN if name in found}


def machine():
    """What it was measured on, in words."""
    def first(command):
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip().splitlines()[0]

    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    memory = int(Path("/proc/meminfo").read_text().split()[1]) / (1 << 20)
    return [f"{os.cpu_count()} cores ({models[0] if models else 'unknown'}), {memory:.0f} GiB of memory, Linux",
            first(["rustc", "--version"]), first(["valgrind", "--version"])]
