"""Compilations in the background: at most TESSERA_COMPILE_THREADS at once, with low priority.

A thread ends when nothing waits. When the interpreter exits, what waits is dropped, and what runs is
finished. Before a fork no compilation runs, since a child has no threads and must not find the
compiler's locks taken. A compilation that takes longer than TESSERA_COMPILE_TIMEOUT is lost: another
one may run, and nobody waits for it any more.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from .errors import TesseraError

_NICENESS = 10
_TIMEOUT = 600.0


class Job:
    """One piece of work; `dropped` is called if it never runs, and `overdue` with the reason if it
    takes too long: its result must not be used then."""

    def __init__(
        self, work: Callable[[], Any], dropped: Callable[[], Any], overdue: Callable[[str], Any]
    ):
        self.work = work
        self.dropped = dropped
        self.overdue = overdue
        self.is_lost = False
        self.is_finished = False
        self.done = threading.Event()


class _Workers:
    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.waiting: deque[Job] = deque()
        self.running = 0
        self.threads = 0
        self.paused = 0
        self.closed = False


_workers = _Workers()


def limit() -> int:
    """How many compilations run at once."""
    text = os.environ.get("TESSERA_COMPILE_THREADS", "")
    if not text:
        return 1
    if not text.isdecimal() or int(text) < 1:
        raise TesseraError(
            f"TESSERA_COMPILE_THREADS: expected a number of at least 1, found '{text}'"
        )
    return int(text)


def timeout() -> float:
    """The seconds that a compilation may take."""
    text = os.environ.get("TESSERA_COMPILE_TIMEOUT", "")
    if not text:
        return _TIMEOUT
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise TesseraError(
            f"TESSERA_COMPILE_TIMEOUT: expected a number of seconds above 0, found '{text}'"
        )
    return seconds


def check_environment() -> None:
    """Raises an error if a variable is wrong."""
    limit()
    timeout()


def pending() -> int:
    """Compilations that wait or run."""
    return len(_workers.waiting) + _workers.running


def submit(job: Job, is_urgent: bool = False) -> None:
    """Runs a job in the background; after the interpreter began to exit it is dropped."""
    check_environment()
    most = limit()
    with _workers.changed:
        if _workers.closed:
            job.dropped()
            job.done.set()
            return
        (_workers.waiting.appendleft if is_urgent else _workers.waiting.append)(job)
        if _workers.threads >= most:
            return
        _workers.threads += 1
    if not _start() and job in _workers.waiting:
        _workers.waiting.remove(job)
        job.dropped()
        job.done.set()


def _start() -> bool:
    """Starts a thread that was counted; it is none of those that Python joins before it exits."""
    try:
        threading.Thread(target=_run, name="tessera-compile", daemon=True).start()
    except RuntimeError:  # no more threads, or the interpreter exits
        with _workers.changed:
            _workers.threads -= 1
        return False
    return True


def _lose(workers: _Workers, job: Job, seconds: float) -> None:
    """A job took too long: others may run."""
    with workers.changed:
        if job.is_finished:
            return
        job.is_lost = True
        workers.running -= 1
        goes_on = bool(workers.waiting) and not workers.closed
        workers.threads -= not goes_on
        workers.changed.notify_all()
    job.overdue(f"it takes longer than {seconds:g} s")
    job.done.set()
    if goes_on:
        _start()


def _next(workers: _Workers) -> Job | None:
    with workers.changed:
        while workers.paused and not workers.closed:
            workers.changed.wait()
        if workers.closed or not workers.waiting:
            workers.threads -= 1
            workers.changed.notify_all()
            return None
        workers.running += 1
        return workers.waiting.popleft()


def _run() -> None:
    workers = _workers
    with contextlib.suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
    while (job := _next(workers)) is not None:
        seconds = timeout()
        timer = threading.Timer(seconds, _lose, (workers, job, seconds))
        timer.daemon = True
        timer.start()
        try:
            job.work()
        finally:
            timer.cancel()
            with workers.changed:
                job.is_finished = True
                workers.running -= not job.is_lost
                workers.changed.notify_all()
            job.done.set()
        if job.is_lost:
            return  # another thread took its place


def _close() -> None:
    """The interpreter exits."""
    with _workers.changed:
        _workers.closed = True
        dropped = list(_workers.waiting)
        _workers.waiting.clear()
        _workers.changed.notify_all()
    for job in dropped:
        job.done.set()
    with _workers.changed:
        while _workers.running:
            _workers.changed.wait()


def _before_fork() -> None:
    with _workers.changed:
        _workers.paused += 1
        while _workers.running:
            _workers.changed.wait()
    _workers.changed.acquire()


def _after_fork_in_parent() -> None:
    _workers.paused -= 1
    _workers.changed.notify_all()
    _workers.changed.release()


def _after_fork_in_child() -> None:
    """What waited here is compiled by the parent; the child asks for it again."""
    global _workers
    dropped, _workers = list(_workers.waiting), _Workers()
    for job in dropped:
        job.dropped()
        job.done.set()


# Before threads are joined, as concurrent.futures does; otherwise they would first do all that
# waits.
getattr(threading, "_register_atexit", lambda function: None)(_close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
