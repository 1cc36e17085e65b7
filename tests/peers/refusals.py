"""What peers say to bad arguments: one line, a status, and nothing on standard output."""
import socket
import subprocess

from peer_server import WAIT_S, serving


def run_to_end(program, arguments):
    return subprocess.run([program.path, *arguments], stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=WAIT_S)


def assert_refused(program, arguments, status, words):
    result = run_to_end(program, arguments)
    message = result.stderr.decode()
    assert result.returncode == status, f"{arguments}: status {result.returncode}, {message!r}"
    assert result.stdout == b"", f"{arguments}: printed {result.stdout!r}"
    assert message.endswith("\n") and message.count("\n") == 1, f"{arguments}: {message!r}"
    for word in words:
        assert word in message, f"{arguments}: no {word!r} in {message!r}"


def refuses_bad_port(program):
    for port in ("http", "65536", "-1", "80x", "", " 80", "1\n2"):
        assert_refused(program, ["127.0.0.1", port, "1"], 2, ["PORT", "0 to 65535"])


def refuses_bad_workers(program):
    for workers in ("0", "-2", "two", "1025", "1.5", "99999999999999999999"):
        assert_refused(program, ["127.0.0.1", "0", workers], 2, ["WORKERS", "1 to 1024"])


def refuses_bad_host(program):
    for host in ("localhost", "300.0.0.1", "127.1", ""):
        assert_refused(program, [host, "0", "1"], 2, ["HOST", "127.0.0.1 or ::1"])


def refuses_missing_arguments(program):
    assert_refused(program, [], 2, ["HOST PORT WORKERS"])
    assert_refused(program, ["127.0.0.1"], 2, ["PORT"])
    assert_refused(program, ["127.0.0.1", "0"], 2, ["WORKERS"])


def refuses_unknown_arguments(program):
    assert_refused(program, ["--bogus", "127.0.0.1", "0", "1"], 2, ["--bogus", "usage"])
    assert_refused(program, ["127.0.0.1", "0", "1", "-v"], 2, ["-v", "usage"])
    for word in ("extra", "unknown=1"):
        assert_refused(program, ["127.0.0.1", "0", "1", word], 2, [word, "usage"])


def refuses_used_port(program):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        assert_refused(program, ["127.0.0.1", port, "2"], 1, ["127.0.0.1:" + port, "in use"])
    with serving(program) as server:
        assert_refused(program, ["127.0.0.1", str(server.port), "2"], 1, ["in use"])


ON_PROGRAM = [
    ("refuses a bad port in one line, status 2", refuses_bad_port),
    ("refuses a bad number of workers in one line, status 2", refuses_bad_workers),
    ("refuses a bad host in one line, status 2", refuses_bad_host),
    ("refuses missing arguments in one line, status 2", refuses_missing_arguments),
    ("refuses unknown arguments in one line, status 2", refuses_unknown_arguments),
    ("refuses a port in use in one line, status 1", refuses_used_port),
]
