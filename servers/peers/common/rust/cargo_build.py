#!/usr/bin/env python3
"""Builds one program of a Rust peer with Debian's cargo from Debian's crates, without a network.

usage: cargo_build.py PEERS CRATE PROGRAM STAGE OUTPUT

PEERS is the folder of all peers, CRATE the one of the peer in it, STAGE a folder for cargo's own
files. cargo writes a lock file beside the manifest, so it gets a copy of the sources in STAGE; an
unchanged file keeps its time there, and cargo what it built. Builds in one STAGE take turns.
"""
import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

CARGO = "/usr/bin/cargo"
RUSTC = "/usr/bin/rustc"
SETTINGS = """\
[source.crates-io]
replace-with = "debian"

[source.debian]
directory = "/usr/share/cargo/registry"

[net]
offline = true
"""


def stage_sources(peers: Path, crate: str, stage: Path) -> None:
    """Brings the copy of the crate, and of what it shares with others, up to date."""
    for folder in (crate, "common/rust"):
        source, target = peers / folder, stage / folder
        wanted = {path.relative_to(source) for path in source.rglob("*")
                  if path.suffix == ".rs" or path.name == "Cargo.toml"}
        for old in target.rglob("*.rs"):
            if old.relative_to(target) not in wanted:
                old.unlink()
        for path in wanted:
            content = (source / path).read_bytes()
            copy = target / path
            if not copy.exists() or copy.read_bytes() != content:
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(content)


def environment(stage: Path) -> dict[str, str]:
    """This process's, without what would bring in another toolchain, other flags or folders."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("CARGO", "RUST"))}
    return {**kept, "CARGO_HOME": str(stage / "home"), "RUSTC": RUSTC}


def build(crate: Path, program: str, stage: Path) -> Path:
    """Runs cargo; ends this process with cargo's own status and words when that fails."""
    home = stage / "home"
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(SETTINGS, encoding="utf-8")
    (crate / "Cargo.lock").unlink(missing_ok=True)  # Debian's crates may have got new versions
    command = [CARGO, "build", "--release", "--quiet", "--bin", program,
               "--target-dir", str(stage / "target")]
    done = subprocess.run(command, cwd=crate, env=environment(stage), check=False)
    if done.returncode:
        sys.exit(done.returncode)
    return stage / "target" / "release" / program


def main(words: list[str]) -> None:
    if len(words) != 5:
        sys.exit("usage: cargo_build.py PEERS CRATE PROGRAM STAGE OUTPUT")
    peers, crate, program, output = Path(words[0]), words[1], words[2], Path(words[4])
    stage = Path(words[3]).absolute()
    stage.mkdir(parents=True, exist_ok=True)
    with open(stage / "turns", "w", encoding="utf-8") as turns:
        fcntl.flock(turns, fcntl.LOCK_EX)
        stage_sources(peers, crate, stage)
        built = build(stage / crate, program, stage)
        output.unlink(missing_ok=True)  # it may be running
        shutil.copy(built, output)


if __name__ == "__main__":
    main(sys.argv[1:])
