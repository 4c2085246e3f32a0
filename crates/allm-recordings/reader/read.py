#!/usr/bin/env python3
"""Reads the recorded answers with the providers' own packages and keeps what they say.

The Rust tests compare the library's reading with what this program wrote to `../verdicts/<dialect>.jsonl`. Nothing here
knows the library: it speaks HTTP to the server of the recordings, like any program that uses these packages.

    read.py                       records that have no verdict yet
    read.py --all gemini          every record of one dialect
    read.py --show <record id>    the whole verdict of one record, in clear, for study; nothing is stored
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import logging
import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Iterator

import anthropic
import openai
from google import genai

import chat
import gemini
import messages
import responses
from canon import stored
from verdict import Fault, Verdict, is_cut

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
VERDICTS = HERE.parent / "verdicts"
DIALECTS = ("openai-chat", "openai-responses", "anthropic-messages", "gemini")
SERVER = "cargo run --quiet --package allm-recordings --bin serve"


def recordings() -> Path | None:
    given = os.environ.get("ALLM_RECORDINGS")
    places = [Path(given)] if given else [REPOSITORY.parent / "shared" / "wire"]
    return next((place for place in places if (place / "recordings").is_dir()), None)


def records(root: Path, dialect: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The records of a dialect, each with the hash by which the server and the verdicts know it."""
    with open(root / "recordings" / f"{dialect}.jsonl", "rb") as lines:
        for line in lines:
            line = line.rstrip(b"\n")
            if line:
                yield hashlib.sha256(line).hexdigest()[:16], json.loads(line)


def text(record: dict[str, Any]) -> str:
    response = record["response"]
    body = response["body"]
    if response.get("body_encoding") == "base64":
        body = base64.b64decode(body).decode("utf-8", "replace")
    return body.lstrip("\ufeff \t\r\n")


def form(record: dict[str, Any]) -> str:
    """What the body is: `stream`, `document` or `array`. What it begins with decides, as it does for anyone who reads
    it; where there is no answer what was asked for does."""
    if 200 <= record["response"]["status"] <= 299:
        return {"{": "document", "[": "array"}.get(text(record)[:1], "stream")
    return "stream" if record.get("streaming") else "document"


def unreadable_by_anyone(record: dict[str, Any]) -> Fault | None:
    """Bodies that no package is asked about: each of them fails in a way of its own (contract 1.1)."""
    if not 200 <= record["response"]["status"] <= 299:
        return None
    body = text(record)
    if not body:
        return Fault("interrupted")
    if body[0] not in "{[":
        frames = body.startswith(("data:", "event:", "id:", "retry:", ":"))
        return None if frames else Fault("malformed_response")
    try:
        json.loads(body)
    except ValueError:
        return Fault("interrupted" if is_cut(body) else "malformed_response")
    return None


