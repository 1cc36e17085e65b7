"""A campaign: what is measured, from TOML and checked. docs/campaigns.md describes the keys."""
from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from driver.console import UsageProblem
from driver.lab import values

SCHEMA = "heddle-campaign-1"
PRESETS = Path(__file__).resolve().parent / "presets"
DRIVERS = ("auto", "loadgen", "wrk", "ab", "h2load", "queues", "fibers")
MICROBENCHMARKS = ("queues", "fibers")
MODES = ("closed", "think", "open")
PROTOCOLS = ("http", "http-close", "pipelined", "echo")
PINS = ("none", "shared", "split")


@dataclass(frozen=True)
class Noise:
    """Above these shares a round is noisy; so many noisy rounds of a block are repeated at the end.
    A run with a larger share of noisy measurements does not pass the quality gate."""

    steal_percent: float = 1.0
    foreign_cpu_percent: float = 5.0
    most_repeats: int = 0
    most_noisy_percent: float = 100.0


@dataclass(frozen=True)
class Measure:
    """One block of a campaign: rows times loads. Tuples of numbers are axes, swept as a product; of
    `reference` the first that can run is taken."""

    name: str = ""
    workload: str = "hello"
    servers: str = ""  # heddle's application for it, where that has another name
    driver: str = "auto"
    protocol: str = ""
    path: str = "/"
    mode: str = "closed"
    combinations: tuple[str, ...] = ("",)
    pollers: tuple[str, ...] = ()
    schedulers: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    peers: tuple[str, ...] = ()
    external: tuple[str, ...] = ()
    reference: tuple[str, ...] = ("raw-epoll",)
    connections: tuple[int, ...] = (128,)
    workers: tuple[int, ...] = (2,)
    threads: tuple[int, ...] = (2,)
    payload_bytes: tuple[int, ...] = (0,)
    pipeline: tuple[int, ...] = (1,)
    think_us: tuple[float, ...] = (0,)
    rate_rps: tuple[float, ...] = (0,)
    tuning: tuple[dict, ...] = field(default=({},))
    parameters: dict = field(default_factory=dict)
    options: tuple[str, ...] = ()
    seconds: float | None = None
    requests_per_connection: int | None = None
    warmup_seconds: float = 0.2
    expected_rps: float = 100000
    rounds: int | None = None
    warmup_rounds: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.workload)

    @property
    def is_microbenchmark(self) -> bool:
        return self.driver in MICROBENCHMARKS


@dataclass(frozen=True)
class Campaign:
    """`rounds` None: as many as fit into `budget_s`. `target_ci_percent`: stop once every row's
    interval is that narrow."""

    name: str
    title: str = ""
    scale: str = ""
    published: tuple[str, ...] = ()
    seed: int | None = None
    rounds: int | None = None
    warmup_rounds: int = 0
    budget_s: float | None = None
    target_ci_percent: float | None = None
    pin: str = "none"
    counts: bool = False
    noise: Noise = Noise()
    measures: tuple[Measure, ...] = ()
    text: str = ""

    def with_measures(self, **changes) -> Campaign:
        """Every block with these fields changed."""
        return replace(self, measures=tuple(replace(one, **changes) for one in self.measures))


def _whole(low: int, high: int) -> Callable:
    def parse(value) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"{value!r} is not a whole number from {low} to {high}")
        return value
    return parse


def _number(low: float, high: float) -> Callable:
    def parse(value) -> float:
        if (isinstance(value, bool) or not isinstance(value, (int, float))
                or not low <= value <= high):
            raise ValueError(f"{value!r} is not a number from {low:g} to {high:g}")
        return value
    return parse


def _word(*allowed: str) -> Callable:
    def parse(value) -> str:
        if not isinstance(value, str):
            raise ValueError(f"{value!r} is not a text")
        if allowed and value not in allowed:
            raise ValueError(f"'{value}' is not one of {', '.join(allowed)}")
        return value
    return parse


def _axis(parse: Callable) -> Callable:
    def parse_all(value) -> tuple:
        listed = value if isinstance(value, list) else [value]
        if not listed:
            raise ValueError("an empty list; leave the key out")
        return tuple(dict.fromkeys(parse(one) for one in listed))
    return parse_all


def _words(value) -> tuple[str, ...]:
    """Unlike an axis it may be empty: none of these."""
    return tuple(dict.fromkeys(map(_word(), value if isinstance(value, list) else [value])))


def _assignments(value) -> tuple[dict, ...]:
    """A table of NAME = VALUE, or several of them."""
    listed = value if isinstance(value, list) else [value]
    for one in listed:
        if not isinstance(one, dict) or not all(
                isinstance(each, (int, str)) for each in one.values()):
            raise ValueError(f"{one!r} is not a table such as {{preset = \"go\"}}")
    return tuple(listed) or ({},)


def _parameters(value) -> dict:
    """NAME = VALUE or NAME = [VALUE, ...]; every list is an axis."""
    if not isinstance(value, dict):
        raise ValueError(f"{value!r} is not a table such as {{fibers = [1, 8]}}")
    found = {}
    for name, one in value.items():
        listed = one if isinstance(one, list) else [one]
        if not listed or not all(isinstance(each, (int, float, str)) for each in listed):
            raise ValueError(f"{name} = {one!r} is neither a value nor a list of values")
        found[name] = tuple(dict.fromkeys(listed))
    return found


def _truth(value) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")
    return value


