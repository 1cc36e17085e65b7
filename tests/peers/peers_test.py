#!/usr/bin/env python3
"""Checks the peer servers from outside, over loopback. usage: peers_test.py BINARY...

A binary is named PROTOCOL-PEER and takes HOST PORT WORKERS. Prints TAP: one sentence a check and
binary. Checks run at once, each with a server of its own; those that wait for a time limit on
threads of their own, so that the whole takes little longer than the limit. Every wait is bounded.
"""
import contextlib
import json
import os
import pathlib
import resource
import select
import socket
import struct
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import refusals
from peer_server import REQUEST, RESPONSE, WAIT_S, ask, receive, receive_all, serving

MANIFESTS = pathlib.Path(__file__).resolve().parents[2] / "servers" / "peers"
LIMIT_S = 5  # on each read and each write of hello-timeout
LATE_S = 4  # how much later than the limit a busy machine may act on it


def answers_exact_bytes(binary):
    with serving(binary) as server, server.connect() as client:
        ask(client)
        time.sleep(0.05)
        assert not select.select([client], [], [], 0)[0], "more came than one response"


def answers_each_half(binary):
    with serving(binary) as server, server.connect() as client:
        ask(client, REQUEST[:9])
        ask(client, REQUEST[9:])


def answers_long_request(binary):
    with serving(binary) as server, server.connect() as client:
        client.sendall(b"x" * 3000)
        assert receive(client, 3 * len(RESPONSE)) == 3 * RESPONSE


def keeps_connection(binary):
    with serving(binary) as server, server.connect() as client:
        for _ in range(200):
            ask(client)


def serves_many_at_once(binary):
    with serving(binary) as server, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(server.connect()) for _ in range(100)]
        for _ in range(3):
            for client in clients:
                client.sendall(REQUEST)
            for client in clients:
                assert receive(client) == RESPONSE


def answers_half_closed(binary):
    with serving(binary) as server:
        for _ in range(20):
            with server.connect() as client:
                client.sendall(REQUEST)
                client.shutdown(socket.SHUT_WR)
                assert (answer := receive_all(client)) == RESPONSE, f"answered {answer!r}"


def survives_reset(binary):
    with serving(binary) as server:
        for round_number in range(40):
            client = server.connect()
            client.sendall(REQUEST * (1 if round_number % 2 else 2000))
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
        with server.connect() as client:
            ask(client)


def stall(server):
    """A client that sent until the server, whose responses it does not read, took no more."""
    client = server.connect(receive_buffer_bytes=4096)
    sent = 0
    client.settimeout(0.3)
    with contextlib.suppress(TimeoutError):
        while True:
            sent += client.send(b"x" * (1 << 16))
            assert sent < 1 << 28, "the server reads on though its responses are not read"
    client.settimeout(WAIT_S)
    return client, sent


def loses_nothing_to_slow_client(binary):
    with serving(binary) as server:
        client, sent = stall(server)
        with client:
            client.shutdown(socket.SHUT_WR)
            answer = receive_all(client)
            count = len(answer) // len(RESPONSE)
            assert answer == count * RESPONSE, "responses are damaged"
            assert count * 1024 >= sent, f"{count} responses to {sent} bytes"


class Skip(Exception):
    """Why a check says nothing about this binary."""


def rests_without_descriptors(binary):
    if binary.endswith("-libuv"):
        raise Skip("libuv's loops take each other's spare descriptor and then spin in uv_listen")
    if b"__ubsan_" in pathlib.Path(binary).read_bytes():
        raise Skip("it holds UBSan, whose own checks need descriptors")
    with serving(binary) as server, contextlib.ExitStack() as stack:
        used = len(os.listdir(f"/proc/{server.process.pid}/fd"))
        hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)[1]
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (used + 8, hard))
        clients = [stack.enter_context(server.connect())]
        ask(clients[0])
        clients += [stack.enter_context(server.connect()) for _ in range(40)]
        time.sleep(0.2)
        before_s = server.cpu_s()
        time.sleep(0.8)
        spent_s = server.cpu_s() - before_s
        assert spent_s < 0.2, f"spent {spent_s} s of CPU in 0.8 s"
        ask(clients[0])
        for client in clients:
            client.close()
        time.sleep(0.3)
        with server.connect() as client:
            ask(client)


def stops_with_open_connections(binary):
    with serving(binary, workers=3) as server, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(server.connect()) for _ in range(20)]
        for client in clients[:10]:
            ask(client)
        stack.enter_context(stall(server)[0])
        server.stop()


