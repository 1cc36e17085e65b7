"""Guile's built-in web server with json: WORKERS processes, each on a listener of its own."""
from __future__ import annotations

import os
import socket

import command_line
import processes

GUILE = "/usr/bin/guile-3.0"


def main(compiled: str, words: list[str]) -> int:
    """`compiled`: server.scm, compiled. The exit status: 0 after SIGTERM or SIGINT, 1 when it
    cannot serve, 2 on bad arguments."""
    program = "json-guile-builtin"
    command = command_line.parse(program, words)

    def serve_one(listener: socket.socket) -> None:
        listener.set_inheritable(True)
        os.execv(GUILE, [GUILE, "--no-auto-compile", "-c",
                         f'(load-compiled "{compiled}")', str(listener.fileno())])

    try:
        return processes.serve(program, command.host, command.port, command.workers, serve_one)
    except OSError as error:
        return processes.report(program, command.host, command.port, error)
