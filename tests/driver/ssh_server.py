"""An ssh server of the test's own: a process of this user on a free port, with keys of its own."""
from __future__ import annotations

import contextlib
import getpass
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

SSHD = "/usr/sbin/sshd"
HOST = "here"


def why_not() -> str:
    """What is missing; empty when a server can be started."""
    if not os.access(SSHD, os.X_OK):
        return "needs: apt-get install openssh-server"
    # As root it wants a directory that packages make when a service starts.
    if os.geteuid() == 0 and not Path("/run/sshd").is_dir():
        with contextlib.suppress(OSError):
            os.mkdir("/run/sshd", 0o755)
        if not Path("/run/sshd").is_dir():
            return "sshd needs the directory /run/sshd"
    return ""


def _key(path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def running(directory: Path) -> Iterator[Path]:
    """The configuration for `ssh -F`, in which the server's name is HOST. `directory` is an
    existing one of this user alone; RuntimeError with the server's log when it does not answer."""
    _key(directory / "host")
    _key(directory / "user")
    (directory / "authorized").write_bytes((directory / "user.pub").read_bytes())
    port = _free_port()
    (directory / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1\nPort {port}\nHostKey {directory}/host\nPidFile none\n"
        f"AuthorizedKeysFile {directory}/authorized\nPasswordAuthentication no\nUsePAM no\n"
        "PermitRootLogin prohibit-password\nStrictModes no\n", encoding="utf-8")
    config = directory / "ssh_config"
    config.write_text(
        f"Host {HOST}\n  HostName 127.0.0.1\n  Port {port}\n  User {getpass.getuser()}\n"
        f"  IdentityFile {directory}/user\n  IdentitiesOnly yes\n  BatchMode yes\n"
        f"  StrictHostKeyChecking accept-new\n  UserKnownHostsFile {directory}/known\n"
        f"  ControlMaster auto\n  ControlPath {directory}/control\n  ControlPersist 5\n",
        encoding="utf-8")
    log_path = directory / "sshd.log"
    with open(log_path, "wb") as log:
        server = subprocess.Popen([SSHD, "-D", "-e", "-f", str(directory / "sshd_config")],
                                  stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        deadline_s = time.monotonic() + 20
        while subprocess.run(["ssh", "-F", str(config), HOST, "true"], stdin=subprocess.DEVNULL,
                             capture_output=True, check=False).returncode:
            if server.poll() is not None or time.monotonic() > deadline_s:
                raise RuntimeError(log_path.read_text(encoding="utf-8", errors="replace"))
            time.sleep(0.05)
        yield config
    finally:
        server.terminate()
        server.wait()
