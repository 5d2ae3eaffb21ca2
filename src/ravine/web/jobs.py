"""Long work in processes of its own: started, watched, cancelled.

A job is a child process, ``python -m ravine.web.tasks``, that reads one request from its standard
input and writes a line of JSON for everything that happens. It may then be asked more. Its memory
and time are limited by the system.
"""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import threading
from collections import OrderedDict
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

MOST_JOBS = 8
"""Jobs at a time; beyond, the oldest is ended: a forgotten tab must not fill the machine."""


class Job:
    """A child process and what it has said so far, in ``told``."""

    def __init__(self, request: dict[str, Any], content: bytes) -> None:
        command = [sys.executable, "-m", "ravine.web.tasks"]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process: Any = subprocess.Popen(command, stderr=subprocess.DEVNULL, **pipes)
        self.told: dict[str, Any] = {
            "progress": "starting", "share": 0.0, "parts": [], "result": None, "refusal": None,
        }  # fmt: skip
        self._answers: SimpleQueue[str] = SimpleQueue()
        self._asking = threading.Lock()
        head = request | {"bytes": len(content)}
        threading.Thread(target=self._feed, args=(head, content), daemon=True).start()
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()

    def ask(self, request: dict[str, Any]) -> str:
        """Ask for more once the result is there; the answer is empty if the process has ended."""
        with self._asking:
            if self.process.poll() is not None:
                return ""
            self._feed(request)
            return self._answers.get()

    def end(self) -> None:
        """Stop the process, whatever it is doing."""
        self.process.kill()
        self.listener.join()

    def _feed(self, request: dict[str, Any], content: bytes = b"") -> None:
        # A job that ended before it had read everything has said why.
        with suppress(BrokenPipeError, ValueError):
            self.process.stdin.write(json.dumps(request).encode() + b"\n" + content)
            self.process.stdin.flush()

    def _listen(self) -> None:
        """Take in lines until the process ends."""
        for text in self.process.stdout:
            said = json.loads(text)
            self.told["parts"] += said.pop("parts", [])
            if "answer" in said:
                self._answers.put(said.pop("answer"))
            self.told |= said

        failed = self.process.wait() != 0
        if failed and not (self.told["result"] or self.told["refusal"]):
            self.told["refusal"] = "This needed more time or memory than the page allows."
        self._answers.put("")  # for whoever still waits
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(BrokenPipeError):
                pipe.close()


class Jobs:
    """All jobs of a server, each behind a name that cannot be guessed."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._lock = threading.Lock()

    def start(self, request: dict[str, Any], content: bytes = b"") -> str:
        """Begin a job and return its name."""
        job = Job(request, content)
        name = secrets.token_urlsafe(16)
        with self._lock:
            self._jobs[name] = job
            while len(self._jobs) > MOST_JOBS:
                self._jobs.popitem(last=False)[1].end()

        return name

    def get(self, name: str) -> Job | None:
        """The job of that name, or None."""
        with self._lock:
            return self._jobs.get(name)

    def cancel(self, name: str) -> None:
        """End a job and forget it."""
        with self._lock:
            job = self._jobs.pop(name, None)

        if job is not None:
            job.end()

    def close(self) -> None:
        """End all jobs."""
        for name in list(self._jobs):
            self.cancel(name)
