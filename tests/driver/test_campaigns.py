"""Campaigns and plans: what is refused, what is chosen, in which order, for how long."""
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

import support  # noqa: F401  (sets the import path)
from driver.console import Problem, UsageProblem
from driver.lab import bench, campaign, cells, plan, planning, results, values
from driver.lab.campaign import Campaign, Measure
from driver.lab.cells import AGAIN
from driver.lab.planning import Choice

HEADER = 'schema = "heddle-campaign-1"\nrounds = 2\n'
NAMES = ["epoll-work-sharing-locking", "epoll-work-sharing-locking-spin",
         "epoll-work-stealing-bounded-spmc"]
LOADGEN = {"loadgen/loadgen"}


def zoo(**reference):
    common = {"binary": "b", "protocols": ["hello"], "available": True}
    missing = {"available": False, "reason": "needs golang-go"}
    axes = dict(zip(NAMES, (("epoll", "work-sharing", "locking"),
                            ("epoll", "work-sharing", "locking-spin"),
                            ("epoll", "work-stealing", "bounded-spmc"))))
    return {"queues": [{"name": "locking", "available": True}],
            "combinations": [{"name": name, "available": True, "poller": poller,
                              "scheduler": scheduler, "queue": queue}
                             for name, (poller, scheduler, queue) in axes.items()],
            "servers": [{**common, "name": f"{kind}-{name}", "combination": name}
                        for kind in ("hello", "hello-timeout", "fanout") for name in NAMES],
            "peers": [{**common, "name": "raw-epoll", "kind": "prefork", **reference},
                      {**common, "name": "libuv"}, {**common, "name": "go", **missing}]}


def make(measures, words=(), known=None, available=frozenset(LOADGEN), named=None, **changes):
    values_ = {"rounds": 2, **changes}
    chosen = Campaign("test", measures=tuple(measures), **values_)
    made = planning.make(chosen, known or zoo(), Choice(list(words), named or {}), 5,
                         set(available))
    planning.check_drivers(made)
    return made


class Reading(unittest.TestCase):
    CASES = {
        "measure = 1": "no [[measure]], which says what to measure",
        "[[measure]]\nconections = 3": "unknown key 'conections'; nearest: connections",
        "[[measure]]\nconnections = 0": "connections: 0 is not a whole number from 1 to 60000",
        "[[measure]]\nconnections = true": "True is not a whole number",
        "[[measure]]\nconnections = []": "connections: an empty list",
        "[[measure]]\ndriver = 'curl'": "driver: 'curl' is not one of auto, loadgen, wrk",
        "[[measure]]\nmode = 'think'": "mode 'think' needs think-us above 0",
        "[[measure]]\nmode = 'open'": "mode 'open' needs rate-rps above 0",
        "[[measure]]\nmode='open'\nrate-rps=1\ndriver='wrk'": "needs driver loadgen, not wrk",
        "[[measure]]\nseconds = 1\nrequests-per-connection = 1": "not both",
        "[[measure]]\nparameters = {a = []}": "a = [] is neither a value nor a list",
        "[[measure]]\ntuning = 'go'": "is not a table such as",
        "budget = 'soon'\n[[measure]]": "budget: 'soon' is not a duration",
        "target-ci = '0%'\n[[measure]]": "target-ci: '0%' is not a share",
        "[noise]\nsteal = 1\n[[measure]]": "noise: unknown key 'steal'; allowed: steal-percent",
        "name = 3\n[[measure]]": "name: 3 is not a text",
        "[[measure": "not TOML",
    }

    def test_each_mistake_is_one_line_that_says_what_is_allowed(self):
        for text, expected in self.CASES.items():
            with self.subTest(text=text), self.assertRaises(UsageProblem) as caught:
                campaign.parse(HEADER + text, "c.toml")
            self.assertIn(expected, str(caught.exception))
            self.assertTrue(str(caught.exception).startswith("c.toml: "))
            self.assertNotIn("\n", str(caught.exception))

    def test_rounds_or_a_budget_must_be_there_and_the_schema(self):
        with self.assertRaisesRegex(UsageProblem, "needs rounds, or a budget"):
            campaign.parse('schema = "heddle-campaign-1"\n[[measure]]', "c")
        with self.assertRaisesRegex(UsageProblem, "schema: must be there"):
            campaign.parse("rounds = 1\n[[measure]]", "c")

    def test_single_values_and_lists_are_axes(self):
        read = campaign.parse(HEADER + "[[measure]]\nconnections = [1, 2, 2]\nworkers = 3\n"
                              "parameters = {fibers = [1, 8], work_ns = 5}", "c.toml")
        one = read.measures[0]
        self.assertEqual((one.connections, one.workers), ((1, 2), (3,)))
        self.assertEqual(one.parameters, {"fibers": (1, 8), "work_ns": (5,)})

    def test_every_preset_is_a_campaign_of_its_own_name(self):
        names = campaign.preset_names()
        self.assertEqual(len(names), 13)
        for name in names:
            read = campaign.preset(name)
            self.assertEqual(read.name, name)
            self.assertTrue(read.title)
        for name in ("async-bench", "guile", "coring", "go-uring", "ahbench"):
            self.assertTrue(campaign.preset(name).scale)
            self.assertEqual(campaign.preset(name).budget_s, 3600)
            self.assertTrue(campaign.preset(name).published)

    def test_durations_and_shares(self):
        self.assertEqual([values.parse_duration(text) for text in ("90", "240s", "4m", "1.5h")],
                         [90, 240, 240, 5400])
        for text in ("", "x", "-1", "0", "4 m", "5d"):
            self.assertRaises(ValueError, values.parse_duration, text)
        self.assertEqual([values.parse_percent(text) for text in ("2%", "0.5")], [2, 0.5])
        for text in ("", "%", "0", "101", "-1%"):
            self.assertRaises(ValueError, values.parse_percent, text)