def restarts_on_same_port(binary):
    with serving(binary) as first, first.connect() as client:
        ask(client)
        first.stop()  # its side of the connection is left in TIME_WAIT
        second = subprocess.Popen([binary, "127.0.0.1", str(first.port), "1"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            readable, _, _ = select.select([second.stdout], [], [], WAIT_S)
            assert readable and second.stdout.readline().startswith(b"listening on "), "no start"
        finally:
            second.kill()
            second.communicate(timeout=WAIT_S)


def wait_for_close_s(client, started_s):
    client.settimeout(LIMIT_S + LATE_S)
    try:
        assert client.recv(1) == b"", "sent something unasked"
    except ConnectionResetError:
        pass
    return time.monotonic() - started_s


def assert_about_limit(elapsed_s):
    assert LIMIT_S - 0.3 < elapsed_s < LIMIT_S + LATE_S, f"closed after {elapsed_s:.2f} s"


def closes_silent_connection(binary):
    with serving(binary) as server, server.connect() as client:
        assert_about_limit(wait_for_close_s(client, time.monotonic()))


def closes_idle_connection(binary):
    with serving(binary) as server, server.connect() as client:
        ask(client)
        time.sleep(1)
        ask(client)
        assert_about_limit(wait_for_close_s(client, time.monotonic()))


def closes_stalled_connection(binary):
    with serving(binary) as server:
        client, _ = stall(server)
        with client:
            stalled_s = sent_s = time.monotonic() - 0.3  # the stall was seen that much later
            ready = select.poll()
            ready.register(client, select.POLLOUT)
            # A server that was only slow takes more: it is given more, so that data which it has not
            # read make its close visible as a reset.
            while (found := ready.poll((LIMIT_S + LATE_S) * 1000)) and found[0][1] == select.POLLOUT:
                with contextlib.suppress(ConnectionResetError):  # closed just now: the next look says so
                    client.send(b"x" * (1 << 16), socket.MSG_DONTWAIT)
                    sent_s = time.monotonic()
            assert found, "still open"
            closed_s = time.monotonic()
            assert closed_s - stalled_s > LIMIT_S - 0.3, f"closed {closed_s - stalled_s:.2f} s after the stall"
            assert closed_s - sent_s < LIMIT_S + LATE_S, f"closed {closed_s - sent_s:.2f} s after the last byte"
            with server.connect() as other:
                ask(other)


def keeps_active_connection(binary):
    with serving(binary) as server, server.connect() as client:
        for _ in range(5):
            ask(client)
            time.sleep(1.4)
        ask(client)


def keeps_idle_connection(binary):
    with serving(binary) as server, server.connect() as client:
        ask(client)
        time.sleep(LIMIT_S + 1)
        ask(client)


def manifests_agree(binaries):
    keys = {"name", "kind", "protocols", "packages", "build", "run", "versions_command", "notes"}
    named = set()
    for path in MANIFESTS.glob("*/peer.json"):
        manifest = json.loads(path.read_text())
        assert set(manifest) == keys, f"{path}: {set(manifest) ^ keys}"
        assert manifest["name"] == path.parent.name, f"{path}: name"
        assert manifest["kind"] in ("shared", "prefork"), f"{path}: kind"
        named |= {f"{protocol}-{manifest['name']}" for protocol in manifest["protocols"]}
    unnamed = {pathlib.Path(binary).name for binary in binaries} - named
    assert not unnamed, f"no manifest names {unnamed}"


QUICK = [
    ("answers a request with exactly the reference's bytes", answers_exact_bytes),
    ("answers each half of a request that is sent in two", answers_each_half),
    ("answers a long request once for every 1024 bytes", answers_long_request),
    ("serves 200 requests in turn on one connection", keeps_connection),
    ("serves 100 connections at once", serves_many_at_once),
    ("answers a half-closed connection in full, then closes", answers_half_closed),
    ("survives clients that reset their connections", survives_reset),
    ("loses nothing to a client that reads late", loses_nothing_to_slow_client),
    ("neither spins nor stays deaf when descriptors run out", rests_without_descriptors),
    ("ends with status 0 on SIGTERM while connections are open", stops_with_open_connections),
    ("starts again at once on the port it had", restarts_on_same_port),
    *refusals.CHECKS,
]
SLOW = {
    False: [("keeps an idle connection", keeps_idle_connection)],
    True: [
        ("closes a connection that sends nothing after 5 s", closes_silent_connection),
        ("closes a connection 5 s after its last request", closes_idle_connection),
        ("closes a connection that takes no response for 5 s", closes_stalled_connection),
        ("keeps a connection that pauses less than 5 s", keeps_active_connection),
    ],
}


def outcome(check, argument):
    """What TAP says before and after the sentence, and why it failed."""
    try:
        check(argument)
    except Skip as reason:
        return "ok", f" # SKIP {reason}", None
    except Exception as error:  # a check's failure must not hide the others
        return "not ok", "", f"{type(error).__name__}: {error}"
    return "ok", "", None


def start(check, argument):
    result = []
    thread = threading.Thread(target=lambda: result.append(outcome(check, argument)))
    thread.start()

    def wait():
        thread.join()
        return result[0]

    return wait


def main(binaries):
    if not binaries:
        sys.exit("usage: peers_test.py BINARY...")
    entries = []  # (sentence, how to wait for the outcome)
    with ThreadPoolExecutor(max_workers=8) as pool:
        for binary in binaries:
            name = pathlib.Path(binary).name
            for sentence, check in SLOW[name.startswith("hello-timeout-")]:
                entries.append((f"{name} {sentence}", start(check, binary)))
        for binary in binaries:
            name = pathlib.Path(binary).name
            for sentence, check in QUICK:
                entries.append((f"{name} {sentence}", pool.submit(outcome, check, binary).result))
        entries.append(("every binary is named by a manifest",
                        pool.submit(outcome, manifests_agree, binaries).result))
        print(f"1..{len(entries)}")
        failed = 0
        for number, (sentence, wait) in enumerate(entries, 1):
            verdict, directive, failure = wait()
            print(f"{verdict} {number} - {sentence}{directive}", flush=True)
            if failure:
                failed += 1
                print("# " + failure.replace("\n", "\n# "), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
