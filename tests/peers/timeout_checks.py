"""How hello and hello-timeout treat slow connections. Each check takes a program, and some 5 s."""
import contextlib
import select
import socket
import time

from peer_server import ask, serving, stall

LIMIT_S = 5  # on each read and each write of hello-timeout
LATE_S = 4  # how much later than the limit a busy machine may act on it


def wait_for_close_s(client, started_s):
    client.settimeout(LIMIT_S + LATE_S)
    try:
        assert client.recv(1) == b"", "sent something unasked"
    except ConnectionResetError:
        pass
    return time.monotonic() - started_s


def assert_about_limit(elapsed_s):
    assert LIMIT_S - 0.3 < elapsed_s < LIMIT_S + LATE_S, f"closed after {elapsed_s:.2f} s"


def closes_silent_connection(program):
    with serving(program) as server, server.connect() as client:
        assert_about_limit(wait_for_close_s(client, time.monotonic()))


def closes_idle_connection(program):
    with serving(program) as server, server.connect() as client:
        ask(client)
        time.sleep(1)
        ask(client)
        assert_about_limit(wait_for_close_s(client, time.monotonic()))


def closes_stalled_connection(program):
    with serving(program) as server:
        started_s = time.monotonic()  # the server may have been stalled long before its client
        client, _ = stall(server)
        with client:
            sent_s = time.monotonic() - 0.3  # the stall was seen that much later
            ready = select.poll()
            ready.register(client, select.POLLOUT)
            # A server that was only slow takes more: it is given more, so that data which it has
            # not read make its close visible as a reset.
            limit_ms = (LIMIT_S + LATE_S) * 1000
            while (found := ready.poll(limit_ms)) and found[0][1] == select.POLLOUT:
                with contextlib.suppress(ConnectionResetError):  # just now: the next look sees it
                    client.send(b"x" * (1 << 16), socket.MSG_DONTWAIT)
                    sent_s = time.monotonic()
            assert found, "still open"
            closed_s = time.monotonic()
            open_s, rest_s = closed_s - started_s, closed_s - sent_s
            assert open_s > LIMIT_S - 0.3, f"closed after {open_s:.2f} s"
            assert rest_s < LIMIT_S + LATE_S, f"closed {rest_s:.2f} s after the last byte"
            with server.connect() as other:
                ask(other)


def keeps_active_connection(program):
    with serving(program) as server, server.connect() as client:
        for _ in range(5):
            ask(client)
            time.sleep(1.4)
        ask(client)


def keeps_idle_connection(program):
    with serving(program) as server, server.connect() as client:
        ask(client)
        time.sleep(LIMIT_S + 1)
        ask(client)


WITHOUT_LIMIT = [("keeps an idle connection", keeps_idle_connection)]
WITH_LIMIT = [
    ("closes a connection that sends nothing after 5 s", closes_silent_connection),
    ("closes a connection 5 s after its last request", closes_idle_connection),
    ("closes a connection that takes no response for 5 s", closes_stalled_connection),
    ("keeps a connection that pauses less than 5 s", keeps_active_connection),
]
