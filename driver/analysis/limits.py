"""What a comparison cannot show, and what its figures mean; printed always."""
from __future__ import annotations

from driver.analysis.comparison import Comparison
from driver.analysis.estimates import FEWEST_ROUNDS_FOR_95
from driver.analysis.records import Results
from driver.environment import FEW_CORES, SHARED_CORES


def hardware_counters(results: Results) -> str:
    """What the environments say of cycles and cache misses."""
    states = results.facts("hardware_counters")
    if not states:
        return "N/A: not looked for"
    return "; ".join("available here, but not read" if state == "available" else str(state)
                     for state in states)


def shares_cores(results: Results) -> bool:
    """Whether servers and generators ran on the same few cores somewhere."""
    cores = [count for count in results.facts("cores_usable") if isinstance(count, int)]
    return not results.is_split and (not cores or min(cores) <= FEW_CORES)


def limitations(comparison: Comparison) -> list[str]:
    """Whole sentences without a full stop, the gravest first."""
    results = comparison.results
    lines = []
    if shares_cores(results):
        lines.append(f"{SHARED_CORES}; ratios within a round lead, absolute throughput is this "
                     "machine's and no more")
    elif not results.is_split:
        lines.append("servers and generator were not pinned apart: ratios within a round lead")
    servers = any(group.metric.name != "value" for group in comparison.groups)
    if servers:
        lines.append("server and load generator run on the same host over loopback: no network")
    if len(results.hosts) == 1:
        lines.append(f"one host ({results.hosts[0]}): nothing is known of other machines")
    rounds = [group.rounds for group in comparison.groups]
    if min(rounds) < FEWEST_ROUNDS_FOR_95:
        lines.append(f"only {min(rounds)} round(s) in some groups: brackets are ranges there, and "
                     f"nothing is decided with fewer than {FEWEST_ROUNDS_FOR_95}")
    if not all(group.again for group in comparison.groups):
        lines.append("a group without A/A' cannot tell differences from noise")
    closed = [group for group in comparison.groups
              if group.parameters.get("mode") == "closed" and group.metric.name != "value"]
    if closed:
        lines.append("closed loop: a stalled server stops its own load, so its latencies are too "
                     "good (coordinated omission); open loop shows them")
    lines.append(f"hardware counters: {hardware_counters(results)}")
    return lines + [f"damaged data: {warning}" for warning in results.warnings]


def bracket_note(rounds: int) -> str:
    """What the brackets mean for this many rounds."""
    if rounds < FEWEST_ROUNDS_FOR_95:
        return f"brackets: range over {rounds} round(s), which covers less than 95 %"
    return f"brackets: 95 % bootstrap interval over {rounds} whole rounds, hosts and builds outside"


VERDICT_NOTE = (
    "faster or slower: p below 0.05 after Holm over all cells, the interval excludes 1, and the "
    "ratio lies outside the A/A' band; indistinguishable: inside it; inconclusive: neither")
