"""rounds.jsonl: one line a measurement, on the disk before the next one starts."""
from __future__ import annotations

import errno
import fcntl
import json
import os
from pathlib import Path

from driver.console import Problem, UsageProblem, say
from driver.lab.failures import RunStopped

NAME = "rounds.jsonl"


def read(path: Path) -> tuple[list[dict], int]:
    """The whole records of a file, and how many bytes of its start they are. A last line without
    its end was torn by a crash and is left out; UsageProblem for any other line that is no record.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return [], 0
    whole = data.rfind(b"\n") + 1
    records = []
    for number, line in enumerate(data[:whole].splitlines(), 1):
        try:
            record = json.loads(line)
            if not isinstance(record, dict):
                raise ValueError("no object")
        except ValueError:
            raise UsageProblem(f"{path}: line {number} is no record; move it away to go on"
                               ) from None
        records.append(record)
    return records, whole


class Journal:
    """Appends to a results directory, alone: a second runner there is refused."""

    def __init__(self, directory: Path, name: str = NAME):
        """Problem when another process measures into the directory."""
        self.directory = directory
        self.path = directory / name
        try:
            self._lock = open(directory / "lock", "w", encoding="utf-8")
            self._file = open(self.path, "ab")
        except OSError as error:
            raise Problem(f"{directory} cannot be written: {error.strerror}") from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            self._lock.close()
            raise Problem(f"{directory} is being measured into by another process") from None

    def recover(self) -> list[dict]:
        """The records so far; drops a torn last line, and says so."""
        records, whole = read(self.path)
        size = self.path.stat().st_size
        if size > whole:
            say(f"heddle: dropped {size - whole} bytes of a torn last line of {self.path}")
            os.truncate(self.path, whole)
        return records

    def append(self, record: dict, histogram: dict | None = None) -> None:
        """On the disk when it returns, the histogram first; RunStopped on a full disk."""
        try:
            if histogram is not None:
                record["histogram"] = self._save(record, histogram)
            data = (json.dumps(record, ensure_ascii=False) + "\n").encode()
            while data:
                data = data[os.write(self._file.fileno(), data):]
            _sync(self._file.fileno())
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
            what = "the disk is full" if full else f"cannot be written: {error.strerror}"
            raise RunStopped(f"{self.directory}: {what}; what was measured is kept, and "
                             f"./heddle resume {self.directory} goes on") from None

    def _save(self, record: dict, histogram: dict) -> str:
        name = (f"histograms/block-{record['block']}-round-{record['round']}"
                f"-position-{record['position']}-attempt-{record['attempt']}.json")
        path = self.directory / name
        path.parent.mkdir(exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(histogram, file, separators=(",", ":"))
            file.flush()
            _sync(file.fileno())
        return name

    def close(self) -> None:
        self._file.close()
        self._lock.close()


def _sync(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EROFS):  # pipes and devices cannot
            raise


def is_measured_into(directory: Path) -> bool:
    """A process holds the directory's lock now."""
    try:
        with open(directory / "lock", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False
