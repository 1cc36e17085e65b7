#!/usr/bin/env python3
"""Builds the project as its users may: without liburing or with an old one, by clang, with link-time
optimisation, with hardening flags, as a static library. Each variant builds and passes, or the configure
output says in one line what is left out.

usage: variants_test.py SOURCE_ROOT
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv[1])
COMBINATION = "epoll-work-stealing-bounded-spmc"
LEFT_OUT = "io_uring poller left out: needs liburing >= 2.3 (Debian: liburing-dev)"
# What moves fibers between threads, where an optimiser may keep what belongs to the old one.
PROGRAMS = ("tests/scheduling-", "tests/fibers-")


class Variants(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.build = self.folder / "build"

    def run_tool(self, *command, **environment):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=900, env={**os.environ, **environment}, check=False)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout[-4000:]}")
        return done.stdout

    def configure(self, *options, combinations=COMBINATION, **environment):
        return self.run_tool("meson", "setup", str(self.build), str(ROOT), f"-Dcombinations={combinations}",
                             *options, **environment)

    def passes(self):
        targets = [prefix + COMBINATION for prefix in PROGRAMS]
        self.run_tool("ninja", "-C", str(self.build), *targets)
        for target in targets:
            self.run_tool(str(self.build / target))

    def descriptions_without(self, name):
        """A folder with every pkg-config description of the system but that of `name`."""
        folder = self.folder / "pkgconfig"
        folder.mkdir()
        paths = subprocess.run(["pkg-config", "--variable", "pc_path", "pkg-config"], text=True,
                               stdout=subprocess.PIPE, check=True).stdout.strip().split(":")
        for path in reversed(paths):
            for file in pathlib.Path(path).glob("*.pc"):
                if file.stem != name:
                    (folder / file.name).unlink(missing_ok=True)
                    (folder / file.name).symlink_to(file)
        return folder

    def leaves_io_uring_out(self, descriptions):
        output = self.configure(combinations="work-stealing-bounded-spmc", PKG_CONFIG_LIBDIR=str(descriptions))
        self.assertIn(LEFT_OUT, output)
        self.passes()
        zoo = json.loads((self.build / "zoo.json").read_text(encoding="utf-8"))
        self.assertEqual({entry["poller"] for entry in zoo["combinations"] if entry["available"]}, {"epoll"})
        self.assertEqual({entry["reason"] for entry in zoo["combinations"] if entry["poller"] == "io_uring"},
                         {"needs liburing >= 2.3"})

    def test_without_liburing_the_poller_is_left_out(self):
        self.leaves_io_uring_out(self.descriptions_without("liburing"))

    def test_with_an_old_liburing_it_is_left_out_too(self):
        descriptions = self.descriptions_without("liburing")
        (descriptions / "liburing.pc").write_text(
            "Name: liburing\nDescription: an old one\nVersion: 2.1\nLibs: -luring\n", encoding="utf-8")
        self.leaves_io_uring_out(descriptions)

    @unittest.skipUnless(shutil.which("clang++"), "needs clang")
    def test_by_clang(self):
        self.configure(CXX="clang++")
        self.passes()

    def test_with_link_time_optimisation(self):
        self.configure("-Db_lto=true")
        self.passes()

    @unittest.skipUnless(shutil.which("clang++") and shutil.which("ld.lld"), "needs clang and lld")
    def test_by_clang_with_link_time_optimisation(self):
        self.configure("-Db_lto=true", CXX="clang++", CXX_LD="lld")
        self.passes()

    def test_with_hardening_flags(self):
        self.configure("-Dcpp_args=-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -D_GLIBCXX_ASSERTIONS "
                       "-fstack-protector-strong -fcf-protection=full -fPIE",
                       "-Dcpp_link_args=-Wl,-z,relro,-z,now -pie")
        self.passes()

    def test_as_a_static_library_for_a_program_elsewhere(self):
        self.configure("-Ddefault_library=static", "-Dprograms=false")
        stage = self.folder / "stage"
        self.run_tool("meson", "install", "-C", str(self.build), "--destdir", str(stage))
        description = next(stage.rglob("heddle.pc"))
        found = {"PKG_CONFIG_PATH": str(description.parent), "PKG_CONFIG_SYSROOT_DIR": str(stage)}
        flags = self.run_tool("pkg-config", "--static", "--cflags", "--libs", "heddle", **found).split()
        program = self.folder / "consumer"
        self.run_tool("c++", "-std=c++20", str(ROOT / "tests/project/consumer.cpp"), "-o", str(program), *flags)
        self.assertEqual(self.run_tool(str(program)), "42\n")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
