"""Runs in a process of their own, which may crash or hang: that costs one run, and the next has a new process."""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from multiprocessing.connection import Pipe
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Self

from ssptool.dataclass import dataclass
from ssptool.engine.isolation.limits import Limits
from ssptool.pickling import dumps
from ssptool.scratch import ScratchFolder
from ssptool.studies.definition import Study
from ssptool.studies.outcome import Outcome, Task, failed
from ssptool.studies.runner_process import Orders
from ssptool.studies.workshop import Workshop

_ENTRY = "from ssptool.studies.runner_process import main; main()"

LOOK_SECONDS = 0.05
"""Between two looks at the memory of the process."""

START_SECONDS = 120.0
"""That a process may take to start."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a run may take: wall time [s] and memory [byte]; and how often it is tried again after a crash or a stop."""

    seconds: float | None = None
    memory: int | None = None
    retries: int = 1

    @property
    def limits(self) -> Limits:
        return Limits(seconds=self.seconds, memory=self.memory if sys.platform == "linux" else None)


class Runner:
    """Has a process with the FMUs of a study, and a new one whenever that is lost; a context manager."""

    def __init__(self, study: Study, signals: tuple[str, ...], bounds: Bounds, *, reuse: bool = True) -> None:
        self.bounds = bounds
        self._orders = Orders(study, signals, reuse, "")
        self._scratch = ScratchFolder()
        self._process: _Process | None = None
        self._apart: Workshop | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process; doing it again does no harm."""
        self._end()
        if self._apart is not None:
            self._apart.close()
            self._apart = None
        self._scratch.cleanup()

    def reset(self, *, reuse: bool) -> None:
        """End the process; the next one uses instances again, or not."""
        self._end()
        self._orders = replace(self._orders, reuse=reuse)

    def run(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """One outcome per task, in order, as they come."""
        left = list(tasks)
        while left:
            process = self._process = self._process or _Process(replace(self._orders, scratch=self._scratch.name))
            process.send(left)
            while left:
                began = monotonic()
                lost = process.wait(self.bounds)
                outcome = lost if isinstance(lost, Outcome) else None
                task = left.pop(0)
                if outcome is None:
                    self._process = None
                    yield self._again(task, str(lost), monotonic() - began)
                    break
                yield outcome

    def _end(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None

    def _again(self, task: Task, message: str, seconds: float) -> Outcome:
        """A run whose process was lost, each time in one of its own; the last answer counts."""
        outcome = failed(task, message, seconds)
        for attempt in range(self.bounds.retries):
            if self._apart is None:
                self._apart = Workshop(self._orders.study, self._orders.signals)
            outcome = self._apart.run_apart(task, self.bounds.limits)
            outcome = replace(outcome, attempts=attempt + 2)
            if outcome.results or not outcome.message:
                break
        return outcome


class _Process:
    def __init__(self, orders: Orders) -> None:
        self._connection, theirs = Pipe()
        command = [sys.executable, "-c", _ENTRY, str(theirs.fileno()), str(os.getpid())]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._process = subprocess.Popen(
            command, pass_fds=(theirs.fileno(),), env=environment, stdin=subprocess.DEVNULL
        )
        theirs.close()
        self._ready = False
        self._connection.send_bytes(dumps(orders))

    def send(self, tasks: Sequence[Task]) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # `wait` sees that it has ended
            self._connection.send_bytes(dumps(list(tasks)))

    def wait(self, bounds: Bounds) -> Outcome | str:
        """The next outcome; or why there is none, and then the process has ended."""
        try:
            if not self._ready and not self._connection.poll(START_SECONDS):
                self.end()
                return f"the process of the FMUs has not started within {START_SECONDS:g} s"
            if not self._ready:
                self._connection.recv_bytes()
                self._ready = True
        except (EOFError, ConnectionResetError, OSError):
            return self._ended()
        return self._next(bounds)

    def _next(self, bounds: Bounds) -> Outcome | str:
        deadline = None if bounds.seconds is None else monotonic() + bounds.seconds
        look = self._memory_look(bounds)
        try:
            while not self._connection.poll(_patience(deadline, look is not None)):
                if deadline is not None and monotonic() >= deadline:
                    self.end()
                    return f"the run has taken {bounds.seconds:g} s, which is all that it may take"
                if look is not None and (problem := look()):
                    self.end()
                    return problem
            outcome: Outcome = pickle.loads(self._connection.recv_bytes())
            return outcome
        except (EOFError, ConnectionResetError, OSError):
            return self._ended()

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._connection.close()

    def _ended(self) -> str:
        status = self._process.wait()
        self._connection.close()
        if status >= 0:
            return f"the process of the FMUs was ended from inside, with exit status {status}"
        name, described = signal.Signals(-status).name, signal.strsignal(-status)
        return f"the process of the FMUs was ended by {name} ({described})"

    def _memory_look(self, bounds: Bounds) -> Callable[[], str] | None:
        if bounds.memory is None:
            return None
        memory, pid = bounds.memory, self._process.pid

        def look() -> str:
            used = _resident(pid)
            if used <= memory:
                return ""
            return f"{used >> 20} MiB of memory are in use, allowed are {memory >> 20} MiB"

        return look


def _patience(deadline: float | None, looking: bool) -> float | None:
    left = None if deadline is None else max(0.0, deadline - monotonic())
    if not looking:
        return left
    return LOOK_SECONDS if left is None else min(left, LOOK_SECONDS)


def _resident(pid: int) -> int:
    """Resident memory of a process [byte]; 0 if it has just ended, or where there is no /proc."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
