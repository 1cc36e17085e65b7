"""A Slurm cluster of one node on the loopback, of this process alone: munge, controller, node."""
from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

PROGRAMS = ("/usr/sbin/munged", "/usr/sbin/slurmctld", "/usr/sbin/slurmd", "/usr/bin/sbatch")
WAIT_S = 60
CONFIGURATION = """ClusterName=heddle
SlurmctldHost={name}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
AuthType=auth/munge
AuthInfo=socket={directory}/munge.socket
CredType=cred/munge
SlurmUser=root
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd.pid
SlurmctldLogFile={directory}/slurmctld.log
SlurmdLogFile={directory}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
SchedulerParameters=sched_interval=1
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
NodeName={name} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=4096 State=UNKNOWN
PartitionName=all Nodes={name} Default=YES MaxTime=INFINITE State=UP
"""


def why_not() -> str:
    """What keeps a cluster from running here; empty when nothing does."""
    missing = [program for program in PROGRAMS if not os.access(program, os.X_OK)]
    if missing:
        return f"{missing[0]} is missing: apt-get install munge slurmctld slurmd slurm-client"
    return "" if os.geteuid() == 0 else "slurmd runs jobs as their users, so it needs root"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Cluster:
    """Three daemons in the foreground, each a child of this process."""

    def __init__(self, directory: Path):
        self.directory = directory
        self.name = socket.gethostname().split(".")[0]
        self.configuration = directory / "slurm.conf"
        self.environment = {**os.environ, "SLURM_CONF": str(self.configuration)}
        self._processes: list[subprocess.Popen] = []

    def start(self) -> None:
        """RuntimeError with the daemons' last words when the node does not become idle."""
        for folder in ("state", "spool"):
            (self.directory / folder).mkdir()
        key = self.directory / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self.configuration.write_text(CONFIGURATION.format(
            name=self.name, directory=self.directory, controller_port=_free_port(),
            node_port=_free_port(), cpus=len(os.sched_getaffinity(0))), encoding="utf-8")
        self._run("munged", "--foreground", "--force", f"--key-file={key}",
                  f"--socket={self.directory}/munge.socket",
                  f"--pid-file={self.directory}/munged.pid",
                  f"--log-file={self.directory}/munged.log",
                  f"--seed-file={self.directory}/munged.seed", "--num-threads=2")
        self._wait(lambda: (self.directory / "munge.socket").exists(), "munged")
        self._run("slurmctld", "-D", "-i", "-f", str(self.configuration))
        self._run("slurmd", "-D", "-N", self.name, "-f", str(self.configuration))
        self._wait(self._is_idle, "the node")

    def _run(self, program: str, *options: str) -> None:
        log = open(self.directory / f"{program}.out", "wb")
        with log:
            self._processes.append(subprocess.Popen(
                [f"/usr/sbin/{program}", *options], stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, env=self.environment))

    def _is_idle(self) -> bool:
        done = subprocess.run(["sinfo", "--noheader", "--format=%T"], env=self.environment,
                              capture_output=True, text=True, check=False)
        return done.stdout.strip() == "idle"

    def _wait(self, is_there, what: str) -> None:
        deadline_s = time.monotonic() + WAIT_S
        while not is_there():
            dead = any(process.poll() is not None for process in self._processes)
            if dead or time.monotonic() > deadline_s:
                raise RuntimeError(f"{what} is not there: {self.last_words()}")
            time.sleep(0.1)

    def last_words(self) -> str:
        """The ends of all logs."""
        return "\n".join(f"{path.name}: {path.read_text(encoding='utf-8', errors='replace')[-800:]}"
                         for path in sorted(self.directory.glob("*.[lo][ou][gt]")))

    def stop(self) -> None:
        """Ends the daemons, the last started first."""
        for process in reversed(self._processes):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextlib.contextmanager
def running(directory: Path) -> Iterator[Cluster]:
    """A cluster whose node is idle; all daemons have ended afterwards."""
    cluster = Cluster(directory)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
