"""The zoo as meson wrote it (`build/zoo.json`): reading, filtering, the table of `list`."""
from __future__ import annotations

import difflib
import fnmatch
import json
import os
from pathlib import Path

from driver.console import Problem, UsageProblem

KINDS = ("queues", "schedulers", "pollers", "combinations", "servers", "peers", "presets")


def load(path: Path) -> dict:
    """The object of HARNESS.md: every kind present, every entry with `name` and `available`."""
    try:
        zoo = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Problem(f"{path} is missing: meson.build must write it at configure time") from None
    except json.JSONDecodeError as error:
        raise Problem(f"{path} is not JSON: {error}") from None
    for kind in KINDS:
        for entry in zoo.setdefault(kind, []):
            entry.setdefault("available", True)
    return zoo


def matches(name: str, words: list[str]) -> bool:
    """Every word is a substring of the name, or a shell pattern for the whole of it."""
    return all(fnmatch.fnmatchcase(name, word) if any(c in word for c in "*?[") else word in name
               for word in words)


def nearest(words: list[str], names: list[str]) -> list[str]:
    """Up to five names, or dash-separated parts of names, that the failing words may have meant."""
    known = set(names)
    for name in names:
        parts = name.split("-")
        for first in range(len(parts)):
            known.update("-".join(parts[first:end]) for end in range(first + 1, len(parts) + 1))
    found: list[str] = []
    for word in words:
        if not any(matches(name, [word]) for name in names):
            found += difflib.get_close_matches(word, sorted(known), n=5, cutoff=0.6)
    return list(dict.fromkeys(found))[:5]


def nothing_matches(words: list[str], names: list[str]) -> UsageProblem:
    """The one line for a FILTER that selects nothing."""
    near = nearest(words, names)
    if near:
        hint = f"nearest: {', '.join(near)}"
    elif all(any(matches(name, [word]) for name in names) for word in words):
        hint = "each word occurs, but in no name all of them"
    else:
        hint = "./heddle list shows all names"
    return UsageProblem(f"nothing matches '{' '.join(words)}'; {hint}")


def select(entries: list[dict], words: list[str]) -> list[dict]:
    """The entries whose name matches; order kept."""
    return [entry for entry in entries if matches(entry["name"], words)]


def filtered(zoo: dict, words: list[str]) -> dict:
    """The same object with only the matching entries; UsageProblem when there are none at all."""
    if not words:
        return zoo
    result = {key: select(value, words) if key in KINDS else value for key, value in zoo.items()}
    if not any(result[kind] for kind in KINDS):
        raise nothing_matches(words, [entry["name"] for kind in KINDS for entry in zoo[kind]])
    return result


def state(entry: dict) -> str:
    """Empty for what can be used, else the reason why not."""
    return "" if entry["available"] else f"unavailable: {entry.get('reason', 'no reason given')}"


def _rows(entries: list[dict]) -> list[tuple[str, str]]:
    """Name and note of each line. Servers that are one program with another word share a line."""
    shared: dict[tuple, list[str]] = {}
    for number, entry in enumerate(entries):
        note = ", ".join(part for part in (entry.get("kind", ""), state(entry)) if part)
        is_word = entry["name"] != os.path.basename(entry.get("binary", entry["name"]))
        group = (entry["protocol"], note) if is_word and "protocol" in entry else (number, note)
        shared.setdefault(group, []).append(entry["name"])
    rows = []
    for (_, note), names in shared.items():
        if len(names) > 1:
            count = f"{len(names)} combinations"
            rows.append((os.path.commonprefix(names) + "*", f"{count}, {note}" if note else count))
        else:
            rows.append((names[0], note))
    return rows


def table(zoo: dict) -> str:
    """One block per kind; what is unavailable says why."""
    width = max((len(entry["name"]) for kind in KINDS for entry in zoo[kind]), default=0)
    blocks = []
    for kind in KINDS:
        entries = zoo[kind]
        if not entries:
            continue
        usable = sum(1 for entry in entries if entry["available"])
        lines = [f"{kind} ({usable} of {len(entries)} available)"]
        for name, note in _rows(entries):
            lines.append(f"  {name:<{width}}  {note}".rstrip())
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)
