"""From records of `./heddle bench` to a comparison: per round the ratio to the reference."""
from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass, field

from driver.analysis.estimates import Estimate, estimate


@dataclass
class Summary:
    """One row of the table. Ratios are to the reference of the same round, below 1 is less."""

    row: str
    kind: str = ""
    cpu_ratio: Estimate | None = None
    throughput_ratio: Estimate | None = None
    cpu_us_per_request: float | None = None
    throughput_rps: float | None = None
    socket_errors: int = 0
    cells: int = 0
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    cpu_ratios: list[float] = field(default_factory=list)

    def errors_text(self) -> str:
        """What went wrong in this row, each thing once; empty when nothing did."""
        parts = []
        if self.failures:
            parts.append(f"{len(self.failures)} of {self.cells} cells failed: {self.failures[0]}")
        if self.socket_errors:
            parts.append(f"{self.socket_errors} socket errors")
        return "; ".join(parts + list(dict.fromkeys(self.notes)))


def summarize(records: list[dict], reference: str, seed: int = 0) -> list[Summary]:
    """A summary for each row that has a record, cheapest first; rows without a ratio come last."""
    by_row: dict[str, list[dict]] = defaultdict(list)
    base: dict[int, dict] = {}
    for record in records:
        by_row[record["row"]].append(record)
        if record["row"] == reference and record["ok"]:
            base[record["round"]] = record
    summaries = []
    for row, cells in by_row.items():
        good = [cell for cell in cells if cell["ok"]]
        paired = [(cell, base[cell["round"]]) for cell in good if cell["round"] in base]

        def ratios(key: str) -> list[float]:
            return [cell[key] / other[key] for cell, other in paired]

        def median(key: str) -> float | None:
            return statistics.median(cell[key] for cell in good) if good else None

        cpu = ratios("server_cpu_us_per_request")
        summaries.append(Summary(
            row, cells[0].get("kind", ""),
            estimate(cpu, seed), estimate(ratios("throughput_rps"), seed),
            median("server_cpu_us_per_request"), median("throughput_rps"),
            sum(cell.get(f"{kind}_errors", 0) for cell in cells
                for kind in ("connect", "read", "write", "timeout")),
            len(cells), [cell["failure"] for cell in cells if not cell["ok"]],
            [cell["note"] for cell in cells if cell.get("note")], cpu))
    return sorted(summaries, key=lambda summary: (
        (0, summary.cpu_ratio.median) if summary.cpu_ratio else (1, 0.0), summary.row))