class Choosing(unittest.TestCase):
    def rows(self, words=(), known=None, named=None, **changes):
        made = make([Measure(**{"peers": ("",), **changes})], words, known, named=named)
        self.unavailable = {one["row"]: one["reason"] for one in made.unavailable}
        return [cell.row for cell in made.cells]

    def test_all_servers_of_the_workload_and_the_peers_with_the_reference_twice(self):
        self.assertEqual(self.rows(), [f"hello-{name}" for name in NAMES] + [
            "raw-epoll", "raw-epoll" + AGAIN, "libuv"])
        self.assertEqual(self.unavailable, {"go": "needs golang-go"})

    def test_filter_words_choose_servers_and_keep_peers_beside(self):
        self.assertEqual(self.rows(["steal", "spmc"]),
                         [f"hello-{NAMES[2]}", "raw-epoll", "raw-epoll" + AGAIN, "libuv"])
        self.assertEqual(self.rows(["uv"]), ["raw-epoll", "raw-epoll" + AGAIN, "libuv"])
        self.assertEqual(self.rows(["raw-epoll"]), ["raw-epoll", "raw-epoll" + AGAIN])
        with self.assertRaisesRegex(UsageProblem, "nearest: .*bounded-spmc"):
            self.rows(["bounded-smpc"])
        with self.assertRaisesRegex(UsageProblem, "in no name all of them"):
            self.rows(["spin", "spmc"])

    def test_a_whole_name_chooses_one_combination_and_words_choose_many(self):
        self.assertEqual(self.rows(combinations=(NAMES[0],), peers=())[:1], [f"hello-{NAMES[0]}"])
        self.assertEqual(len(self.rows(combinations=("sharing lock",), peers=())), 4)
        self.assertEqual(len(self.rows(queues=("bounded-spmc",), peers=())), 3)
        self.assertEqual(len(self.rows(combinations=(), peers=())), 2)

    def test_what_a_preset_names_and_this_tree_lacks_keeps_a_row_with_the_reason(self):
        self.rows(peers=("tokio", "libuv"), external=("libfev",),
                  combinations=("epoll-work-sharing-simple-mpmc",))
        self.assertEqual(self.unavailable, {
            "tokio": "no peer 'tokio' of this tree serves hello",
            "libfev": "not in Debian 12; --peer libfev=PATH supplies its binary",
            "hello-epoll-work-sharing-simple-mpmc": "no such combination in this build"})
        rows = self.rows(external=("libfev",), named={"libfev": Path("/bin/true")})
        self.assertIn("libfev", rows)
        self.assertNotIn("libfev", self.unavailable)

    def test_the_first_reference_that_can_run_is_taken(self):
        with self.assertRaisesRegex(Problem, "raw-epoll is unavailable: needs luck"):
            self.rows(known=zoo(available=False, reason="needs luck"))
        rows = self.rows(known=zoo(available=False, reason="needs luck"),
                         reference=("raw-epoll", "libuv"))
        self.assertIn("libuv" + AGAIN, rows)
        own = f"hello-{NAMES[0]}"
        self.assertEqual(self.rows(["spmc"], reference=(own,), peers=()),
                         [own, own + AGAIN, f"hello-{NAMES[2]}"])
        with self.assertRaisesRegex(Problem, "libvu is unavailable: no peer 'libvu'"):
            self.rows(reference=("libvu",))

    def test_tuning_and_options_are_of_our_servers_and_stand_in_the_row(self):
        made = make([Measure(combinations=(NAMES[0],), tuning=({}, {"preset": "go"}),
                             options=("--sqpoll",))])
        self.assertEqual([cell.row for cell in made.cells],
                         [f"hello-{NAMES[0]} --sqpoll", f"hello-{NAMES[0]} preset=go --sqpoll",
                          "raw-epoll", "raw-epoll" + AGAIN])
        self.assertEqual(made.cells[1].run[-3:], ("--tuning", "preset=go", "--sqpoll"))
        self.assertNotIn("--sqpoll", made.cells[2].run)

    def test_loads_are_a_product_and_each_is_a_group_with_a_reference(self):
        made = make([Measure(workload="fanout", combinations=(NAMES[0],),
                             reference=(f"fanout-{NAMES[0]}",), connections=(1, 16),
                             parameters={"fibers": (1, 8)}, workers=(1,))])
        groups = {cell.group for cell in made.cells}
        self.assertEqual(len(groups), 4)
        self.assertIn("fanout, 16 connections, 1 worker, fibers=8", groups)
        self.assertEqual([cell.reference for cell in made.cells], ["A", "A'"] * 4)

    def test_drivers_that_cannot_do_it_are_refused(self):
        for changes, why in (({"driver": "wrk", "mode": "closed", "connections": (15,)}, "take 14"),
                             ({"driver": "wrk", "requests_per_connection": 5}, "runs for a time"),
                             ({"driver": "ab"}, "cannot speak http; allowed: http-close")):
            with self.subTest(why), self.assertRaisesRegex(UsageProblem, why):
                make([Measure(**changes)])
        with self.assertRaisesRegex(Problem, "loadgen is unavailable"):
            make([Measure(driver="loadgen")], available=set())

    def test_a_named_peer_must_be_a_program(self):
        self.assertRaises(UsageProblem, bench.check_named, {"libfev": Path("/absent")})
        bench.check_named({"libfev": Path("/bin/true")})

    def test_microbenchmarks_have_the_queue_or_the_fiber_as_row(self):
        made = make([Measure(workload="queues", driver="queues", reference=("fetch-add",),
                             parameters={"workload": ("pairwise",)}, workers=(1, 2))])
        self.assertEqual([(cell.row, cell.group) for cell in made.cells[:3]],
                         [("locking", "queues, 1 thread, workload=pairwise"),
                          ("fetch-add", "queues, 1 thread, workload=pairwise"),
                          ("fetch-add" + AGAIN, "queues, 1 thread, workload=pairwise")])
        with self.assertRaisesRegex(UsageProblem, "allowed: yield, spawn_join"):
            make([Measure(workload="fibers", driver="fibers", reference=("boost-fiber",),
                          parameters={"benchmark": ("jump",)})])


