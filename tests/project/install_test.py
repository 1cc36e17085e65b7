#!/usr/bin/env python3
"""Installs into a scratch folder and builds a program against it with pkg-config.

usage: install_test.py SOURCE_ROOT BUILD_ROOT COMPILER...
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT, BUILD, COMPILER = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]


class Install(unittest.TestCase):
    def test_a_program_builds_and_runs_against_the_installed_library(self):
        with tempfile.TemporaryDirectory() as folder:
            stage = pathlib.Path(folder) / "stage"
            self.run_tool("meson", "install", "-C", str(BUILD), "--no-rebuild", "--destdir", str(stage))
            descriptions = list(stage.rglob("heddle.pc"))
            self.assertEqual(len(descriptions), 1, "one heddle.pc is installed")
            environment = dict(os.environ, PKG_CONFIG_PATH=str(descriptions[0].parent),
                               PKG_CONFIG_SYSROOT_DIR=str(stage))
            flags = self.run_tool("pkg-config", "--cflags", "--libs", "heddle", env=environment).split()
            program = pathlib.Path(folder) / "consumer"
            self.run_tool(*COMPILER, "-std=c++20", str(ROOT / "tests/project/consumer.cpp"), "-o",
                          str(program), *flags)
            library = next(stage.rglob("libheddle.so"))
            output = self.run_tool(str(program), env=dict(os.environ, LD_LIBRARY_PATH=str(library.parent)))
            self.assertEqual(output, "42\n")

    def run_tool(self, *command, env=None):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=300, env=env, check=False)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout[-4000:]}")
        return done.stdout


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
