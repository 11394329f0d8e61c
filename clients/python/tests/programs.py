"""Real processes and real sockets for the tests."""

from __future__ import annotations

import os
import pathlib
import socket
import subprocess
import tempfile
import threading
from concurrent import futures
from typing import Any, Dict, List, Optional

import grpc

from cleave.rpc import status_pb2

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]


def program(name: str) -> str:
    """Returns the path of a program that ``make build`` made, beside $CLEAVE_BINARY or in bin/."""
    beside = os.environ.get("CLEAVE_BINARY", "")
    folder = pathlib.Path(beside).parent if beside else REPOSITORY / "bin"
    path = folder / name
    assert path.exists(), f"{path} is missing: run make build"
    return str(path)


def cleave(*arguments: Any, cwd: Any = None, env: Optional[Dict[str, str]] = None) -> str:
    """Runs the command line, and returns its standard output."""
    done = subprocess.run(
        [program("cleave"), *map(str, arguments)], cwd=cwd, env={**os.environ, **(env or {})}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def free_port() -> int:
    """Returns a port at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def health_list(*services: str) -> bytes:
    """Returns what the health service answers that is asked for the services of a server."""
    health = status_pb2.HealthList()
    for name in services:
        health.statuses[name].status = 1
    return bytes(health.SerializeToString())


class OtherServer:
    """A gRPC server that is not Cleave of this version. It lists its services, if it has any."""

    def __init__(self, *services: str) -> None:
        content = health_list(*services)
        handlers = {"List": grpc.unary_unary_rpc_method_handler(lambda request, context: content)} if services else {}
        self._server = grpc.server(futures.ThreadPoolExecutor(2))
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("grpc.health.v1.Health", handlers),))
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def stop(self) -> None:
        self._server.stop(None).wait()


class Process:
    """A process that is ended with the test."""

    def __init__(self, name: str, *arguments: Any) -> None:
        self.log = tempfile.TemporaryFile()
        self.popen = subprocess.Popen([program(name), *map(str, arguments)], stdout=subprocess.PIPE, stderr=self.log, stdin=subprocess.DEVNULL)

    def listening(self) -> str:
        """Waits until a server listens, and returns its address."""
        assert self.popen.stdout is not None
        for line in self.popen.stdout:
            text = line.decode()
            if text.startswith("listening on "):
                return text[len("listening on ") :].strip()
        self.log.seek(0)
        raise AssertionError(self.log.read().decode())

    def stop(self) -> None:
        self.popen.terminate()
        self.popen.wait()
        if self.popen.stdout is not None:
            self.popen.stdout.close()
        self.log.close()


class Proxy:
    """Forwards connections to a server, and cuts them on demand.

    Args:
        target: The address of the server.
        cut_after_bytes: Cuts the first connection that sends this many bytes to the server.
    """

    def __init__(self, target: str, cut_after_bytes: Optional[int] = None) -> None:
        self._target = target
        self._cut_after = cut_after_bytes
        self.cuts = 0
        self._open: List[socket.socket] = []
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._threads: List[threading.Thread] = []
        self._start(self._accept)

    def _start(self, run: Any, *arguments: Any) -> None:
        thread = threading.Thread(target=run, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                host, _, port = self._target.rpartition(":")
                server = socket.create_connection((host, int(port)))
            except OSError:
                return
            with self._lock:
                self._open += [client, server]
            self._start(self._forward, client, server, True)
            self._start(self._forward, server, client, False)

    def _forward(self, source: socket.socket, target: socket.socket, upstream: bool) -> None:
        count = 0
        try:
            while True:
                content = source.recv(1 << 16)
                if not content:
                    break
                target.sendall(content)
                count += len(content)
                if upstream and self._cut_after is not None and count >= self._cut_after:
                    self._cut_after = None
                    self.cut()
                    return
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self) -> None:
        """Breaks all connections. New ones are accepted."""
        with self._lock:
            ends, self._open = self._open, []
            self.cuts += bool(ends)
        for end in ends:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join()


class Cluster:
    """A coordinator and workers under TLS."""

    def __init__(self, folder: pathlib.Path, workers: int) -> None:
        self._processes: List[Process] = []
        self.folder = folder
        cleave("certs", "init", "--dir", folder / "certs", "--host", "127.0.0.1", "--host", "localhost")
        self.tls = str(folder / "certs" / "admin")
        coordinator = Process("coordinator", "--listen", "127.0.0.1:0", "--data-dir", folder / "data", "--tls", folder / "certs" / "coordinator")
        self._processes.append(coordinator)
        self.address = coordinator.listening()
        for number in range(workers):
            self._processes.append(
                Process("worker", "--coordinator", self.address, "--tls", folder / "certs" / "worker", "--name", f"w{number}", "--memory", "512MiB", "--threads", "1")
            )

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.stop()
