"""Listeners and worker processes of the peers that are not C++, and their common end.

The parent only waits. On SIGTERM or SIGINT it ends its children and returns 0; when a child ends by
itself it says so, ends the others and returns 1. What such a child leaves behind is ended, too, and
children end with a parent that is killed.
"""
from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack

BACKLOG_CONNECTIONS = 1024
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
STOP_SIGNALS = {signal.SIGTERM, signal.SIGINT}
GRACE_S = 3.0

_LIBC = ctypes.CDLL(None, use_errno=True)


def family_of(host: str) -> socket.AddressFamily:
    """Of an address in digits."""
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def address_text(host: str, port: int) -> str:
    """As in 127.0.0.1:8080 and [::1]:8080."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _bound(host: str, port: int, share_port: bool) -> socket.socket:
    bound = socket.socket(family_of(host), socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if share_port:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        bound.bind((host, port))
    except OSError:
        bound.close()
        raise
    return bound


def free_port(host: str, port: int) -> int:
    """`port`, or one that the system chose if that is 0. OSError when a server already has it, also
    one with SO_REUSEPORT: the two would otherwise share the port unnoticed."""
    with _bound(host, port, share_port=False) as probe:
        return probe.getsockname()[1]


def open_listeners(host: str, port: int, count: int) -> list[socket.socket]:
    """One SO_REUSEPORT listener for each of `count` workers, on the same port. OSError as above."""
    if port:
        free_port(host, port)
    listeners: list[socket.socket] = []
    try:
        while len(listeners) < count:
            listeners.append(_bound(host, port, share_port=True))
            listeners[-1].listen(BACKLOG_CONNECTIONS)
            port = listeners[-1].getsockname()[1]
    except OSError:
        for listener in listeners:
            listener.close()
        raise
    return listeners


def _start(work: Callable[[], None], death_signal: int) -> int:
    """A child process that does `work`, after which it ends; its id."""
    parent = os.getpid()
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        _LIBC.prctl(PR_SET_PDEATHSIG, death_signal)
        if os.getppid() == parent:  # else it has ended already
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent passes it on as SIGTERM
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS | {signal.SIGCHLD})
            work()
            status = 0
    except Exception as error:  # pylint: disable=broad-exception-caught
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(status)


def _reap(children: set[int], options: int) -> int | None:
    """Takes the children that have ended off `children`; the exit code of one of them."""
    status = None
    for child in list(children):
        ended, code = os.waitpid(child, options)
        if ended:
            children.discard(child)
            status = os.waitstatus_to_exitcode(code)
    return status


def _adopted() -> set[int]:
    """Every child of this process, those included whose own parent has ended."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
            return {int(word) for word in file.read().split()}
    except FileNotFoundError:  # a kernel without it
        return set()


def _end(children: set[int]) -> None:
    for child in children:
        os.kill(child, signal.SIGTERM)
    deadline_s = time.monotonic() + GRACE_S
    while children and (left_s := deadline_s - time.monotonic()) > 0:
        signal.sigtimedwait({signal.SIGCHLD}, left_s)
        _reap(children, os.WNOHANG)
    while left := children | _adopted():
        for child in left:
            os.kill(child, signal.SIGKILL)
        _reap(left, 0)
        children.clear()


def run(program: str, works: list[Callable[[], None]], ready: Callable[[], str],
        death_signal: int = signal.SIGKILL) -> int:
    """A process for each of `works`, until a stop signal comes or one ends. Returns the status of
    the whole. `ready` is called once they run, and returns the address to announce; OSError when
    there will be none."""
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS | {signal.SIGCHLD})
    _LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1)
    children: set[int] = set()
    try:
        for work in works:
            children.add(_start(work, death_signal))
        print(f"listening on {ready()}", flush=True)
        while True:
            if signal.sigwait(STOP_SIGNALS | {signal.SIGCHLD}) != signal.SIGCHLD:
                return 0
            status = _reap(children, os.WNOHANG)
            if status is not None:
                print(f"{program}: a worker ended with status {status}", file=sys.stderr)
                return 1
    finally:
        _end(children)


def serve(program: str, host: str, port: int, workers: int,
          serve_one: Callable[[socket.socket], None]) -> int:
    """`workers` processes, each of which calls `serve_one` with a listener of its own."""
    with ExitStack() as stack:
        listeners = open_listeners(host, port, workers)
        for listener in listeners:
            stack.enter_context(listener)

        def worker(index: int) -> Callable[[], None]:
            def work() -> None:
                for other in listeners[:index] + listeners[index + 1:]:
                    other.close()
                serve_one(listeners[index])
            return work

        def ready() -> str:
            port = listeners[0].getsockname()[1]
            stack.close()  # the workers have them: who connects after the last has ended is refused
            return address_text(host, port)

        return run(program, [worker(index) for index in range(workers)], ready)


def report(program: str, host: str, port: int, error: OSError) -> int:
    """One line on standard error; the exit status of a failure."""
    why = os.strerror(error.errno) if error.errno else str(error)
    print(f"{program}: cannot serve on {address_text(host, port)}: {why}", file=sys.stderr)
    return 1