def _text_of(parse: Callable) -> Callable:
    return lambda value: parse(str(value))


_ROUNDS = _whole(1, 10000)
_MEASURE = {
    "name": _word(), "workload": _word(), "servers": _word(), "driver": _word(*DRIVERS),
    "protocol": _word(*PROTOCOLS), "path": _word(), "mode": _word(*MODES),
    "combinations": _words, "pollers": _words, "schedulers": _words, "queues": _words,
    "peers": _words, "external": _words, "reference": _axis(_word()), "options": _words,
    "connections": _axis(_whole(1, 60000)), "workers": _axis(_whole(1, 1024)),
    "threads": _axis(_whole(1, 1024)), "payload-bytes": _axis(_whole(0, 2**24)),
    "pipeline": _axis(_whole(1, 1024)), "think-us": _axis(_number(0, 1e9)),
    "rate-rps": _axis(_number(0, 1e9)), "tuning": _assignments, "parameters": _parameters,
    "seconds": _number(0.001, 3600), "requests-per-connection": _whole(1, 10**9),
    "warmup-seconds": _number(0, 600), "expected-rps": _number(1, 1e9),
    "rounds": _ROUNDS, "warmup-rounds": _whole(0, 1000),
}
_NOISE = {"steal-percent": _number(0, 100), "foreign-cpu-percent": _number(0, 100),
          "most-repeats": _whole(0, 1000), "most-noisy-percent": _number(0, 100)}
_CAMPAIGN = {
    "schema": _word(SCHEMA), "name": _word(), "title": _word(), "scale": _word(),
    "published": _words, "seed": _whole(0, 2**63 - 1), "rounds": _ROUNDS,
    "warmup-rounds": _whole(0, 1000), "budget": _text_of(values.parse_duration),
    "target-ci": _text_of(values.parse_percent), "pin": _word(*PINS), "counts": _truth,
}
_FIELDS = {"budget": "budget_s", "target-ci": "target_ci_percent"}


def _table(where: str, table: dict, keys: dict[str, Callable]) -> dict:
    """The checked values under their fields' names; UsageProblem for the first bad one."""
    found = {}
    for key, value in table.items():
        if key not in keys:
            near = difflib.get_close_matches(key, keys, n=1)
            hint = f"nearest: {near[0]}" if near else f"allowed: {', '.join(keys)}"
            raise UsageProblem(f"{where}: unknown key '{key}'; {hint}")
        try:
            found[_FIELDS.get(key, key.replace("-", "_"))] = keys[key](value)
        except ValueError as error:
            raise UsageProblem(f"{where}: {key}: {error}") from None
    return found


def _check(where: str, measure: Measure) -> None:
    if measure.seconds and measure.requests_per_connection:
        raise UsageProblem(f"{where}: give seconds or requests-per-connection, not both")
    if measure.mode == "think" and not all(measure.think_us):
        raise UsageProblem(f"{where}: mode 'think' needs think-us above 0")
    if measure.mode == "open" and not all(measure.rate_rps):
        raise UsageProblem(f"{where}: mode 'open' needs rate-rps above 0")
    if measure.mode != "closed" and measure.driver not in ("auto", "loadgen"):
        raise UsageProblem(f"{where}: mode '{measure.mode}' needs driver loadgen, "
                           f"not {measure.driver}")


def parse(text: str, where: str) -> Campaign:
    """The campaign in `text`; UsageProblem that starts with `where` and says what is allowed."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageProblem(f"{where}: not TOML: {error}") from None
    blocks = content.pop("measure", None)
    if not isinstance(blocks, list) or not blocks or not all(isinstance(b, dict) for b in blocks):
        raise UsageProblem(f"{where}: no [[measure]], which says what to measure")
    noise = content.pop("noise", {})
    if not isinstance(noise, dict):
        raise UsageProblem(f"{where}: noise: must be a table")
    if "schema" not in content:
        raise UsageProblem(f"{where}: schema: must be there and say \"{SCHEMA}\"")
    given = _table(where, content, _CAMPAIGN)
    del given["schema"]
    measures = []
    for number, block in enumerate(blocks, 1):
        place = f"{where}: measure {number}"
        measure = Measure(**_table(place, block, _MEASURE))
        _check(place, measure)
        measures.append(measure)
    given.setdefault("name", Path(where).stem)
    if given.get("rounds") is None and given.get("budget_s") is None:
        if any(measure.rounds is None for measure in measures):
            raise UsageProblem(f"{where}: needs rounds, or a budget such as \"30m\"")
    return Campaign(**given, noise=Noise(**_table(f"{where}: noise", noise, _NOISE)),
                    measures=tuple(measures), text=text)


def preset_names() -> list[str]:
    """The presets that ship with heddle, by name."""
    return sorted(path.stem for path in PRESETS.glob("*.toml"))


def preset(name: str) -> Campaign:
    """A shipped campaign; UsageProblem with the nearest names for one that does not exist."""
    names = preset_names()
    if name not in names:
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.4)
        hint = f"nearest: {', '.join(near)}" if near else f"allowed: {', '.join(names)}"
        raise UsageProblem(f"unknown preset '{name}'; {hint}")
    path = PRESETS / f"{name}.toml"
    return parse(path.read_text(encoding="utf-8"), path.stem)


def load(path: Path) -> Campaign:
    """The campaign in a file; UsageProblem when it cannot be read or is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise UsageProblem(f"campaign {path}: {reason}") from None
    return parse(text, str(path))

