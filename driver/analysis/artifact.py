"""An archive for an artifact evaluation: data, sources, claims, how to repeat, checksums."""
from __future__ import annotations

import gzip
import hashlib
import io
import subprocess
import tarfile
from pathlib import Path

from driver.analysis import render, summary_tables
from driver.analysis.comparison import Comparison, compare
from driver.analysis.limits import limitations
from driver.analysis.numbers import with_interval
from driver.analysis.records import Results, load_all
from driver.console import Problem


def _git(root: Path, *words: str) -> bytes:
    try:
        done = subprocess.run(["git", "-C", str(root), *words], stdin=subprocess.DEVNULL,
                              capture_output=True, check=False)
    except OSError:
        raise Problem("the sources cannot be packed: no git (Debian: git)") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise Problem(f"the sources cannot be packed: {said[-1] if said else 'git archive failed'}")
    return done.stdout


def _commit(results: Results, root: Path) -> str:
    """What was measured. Problem when it is not in this repository, or the runs disagree."""
    commits = results.facts("commit")
    if len(commits) > 1:
        raise Problem(f"the results are of several commits: {', '.join(map(str, commits))}")
    if not commits:
        return _git(root, "rev-parse", "HEAD").decode().strip()
    name = str(commits[0])
    _git(root, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    return name


def claims(comparison: Comparison) -> str:
    """A template: every verdict as a claim with its figures, for the authors to keep or strike."""
    lines = ["# Claims", "", "Strike what the paper does not claim; keep the figures as they are. "
             "Each claim names its group and row in `tables/comparison.csv` of the report.", ""]
    for group in comparison.groups:
        lines += [f"## {group.name}", "", f"Reference: {group.reference}. "
                  f"{summary_tables.noise_line(group)}.", ""]
        for row in group.rows:
            if row.name == group.reference:
                continue
            one = row.metrics[group.metric.name]
            if one.ratio is None:
                why = summary_tables.remarks(group, row)
                lines.append(f"- [ ] `{row.name}`: no verdict. {why}")
                continue
            lines.append(
                f"- [ ] `{row.name}` is **{summary_tables.verdict_of(group, row)}** by "
                f"{one.metric.title}: ratio {with_interval(one.ratio)}, adjusted p "
                f"{one.adjusted_p:.2g}, {one.ratio.rounds} rounds.")
        lines.append("")
    lines += ["## Not claimed", "", *(f"- {line}" for line in limitations(comparison)), ""]
    return "\n".join(lines)


def instructions(results: Results, commit: str) -> str:
    """How to look at the data, and how to measure again."""
    names = [f"data/{directory.path.resolve().name}" for directory in results.directories]
    seed = results.seed
    return f"""# How to repeat

Contents: `data/` (results as measured), `sources.tar.gz` (commit {commit}), `CLAIMS.md`,
`TABLE.txt`, `SHA256SUMS`. Debian 12 is assumed; nothing is fetched but Debian packages.

1. Check the archive: `sha256sum --check SHA256SUMS`.
2. Unpack the sources: `mkdir heddle && tar -xzf sources.tar.gz -C heddle && cd heddle`.
3. From data to every table and figure, without measuring:
   `./heddle report {' '.join(f'../{name}' for name in names)}`
4. Measure again, with the same plan and order:
   `./heddle setup && ./heddle bench ../{names[0]}/campaign.toml --seed {seed} --out ../again`
5. Set old beside new: `./heddle compare ../{names[0]} ../again --fail-on 'regress>5%'`

Absolute figures will differ on another machine. The verdicts of `CLAIMS.md` are what should hold.
"""


def _files(results: Results) -> dict[str, bytes]:
    """All data, by name in the archive; Problem when two directories have one name."""
    found: dict[str, bytes] = {}
    for directory in results.directories:
        top = directory.path.resolve()
        paths = sorted(path for path in top.rglob("*") if path.is_file())
        for path in paths:
            inside = path.relative_to(top)
            if inside.name == "lock" or inside.parts[0] == "report":
                continue  # the report is made anew from the data
            name = f"data/{top.name}/{inside}"
            if name in found:
                raise Problem(f"two directories are named {top.name}: rename one of them")
            found[name] = path.read_bytes()
    return found


def pack(directories: list[Path], out: Path | None, root: Path) -> Path:
    """Writes the archive and returns its path; the same data give the same bytes."""
    results = load_all(directories)
    comparison = compare(results)
    commit = _commit(results, root)
    top = directories[0].resolve()
    path = out or top.with_name(f"{top.name}-artifact.tar.gz")
    sources = gzip.compress(_git(root, "archive", "--format=tar", commit), mtime=0)
    files = {**_files(results), "sources.tar.gz": sources,
             "CLAIMS.md": claims(comparison).encode(),
             "TABLE.txt": (render.render(comparison) + "\n").encode(),
             "README.md": instructions(results, commit).encode()}
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n"
                   for name, data in sorted(files.items()))
    files["SHA256SUMS"] = sums.encode()
    try:
        with open(path, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed, \
                tarfile.open(fileobj=packed, mode="w") as archive:
            for name, data in sorted(files.items()):
                entry = tarfile.TarInfo(f"artifact/{name}")
                entry.size = len(data)
                entry.mode = 0o644
                archive.addfile(entry, io.BytesIO(data))
    except OSError as error:
        raise Problem(f"{path}: {error.strerror}") from None
    return path
