"""`./heddle report`, `compare` and `artifact`: the words of the command line, checked."""
from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from driver.analysis import artifact, compare, render
from driver.analysis.comparison import compare as comparison_of
from driver.analysis.records import load_all
from driver.analysis.report import FORMATS
from driver.console import EXIT_FAILED, UsageProblem

ROOT = Path(__file__).resolve().parents[2]


class _Parser(argparse.ArgumentParser):
    """Errors as one line that says what is allowed."""

    def __init__(self, command: str, description: str):
        super().__init__(prog=f"./heddle {command}", description=description, allow_abbrev=False)

    def error(self, message: str) -> None:
        raise UsageProblem(f"{self.prog.removeprefix('./heddle ')}: "
                           f"{message.removeprefix('argument ')}")

    def parse(self, words: list[str]) -> argparse.Namespace:
        options, extra = self.parse_known_args(words)
        if extra:
            allowed = ", ".join(action.option_strings[-1] for action in self._actions
                                if action.option_strings)
            self.error(f"unknown option '{extra[0]}'; allowed: {allowed}")
        return options


def command_report(words: list[str]) -> int:
    """The terminal's table, then the report as a process: all formats, or those named."""
    parser = _Parser("report", "Tables and figures of results; several directories are hosts or "
                     "blocks of one campaign. All formats when none is named.")
    parser.add_argument("directories", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to (DIR/report)")
    for name in FORMATS:
        parser.add_argument(f"--{name}", action="store_true", help=f"{name} only, or with others")
    options = parser.parse(words)
    print(render.terminal(*options.directories), flush=True)
    chosen = [f"--{name}" for name in FORMATS if getattr(options, name)]
    return write_report(options.directories, options.out, chosen)


def write_report(directories: list[Path], out: Path | None = None, options: list[str] | None = None
                 ) -> int:
    """The report in a process of its own, since it needs packages that the driver does not: its
    exit code. It says where the files are, or which packages are missing."""
    command = [sys.executable, "-m", "driver.analysis.report",
               *(str(directory.absolute()) for directory in directories), *(options or [])]
    if out is not None:
        command += ["--out", str(out.absolute())]
    code = subprocess.run(command, stdin=subprocess.DEVNULL, cwd=ROOT, check=False).returncode
    return code if code >= 0 else EXIT_FAILED


def command_compare(words: list[str]) -> int:
    """1 when a row regressed by more than the limit, else 0."""
    parser = _Parser("compare", "What became slower from results A to results B of one campaign.")
    parser.add_argument("before", type=Path, metavar="A")
    parser.add_argument("after", type=Path, metavar="B")
    parser.add_argument("--fail-on", default="regress>0%", metavar="'regress>N%'",
                        help="how much worse a row may be (regress>0%%)")
    options = parser.parse(words)
    limit = compare.parse_fail_on(options.fail_on)
    before, after = (comparison_of(load_all([path])) for path in (options.before, options.after))
    found = compare.changes(before, after, limit)
    print(compare.render(found, limit), flush=True)
    return EXIT_FAILED if any(change.regressed for change in found) else 0


def command_artifact(words: list[str]) -> int:
    """Packs an archive for an artifact evaluation."""
    parser = _Parser("artifact", "An archive for an artifact evaluation: data, sources, claims, "
                     "how to repeat, checksums.")
    parser.add_argument("directories", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--out", type=Path, metavar="FILE", help="archive (DIR-artifact.tar.gz)")
    options = parser.parse(words)
    path = artifact.pack(options.directories, options.out, ROOT)
    print(f"artifact: {path}")
    return 0
