"""What the workloads do before they answer. Each check takes a program."""
import contextlib
import time
from concurrent.futures import ThreadPoolExecutor

from peer_server import REQUEST, RESPONSE, ask, receive, serving
from refusals import assert_refused

# A value that is accepted, one that is not, and what the refusal says is allowed.
PARAMETERS = {
    "fanout": [("fibers", "10000", "0", "1 to 10000"), ("work_ns", "10", "x", "0 to")],
    "pipeline": [("hops", "64", "65", "1 to 64")],
    "imbalance": [("short_us", "0", "-1", "0 to"), ("long_us", "5", "1e3", "0 to"),
                  ("long_percent", "100", "101", "0 to 100")],
    "contended": [("mode", "condition", "lock", "mutex or condition"),
                  ("hold_ns", "0", "", "0 to")],
    "sleepers": [("sleep_us", "10", "1.5", "0 to"), ("idle", "0", "none", "0 to")],
}


# Little work, so that requests meet in the scheduler.
FAST = {"fanout": ["fibers=4"], "pipeline": [], "imbalance": ["long_percent=0"], "contended": [],
        "sleepers": ["sleep_us=0", "idle=100"]}


def takes_its_parameters(program):
    rows = PARAMETERS[program.protocol]
    given = [f"{name}={value}" for name, value, _, _ in rows]
    with serving(program, parameters=given) as server, server.connect() as client:
        for _ in range(3):
            ask(client)


def refuses_other_parameters(program):
    start = ["127.0.0.1", "0", "1"]
    rows = PARAMETERS[program.protocol]
    for name, _, value, allowed in rows:
        assert_refused(program, [*start, f"{name}={value}"], 2, [name, allowed, "NAME=VALUE"])
    for word in ("nonsense=1", rows[0][0], "=1"):
        assert_refused(program, [*start, word], 2, [f'"{word}"', rows[0][0], rows[0][3]])


def elapsed_s(program, parameters, connections=1, requests=1, workers=2):
    """How long `connections` take for `requests` each, one after the other on each."""
    def client_of(server):
        client = stack.enter_context(server.connect())
        ask(client)  # it is accepted before the time counts
        return client

    def talk(client):
        for _ in range(requests):
            client.sendall(REQUEST)
            assert receive(client) == RESPONSE

    with serving(program, workers, parameters) as server, contextlib.ExitStack() as stack, \
            ThreadPoolExecutor(max_workers=connections) as pool:
        clients = [client_of(server) for _ in range(connections)]
        started_s = time.monotonic()
        for done in [pool.submit(talk, client) for client in clients]:
            done.result()
        return time.monotonic() - started_s


def assert_at_least(spent_s, least_s):
    assert spent_s >= least_s, f"took {spent_s:.4f} s, but the work alone takes {least_s} s"


def serves_many_over_and_over(program):
    elapsed_s(program, FAST[program.protocol], connections=64, requests=100)


def fanout_works_in_every_task(program):
    assert_at_least(elapsed_s(program, ["fibers=50", "work_ns=1000000"], workers=1), 0.05)


def pipeline_serves_every_lane(program):
    for workers, hops in ((1, 1), (2, 4), (3, 64)):
        elapsed_s(program, [f"hops={hops}"], connections=20, requests=20, workers=workers)


def imbalance_spins_as_long_as_asked(program):
    assert_at_least(elapsed_s(program, ["long_us=20000", "long_percent=100"], requests=3), 0.06)
    assert_at_least(elapsed_s(program, ["short_us=20000", "long_percent=0"], requests=3), 0.06)


def contended_excludes(program):
    for mode in ("mutex", "condition"):
        spent_s = elapsed_s(program, [f"mode={mode}", "hold_ns=5000000"], 10, 2, workers=3)
        assert_at_least(spent_s, 10 * 2 * 0.005)


def sleepers_sleep_at_once(program):
    spent_s = elapsed_s(program, ["sleep_us=300000"], connections=20, workers=1)
    assert_at_least(spent_s, 0.3)
    assert spent_s < 20 * 0.3, f"twenty took {spent_s:.2f} s: they slept in turn"


ON_PROGRAM = {
    "fanout": [("spins in each of its tasks", fanout_works_in_every_task)],
    "pipeline": [("serves connections of every lane", pipeline_serves_every_lane)],
    "imbalance": [("spins as long as it is told to", imbalance_spins_as_long_as_asked)],
    "contended": [("lets one request at a time hold what all want", contended_excludes)],
    "sleepers": [("sleeps without holding up others", sleepers_sleep_at_once)],
}
for checks in ON_PROGRAM.values():
    checks += [("takes its parameters", takes_its_parameters),
               ("serves 64 connections over and over", serves_many_over_and_over),
               ("refuses other parameters in one line, status 2", refuses_other_parameters)]
