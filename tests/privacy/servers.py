"""A real PostgreSQL server on loopback for the length of a test or of a benchmark."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

START_SECONDS = 60


def server_binaries():
    """Directory with `initdb` and `postgres`, or None; Debian keeps them out of the search path."""
    candidates = [Path(found).resolve().parent for found in [shutil.which("postgres")] if found]
    candidates += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((c for c in candidates if (c / "initdb").exists() and (c / "postgres").exists()), None)


@contextmanager
def postgres_server():
    """Start a server with an empty database and yield its address."""
    binaries = server_binaries()
    directory = Path(tempfile.mkdtemp(prefix="dpforest-postgres-"))
    who = {}
    if os.geteuid() == 0:  # the server refuses to run as root
        names = {entry.pw_name: entry for entry in pwd.getpwall()}
        user = names.get("postgres") or names["nobody"]
        os.chown(directory, user.pw_uid, user.pw_gid)
        who = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data, log = directory / "data", directory / "log"
    setup = [binaries / "initdb", "-D", data, "--username=dpforest", "--auth=trust", "--no-sync"]
    subprocess.run(
        [*setup, "--encoding=UTF8", "--locale=C"], check=True, cwd=directory, capture_output=True, **who
    )
    options = [f"listen_addresses=127.0.0.1, port={port}", "unix_socket_directories="]
    options = [part for option in options for piece in option.split(", ") for part in ("-c", piece)]
    with log.open("wb") as told:
        server = subprocess.Popen(
            [binaries / "postgres", "-D", data, *options],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=told,
            stderr=told,
            **who,
        )
    try:
        url = f"postgresql://dpforest@127.0.0.1:{port}/postgres"
        _wait_for(url, server, log)
        yield url
    finally:
        server.send_signal(signal.SIGINT)  # disconnects everybody and stops
        server.wait(START_SECONDS)
        shutil.rmtree(directory)


def _wait_for(url, server, log):
    import psycopg

    until = time.monotonic() + START_SECONDS
    while True:
        try:
            psycopg.connect(url, connect_timeout=5).close()
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"PostgreSQL did not start: {log.read_text()}") from None
            time.sleep(0.05)
        else:
            return
