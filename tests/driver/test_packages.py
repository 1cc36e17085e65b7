"""Packages: what is decided for whom, and what apt-get is really asked, with dpkg and apt faked."""
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import support
from driver import packages
from driver.console import Problem
from driver.packages import Host, decide

ROOT_USER = Host(is_root=True, can_ask=False, has_sudo=False)
PERSON = Host(is_root=False, can_ask=True, has_sudo=True)
SCRIPT = Host(is_root=False, can_ask=False, has_sudo=True)
NO_SUDO = Host(is_root=False, can_ask=True, has_sudo=False)


class Decisions(unittest.TestCase):
    def test_nothing_missing_means_nothing_to_do(self):
        self.assertEqual(decide([], False, PERSON).action, "nothing")

    def test_root_installs_a_person_is_asked_a_script_is_refused(self):
        actions = [decide(["wrk"], False, host).action
                   for host in (ROOT_USER, PERSON, SCRIPT, NO_SUDO)]
        self.assertEqual(actions, ["install", "ask", "refuse", "refuse"])

    def test_the_command_is_what_a_person_would_type(self):
        self.assertEqual(decide(["wrk", "g++"], True, SCRIPT).command,
                         "sudo apt-get update && "
                         "sudo apt-get install -y --no-install-recommends wrk g++")
        self.assertEqual(decide(["wrk"], False, NO_SUDO).command,
                         "apt-get install -y --no-install-recommends wrk")

    def test_clang_is_wanted_only_by_its_group(self):
        self.assertNotIn("clang", packages.wanted("build", "test"))
        self.assertIn("libclang-rt-14-dev", packages.wanted("build", "clang"))


# State in files beside the scripts: `installed`, `lists` (what apt knows), `calls`, `answers`.
SUDO = """#!/bin/sh
echo sudo >> "$(dirname "$0")/calls"
exec "$@"
"""
DPKG = """#!/bin/sh
cd "$(dirname "$0")"; shift 3
for name; do grep -qx "$name" installed && echo "$name installed"; done
exit 0
"""
CACHE = """#!/bin/sh
cd "$(dirname "$0")"; shift
for name; do
  grep -qx "$name" lists && printf '%s:\\n  Installed: (none)\\n  Candidate: 1.0\\n' "$name"
done
exit 0
"""
APT = """#!/bin/sh
cd "$(dirname "$0")"; shift 2
echo "$@" >> calls; echo "apt says $1"
code=$(head -1 answers); sed -i 1d answers
[ "${code:-0}" = 0 ] || exit "$code"
case $1 in
  update) printf 'wrk\\ngdb\\n' > lists ;;
  install) shift 3; for name; do echo "$name" >> installed; done ;;
esac
"""


