#!/usr/bin/env python3
"""The rules of STYLE.md that a program can check.

usage: tidy_test.py SOURCE_ROOT
"""
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(sys.argv[1])
MOST_LINES = 350  # 300 is the aim; this is where a file must be split
MOST_COLUMNS = 100
# Calls that block a thread, or keep thread-local state, where fibers run.
BANNED = {
    r"\bstd::this_thread::sleep_for\b": "blocks a thread; use heddle::sleep_for",
    r"\busleep\(": "blocks a thread; use heddle::sleep_for",
    r"\bstrtok\(": "keeps state in the thread",
    r"\brand\(\)": "keeps state in the process",
    r"\bvolatile\b(?!.*asm)(?<!asm volatile)": "is no way to share memory",
}


def files(*patterns):
    """The project's files of these patterns: those that git tracks, or all outside build folders."""
    found = []
    for pattern in patterns:
        found += [path for path in ROOT.rglob(pattern)
                  if not any(part.startswith(("build", ".git")) for part in path.relative_to(ROOT).parts[:1])
                  and "include" not in path.relative_to(ROOT).parts[:1]]
    return sorted(found)


def sources():
    return files("*.hpp", "*.cpp")


class Tidy(unittest.TestCase):
    def complain(self, complaints):
        self.assertFalse(complaints, "\n" + "\n".join(complaints))

    def test_files_are_short(self):
        self.complain([f"{path.relative_to(ROOT)}: {count} lines" for path in files("*.hpp", "*.cpp", "*.py")
                       if (count := len(path.read_text(encoding="utf-8").splitlines())) > MOST_LINES])

    def test_lines_are_short(self):
        self.complain([f"{path.relative_to(ROOT)}:{number}: {len(line)} columns" for path in sources()
                       for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
                       if len(line) > MOST_COLUMNS])

    def test_tests_that_the_field_reports_name_exist(self):
        text = (ROOT / "docs/field_reports.md").read_text(encoding="utf-8")
        named = re.findall(r"`([\w/]+\.(?:cpp|py)): ([^`]+)`", text)
        self.assertGreater(len(named), 40)
        self.complain([f"{path}: {name}" for path, name in named
                       if name not in (ROOT / "tests" / path).read_text(encoding="utf-8")])

    def test_headers_are_included_once(self):
        self.complain([f"{path.relative_to(ROOT)}: no #pragma once" for path in files("*.hpp")
                       if "#pragma once" not in path.read_text(encoding="utf-8")])

    def test_calls_that_block_or_keep_state_are_absent_from_the_library(self):
        complaints = []
        for path in sources():
            if path.relative_to(ROOT).parts[0] != "src":
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                code = line.split("//")[0]
                complaints += [f"{path.relative_to(ROOT)}:{number}: {why}" for banned, why in BANNED.items()
                               if re.search(banned, code)]
        self.complain(complaints)

    def test_layers_include_only_what_stands_below_them(self):
        below = {
            "base": {"base"},
            "queues": {"base", "queues"},
            "time": {"base", "time", "fibers"},  # sleep suspends; the wheel itself needs only base
            "fibers": {"base", "queues", "time", "fibers", "runtime_base.hpp"},
            "schedulers": {"base", "queues", "schedulers"},
            "pollers": {"base", "fibers", "time", "schedulers", "pollers"},
            "sync": {"base", "fibers", "time", "sync"},
        }
        complaints = []
        for path in sources():
            parts = path.relative_to(ROOT).parts
            if parts[0] != "src" or len(parts) < 3 or parts[1] not in below:
                continue
            for included in re.findall(r"#include <heddle/([^>]+)>", path.read_text(encoding="utf-8")):
                if included.split("/")[0] not in below[parts[1]]:
                    complaints.append(f"{path.relative_to(ROOT)} includes {included}")
        self.complain(complaints)

    def test_every_header_is_used(self):
        text = "".join(path.read_text(encoding="utf-8") for path in
                       files("*.hpp", "*.cpp", "*.in", "meson.build", "*.py"))
        self.complain([str(path.relative_to(ROOT)) for path in files("*.hpp")
                       if path.name not in text and path.stem.replace("_", "-") not in text
                       and f"'{path.stem}'" not in text])

    def test_sources_are_formatted(self):
        tool = next((name for name in ("clang-format", "clang-format-14") if
                     subprocess.run(["which", name], capture_output=True, check=False).returncode == 0), None)
        if tool is None:
            self.skipTest("needs clang-format")
        done = subprocess.run([tool, "--dry-run", "-Werror", *map(str, sources())], capture_output=True,
                              text=True, check=False, cwd=ROOT)
        self.assertEqual(done.returncode, 0, done.stderr[:3000])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
