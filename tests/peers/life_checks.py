"""How servers end, start again and bear a shortage. Each check takes a program."""
import contextlib
import os
import pathlib
import resource
import select
import signal
import subprocess
import time

from http_checks import JSON
from peer_server import REQUEST, WAIT_S, Skip, receive, serving, stall, wait_for

# Any of these answers something.
QUESTION = {"json": f"GET {JSON[0]} HTTP/1.1\r\nHost: x\r\n\r\n".encode()}


def ask_something(program, client):
    client.sendall(QUESTION.get(program.protocol, REQUEST))
    receive(client, 1)


def stops_with_open_connections(program):
    with serving(program, workers=3) as server, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(server.connect()) for _ in range(20)]
        for client in clients[:10]:
            ask_something(program, client)
        if program.protocol in ("hello", "hello-timeout", "echo") and program.peer != "nginx":
            stack.enter_context(stall(server)[0])
        server.stop()


def restarts_on_same_port(program):
    with serving(program) as first, first.connect() as client:
        ask_something(program, client)
        first.stop()  # its side of the connection is left in TIME_WAIT
        second = subprocess.Popen([program.path, "127.0.0.1", str(first.port), "1"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            readable, _, _ = select.select([second.stdout], [], [], WAIT_S)
            assert readable and second.stdout.readline().startswith(b"listening on "), "no start"
        finally:
            second.terminate()
            second.communicate(timeout=WAIT_S)


def leaves_no_process_when_killed(program):
    with serving(program, workers=2) as server:
        with server.connect() as client:
            ask_something(program, client)
        assert len(server.processes()) > 1, "it has no process but the first"
        server.process.send_signal(signal.SIGKILL)
        server.process.wait(timeout=WAIT_S)
        server.assert_gone()


def ends_when_a_worker_dies(program):
    with serving(program, workers=2) as server:
        (worker, *_) = [one for one in server.processes() if one != server.process.pid]
        os.kill(worker, signal.SIGKILL)
        server.process.wait(timeout=WAIT_S)
        said = server.process.stderr.read().decode()
        assert server.process.returncode == 1, f"status {server.process.returncode}"
        assert said.count("\n") == 1 and "worker ended" in said, f"said {said!r}"
        server.assert_gone()


def _limit_descriptors(server, more):
    for process in server.processes():
        used = len(os.listdir(f"/proc/{process}/fd"))
        hard = resource.prlimit(process, resource.RLIMIT_NOFILE)[1]
        resource.prlimit(process, resource.RLIMIT_NOFILE, (used + more, hard))


def rests_without_descriptors(program):
    if program.peer == "libuv":
        raise Skip("libuv's loops take each other's spare descriptor and then spin in uv_listen")
    if b"__ubsan_" in pathlib.Path(program.path).read_bytes():
        raise Skip("it holds UBSan, whose own checks need descriptors")
    with serving(program) as server, contextlib.ExitStack() as stack:
        with server.connect() as first:  # all is loaded that opens descriptors for a while
            ask_something(program, first)
        server.descriptors_when_idle()
        _limit_descriptors(server, more=8)
        clients = [stack.enter_context(server.connect())]
        ask_something(program, clients[0])
        clients += [stack.enter_context(server.connect()) for _ in range(40)]
        time.sleep(0.2)
        before_s = server.cpu_s()
        time.sleep(0.8)
        spent_s = server.cpu_s() - before_s
        assert spent_s < 0.2, f"spent {spent_s} s of CPU in 0.8 s"
        if program.protocol != "http-close":
            ask_something(program, clients[0])
        for client in clients:
            client.close()
        wait_for(lambda: _answers(program, server), "deaf once descriptors are free")


def _answers(program, server):
    with contextlib.suppress(OSError, AssertionError), server.connect() as client:
        ask_something(program, client)
        return True
    return False


# Those whose own code decides what happens then; the others' libraries do.
RESTS = {"raw-epoll", "threads", "asio-shared", "asio-prefork", "libuv", "uring-prefork",
         "boost-fiber", "asyncio-sockets", "trio-sockets", "trio-streams", "go", "tokio",
         "async-std"}
ALL = [
    ("ends with status 0 on SIGTERM while connections are open", stops_with_open_connections),
    ("starts again at once on the port it had", restarts_on_same_port),
]
PROCESSES = [
    ("leaves no process when it is killed", leaves_no_process_when_killed),
    ("ends with one line and status 1 when a worker dies", ends_when_a_worker_dies),
]


def checks(program, is_binary):
    """Those for this program. `is_binary`: one process with threads."""
    chosen = ALL + ([] if is_binary else PROCESSES)
    if program.peer in RESTS and program.protocol != "http-close":
        chosen = chosen + [("neither spins nor stays deaf when descriptors run out",
                            rests_without_descriptors)]
    return chosen
