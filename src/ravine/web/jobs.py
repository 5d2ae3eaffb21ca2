"""Long work in processes of its own: started, watched, cancelled.

A job is a child process that reads one request from its standard input and writes a line of JSON
for everything that happens: ``{"progress": words, "share": 0.5}``, ``{"part": {...}}``,
``{"result": {...}}`` or ``{"refusal": line}``. It may then be asked more. Its memory and time are
limited by the system.
"""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

MOST_JOBS = 8
"""Jobs at a time; beyond, the oldest is ended: a forgotten tab must not fill the machine."""

MEMORY = 4 << 30
"""Bytes of address space that a job may have."""

SECONDS = 600
"""Processor time that a job may take."""


@dataclass
class Job:
    """A child process and what it has said so far."""

    process: subprocess.Popen[bytes]
    progress: str = "starting"
    share: float = 0.0
    """How much of the work is done, as far as that is known."""
    parts: list[dict[str, Any]] = field(default_factory=list)
    result: dict[str, Any] | None = None
    refusal: str | None = None
    answers: dict[int, Any] = field(default_factory=dict)
    asked: int = 0

    @property
    def finished(self) -> bool:
        """Whether the result, or a refusal, is there."""
        return self.result is not None or self.refusal is not None

    def as_json(self) -> dict[str, Any]:
        """Everything that the page shows of it."""
        return {
            "progress": self.progress,
            "share": 1.0 if self.finished else self.share,
            "parts": self.parts,
            "result": self.result,
            "refusal": self.refusal,
            "answers": self.answers,
        }

    def listen(self) -> None:
        """Take in lines until the process ends."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            said = json.loads(line)
            self.progress = said.get("progress", self.progress)
            self.share = said.get("share", self.share)
            if "part" in said:
                self.parts.append(said["part"])
            if "answer" in said:
                self.answers[said["number"]] = said["answer"]
            self.refusal = said.get("refusal", self.refusal)
            self.result = said.get("result", self.result)

        self.process.stdout.close()
        self.process.wait()
        self._hang_up()
        if not self.finished:
            self.refusal = _ending(self.process.returncode)

    def end(self) -> None:
        """Stop the process, whatever it is doing."""
        self.process.kill()
        self.process.wait()

    def _hang_up(self) -> None:
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()


def _ending(code: int) -> str:
    if code < 0:
        return "it was stopped: it needed more time or memory than the page allows"

    return "it ended without an answer"


class Jobs:
    """All jobs of a server, each behind a name that cannot be guessed."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._lock = threading.Lock()

    def start(self, request: dict[str, Any], content: bytes = b"") -> str:
        """Begin a job and return its name."""
        command = [sys.executable, "-m", "ravine.web.worker", str(MEMORY), str(SECONDS)]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        job = Job(process)
        head = json.dumps(request | {"bytes": len(content)}).encode() + b"\n"
        threading.Thread(target=self._feed, args=(process, head + content), daemon=True).start()
        threading.Thread(target=job.listen, daemon=True).start()
        name = secrets.token_urlsafe(16)

        with self._lock:
            self._jobs[name] = job
            while len(self._jobs) > MOST_JOBS:
                self._jobs.popitem(last=False)[1].end()

        return name

    @staticmethod
    def _feed(process: subprocess.Popen[bytes], content: bytes) -> None:
        assert process.stdin is not None
        # A job that ended before it had read everything has said why.
        with suppress(BrokenPipeError, ValueError):
            process.stdin.write(content)
            process.stdin.flush()

    def ask(self, name: str, request: dict[str, Any]) -> int | None:
        """Ask a job that has its result something more; returns the number of the answer."""
        job = self.get(name)
        if job is None or job.process.poll() is not None:
            return None

        job.asked += 1
        line = json.dumps(request | {"number": job.asked}).encode() + b"\n"
        self._feed(job.process, line)
        return job.asked

    def get(self, name: str | None) -> Job | None:
        """The job of that name, or None."""
        with self._lock:
            return self._jobs.get(name or "")

    def cancel(self, name: str | None) -> None:
        """End a job and forget it."""
        with self._lock:
            job = self._jobs.pop(name or "", None)

        if job is not None:
            job.end()

    def close(self) -> None:
        """End all jobs."""
        with self._lock:
            for job in self._jobs.values():
                job.end()
            self._jobs.clear()
