"""Rows of the microbenchmarks: queues alone, and fibers of each combination beside Boost.Fiber."""
from __future__ import annotations

from dataclasses import replace

from driver import queue_cells, zoo
from driver.lab.campaign import Measure
from driver.lab.cells import Expansion, Row, make_cells, reference_among

SWITCHES = "benchmarks/benchmark-switches"
BOOST = "boost-fiber"


def rows(known: dict, measure: Measure) -> list[Row]:
    """All programs that the block chooses; the reference is among them."""
    if measure.driver == "queues":
        found = [Row(entry["name"], "queue", queue=entry["name"],
                     binary=queue_cells.PROGRAM.format(entry["name"]),
                     reason="" if entry["available"] else entry.get("reason", "unavailable"))
                 for entry in known["queues"]
                 if any(zoo.matches(entry["name"], words.split())
                        for words in measure.queues or ("",))]
        present = {row.name for row in found}
        return found + [Row(name, "queue", queue=name, binary=queue_cells.PROGRAM.format(name))
                        for name in measure.reference if name not in present]
    found = [Row(entry["name"], "fiber", binary=SWITCHES, poller=entry.get("poller"),
                 scheduler=entry.get("scheduler"), queue=entry.get("queue"),
                 reason="" if entry["available"] else entry.get("reason", "unavailable"))
             for entry in known["combinations"]
             if (entry["available"] or entry["name"] in measure.combinations)
             and any(zoo.matches(entry["name"], words.split()) for words in measure.combinations)]
    return [*found, Row(BOOST, "fiber", binary=SWITCHES)]


def expand(known: dict, measure: Measure, block: int, words: list[str]
           ) -> tuple[Expansion, list[str]]:
    """The cells of one block that match, and all names that words could have meant."""
    found = rows(known, measure)
    reference = reference_among(found, measure).name
    kept = [row for row in found if zoo.matches(row.name, words)]
    if kept:
        kept = [row for row in found if row in kept or row.name == reference]
    expansion = make_cells(measure, block, kept, measure.driver, reference)
    expansion.cells = [replace(cell, parameters={**cell.parameters, "connections": 0})
                       for cell in expansion.cells]
    return expansion, [row.name for row in found]
