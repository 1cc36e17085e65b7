"""Checks records against the JSON schema that ships with heddle, by the keywords that it uses."""
from __future__ import annotations

import json
from functools import cache
from pathlib import Path

PATH = Path(__file__).resolve().parent / "round.schema.json"
_TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


@cache
def round_schema() -> dict:
    return json.loads(PATH.read_text(encoding="utf-8"))


def faults(record: object, schema: dict | None = None, where: str = "record") -> list[str]:
    """What is wrong with a record of rounds.jsonl, a line a fault; empty when it validates."""
    schema = round_schema() if schema is None else schema
    kinds = schema.get("type")
    if kinds and not any(_is(record, kind) for kind in ([kinds] if isinstance(kinds, str)
                                                        else kinds)):
        return [f"{where}: {record!r} is not of type {kinds}"]
    found = []
    if "const" in schema and record != schema["const"]:
        found.append(f"{where}: {record!r} is not {schema['const']!r}")
    if "enum" in schema and record not in schema["enum"]:
        found.append(f"{where}: {record!r} is none of {schema['enum']}")
    if isinstance(record, (int, float)):
        if record < schema.get("minimum", record) or record > schema.get("maximum", record):
            found.append(f"{where}: {record!r} is out of range")
    if isinstance(record, list):
        for number, item in enumerate(record):
            found += faults(item, schema.get("items", {}), f"{where}[{number}]")
    if isinstance(record, dict):
        found += _object_faults(record, schema, where)
    return found


def _is(value: object, kind: str) -> bool:
    if kind in ("integer", "number"):
        numbers = int if kind == "integer" else (int, float)
        return isinstance(value, numbers) and not isinstance(value, bool)
    return isinstance(value, _TYPES[kind])


def _object_faults(record: dict, schema: dict, where: str) -> list[str]:
    found = [f"{where}: no {name}" for name in schema.get("required", []) if name not in record]
    choices = schema.get("anyOf", [])
    if choices and not any(all(name in record for name in one["required"]) for one in choices):
        found.append(f"{where}: none of {[one['required'] for one in choices]}")
    properties = schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    for name, value in record.items():
        if name in properties:
            found += faults(value, properties[name], f"{where}.{name}")
        elif others is False:
            found.append(f"{where}: unknown field '{name}'")
        elif isinstance(others, dict):
            found += faults(value, others, f"{where}.{name}")
    return found
