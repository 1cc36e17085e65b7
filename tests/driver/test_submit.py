"""submit: how a plan is cut, and that engines run every block once and bring back what it left."""
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import ssh_server
import support
from driver.console import Problem, UsageProblem
from driver.lab import plan as plans
from driver.lab.campaign import Campaign
from driver.lab.cells import Cell
from driver.lab.plan import Block, Plan, order_of
from driver.lab.submit import blocks, command, engines
from driver.lab.submit.engines import Engine

# Stands for driver/lab/submit/job.py of a tree: leaves what a measured block leaves.
JOB = '''import pathlib, sys, tarfile, tempfile
words = sys.argv[1:]
packed = words[0] == "--packed"
directory = pathlib.Path(tempfile.mkdtemp() if packed else words[0])
if packed:
    tarfile.open(words[1]).extractall(directory)
assert (directory / "plan.json").is_file()
(directory / "rounds.jsonl").write_text("measured\\n")
(directory / "done.json").write_text('{"exit": 0, "host": "there", "seconds": 1.0}')
if packed:
    with tarfile.open(words[2], "w") as result:
        result.add(directory, arcname=".")
'''


def cell(number: int, row: str, mark: str = "") -> Cell:
    return Cell(f"{row} | block {number}", row, f"group {number}", mark, number, "hello", "peer",
                "shared", None, None, None, "loadgen", {"workers": 2, "duration_s": 1.0})


def make_plan(rounds: int = 7) -> Plan:
    made = []
    for number, name in ((1, "hello"), (2, "echo and wait")):
        cells = (cell(number, "ref", "A"), cell(number, "ref A'", "A'"), cell(number, "row"))
        made.append(Block(number, name, "hello", 1, rounds, rounds, cells))
    return Plan("trial", 11, tuple(made), budget_s=60.0)


class Submissions(unittest.TestCase):
    def setUp(self):
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.out = self.directory / "out"
        self.tree = self.directory / "tree"
        for package in ("driver", "driver/lab", "driver/lab/submit"):
            support.write_program(self.tree / package / "__init__.py", "")
        support.write_program(self.tree / "driver/lab/submit/job.py", JOB)

    def submit(self, parts: int = 2) -> blocks.Submission:
        self.out.mkdir()
        made = make_plan()
        submission = blocks.divide(made, parts)
        blocks.write(self.out, made, Campaign("trial", text="name = \"trial\"\n"), submission)
        return submission


class Cutting(Submissions):
    def test_parts_of_a_workload_hold_all_its_rounds_and_start_with_its_warm_up(self):
        submission = blocks.divide(make_plan(7), 3)
        self.assertEqual(len(submission.jobs), 6)
        for number in (1, 2):
            jobs = [job for job in submission.jobs if job.block == number]
            self.assertEqual([job.rounds for job in jobs], [3, 2, 2])
            self.assertEqual({job.warmup_rounds for job in jobs}, {1})

    def test_more_parts_than_rounds_are_refused(self):
        with self.assertRaisesRegex(UsageProblem, "hello has 7 round.s.; take 1 to 7"):
            blocks.divide(make_plan(7), 8)

    def test_a_block_is_a_plan_of_its_own_with_a_fixed_number_of_rounds(self):
        submission = self.submit()
        for job in submission.jobs:
            made = plans.read(self.out / blocks.FOLDER / job.name)
            self.assertEqual([block.number for block in made.blocks], [job.block])
            self.assertEqual((made.blocks[0].rounds, made.seed), (job.rounds, job.seed))
            self.assertIsNone(made.budget_s)

    def test_parts_have_orders_of_their_own_and_the_same_ones_each_time(self):
        made = make_plan(100)
        first, again = (blocks.divide(made, 2) for _ in range(2))
        self.assertEqual(first, again)

        def orders(job: blocks.Job) -> list:
            own = blocks.plan_of(made, job)
            return [[one.row for one in order_of(own.seed, own.blocks[0], number)]
                    for number in range(1, 30)]
        one, other = (job for job in first.jobs if job.block == 1)
        self.assertNotEqual(orders(one), orders(other))
        self.assertEqual(orders(one), orders(again.jobs[0]))

    def test_what_is_written_is_read_back(self):
        submission = self.submit()
        self.assertEqual(blocks.read(self.out), submission)
        self.assertEqual(plans.read(self.out), make_plan())

    def test_other_directories_are_refused(self):
        with self.assertRaisesRegex(UsageProblem, "No such file"):
            blocks.read(self.directory)
        (self.directory / "submission.json").write_text("{}", encoding="utf-8")
        with self.assertRaisesRegex(UsageProblem, "is no submission of heddle"):
            blocks.read(self.directory)