class Planning(unittest.TestCase):
    def plan(self, rows=2, rounds=None, **changes):
        known = zoo()
        known["peers"] += [{"name": f"p{number}", "binary": "b", "protocols": ["hello"],
                            "available": True} for number in range(rows - 2)]
        return make([Measure(combinations=(), peers=("p*",), warmup_seconds=0.1)], known=known,
                    rounds=rounds, budget_s=240.0, **changes)

    def test_seconds_and_rounds_fit_the_budget(self):
        def of(*arguments):
            block = self.plan(*arguments).blocks[0]
            return block.cells[0].parameters["duration_s"], block.expected_rounds
        self.assertEqual(of(12), (2, 8))
        self.assertEqual(of(30), (0.5, 9))
        self.assertEqual(of(90), (0.2, 5))
        self.assertEqual(of(1000), (0.2, 1))
        self.assertEqual(self.plan(28, 3).blocks[0].rounds, 3)

    def test_orders_are_random_and_the_seed_repeats_them(self):
        block = self.plan(9).blocks[0]
        orders = [plan.order_of(5, block, number) for number in (1, 2, 3)]
        self.assertEqual(orders, [plan.order_of(5, block, number) for number in (1, 2, 3)])
        for order in orders:
            self.assertEqual(sorted(cell.cell for cell in order),
                             sorted(cell.cell for cell in block.cells))
        self.assertNotEqual(orders[0], orders[1])
        self.assertNotEqual(orders[0], plan.order_of(6, block, 1))

    def test_a_plan_survives_its_file_and_falls_into_blocks(self):
        made = make([Measure(name="one", tuning=({}, {"preset": "go"})),
                     Measure(name="two", connections=(1,), rounds=7)], pin="shared")
        again = plan.from_json(plan.as_json(made), "plan.json")
        self.assertEqual(plan.as_json(again), plan.as_json(made))
        self.assertEqual(again.cells, made.cells)
        self.assertEqual([block.rounds for block in again.blocks], [2, 7])
        self.assertEqual([block.number for block in plan.only_blocks(again, [2]).blocks], [2])
        with self.assertRaisesRegex(UsageProblem, "no block 3; allowed: 1, 2"):
            plan.only_blocks(made, [3])
        for text in ("", "{}", '{"schema": "x"}', "[]"):
            self.assertRaisesRegex(UsageProblem, "is no plan of heddle", plan.from_json, text, "p")

    def test_the_same_cell_twice_is_refused(self):
        with self.assertRaisesRegex(UsageProblem, "is there twice; give the blocks different"):
            make([Measure(), Measure()])

    def test_the_expected_time_is_bounded_by_the_budget(self):
        made = self.plan(12)
        self.assertLessEqual(made.expected_s(), 240)
        self.assertEqual(replace(made, budget_s=1.0).expected_s(), 1.0)
        self.assertGreater(made.expected_bytes(), 10000)

    def test_results_never_overwrite_others(self):
        with tempfile.TemporaryDirectory() as scratch:
            place = Path(scratch)
            first, second = (results.make_directory(None, place) for _ in range(2))
            self.assertNotEqual(first, second)
            (first / "plan.json").touch()
            with self.assertRaisesRegex(UsageProblem, "not an empty directory; .*heddle resume"):
                results.make_directory(first, place)


class Groups(unittest.TestCase):
    def test_only_what_differs_or_is_unusual_is_in_a_name(self):
        load = {"connections": 2, "workers": 1, "think_us": 1000, "rate_rps": 0,
                "payload_bytes": 512, "pipeline": 4, "threads": 2, "workload": {"a": 1}}
        self.assertEqual(cells.group_of(Measure(name="m", threads=(1, 2)), load),
                         "m, 2 connections, 1 worker, think 1000 us, 512 bytes, pipeline 4, "
                         "2 threads, a=1")


if __name__ == "__main__":
    unittest.main()
