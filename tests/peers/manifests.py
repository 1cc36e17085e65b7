"""The manifests beside the peers, and the programs that meson built."""
import json
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "servers" / "peers"
KEYS = {"name", "kind", "protocols", "packages", "build", "run", "versions_command", "notes"}


def read():
    """Every manifest: a folder's peer.json holds one, named as the folder, or a list of them."""
    manifests = []
    for path in sorted(FOLDER.glob("*/peer.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        for manifest in found if isinstance(found, list) else [found]:
            assert set(manifest) == KEYS, f"{path}: {set(manifest) ^ KEYS}"
            assert isinstance(found, list) or manifest["name"] == path.parent.name, f"{path}: name"
            assert manifest["kind"] in ("shared", "prefork", "processes"), f"{path}: kind"
            manifests.append(manifest)
    return manifests


def agree(programs):
    """AssertionError when a program is in no manifest, or the other way round for a peer that is
    built at all."""
    named = {f"{protocol}-{one['name']}" for one in read() for protocol in one["protocols"]}
    built = {program.name for program in programs}
    assert not built - named, f"no manifest names {built - named}"
    peers = {program.peer for program in programs}
    absent = {f"{protocol}-{one['name']}" for one in read() for protocol in one["protocols"]
              if one["name"] in peers} - built
    assert not absent, f"a manifest names {absent}, which are not built"
