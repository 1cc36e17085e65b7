"""One meson build directory: configure, reconfigure, compile, introspect."""
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from driver.console import Problem, is_live, say


def tool(name: str) -> str:
    """Debian's own program when there is one, whatever python PATH leads to; else PATH's."""
    debian = f"/usr/bin/{name}"
    found = debian if os.access(debian, os.X_OK) else shutil.which(name)
    if not found:
        raise Problem(f"{name} not found: run ./heddle setup")
    return found


def _as_text(value) -> str:
    """An option's value as it would be written after `-Dname=`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


@dataclass
class BuildDirectory:
    """`root`: the source tree; `path`: the directory; `options`: what this call asks meson for."""

    root: Path
    path: Path
    compilers: tuple[str, str] | None = None
    options: dict[str, str] = field(default_factory=dict)

    def _environment(self) -> dict[str, str]:
        environment = dict(os.environ)
        if self.compilers:
            environment["CC"], environment["CXX"] = self.compilers
        return environment

    def _read_info(self, name: str):
        return json.loads((self.path / "meson-info" / name).read_text(encoding="utf-8"))

    def is_configured(self) -> bool:
        return (self.path / "build.ninja").is_file() and (self.path / "meson-info").is_dir()

    def _is_from_elsewhere(self) -> bool:
        """The directory came along with a copied tree: its build.ninja would build the original."""
        try:
            directories = self._read_info("meson-info.json")["directories"]
            return (not os.path.samefile(directories["source"], self.root)
                    or not os.path.samefile(directories["build"], self.path))
        except (OSError, ValueError, KeyError):
            return True

    def _clear(self) -> None:
        """Empty the directory of everything that can be built again; measured data stay."""
        for entry in self.path.iterdir():
            if entry.name == "bench":
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()

    def changed_options(self) -> dict[str, str]:
        """Those of `options` that differ from what the directory is configured with."""
        current = {option["name"]: _as_text(option["value"])
                   for option in self._read_info("intro-buildoptions.json")}
        return {name: value for name, value in self.options.items() if current.get(name) != value}

    def configure(self) -> None:
        """Bring build.ninja and zoo.json up to date; silent and fast when they are, or Problem."""
        for compiler in self.compilers or ():
            if not shutil.which(compiler):
                raise Problem(f"{compiler} not found: run ./heddle setup"
                              + (" --sanitizer thread" if "clang" in compiler else ""))
        if self.is_configured() and self._is_from_elsewhere():
            say(f"heddle: {self.path} belongs to another source tree: configuring it anew")
            self._clear()
        if not self.is_configured():
            if not os.access(self.path if self.path.exists() else self.root, os.W_OK):
                raise Problem(f"{self.path} cannot be written by you: use a tree of your own")
            say(f"heddle: configuring {self.path}")
            self._meson("setup", self.options)
            return
        changed = self.changed_options()
        if changed:
            what = ", ".join(f"{name}={value}" for name, value in changed.items())
            say(f"heddle: reconfiguring {self.path} ({what})")
            self._meson("setup", changed, "--reconfigure")
        elif os.access(self.path, os.W_OK):  # else another user's: read it as it is
            # Ninja itself knows whether a meson.build changed since.
            self._checked([tool("ninja"), "-C", str(self.path), "build.ninja"])

    def _meson(self, command: str, options: dict[str, str], *flags: str) -> None:
        self._checked([tool("meson"), command, *flags, *(f"-D{k}={v}" for k, v in options.items()),
                       str(self.path), str(self.root)])

    def _checked(self, command: list[str]) -> None:
        done = subprocess.run(command, cwd=self.root, env=self._environment(),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        if done.returncode == 0:
            return
        errors = [line.strip() for line in done.stdout.splitlines() if "ERROR:" in line]
        log = self.path / "meson-logs" / "meson-log.txt"
        where = f" (whole log: {log})" if log.is_file() else ""
        if not errors:
            say("\n".join(done.stdout.splitlines()[-20:]))
        raise Problem(f"meson setup failed: {errors[0] if errors else 'see above'}{where}")

    def compile(self, outputs: list[str] | None = None, jobs: int | None = None) -> None:
        """Build `outputs` (paths in the directory) or all that is default; Problem on failure."""
        if not os.access(self.path, os.W_OK):
            raise Problem(f"{self.path} belongs to another user and is not writable for you")
        command = [tool("meson"), "compile", "-C", str(self.path)]
        if jobs:
            command += ["-j", str(jobs)]
        if outputs is not None:
            known = self.outputs()
            names = dict.fromkeys(os.path.normpath(output) for output in outputs)
            targets = [name for name in names if name in known]
            if not targets:
                return
            command.append("--ninja-args=" + ",".join(targets))
        live = is_live()
        if live:
            sys.stdout.flush()
            returncode = subprocess.run(command, cwd=self.root, check=False).returncode
        else:
            returncode = self._compile_quietly(command)
        if returncode:
            raise Problem(f"building {self.path} failed: see the errors above")

    def _compile_quietly(self, command: list[str]) -> int:
        """A line every ten seconds; on failure what ninja reports from its first FAILED on."""
        say(f"heddle: building {self.path}")
        lines: list[str] = []
        said_s = time.monotonic()
        with subprocess.Popen(command, cwd=self.root, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace") as process:
            for line in process.stdout:
                lines.append(line.rstrip("\n"))
                step = re.match(r"\[(\d+/\d+)\]", line)
                if step and time.monotonic() - said_s >= 10:
                    said_s = time.monotonic()
                    say(f"heddle: {step.group(1)} built")
        if process.returncode:
            first = next((i for i, line in enumerate(lines) if line.startswith("FAILED:")), -40)
            say("\n".join(lines[first:][:120]))
        return process.returncode

    def outputs(self) -> set[str]:
        """Every file that ninja knows how to make, relative to the directory, normalised."""
        return {os.path.relpath(name, self.path)
                for target in self._read_info("intro-targets.json") for name in target["filename"]}

    def tests(self) -> list[dict]:
        """meson's own description of each test: name, suite, protocol, workdir."""
        return self._read_info("intro-tests.json")

    def option(self, name: str) -> str:
        """The configured value of one option, or an empty string."""
        options = self._read_info("intro-buildoptions.json")
        return next((_as_text(option["value"]) for option in options if option["name"] == name), "")
