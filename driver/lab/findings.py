"""One line of the doctor, and reading what the kernel says under /proc and /sys."""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FIT = "fit"
NOT_FIT = "not fit"
NOT_AVAILABLE = "N/A"  # nothing wrong, but the machine does not say, or does not have it


@dataclass(frozen=True)
class Finding:
    """`value` is what was found, `advice` what to do or what follows; empty when nothing."""

    area: str
    name: str
    verdict: str
    value: str
    advice: str = ""


class System:
    """Files of the kernel below `root`, which is / but in tests."""

    def __init__(self, root: Path = Path("/")):
        self.root = root

    def text(self, path: str) -> str | None:
        """The file's text without white space at its ends; None when it cannot be read."""
        try:
            return (self.root / path.lstrip("/")).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            return None

    def number(self, path: str) -> int | None:
        """The file's only number; None when there is none."""
        text = self.text(path)
        return int(text) if text is not None and text.lstrip("-").isdigit() else None

    def paths(self, pattern: str) -> list[str]:
        """Absolute paths, as inside `root`, that match the shell pattern; sorted."""
        return sorted(f"/{path.relative_to(self.root)}"
                      for path in self.root.glob(pattern.lstrip("/")))


def at_least(area: str, name: str, found: int | None, needed: int, advice: str) -> Finding:
    """Fit when the number reaches what is needed; `advice` says how to raise it."""
    if found is None:
        return Finding(area, name, NOT_AVAILABLE, "cannot be read")
    fit = found >= needed
    return Finding(area, name, FIT if fit else NOT_FIT, str(found),
                   "" if fit else f"{needed} are needed: {advice}")
