"""How the synchronous client waits and sends. The asynchronous counterpart is _asynchronous."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any, Callable, Generator, Optional, TypeVar

import grpc

from cleave._calls import Sending
from cleave.errors import Broken

Item = TypeVar("Item")

channels = grpc
sleep = time.sleep
closing = contextlib.closing


def in_thread(function: Callable[..., Item], *arguments: Any) -> Item:
    """Calls a function in this thread, which may wait."""
    return function(*arguments)


def received(call: Any, silence: Optional[float]) -> Generator[Any, None, None]:
    """Yields the responses of a call. The call breaks if it is silent for so many seconds; None is for any time."""
    guard = None if silence is None else _Guard(call, silence)
    try:
        while True:
            try:
                if guard is not None:
                    guard.waiting_since = time.monotonic()
                response = next(call)
            except StopIteration:
                return
            except grpc.RpcError:
                if guard is not None and guard.silent:
                    raise Broken("the server is silent") from None
                raise
            if guard is not None:
                guard.waiting_since = None
            yield response
    finally:
        if guard is not None:
            guard.done.set()


class _Guard:
    """Cancels a call that is silent for too long while its responses are waited for."""

    def __init__(self, call: Any, silence: float) -> None:
        self._call, self._silence = call, silence
        self.waiting_since: Optional[float] = None
        self.silent = False
        self.done = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while not self.done.wait(self._silence / 10):
            since = self.waiting_since
            if since is not None and time.monotonic() - since > self._silence:
                self.silent = True
                self._call.cancel()
                return


def send_parts(invoke: Any, sending: Sending, metadata: Any) -> Any:
    """Makes a call with the messages of an upload."""
    call = invoke.future(sending.messages(), metadata=metadata)
    try:
        return call.result()
    except grpc.RpcError:
        if sending.broken is not None:
            raise sending.broken from None
        raise
    finally:
        call.cancel()
