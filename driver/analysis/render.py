"""The end of a run on a terminal: every group as a table, with its noise and its limits."""
from __future__ import annotations

from pathlib import Path

from driver.analysis import limits, summary_tables, tables
from driver.analysis.comparison import Comparison, compare
from driver.analysis.records import load_all


def render(comparison: Comparison) -> str:
    """Every group, then what the figures mean, then what they cannot show."""
    results = comparison.results
    blocks = []
    for group in comparison.groups:
        blocks.append(f"{group.name}: ratios to {group.reference} in the same round; verdict and "
                      f"rank by {group.metric.title}\n"
                      f"{tables.text(summary_tables.group_table(comparison, group))}\n"
                      f"{summary_tables.noise_line(group)}\n")
    rounds = [group.rounds for group in comparison.groups]
    notes = [limits.bracket_note(min(rounds)), limits.VERDICT_NOTE]
    failed = sum(not record["ok"] for record in results.records)
    if failed:
        notes.append(f"{failed} of {len(results.records)} attempts failed; rounds.jsonl has the "
                     "reasons")
    unavailable = {entry["row"]: entry["reason"] for directory in results.directories
                   for entry in directory.plan.get("unavailable", [])}
    notes += [f"unavailable: {row}: {reason}" for row, reason in unavailable.items()]
    return "\n".join([*blocks, *notes, "limitations:",
                      *(f"  - {line}" for line in limits.limitations(comparison))])


def terminal(*directories: Path) -> str:
    """The text for the results in these directories, which are of one campaign; Problem when they
    cannot be read or hold no counted round."""
    return render(compare(load_all(list(directories))))