class Reader:
    """One client of each package; only the address changes from record to record."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.openai = openai.OpenAI(api_key="k", base_url=base, max_retries=0, timeout=60)
        self.anthropic = anthropic.Anthropic(api_key="k", base_url=base, max_retries=0, timeout=60)
        self.gemini = genai.Client(api_key="k")

    def read(self, dialect: str, hash: str, record: dict[str, Any]) -> Verdict:
        fault = unreadable_by_anyone(record)
        if fault is not None:
            return Verdict(error=fault).settled()
        base = f"{self.base}/r/{hash}/whole"
        stream = form(record) == "stream"
        try:
            if dialect == "openai-chat":
                return chat.read(self.openai.with_options(base_url=base), stream).settled()
            if dialect == "openai-responses":
                return responses.read(self.openai.with_options(base_url=base), stream).settled()
            if dialect == "anthropic-messages":
                return messages.read(self.anthropic.with_options(base_url=base), stream).settled()
            return gemini.read(self.gemini, base, form(record)).settled()
        except Exception as raised:  # whatever the package could not read
            logging.debug("%s", hash, exc_info=raised)
            return Verdict(unreadable=type(raised).__name__)


def stored_verdicts(dialect: str) -> dict[str, dict[str, Any]]:
    path = VERDICTS / f"{dialect}.jsonl"
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    return {entry["hash"]: entry for entry in map(json.loads, lines)}


def write(dialect: str, entries: dict[str, dict[str, Any]]) -> None:
    VERDICTS.mkdir(exist_ok=True)
    path = VERDICTS / f"{dialect}.jsonl"
    lines = [json.dumps(entries[hash], ensure_ascii=False, separators=(",", ":")) + "\n" for hash in sorted(entries)]
    path.write_text("".join(lines), encoding="utf-8")


def read_dialect(reader: Reader, root: Path, dialect: str, everything: bool, jobs: int) -> None:
    all_records = dict(records(root, dialect))
    known = stored_verdicts(dialect)
    wanted = [hash for hash in all_records if everything or hash not in known]
    with ThreadPoolExecutor(jobs) as pool:
        verdicts = pool.map(lambda hash: reader.read(dialect, hash, all_records[hash]), wanted)
        for hash, verdict in zip(wanted, verdicts):
            known[hash] = stored(hash, verdict)
    # Verdicts of records that are not here stay: the folder may hold only a part of them.
    write(dialect, known)
    reasons = [entry["error"][0] for hash, entry in known.items() if hash in all_records and entry["error"]]
    unreadable = sum(reason.startswith("unreadable") for reason in reasons)
    print(f"{dialect}: {len(all_records)} records, {len(wanted)} read now, {unreadable} unreadable")


def show(reader: Reader, root: Path, wanted: str) -> bool:
    for dialect in DIALECTS:
        for hash, record in records(root, dialect):
            if wanted in (hash, record["id"]):
                verdict = reader.read(dialect, hash, record)
                print(json.dumps(clear(verdict), ensure_ascii=False, indent=2))
                print(json.dumps(stored(hash, verdict), ensure_ascii=False))
                return True
    return False


def clear(verdict: Verdict) -> dict[str, Any]:
    calls = [
        {"id": call.id, "name": call.name, "raw": call.raw, "arguments": arguments}
        for call, arguments in zip(verdict.calls, verdict.arguments())
    ]
    return {**vars(verdict), "calls": calls, "usage": vars(verdict.usage), "error": verdict.error and vars(verdict.error)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dialects", nargs="*", metavar="dialect", help=", ".join(DIALECTS))
    parser.add_argument("--all", action="store_true", help="read again what has a verdict")
    parser.add_argument("--show", metavar="ID", action="append", help="print the verdict of this record (id or hash)")
    parser.add_argument("--server", default=SERVER, help="command that serves the recordings")
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--debug", action="store_true", help="say why a record could not be read")
    options = parser.parse_args()
    if unknown := set(options.dialects) - set(DIALECTS):
        parser.error(f"no such dialect: {', '.join(sorted(unknown))}")
    root = recordings()
    if root is None:
        print("skipped: no recordings beside the repository, and ALLM_RECORDINGS names none")
        return 0
    warnings.simplefilter("ignore")  # unknown values of enums
    logging.basicConfig(level=logging.WARNING)
    logging.getLogger().setLevel(logging.DEBUG if options.debug else logging.WARNING)
    for noisy in ("httpx2", "httpcore2", "httpx", "httpcore", "openai", "anthropic", "google_genai", "urllib3"):
        logging.getLogger(noisy).setLevel(logging.ERROR)

    server = subprocess.Popen(
        options.server, shell=True, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        base = server.stdout.readline().strip().rstrip("/")
        if not base.startswith("http://127.0.0.1:"):
            print("the server did not start", file=sys.stderr)
            return 1
        reader = Reader(base)
        if options.show:
            return 0 if all([show(reader, root, wanted) for wanted in options.show]) else 1
        for dialect in options.dialects or DIALECTS:
            read_dialect(reader, root, dialect, options.all, options.jobs)
    finally:
        server.stdin.close()
        server.wait(timeout=30)
    return 0


if __name__ == "__main__":
    sys.exit(main())
