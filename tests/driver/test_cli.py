"""The command line as a user meets it: bad input is one line and exit 2, from any directory."""
import subprocess
import unittest

import support


def heddle(*words: str, cwd: str = "/") -> subprocess.CompletedProcess:
    return subprocess.run([str(support.ROOT / "heddle"), *words], cwd=cwd, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)


class BadInput(unittest.TestCase):
    CASES = {
        (): "say what to do: setup, build, list, test, bench, plan, count, status, resume",
        ("bulid",): "unknown command 'bulid'; allowed: setup, build, list, test, bench",
        ("list", "--jsno"): "list: unknown option '--jsno'; allowed: --help, --json",
        ("test", "queues"): "test: unknown word 'queues'; allowed:",
        ("test", "--suite"): "test: --suite: expected one argument",
        ("test", "--sanitizer", "memory"): "(choose from 'none', 'address', 'thread')",
        ("build", "-Dx"): "build: -D: 'x' is not NAME=VALUE",
        ("bench", "--rounds", "0"): "bench: --rounds: '0' is not a whole number from 1 to 10000",
        ("bench", "--workers", "1e3"): "'1e3' is not a whole number",
        ("bench", "--connections", "-4"): "--connections: ",
        ("bench", "--driver", "wrk", "--connections", "15"): "take 14 or 16",
        ("bench", "--driver", "curl"): "(choose from 'auto', 'loadgen', 'wrk', 'ab', 'h2load')",
        ("bench", "--preset", "qiuck"): "unknown preset 'qiuck'; nearest: quick",
        ("plan", "--preset", "zzz"): "unknown preset 'zzz'; allowed: ahbench, async-bench",
        ("bench", "--target-ci", "0%"): "'0%' is not a share such as 2%",
        ("bench", "--pin", "here"): "(choose from 'none', 'shared', 'split')",
        ("bench", "absent.toml"): "campaign absent.toml: No such file or directory",
        ("bench", "a.toml", "--preset", "quick"): "give a campaign (a.toml) or a preset (quick)",
        ("bench", "--preset", "paper", "--server", "hello"): "only preset quick takes it",
        ("resume", "/dev"): "/dev holds no results of heddle: plan.json: No such file",
        ("status", "/absent"): "/absent holds no results of heddle",
        ("count", "--block", "0"): "'0' is not a whole number from 1 to 10000",        ("bench", "--budget", "soon"): "'soon' is not a duration such as 240s or 4m",
        ("bench", "--server", "echo"): "(choose from 'hello', 'hello-timeout')",
        ("bench", "--seed", "٣"): "is not a whole number",
        ("bench", "--round", "3"): "unknown option '--round'",
        ("bench", "--peer", "libfev"): "'libfev' is not NAME=VALUE",
        ("bench", "queues", "--threads", "1,0"): "'0' is not a whole number from 1 to 256",
        ("bench", "queues", "--think-ns", "0,-5"): "'-5' is not a number from 0 to 1e+06",
        ("bench", "queues", "--steal-percent", "nan"): "'nan' is not a number from 0.1 to 10",
        ("bench", "queues", "--workers", "2"): "bench queues: unknown option '--workers'",
    }

    def test_each_is_one_line_that_says_what_is_allowed(self):
        for words, expected in self.CASES.items():
            with self.subTest(words=words):
                done = heddle(*words)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertTrue(done.stderr.startswith("heddle: "), done.stderr)
                self.assertIn(expected, done.stderr)

    def test_help_is_not_an_error(self):
        for words in (("--help",), ("help",), ("bench", "--help"), ("test", "-h"),
                      ("plan", "--help"), ("count", "--help"), ("status", "--help"),
                      ("resume", "--help"),
                      ("bench", "queues", "--help")):
            done = heddle(*words)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertTrue(done.stdout.startswith("usage: ./heddle"), done.stdout)


if __name__ == "__main__":
    unittest.main()
