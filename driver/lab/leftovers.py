"""What outlived its runner, as after kill -9: everything that a run starts bears a mark in its
environment, by which the next run into the same directory finds and ends it."""
from __future__ import annotations

import os
import signal
from pathlib import Path

from driver.console import say

VARIABLE = "HEDDLE_RESULTS"


def mark(directory: Path) -> None:
    """All that this process starts from now on belongs to a run into this directory."""
    os.environ[VARIABLE] = str(directory.resolve())


def end(directory: Path) -> int:
    """Kills what bears the directory's mark; how many processes. The caller holds the directory's
    lock, so that nothing of these is in use."""
    wanted = f"{VARIABLE}={directory.resolve()}".encode()
    ended = 0
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            if wanted in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                os.kill(int(name), signal.SIGKILL)
                ended += 1
        except OSError:
            continue
    if ended:
        say(f"heddle: ended {ended} process(es) that the last run left behind")
    return ended
