"""`./heddle status DIR`: progress, expected end, noise and failures of a run, from its files."""
from __future__ import annotations

import statistics
import time
from pathlib import Path

from driver.console import clock_time
from driver.lab import journal, plan, values
from driver.lab.progress import Progress
from driver.lab.runner import Result


def lines_of(directory: Path) -> list[str]:
    """What there is to say; UsageProblem when the directory holds no results."""
    made = plan.read(directory)
    records, _ = journal.read(directory / journal.NAME)
    progress = Progress(made, records)
    lines = [f"{made.campaign}: {len(records)} measurements, "
             f"{values.span(progress.elapsed_s)} of measuring; seed {made.seed}"]
    for block in made.blocks:
        done = progress.rounds_done(block)
        total = block.total_rounds
        about = "" if block.rounds else "about "
        lines.append(f"  {block.name}: {done} of {about}{total} rounds, {len(block.cells)} cells"
                     + (f", {block.warmup_rounds} of them warm-up" if block.warmup_rounds else ""))
    lines.append(_state(directory, progress))
    result = Result(records)
    if result.failed_cells:
        reasons = dict.fromkeys(f"{record['row']}: {record['failure']}" for record in records
                                if not record["ok"])
        lines.append(f"failed: {result.failed_cells} of {result.cells} cells")
        lines += [f"  {reason}" for reason in list(reasons)[:10]]
    good = [record for record in records if record["ok"]]
    if good:
        lines.append(
            f"noise: {result.noisy_percent:.0f} % of the measurements are noisy; medians: "
            + ", ".join(f"{what} {statistics.median(one['noise'][key] for one in good):.1f} %"
                        for what, key in (("steal", "steal_percent"),
                                          ("foreign CPU", "foreign_cpu_percent"),
                                          ("CPU pressure", "cpu_pressure_percent"))))
    return lines


def _state(directory: Path, progress: Progress) -> str:
    running = journal.is_measured_into(directory)
    if progress.next_round() is None and progress.noisy_round() is None:
        return "complete" if not running else "the rounds are complete; still running"
    left_s = sum(max(0, block.total_rounds - progress.rounds_done(block)) * progress.round_s(block)
                 for block in progress.plan.blocks)
    if progress.plan.budget_s is not None:
        left_s = min(left_s, max(0.0, progress.plan.budget_s - progress.elapsed_s))
    if running:
        return f"running; ends about {clock_time(left_s)} ({values.span(left_s)} left)"
    last = progress.records[-1]["started_unix_s"] if progress.records else None
    when = f" since {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(last))}" if last else ""
    return (f"not running{when}; about {values.span(left_s)} left: ./heddle resume {directory} "
            "goes on")
