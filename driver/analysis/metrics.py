"""What a round yields, and whether more of it is better."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

RATES = ("/s", "per second", "rps")


@dataclass(frozen=True)
class Metric:
    """`better` is 1 where more is better, -1 where less is. `of` takes a record, and gives None
    where it has no such value."""

    name: str
    title: str
    unit: str
    better: int
    of: Callable[[dict], float | None]

    def value(self, record: dict) -> float | None:
        """The value of a record that can be compared: a number above zero."""
        found = self.of(record)
        usable = isinstance(found, (int, float)) and not isinstance(found, bool) and found > 0
        return found if usable else None


def _inside(part: str, name: str) -> Callable[[dict], float | None]:
    return lambda record: (record.get(part) or {}).get(name)


THROUGHPUT = Metric("throughput_rps", "requests/s", "1/s", 1,
                    lambda record: record.get("throughput_rps"))
CPU = Metric("cpu_us_per_request", "server CPU per request", "us", -1,
             _inside("server", "cpu_us_per_request"))
P50 = Metric("p50_ns", "median latency", "ns", -1, _inside("latency_ns", "p50"))
P99 = Metric("p99_ns", "p99 latency", "ns", -1, _inside("latency_ns", "p99"))
SERVER_METRICS = (THROUGHPUT, CPU, P50, P99)


def value_metric(unit: str) -> Metric:
    """The one value of a microbenchmark; more is better when it is so much a second."""
    better = 1 if unit.endswith(RATES) else -1
    return Metric("value", unit or "value", unit, better, lambda record: record.get("value"))


def is_microbenchmark(record: dict) -> bool:
    return record["kind"] in ("queue", "fiber")


def metrics_of(record: dict) -> tuple[Metric, ...]:
    """All that a record of this kind may have, what its group is judged by first: the value of a
    microbenchmark, CPU per request where the load is given, else throughput."""
    if is_microbenchmark(record):
        return (value_metric(record.get("unit") or ""),)
    if record["parameters"].get("mode") in ("open", "think"):
        return (CPU, THROUGHPUT, P50, P99)
    return SERVER_METRICS
