"""Results directories to tables: reading, pairing, labels, compare, artifact."""
import csv
import io
import json
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

import support
from data import synthetic
from driver import analysis
from driver.analysis import artifact, commands, compare, content, histograms, numbers, tables
from driver.analysis.comparison import Comparison
from driver.analysis.comparison import compare as comparison_of
from driver.analysis.detail_tables import Latencies
from driver.analysis.estimates import Estimate
from driver.analysis.records import load, load_all
from driver.console import Problem, UsageProblem

GOLDEN = Path(__file__).parent / "data" / "golden"


def small(cell):
    """One closed load, one offered rate and the queues, with few rows."""
    wanted = ("16 conn", "at 40000", "pairwise")
    rows = ("raw-epoll", "hello-epoll-work-stealing", "go", "broken", "null-responder", "locking",
            "fetch-add", "simple-mpmc")
    return (any(word in cell["group"] for word in wanted)
            and cell["row"].startswith(rows))


def setUpModule():
    scratch = tempfile.TemporaryDirectory(prefix="heddle analysis ")
    unittest.addModuleCleanup(scratch.cleanup)
    Results.place = Path(scratch.name)
    Results.one = synthetic.write(Results.place / "one", keep=small)
    Results.comparison = comparison_of(load_all([Results.one]))
    Results.text = analysis.terminal(Results.one)


