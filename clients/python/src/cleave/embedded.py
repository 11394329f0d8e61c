"""The server that this process starts if no other is named.

It is the ``cleave`` program inside the package, listens on this machine alone, and refuses every call without its token. All
estimators of a process share one. It ends with the process, even if that is killed: it reads its standard input, which closes.
"""

from __future__ import annotations

import atexit
import collections
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from typing import Any, Counter, Deque, Dict, List, Optional, Sequence, Tuple

from cleave.client import Client
from cleave.errors import CleaveError

__all__ = ["EmbeddedServer", "binary", "server"]

_START_SECONDS = 60
_STOP_SECONDS = 10

# A kind, "job", "dataset" or "table", and an id.
Item = Tuple[str, str]


def binary() -> str:
    """Returns the path of the ``cleave`` program: ``$CLEAVE_BINARY``, the one in this package, or the one on the path."""
    named = os.environ.get("CLEAVE_BINARY", "")
    if named:
        return named
    name = "cleave.exe" if sys.platform == "win32" else "cleave"
    own = os.path.join(os.path.dirname(__file__), "bin", name)
    found = own if os.path.exists(own) else shutil.which(name)
    if found is None:
        raise CleaveError(
            "this installation has no cleave program to start a server from; install the wheel for this platform, set CLEAVE_BINARY "
            "to the program, or give server=HOST:PORT",
            reason="NO_BINARY",
        )
    return found


class EmbeddedServer:
    """A running server. Use :func:`server` to get the one of this process."""

    def __init__(self) -> None:
        self._process_id = os.getpid()
        # A file rather than a pipe, which somebody would have to read.
        self._log = tempfile.TemporaryFile()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CLEAVE_SERVE_")}
        # Ctrl-C in the terminal is for this process, which cancels its job.
        detached: Dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            detached = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        program = binary()
        try:
            self._process = subprocess.Popen(
                [program, "serve", "--private", "--listen", "127.0.0.1:0", "--log-level", "error"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env=environment,
                **detached,
            )
        except OSError as error:
            raise CleaveError(f"the program {program} cannot be started: {error}", reason="CANNOT_START") from error
        late = threading.Timer(_START_SECONDS, self._kill)  # a program that hangs would never end the reads
        late.daemon = True
        late.start()
        try:
            self.token, self.address = self._read("token "), self._read("listening on ")
        finally:
            late.cancel()
        self._forget()

    def _read(self, prefix: str) -> str:
        assert self._process.stdout is not None
        line: str = self._process.stdout.readline().decode().strip()
        if line.startswith(prefix):
            return line[len(prefix) :]
        self.stop()
        self._log.seek(0)
        said = self._log.read().decode(errors="replace").strip()
        said = said or line or f"it ended, or said nothing for {_START_SECONDS} seconds"
        raise CleaveError(f"the embedded server did not start: {said}", reason="CANNOT_START")

    def _kill(self) -> None:
        """Ends the program and what it has started, which may hold the other end of its output."""
        if sys.platform == "win32":
            self._process.kill()
        else:
            with contextlib.suppress(ProcessLookupError):  # it has ended
                os.killpg(self._process.pid, signal.SIGKILL)

    @property
    def alive(self) -> bool:
        """Whether it can be called. A forked process uses the server of its parent, which ends with the parent."""
        if self._process_id != os.getpid():
            return self._process_id == os.getppid()
        return self._process.poll() is None

    def _forget(self) -> None:
        """Starts to count what this process uses."""
        self._counting = os.getpid()
        self._lock = threading.Lock()
        self._users: Counter[Item] = collections.Counter()
        self._released: Deque[Item] = collections.deque()

    def client(self) -> Client:
        """Returns a client, after it has deleted what this process no longer uses."""
        if self._counting != os.getpid():
            self._forget()  # the rest belongs to the parent
        client = Client(self.address, token=self.token)
        for kind, identifier in self._unused():
            try:
                getattr(client, f"delete_{kind}")(identifier)
            except CleaveError:
                pass  # a job that is still running uses it; it stays until the server ends
        return client

    def _unused(self) -> List[Item]:
        """Returns what was released, unless it is still used."""
        unused = []
        with self._lock:
            while self._released:
                item = self._released.popleft()
                self._users[item] -= 1
                if self._users[item] <= 0:
                    del self._users[item]
                    unused.append(item)
        return unused

    def use(self, kind: str, identifier: str) -> Item:
        """Keeps a job, a data set or a table until it is released as often as it was used."""
        item = (kind, identifier)
        with self._lock:
            self._users[item] += 1
        return item

    def release(self, items: Sequence[Item]) -> None:
        """Lets the next client delete items, the last one first, unless others use them.

        It neither waits nor calls the server, so that it may be used where objects are finalized.
        """
        if self._counting == os.getpid():
            self._released.extend(reversed(items))

    def stop(self) -> None:
        """Stops the server, unless it belongs to another process."""
        if self._process_id != os.getpid():
            return
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._process.terminate()  # a forked process may hold the other end of its standard input
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


_lock = threading.Lock()
_server: Optional[EmbeddedServer] = None


def server() -> EmbeddedServer:
    """Returns the server of this process, and starts it if there is none."""
    global _server
    with _lock:
        if _server is None or not _server.alive:
            _server = EmbeddedServer()
        return _server


def stop() -> None:
    """Stops the server of this process, if there is one. The next use starts another."""
    global _server
    with _lock:
        stopped, _server = _server, None
    if stopped is not None:
        stopped.stop()


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()  # a thread of the parent may have held it


atexit.register(stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
