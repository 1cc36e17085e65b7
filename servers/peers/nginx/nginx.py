"""nginx with a configuration made for one run, for hello and for json.

nginx says more than the other peers: its hello has Server, Date, Content-Type and Connection, and
only a whole HTTP request is answered. Its configuration and temporary paths are in a folder of
their own, which is removed as soon as nginx has read it, so it needs no rights to Debian's folders.
"""
from __future__ import annotations

import os
import resource
import shutil
import signal
import tempfile
import time

import command_line
import processes

NGINX = "/usr/sbin/nginx"
START_LIMIT_S = 10.0
MOST_CONNECTIONS = 16384  # of a worker

LOCATIONS = {
    "hello": """location / { default_type text/plain; return 200 "Hello world!"; }""",
    "json": """location = /json {
        default_type application/json;
        return 200 '{"message":"Hello, World!"}';
      }""",
}
CONFIGURATION = """
daemon off;
worker_processes {workers};
pid {folder}/pid;
error_log /dev/null;
events {{ worker_connections {connections}; }}
http {{
  access_log off;
  server_tokens off;
  keepalive_requests 2147483647;
  keepalive_timeout 1h;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen {address} reuseport backlog={backlog};
    {location}
  }}
}}
"""


def _wait_for(pid_file: str) -> None:
    """nginx writes it when it listens and has read its configuration. OSError when it does not; it
    has said why by then."""
    deadline_s = time.monotonic() + START_LIMIT_S
    while not os.path.exists(pid_file):
        if signal.sigtimedwait({signal.SIGCHLD}, 0.01) or time.monotonic() > deadline_s:
            raise OSError("nginx did not start")


def _serve(protocol: str, program: str, command: command_line.CommandLine) -> int:
    port = processes.free_port(command.host, command.port)
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    with tempfile.TemporaryDirectory(prefix="heddle-nginx-") as folder:
        address = processes.address_text(command.host, port)
        file = os.path.join(folder, "nginx.conf")
        with open(file, "w", encoding="utf-8") as configuration:
            configuration.write(CONFIGURATION.format(
                workers=command.workers, folder=folder, address=address,
                connections=min(most_files, MOST_CONNECTIONS),
                backlog=processes.BACKLOG_CONNECTIONS, location=LOCATIONS[protocol]))

        def work() -> None:
            os.execv(NGINX, [NGINX, "-e", "stderr", "-p", folder, "-c", file])

        def ready() -> str:
            _wait_for(os.path.join(folder, "pid"))
            shutil.rmtree(folder)
            return address

        # SIGTERM as its parent dies, so that nginx ends its workers.
        return processes.run(program, [work], ready, signal.SIGTERM)


def main(protocol: str, words: list[str]) -> int:
    """The exit status: 0 after SIGTERM or SIGINT, 1 when it cannot serve, 2 on bad arguments."""
    program = f"{protocol}-nginx"
    command = command_line.parse(program, words)
    try:
        return _serve(protocol, program, command)
    except OSError as error:
        return processes.report(program, command.host, command.port, error)