class Results(unittest.TestCase):
    place: Path
    one: Path
    comparison: Comparison
    text: str

    def copy(self, name, change=lambda record: record, of=None):
        """A copy whose records went through `change`; None leaves one out."""
        target = self.place / name
        target.mkdir()
        for path in (of or self.one).glob("*.*"):
            (target / path.name).write_bytes(path.read_bytes())
        lines = (target / "rounds.jsonl").read_text(encoding="utf-8").splitlines()
        records = [found for line in lines if (found := change(json.loads(line))) is not None]
        (target / "rounds.jsonl").write_text(
            "".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        return target

    def row(self, comparison, group, name):
        return next(row for one, row in comparison.rows()
                    if group in one.name and row.name == name)


class Reading(Results):
    def test_a_torn_last_line_is_left_out_with_a_warning(self):
        torn = self.copy("torn")
        with open(torn / "rounds.jsonl", "a", encoding="utf-8") as file:
            file.write('{"schema": "heddle-rou')
        found = load(torn)
        self.assertEqual(len(found.records), len(load(self.one).records))
        self.assertIn("torn", found.warnings[0])
        self.assertIn("torn", analysis.terminal(torn))

    def test_anything_else_that_is_no_record_is_refused_by_its_line(self):
        for name, line, why in (
                ("damaged", '{"schema":\n', r"rounds.jsonl:\d+: not a JSON object"),
                ("nan", '{"schema": NaN}\n', r"rounds.jsonl:\d+: not a JSON object"),
                ("old", '{"schema": "heddle-rounds-1"}\n', "only heddle-round-2 can be read"),
                ("thin", '{"schema": "heddle-round-2"}\n', "campaign must be a str, not None")):
            with self.subTest(name):
                place = self.copy(name)
                with open(place / "rounds.jsonl", "a", encoding="utf-8") as file:
                    file.write(line)
                self.assertRaisesRegex(Problem, why, load, place)
        self.assertRaisesRegex(UsageProblem, "no rounds.jsonl", load, self.place)

    def test_a_record_that_repeats_another_counts_once(self):
        place = self.copy("twice")
        text = (place / "rounds.jsonl").read_text(encoding="utf-8")
        (place / "rounds.jsonl").write_text(text + text.splitlines()[-1] + "\n", encoding="utf-8")
        found = load(place)
        self.assertEqual(len(found.records), len(load(self.one).records))
        self.assertIn("repeats", found.warnings[0])

    def test_directories_of_two_campaigns_are_refused(self):
        other = synthetic.write(self.place / "other", campaign="else", rounds=1, keep=small)
        self.assertRaisesRegex(Problem, "'synthetic'.*'else'", load_all, [self.one, other])

    def test_warm_up_rounds_do_not_count(self):
        self.assertTrue(all(record["round"] > 0 for record in load_all([self.one]).records))
        warm = self.copy("warm", lambda record: {**record, "warmup": True})
        self.assertRaisesRegex(Problem, "no counted round", load_all, [warm])


class Comparing(Results):
    def test_ratios_are_paired_and_the_reference_has_a_band(self):
        comparison = self.comparison
        group = next(group for group in comparison.groups if "16" in group.name)
        self.assertEqual(group.reference, "raw-epoll")
        band = group.band("throughput_rps")
        self.assertTrue(0.95 < band.low < 1 < band.high < 1.05)
        found = self.row(comparison, "16", "go").metrics["throughput_rps"]
        self.assertTrue(found.ratio.low <= 0.85 <= found.ratio.high)
        self.assertEqual(found.verdict, "slower")
        self.assertNotIn("raw-epoll A'", [row.name for row in group.rows])

    def test_a_sure_difference_in_cost_is_judged_where_the_rate_is_given(self):
        comparison = self.comparison
        group = next(group for group in comparison.groups if "40000" in group.name)
        self.assertEqual(group.metric.name, "cpu_us_per_request")

    def test_there_are_no_ranks_inside_a_tie(self):
        group = next(group for group in self.comparison.groups if "16" in group.name)
        found = [row.rank for row in group.rows]
        self.assertEqual(found[:5], [1, 1, 1, 1, 5])  # of which none differs by more than 3 %

    def test_few_rounds_are_inconclusive_without_ranks(self):
        few = self.copy("few", lambda record: record if record["round"] < 5 else None)
        comparison = comparison_of(load_all([few]))
        for group, row in comparison.rows():
            self.assertEqual(row.rank, 0)
            self.assertEqual(row.metrics[group.metric.name].verdict, "inconclusive")
        self.assertIn("covers less than 95 %", analysis.terminal(few))

    def test_two_hosts_are_two_clusters(self):
        other = synthetic.write(self.place / "there", seed=2, host="there", keep=small)
        comparison = comparison_of(load_all([self.one, other]))
        found = self.row(comparison, "16", "go").metrics["throughput_rps"]
        self.assertEqual(found.ratio.rounds, 16)
        self.assertEqual(len({point.cluster for point in found.points}), 2)

    def test_a_noisy_round_yields_to_its_repetition_and_both_are_kept(self):
        def again(record):
            return {**record, "round": 99, "repeats": 3, "verdict": "good",
                    "throughput_rps": record["throughput_rps"] * 2}
        place = self.copy("repeated")
        lines = (place / "rounds.jsonl").read_text(encoding="utf-8").splitlines()
        noisy = [again(record) for line in lines if (record := json.loads(line))["round"] == 3]
        with open(place / "rounds.jsonl", "a", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in noisy)
        comparison = comparison_of(load_all([place]))
        row = self.row(comparison, "16", "go")
        points = row.metrics["throughput_rps"].points
        self.assertEqual((len(points), len(row.records)), (8, 9))
        self.assertFalse(any(point.is_noisy for point in points))
        self.assertGreater(max(point.value for point in points), 40000)

    def test_a_retried_cell_meets_the_reference_of_its_round(self):
        def fail(record):
            if record["round"] == 2 and record["row"] == "go":
                return {**record, "ok": False, "failure": "no answer", "verdict": "failed"}
            return record
        place = self.copy("retried", fail)
        original = next(json.loads(line) for line in (self.one / "rounds.jsonl").read_text(
            encoding="utf-8").splitlines()
            if '"round": 2' in line and '"row": "go"' in line and '"ok": true' in line)
        with open(place / "rounds.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps({**original, "attempt": 2}) + "\n")
        row = self.row(comparison_of(load_all([place])), "16", "go")
        self.assertEqual(row.metrics["throughput_rps"].ratio.rounds, 8)
        self.assertRegex(analysis.terminal(place), r"(?m)^go .*1 of 9 attempts failed: no answer")


class Terminal(Results):
    def test_the_table_is_the_golden_one(self):
        found = self.text + "\n"
        path = GOLDEN / "terminal.txt"
        if support.updates_golden():
            path.write_text(found, encoding="utf-8")
        self.assertEqual(found, path.read_text(encoding="utf-8"))

    def test_the_honest_labels_are_there(self):
        found = self.text
        for text in ("shared cores: not a scaling result", "N/A: no PMU",
                     "requests/s (this machine)",
                     "A/A' (raw-epoll against itself)", "coordinated omission"):
            self.assertIn(text, found)
        self.assertRegex(found, r"(?m)^broken .*8 of 8 attempts failed: answered 404 bytes")
        self.assertRegex(found, r"(?m)^hello-epoll-work-stealing-locking .*generator-bound")
        self.assertNotRegex(found, r"(?m)^null-responder .*generator-bound")
        self.assertNotRegex(found, r"(?m)^go .*generator-bound")

    def test_cores_of_their_own_give_absolute_throughput(self):
        split = self.copy("split")
        plan = json.loads((split / "plan.json").read_text(encoding="utf-8"))
        (split / "plan.json").write_text(json.dumps({**plan, "pin": "split"}), encoding="utf-8")
        found = analysis.terminal(split)
        self.assertNotIn("this machine)", found)
        self.assertNotIn("shared cores", found)


class Forms(Results):
    def test_every_table_has_every_form_with_the_same_rows(self):
        comparison = self.comparison
        found = content.all_tables(comparison, Latencies(comparison))
        self.assertEqual({table.name for _, table in found},
                         {"comparison", "microbenchmarks-1", "async-bench-hello-throughput",
                          "quantiles", "costs", "counters", "failures", "quality", "environment"})
        for _, table in found:
            with self.subTest(table.name):
                lines = list(csv.reader(io.StringIO(tables.csv_text(table))))
                self.assertEqual(len(lines), 1 + len(table.rows))
                self.assertEqual({len(line) for line in lines}, {len(lines[0])})
                self.assertEqual(tables.latex(table).count(r"\\") >= len(table.rows), True)
                self.assertNotRegex(tables.html(table), r"\bnan\b|None")
                self.assertIn("| --", tables.markdown(table).replace("|---", "| ---"))

    def test_quantiles_stand_in_the_columns_of_async_bench(self):
        comparison = self.comparison
        found = dict((table.name, table) for _, table in
                     content.all_tables(comparison, Latencies(comparison)))["quantiles"]
        self.assertEqual(
            [column.key for column in found.columns],
            ["kind", "framework", "latency_mean_ns", "latency_median_ns", "latency_q0_9_ns",
             "latency_q0_99_ns", "latency_q0_999_ns", "latency_q0_9999_ns"])
        self.assertTrue(all(row[-1] is None for row in found.rows))  # 20,000 samples: too few
        self.assertTrue(all(row[-2] is not None for row in found.rows))

    def test_published_rows_meet_ours_by_name_and_load(self):
        comparison = self.comparison
        table = content.published_tables(comparison)[0]
        self.assertEqual(len(table.rows), 20)
        by_name = {row[0]: row for row in table.rows}
        self.assertEqual(by_name["Go"][4], "go")
        self.assertEqual(by_name["fev-epoll-work-stealing-locking"][4],
                         "hello-epoll-work-stealing-locking")
        self.assertAlmostEqual(by_name["Go"][3], 1265821 / 1401905)
        self.assertEqual(by_name["threads"][4], "not in this campaign")

    def test_latex_takes_no_text_for_commands(self):
        self.assertEqual(tables.latex_text(r"50% of a_b & {c} \d #1 $x ~ ^"),
                         r"50\% of a\_b \& \{c\} \textbackslash{}d \#1 \$x \textasciitilde{} "
                         r"\textasciicircum{}")

    def test_numbers_have_no_more_digits_than_their_interval_allows(self):
        for estimate, text in ((Estimate(0.98765, 0.9712, 1.0034, 9), "0.988 [0.971, 1.003]"),
                               (Estimate(0.98765, 0.91, 1.09, 9), "0.99 [0.91, 1.09]"),
                               (Estimate(48231, 46900, 49400, 9), "48200 [46900, 49400]"),
                               (Estimate(48231, 41000, 55000, 9), "48000 [41000, 55000]"),
                               (Estimate(2, 2, 2, 9), "2"), (None, "-")):
            self.assertEqual(numbers.with_interval(estimate), text)
        self.assertEqual([numbers.significant(value) for value in (12345.6, 123.4, 0.012345, 0, 7)],
                         ["12300", "123", "0.0123", "0", "7"])


class Histograms(unittest.TestCase):
    def test_quantiles_are_those_of_the_sum_and_need_ten_samples_beyond(self):
        one, other = [(10.0, 900), (20.0, 60), (30.0, 40)], [(10.0, 500)]
        merged = histograms.merge([one, other])
        self.assertEqual(merged, [(10.0, 1400), (20.0, 60), (30.0, 40)])
        self.assertEqual([histograms.quantile(merged, share) for share in (0.5, 0.9, 0.99, 0.999)],
                         [10, 10, 30, None])
        found = histograms.quantile_estimates([one, other] * 3, [0.99, 0.9999], 1)
        self.assertEqual((found[0].median, found[1]), (30, None))
        self.assertTrue(found[0].low <= 30 <= found[0].high)
        self.assertEqual(histograms.survival(merged), [(10.0, 100 / 1500), (20.0, 40 / 1500)])
        self.assertIsNone(histograms.quantile([], 0.5))


class Commands(Results):
    def slowed(self, name, factor, row="go"):
        return self.copy(name, lambda record: {
            **record, "throughput_rps": record["throughput_rps"]
            * (factor if record["row"] == row and record["ok"] else 1)})

    def compare(self, *words):
        with support.captured() as (out, _):
            code = commands.command_compare(list(map(str, words)))
        return code, out.getvalue()

    def test_the_same_data_do_not_regress(self):
        code, out = self.compare(self.one, self.one)
        self.assertEqual(code, 0)
        self.assertIn("0 of ", out.splitlines()[-1])

    def test_a_slower_row_regresses_beyond_the_limit_only(self):
        slower = self.slowed("slower", 0.85)
        code, out = self.compare(self.one, slower, "--fail-on", "regress>3%")
        self.assertEqual(code, 1)
        self.assertRegex(out, r"(?m)^go .*0\.8\d.*regressed")
        code, out = self.compare(self.one, slower, "--fail-on", "regress > 30 %")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"(?m)^go .*worse, within the limit")
        self.assertEqual(self.compare(slower, self.one, "--fail-on", "regress>3%")[0], 0)

    def test_a_row_that_fails_now_has_regressed(self):
        failed = self.copy("failed", lambda record: {
            **record, **({"ok": False, "failure": "died"} if record["row"] == "go" else {})})
        code, out = self.compare(self.one, failed, "--fail-on", "regress>50%")
        self.assertEqual(code, 1)
        self.assertIn("fails in B: died", out)

    def test_junk_is_refused_with_the_allowed_form(self):
        for junk in ("regress", "regress>x%", "regress>3", "faster>3%", "regress>101%", "", "1%"):
            self.assertRaisesRegex(UsageProblem, r"regress>N% with N from 0 to 100",
                                   compare.parse_fail_on, junk)
        self.assertRaisesRegex(UsageProblem, "no rounds.jsonl", commands.command_compare,
                               [str(self.place), str(self.one)])
        self.assertRaisesRegex(UsageProblem, "unknown option '--lol'; allowed: ",
                               commands.command_report, [str(self.one), "--lol"])

    def test_an_artifact_holds_data_sources_claims_and_true_sums(self):
        place = self.copy("mine")
        facts = json.loads((place / "environment.json").read_text(encoding="utf-8"))
        (place / "environment.json").write_text(json.dumps({**facts, "commit": None}), "utf-8")
        repository = self.place / "repository"
        repository.mkdir()
        (repository / "heddle").write_text("#!/bin/sh\n", encoding="utf-8")
        for words in (["init", "-q"], ["add", "."],
                      ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "t"]):
            subprocess.run(["git", "-C", str(repository), *words], check=True)
        first = artifact.pack([place], self.place / "first.tar.gz", repository)
        again = artifact.pack([place], self.place / "again.tar.gz", repository)
        self.assertEqual(first.read_bytes(), again.read_bytes())
        with tarfile.open(first) as archive:
            archive.extractall(self.place / "unpacked")
        top = self.place / "unpacked" / "artifact"
        subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=top, check=True)
        with tarfile.open(top / "sources.tar.gz") as sources:
            self.assertEqual(sources.getnames(), ["heddle"])
        text = (top / "CLAIMS.md").read_text(encoding="utf-8")
        self.assertRegex(text, r"- \[ \] `go` is \*\*slower\*\* by requests/s: ratio 0\.8")
        self.assertIn("`broken`: no verdict", text)
        self.assertIn("./heddle report ../data/mine", (top / "README.md").read_text("utf-8"))
        self.assertEqual((top / "data/mine/rounds.jsonl").read_bytes(),
                         (place / "rounds.jsonl").read_bytes())

    def test_sources_that_are_not_there_are_one_line(self):
        self.assertRaisesRegex(Problem, "the sources cannot be packed", artifact.pack, [self.one],
                               None, self.place)


if __name__ == "__main__":
    unittest.main()