class Ensure(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="heddle packages ")
        self.addCleanup(scratch.cleanup)
        self.place = Path(scratch.name)
        for name, text in (("dpkg-query", DPKG), ("apt-cache", CACHE), ("apt-get", APT),
                           ("sudo", SUDO)):
            support.write_program(self.place / name, text)
        for name in ("installed", "lists", "calls", "answers"):
            (self.place / name).touch()
        path = f"{self.place}:{os.environ['PATH']}"
        for patch in (mock.patch.dict(os.environ, PATH=path, TMPDIR=scratch.name),
                      mock.patch.object(tempfile, "tempdir", scratch.name),
                      mock.patch.dict(packages.PACKAGES, {"build": ("wrk", "gdb")})):
            patch.start()
            self.addCleanup(patch.stop)

    def write(self, name, text):
        (self.place / name).write_text(text, encoding="utf-8")

    def calls(self):
        return (self.place / "calls").read_text(encoding="utf-8").splitlines()

    def ensure(self, host, **options):
        with support.captured() as (out, err):
            try:
                packages.ensure(["build"], host=host, **options)
            finally:
                self.out, self.err = out.getvalue(), err.getvalue()

    def test_all_installed_is_silent_and_calls_no_apt(self):
        self.write("installed", "wrk\ngdb\n")
        self.ensure(ROOT_USER)
        self.assertEqual((self.out, self.err, self.calls()), ("", "", []))

    def test_root_installs_only_what_is_missing_without_update(self):
        self.write("installed", "gdb\n")
        self.write("lists", "wrk\n")
        self.ensure(ROOT_USER)
        self.assertEqual(self.calls(), ["install -y --no-install-recommends wrk"])
        self.assertIn("installing 1 Debian packages: wrk", self.err)
        self.assertNotIn("apt says", self.err)
        self.assertEqual(list(self.place.glob("heddle-apt-*")), [])

    def test_update_comes_first_when_a_package_has_no_candidate(self):
        self.ensure(ROOT_USER)
        self.assertEqual(self.calls(), ["update", "install -y --no-install-recommends wrk gdb"])

    def test_stale_lists_get_one_update_and_one_more_try(self):
        self.write("lists", "wrk\ngdb\n")
        self.write("answers", "100\n0\n0\n")
        self.ensure(ROOT_USER)
        steps = [call.split()[0] for call in self.calls()]
        self.assertEqual(steps, ["install", "update", "install"])

    def test_a_failure_shows_the_log_and_keeps_it(self):
        self.write("answers", "100\n")
        with self.assertRaisesRegex(Problem, "apt-get update failed .whole log: .*heddle-apt-"):
            self.ensure(ROOT_USER)
        self.assertIn("apt says update", self.err)

    def test_a_package_that_no_list_has_is_named(self):
        with mock.patch.dict(packages.PACKAGES, {"build": ("wrk", "libnowhere-dev")}):
            with self.assertRaisesRegex(Problem, "no package libnowhere-dev"):
                self.ensure(ROOT_USER)

    def test_a_script_that_is_not_root_gets_the_exact_command(self):
        self.write("lists", "wrk\ngdb\n")
        with self.assertRaises(Problem) as caught:
            self.ensure(SCRIPT)
        self.assertEqual(str(caught.exception), "Debian packages are missing; run: "
                         "sudo apt-get install -y --no-install-recommends wrk gdb")
        self.assertEqual((caught.exception.exit_code, self.calls()), (1, []))

    def test_a_person_who_agrees_gets_sudo_and_one_who_does_not_the_command(self):
        self.write("lists", "wrk\ngdb\n")
        for answer in ("n\n", ""):
            with mock.patch("sys.stdin.readline", return_value=answer, create=True):
                self.assertRaises(Problem, self.ensure, PERSON)
        self.assertEqual(self.calls(), [])
        with mock.patch("sys.stdin.readline", return_value="\n", create=True):
            self.ensure(PERSON)
        self.assertEqual(self.calls(), ["sudo", "install -y --no-install-recommends wrk gdb"])

    def test_what_heddle_can_do_without_is_installed_or_its_absence_told(self):
        self.write("lists", "wrk\ngdb\n")
        with mock.patch.dict(packages.PACKAGES, {"adapters": ("wrk",)}), support.captured():
            packages.ensure_if_possible(["adapters"], host=ROOT_USER)
        self.assertEqual(self.calls(), ["install -y --no-install-recommends wrk"])
        with mock.patch.dict(packages.PACKAGES, {"adapters": ("libnowhere-dev",)}):
            with support.captured() as (_, err):
                packages.ensure_if_possible(["adapters"], host=ROOT_USER)
            self.assertIn("going on without", err.getvalue())
            self.assertIn("no package libnowhere-dev", err.getvalue())

    def test_dry_run_prints_the_command_and_runs_nothing(self):
        self.ensure(ROOT_USER, dry_run=True)
        self.assertEqual(self.out, "apt-get update && "
                         "apt-get install -y --no-install-recommends wrk gdb\n")
        self.assertEqual(self.calls(), [])


if __name__ == "__main__":
    unittest.main()
