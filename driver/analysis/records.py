"""Results directories: what is in them, checked; several together are several hosts or blocks."""
from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from driver.console import Problem, UsageProblem

ROUND_SCHEMA = "heddle-round-2"
PLAN_SCHEMA = "heddle-plan-1"
COUNTS_SCHEMA = "heddle-counts-1"
REFERENCE, REFERENCE_AGAIN = "A", "A'"
# What every record must have, and of which type, for anything to be estimated from it.
REQUIRED = {
    "campaign": str, "cell": str, "row": str, "group": str, "reference": str, "workload": str,
    "kind": str, "parameters": dict, "host": str, "build": str, "block": int, "round": int,
    "attempt": int, "warmup": bool, "ok": bool, "failure": str, "verdict": str}


@dataclass
class Directory:
    """One results directory. Files that the runner did not write yet are empty here."""

    path: Path
    records: list[dict]
    plan: dict = field(default_factory=dict)
    environment: dict = field(default_factory=dict)
    campaign: dict = field(default_factory=dict)
    counts: list[dict] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def histogram(self, record: dict) -> dict | None:
        """The histogram that a record refers to; None without one, or when it cannot be read."""
        name = record.get("histogram")
        if not name:
            return None
        path = self.path / name
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self.warn(f"{path}: missing or damaged, left out")
            return None
        if not isinstance(found, dict) or not isinstance(found.get("buckets"), list):
            self.warn(f"{path}: holds no buckets, left out")
            return None
        return found

    def warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)


@dataclass
class Results:
    """Directories of one campaign. `records` are those of counted rounds, warm-ups left out."""

    directories: list[Directory]

    def __post_init__(self) -> None:
        self.records = [record for directory in self.directories for record in directory.records
                        if not record["warmup"]]
        for number, directory in enumerate(self.directories):
            for record in directory.records:
                record["_directory"] = number

    @property
    def campaign(self) -> str:
        for directory in self.directories:
            if directory.records:
                return directory.records[0]["campaign"]
            if directory.plan.get("campaign"):
                return directory.plan["campaign"]
        return "unnamed"

    @property
    def seed(self) -> int:
        """Of the plan, so that the same data always give the same intervals."""
        seeds = [directory.plan.get("seed") for directory in self.directories]
        return next((seed for seed in seeds if isinstance(seed, int)), 0)

    @property
    def hosts(self) -> list[str]:
        return sorted({record["host"] for record in self.records})

    @property
    def warnings(self) -> list[str]:
        return [warning for directory in self.directories for warning in directory.warnings]

    def facts(self, name: str) -> list:
        """The distinct values that the environments give `name`."""
        found = [directory.environment.get(name) for directory in self.directories]
        return [value for at, value in enumerate(found)
                if value is not None and value not in found[:at]]

    @property
    def is_split(self) -> bool:
        """Whether servers and generators had cores of their own in every directory."""
        return all(pin_of(directory) == "split" for directory in self.directories)

    def histogram(self, record: dict) -> dict | None:
        return self.directories[record["_directory"]].histogram(record)

    def cells(self) -> list[dict]:
        """The planned cells, each once, in the order of the plan; without a plan, as recorded."""
        found: dict[str, dict] = {}
        for directory in self.directories:
            for cell in [*directory.plan.get("cells", []), *directory.records]:
                found.setdefault(cell["cell"], cell)
        return list(found.values())


def pin_of(directory: Directory) -> str:
    """`split`, `shared` or `none`: how processors were given out."""
    for source in (directory.plan, directory.environment, directory.campaign):
        if isinstance(source.get("pin"), str):
            return source["pin"]
    return "none"


def _lines(path: Path, schema: str, warnings: list[str]) -> list[dict]:
    """The objects of a JSON-lines file. A torn last line, as after a power cut, is left out with a
    warning; anything else that is no record of the schema is a Problem."""
    found = []
    content = path.read_bytes().split(b"\n")
    for number, line in enumerate(content, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line, parse_constant=_refuse_constant)
        except ValueError:
            if number == len(content):
                warnings.append(f"{path}: the last line is torn and left out")
                continue
            raise Problem(f"{path}:{number}: not a JSON object on one line") from None
        if not isinstance(record, dict):
            raise Problem(f"{path}:{number}: not a JSON object on one line")
        if record.get("schema") != schema:
            raise Problem(f"{path}:{number}: schema is {record.get('schema')!r}; only {schema} can "
                          "be read")
        found.append(record)
    return found


def _refuse_constant(name: str) -> float:
    raise ValueError(name)


def _check(path: Path, number: int, record: dict) -> None:
    for key, kind in REQUIRED.items():
        if not isinstance(record.get(key), kind):
            raise Problem(f"{path}: record {number}: {key} must be a {kind.__name__}, "
                          f"not {record.get(key)!r}")
    if record["reference"] not in ("", REFERENCE, REFERENCE_AGAIN):
        raise Problem(f"{path}: record {number}: reference must be empty, A or A', "
                      f"not {record['reference']!r}")


def _object(path: Path) -> dict:
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise Problem(f"{path}: not JSON") from None
    if not isinstance(found, dict):
        raise Problem(f"{path}: not a JSON object")
    return found


def _campaign(path: Path) -> dict:
    if not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Problem(f"{path}: not TOML: {error}") from None


def load(directory: Path) -> Directory:
    """One results directory; UsageProblem when it is none, Problem when its data are damaged."""
    path = directory / "rounds.jsonl"
    if not path.is_file():
        raise UsageProblem(f"{directory} is no results directory: it has no rounds.jsonl")
    warnings: list[str] = []
    records = []
    seen = set()
    for number, record in enumerate(_lines(path, ROUND_SCHEMA, warnings), 1):
        _check(path, number, record)
        key = tuple(record[name] for name in ("host", "build", "block", "round", "cell", "attempt",
                                              "warmup"))
        if key in seen:
            warnings.append(f"{path}: record {number} repeats {record['cell']} of round "
                            f"{record['round']}, left out")
            continue
        seen.add(key)
        records.append(record)
    plan = _object(directory / "plan.json")
    if plan and plan.get("schema") != PLAN_SCHEMA:
        raise Problem(f"{directory / 'plan.json'}: schema is {plan.get('schema')!r}; only "
                      f"{PLAN_SCHEMA} can be read")
    counts = directory / "counts.jsonl"
    return Directory(directory, records, plan, _object(directory / "environment.json"),
                     _campaign(directory / "campaign.toml"),
                     _lines(counts, COUNTS_SCHEMA, warnings) if counts.is_file() else [], warnings)


def load_all(paths: list[Path]) -> Results:
    """Directories of one campaign, one for each host or block; Problem when they are of several."""
    if not paths:
        raise UsageProblem("say which results directories")
    results = Results([load(path) for path in paths])
    by_campaign: dict[str, Path] = {}
    for directory in results.directories:
        for record in directory.records:
            by_campaign.setdefault(record["campaign"], directory.path)
    if len(by_campaign) > 1:
        (one, where), (other, there) = list(by_campaign.items())[:2]
        raise Problem(f"{where} holds campaign '{one}' and {there} '{other}': give directories of "
                      "one campaign")
    if not results.records:
        raise Problem(f"{paths[0] / 'rounds.jsonl'} holds no counted round yet")
    return results