class Engines(Submissions):
    def need(self, engine: Engine) -> None:
        try:
            engines.check(engine)
        except Problem as problem:
            self.skipTest(str(problem))

    def test_local_runs_each_block_once_and_goes_on_where_it_stopped(self):
        engine = Engine("local", self.tree)
        self.need(engine)
        first, *others = self.submit().jobs
        kept = self.out / blocks.FOLDER / first.name
        (kept / "done.json").write_text('{"exit": 3, "host": "before", "seconds": 2}',
                                        encoding="utf-8")
        with support.captured() as (out, _):
            self.assertEqual(command.run(engine, self.out, dry_run=False), 3)
        self.assertFalse((kept / "rounds.jsonl").exists())
        self.assertIn(f"{first.name}: 4 round(s) on before in 2 s; some cells failed",
                      out.getvalue())
        for job in others:
            self.assertEqual(blocks.outcome(self.out, job)["host"], "there")
            self.assertTrue((self.out / blocks.FOLDER / job.name / "rounds.jsonl").is_file())
        self.assertIn(f"./heddle report {kept}", out.getvalue())

    def test_a_block_that_fails_is_told_and_the_others_run(self):
        engine = Engine("local", self.tree)
        self.need(engine)
        failing, *others = self.submit(parts=1).jobs
        (self.out / blocks.FOLDER / failing.name / "plan.json").write_text("", encoding="utf-8")
        program = self.tree / "driver/lab/submit/job.py"
        program.write_text(JOB.replace(".is_file()", ".read_text()"), encoding="utf-8")
        with support.captured() as (out, _):
            self.assertEqual(command.run(engine, self.out, dry_run=False), 1)
        self.assertIn(f"{failing.name}: not finished; ./heddle submit {self.out} goes on",
                      out.getvalue())
        self.assertTrue(all(blocks.outcome(self.out, job) for job in others))

    def test_ssh_packs_blocks_sends_them_and_unpacks_what_comes_back(self):
        engine = Engine("ssh", self.tree, (ssh_server.HOST,))
        self.need(engine)
        if reason := ssh_server.why_not():
            self.skipTest(reason)
        submission = self.submit(parts=1)
        keys = self.directory / "keys"
        keys.mkdir(mode=0o700)
        with ssh_server.running(keys) as config, support.captured() as (out, _):
            # GNU parallel keeps files in the home directory, which a test must leave alone.
            with mock.patch.dict(os.environ, HOME=str(self.directory),
                                 PARALLEL_SSH=f"ssh -F {config}"):
                code = command.run(engine, self.out, dry_run=False)
        self.assertEqual(code, 0, (self.out / command.LOG).read_text(encoding="utf-8"))
        self.assertEqual(out.getvalue().count(" on there in "), len(submission.jobs))
        for job in submission.jobs:
            self.assertTrue((self.out / blocks.FOLDER / job.name / "rounds.jsonl").is_file())
        self.assertEqual(list((self.out / blocks.FOLDER).glob("*.tar")), [])

    def test_a_slurm_job_asks_for_a_node_of_its_own_time_and_every_processor(self):
        engine = Engine("slurm", self.tree, cpus=6)
        if not shutil.which("snakemake"):
            self.skipTest("needs: apt-get install snakemake")
        submission = self.submit(parts=1)
        words = engines.command(engine, self.out, list(submission.jobs), dry_run=True)
        self.assertIn(str(engines.HERE / "slurm"), words)
        self.assertEqual(engines.environment(engine)["SRUN_CPUS_PER_TASK"], "6")
        told = self.dry_run(words)
        for job in submission.jobs:
            self.assertIn(f"output: blocks/{job.name}/done.json", told)
            self.assertIn(f"runtime={job.minutes}", told)
        self.assertIn("slurm_extra=--exclusive", told)
        self.assertIn("cpus_per_task=6", told)
        self.assertIn(f"cd {self.tree}", told)

    def dry_run(self, words: list[str]) -> str:
        done = subprocess.run(words, cwd=self.out, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse((self.out / blocks.FOLDER / "done.json").exists())
        return done.stdout + done.stderr

    def test_missing_programs_name_their_packages(self):
        for name, hosts, expected in (("local", (), "apt-get install snakemake"),
                                      ("slurm", (), "snakemake slurm-client"),
                                      ("ssh", ("a",), "parallel openssh-client rsync")):
            with self.assertRaisesRegex(Problem, expected):
                engines.check(Engine(name, self.tree, hosts), look=lambda program: None)


class CommandLine(unittest.TestCase):
    CASES = {
        (): "the following arguments are required: CAMPAIGN",
        ("smoke", "--engine", "cloud"): "choose from 'local', 'slurm', 'ssh'",
        ("smoke", "--engine", "ssh"): "--engine ssh needs --hosts a,b",
        ("smoke", "--hosts", "a,b"): "--hosts is for --engine ssh",
        ("smoke", "--engine", "ssh", "--hosts", "a;b"): "'a;b' is not a host such as node1",
        ("smoke", "--parts", "0"): "'0' is not a whole number from 1 to 10000",
        ("/nowhere.toml",): "No such file",
    }

    def test_bad_input_says_what_is_allowed(self):
        for words, expected in self.CASES.items():
            with self.subTest(words=words), self.assertRaises(UsageProblem) as caught:
                command.command_submit(list(words))
            self.assertIn(expected, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
