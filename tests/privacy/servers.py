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
    with killable_server() as server:
        yield server.url


@contextmanager
def killable_server():
    """Start a server with an empty database and yield a `Server`, which can be killed and started again."""
    directory = Path(tempfile.mkdtemp(prefix="dpforest-postgres-"))
    server = Server(directory)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(directory)


class Server:
    """A PostgreSQL server on loopback; stopped and killed by its process alone."""

    def __init__(self, directory):
        self._directory, self._process = directory, None
        self._binaries = server_binaries()
        self._who = {}
        if os.geteuid() == 0:  # the server refuses to run as root
            names = {entry.pw_name: entry for entry in pwd.getpwall()}
            user = names.get("postgres") or names["nobody"]
            os.chown(directory, user.pw_uid, user.pw_gid)
            self._who = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self.url = f"postgresql://dpforest@127.0.0.1:{self._port}/postgres"
        setup = [self._binaries / "initdb", "-D", directory / "data", "--username=dpforest", "--auth=trust"]
        subprocess.run(
            [*setup, "--no-sync", "--encoding=UTF8", "--locale=C"],
            check=True,
            cwd=directory,
            capture_output=True,
            **self._who,
        )

    def start(self):
        """Start it, or start it again, and wait until it answers."""
        log = self._directory / "log"
        options = [f"listen_addresses=127.0.0.1, port={self._port}", "unix_socket_directories="]
        options = [part for option in options for piece in option.split(", ") for part in ("-c", piece)]
        with log.open("ab") as told:
            self._process = subprocess.Popen(
                [self._binaries / "postgres", "-D", self._directory / "data", *options],
                cwd=self._directory,
                stdin=subprocess.DEVNULL,
                stdout=told,
                stderr=told,
                **self._who,
            )
        _wait_for(self.url, self._process, log)

    def kill(self):
        """End it and everything it is doing at once, as a crash does: nothing is written any more."""
        self._process.send_signal(signal.SIGQUIT)  # its children are killed with it, without a checkpoint
        self._process.wait(START_SECONDS)

    def stop(self):
        """Disconnect everybody and stop."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(START_SECONDS)


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
