"""hello in Python: asyncio, uvloop and trio, each through bare sockets and through streams.

Every variant answers any read of at most 1024 bytes with the one response, in WORKERS processes.
The streams set TCP_NODELAY by themselves, all three; the bare sockets do not.
"""
from __future__ import annotations

import importlib
import logging
import socket
from collections.abc import Callable

import command_line
import processes

RESPONSE = b"HTTP/1.1 200 OK\nContent-Length: 12\n\nHello world!"
READ_BYTES = 1024
ACCEPT_PAUSE_S = 0.1  # when no descriptor is left for a new connection


def asyncio_sockets(listener: socket.socket) -> None:
    """The loop's sock_accept, sock_recv and sock_sendall."""
    import asyncio

    async def answer(client: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with client:
            try:
                while await loop.sock_recv(client, READ_BYTES):
                    await loop.sock_sendall(client, RESPONSE)
            except OSError:
                pass  # the client has reset the connection

    async def accept() -> None:
        loop = asyncio.get_running_loop()
        tasks: set[asyncio.Task] = set()
        while True:
            try:
                client, _ = await loop.sock_accept(listener)
            except OSError:
                await asyncio.sleep(ACCEPT_PAUSE_S)
                continue
            task = loop.create_task(answer(client))
            tasks.add(task)  # the loop itself keeps only weak references
            task.add_done_callback(tasks.discard)

    listener.setblocking(False)
    asyncio.run(accept())


def asyncio_streams(listener: socket.socket) -> None:
    """asyncio.start_server with its StreamReader and StreamWriter."""
    import asyncio

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.read(READ_BYTES):
                writer.write(RESPONSE)
                await writer.drain()
        except OSError:
            pass  # the client has reset the connection
        finally:
            writer.close()

    async def accept() -> None:
        server = await asyncio.start_server(answer, sock=listener,
                                            backlog=processes.BACKLOG_CONNECTIONS)
        await server.serve_forever()

    asyncio.run(accept())


def _on_uvloop(serve: Callable[[socket.socket], None]) -> Callable[[socket.socket], None]:
    def run(listener: socket.socket) -> None:
        import uvloop
        uvloop.install()
        serve(listener)
    return run


def trio_sockets(listener: socket.socket) -> None:
    """trio.socket."""
    import trio

    async def answer(client: trio.socket.SocketType) -> None:
        with client:
            try:
                while await client.recv(READ_BYTES):
                    rest = memoryview(RESPONSE)
                    while rest:
                        rest = rest[await client.send(rest):]
            except OSError:
                pass  # the client has reset the connection

    async def accept() -> None:
        accepting = trio.socket.from_stdlib_socket(listener)
        async with trio.open_nursery() as nursery:
            while True:
                try:
                    client, _ = await accepting.accept()
                except OSError:
                    await trio.sleep(ACCEPT_PAUSE_S)
                    continue
                nursery.start_soon(answer, client)

    trio.run(accept)


def trio_streams(listener: socket.socket) -> None:
    """trio.serve_listeners with its SocketStream."""
    import trio

    async def answer(stream: trio.SocketStream) -> None:
        try:
            while await stream.receive_some(READ_BYTES):
                await stream.send_all(RESPONSE)
        except trio.BrokenResourceError:
            pass  # the client has reset the connection

    async def accept() -> None:
        accepting = trio.SocketListener(trio.socket.from_stdlib_socket(listener))
        await trio.serve_listeners(answer, [accepting])

    trio.run(accept)


VARIANTS: dict[str, Callable[[socket.socket], None]] = {
    "asyncio-sockets": asyncio_sockets,
    "asyncio-streams": asyncio_streams,
    "uvloop-sockets": _on_uvloop(asyncio_sockets),
    "uvloop-streams": _on_uvloop(asyncio_streams),
    "trio-sockets": trio_sockets,
    "trio-streams": trio_streams,
}


def main(variant: str, words: list[str]) -> int:
    """The exit status: 0 after SIGTERM or SIGINT, 1 when it cannot serve, 2 on bad arguments."""
    program = f"hello-{variant}"
    command = command_line.parse(program, words)
    importlib.import_module(variant.split("-", maxsplit=1)[0])  # once, not in every worker
    logging.disable()  # asyncio and trio log every accept that fails, which is no news here
    try:
        return processes.serve(program, command.host, command.port, command.workers,
                               VARIANTS[variant])
    except OSError as error:
        return processes.report(program, command.host, command.port, error)
