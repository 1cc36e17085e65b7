"""The end of `./heddle bench queues`: a table a cell on the terminal, and one HTML page."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from html import escape

from driver import report
from driver.analysis.estimates import Estimate
from driver.environment import SHARED_CORES
from driver.queue_estimates import QUANTILES, CellSummary, QueueSummary
from driver.queue_figures import latency_plot, throughput_plot

COLUMNS = ("queue", "rank", "ratio", "Mops/s", *(f"{name} ns" for name in (*QUANTILES, "max")),
           "failed CAS/op", "fairness", "remarks")


def figure(value: float) -> str:
    """Three digits: what the intervals allow, at the most."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _with_interval(value: Estimate | None) -> str:
    if value is None:
        return "-"
    return f"{figure(value.median)} [{figure(value.low)}, {figure(value.high)}]"


def _plain(value: Estimate | None) -> str:
    return "-" if value is None else figure(value.median)


def remarks(queue: QueueSummary) -> str:
    """What else was seen of a queue in a cell, as far as there is something to say."""
    parts = []
    if queue.failures:
        parts.append(f"{len(queue.failures)} of {queue.runs} runs failed: {queue.failures[0]}")
    if queue.steals:
        parts.append(f"{figure(queue.steals[0])} % stolen, "
                     f"{figure(100 * queue.steals[1])} % of attempts")
    if queue.false_empties:
        parts.append(f"{figure(1e6 * queue.false_empties)} false empties per million")
    if queue.contended_locks:
        parts.append(f"{figure(queue.contended_locks)} contended locks/op")
    return "; ".join(parts)


def cells(queue: QueueSummary, shown: Callable[[Estimate | None], str]) -> list[str]:
    """One line of a table, in the order of COLUMNS; `shown` prints latencies."""
    return [queue.queue, str(queue.rank) if queue.rank else "-", _with_interval(queue.ratio),
            _with_interval(queue.mops_per_second),
            *(shown(queue.latency_ns.get(name)) for name in (*QUANTILES, "max")),
            "-" if queue.failed_exchanges is None else figure(queue.failed_exchanges),
            "-" if queue.fairness is None else f"{queue.fairness:.2f}", remarks(queue)]


def noise_line(cell: CellSummary) -> str:
    """What the reference shows against itself in this cell."""
    if cell.again is None:
        return "A/A': not measured, so differences cannot be told from noise"
    return f"A/A' ({cell.reference} against itself): {_with_interval(cell.again)}"


def text(summaries: list[CellSummary]) -> str:
    """Every cell as a block: its name, its table, its noise; then what each queue needs."""
    blocks = []
    for cell in summaries:
        table = report.aligned(COLUMNS, [cells(queue, _plain) for queue in cell.queues])
        blocks.append(f"{cell.cell.label} (ratio to {cell.reference}; times of one "
                      f"{cell.latency_name})\n{table}\n{noise_line(cell)}\n")
    memory = memory_rows(summaries)
    if memory:
        blocks.append(f"memory\n{report.aligned(MEMORY_COLUMNS, memory)}\n")
    return "\n".join(blocks)


MEMORY_COLUMNS = ("queue", "bytes/element", "peak KiB above start, largest", "in")


def memory_rows(summaries: list[CellSummary]) -> list[list[str]]:
    """For each queue what an element costs, and the cell in which the process grew most."""
    per_element: dict[str, float] = {}
    peak: dict[str, tuple[float, str]] = {}
    for cell in summaries:
        for queue in cell.queues:
            if queue.bytes_per_element is not None:
                per_element[queue.queue] = queue.bytes_per_element
            if queue.peak_kib is not None:
                peak[queue.queue] = max(peak.get(queue.queue, (0.0, "")),
                                        (queue.peak_kib, cell.cell.label))
    return [[queue, figure(per_element[queue]), f"{peak[queue][0]:.0f}" if queue in peak else "-",
             peak[queue][1] if queue in peak else ""] for queue in sorted(per_element)]


def notes(rounds: int, duration_ms: int) -> list[str]:
    """What the numbers mean; printed below the tables and in the page."""
    brackets = report.interval_note(rounds).replace("of the median ", "")
    return [
        f"{brackets}; one process of {duration_ms} ms each; intervals are not corrected for the "
        "number of cells",
        "ratio: operations a second by those of the reference in the same round, Hodges-Lehmann "
        "estimate of the logarithms",
        "rank: that of the fastest queue from which the paired ratio does not differ beyond its "
        "interval and the A/A' band",
        "times: one operation in 256, at random distances, one round trip in 16; the timer's own "
        "cost is subtracted; quantiles with fewer than ten samples beyond are left out",
        "failed CAS/op and bytes/element come from untimed runs on a counting platform",
    ]


def limitations(cores: int, few: int) -> list[str]:
    """What this comparison cannot show; printed last and boxed in the page."""
    lines = ["a closed loop of operations on one queue: no fibers, no sockets, nothing else in "
             "the caches"]
    if cores <= few:
        lines.insert(0, SHARED_CORES)
    return lines


def page(title: str, summaries: list[CellSummary], facts: dict, notes_: list[str],
         limits: list[str]) -> str:
    """The whole page: for each series a figure of throughput, for each cell its latencies."""
    by_series: dict[str, list[CellSummary]] = defaultdict(list)
    for cell in summaries:
        by_series[cell.cell.series].append(cell)
    parts = ["".join(f"<p>{escape(note)}.</p>" for note in notes_)]
    for series, group in by_series.items():
        parts.append(f"<h2>{escape(series)}</h2>")
        parts.append(f'<div class="wide">{throughput_plot(group)}</div>')
        for cell in group:
            table = report.html_table(COLUMNS, [cells(queue, _with_interval)
                                                for queue in cell.queues])
            parts.append(f"<h3>{escape(cell.cell.label)}</h3>"
                         f'<div class="wide">{latency_plot(cell)}</div>{table}'
                         f"<p>Ratio to {escape(cell.reference)}. {escape(noise_line(cell))}; "
                         f"{cell.rounds} rounds.</p>")
    parts.append(f"<h2>Memory</h2>{report.html_table(MEMORY_COLUMNS, memory_rows(summaries))}")
    return report.document(title, "\n".join(parts), limits, facts)
