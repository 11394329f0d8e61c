"""How the synchronous client waits and sends. The asynchronous counterpart is _asynchronous."""

from __future__ import annotations

import contextlib
import time
from typing import Any, Callable, TypeVar

import grpc

from cleave._calls import Sending

Item = TypeVar("Item")

channels = grpc
sleep = time.sleep
closing = contextlib.closing


def in_thread(function: Callable[..., Item], *arguments: Any) -> Item:
    """Calls a function in this thread, which may wait."""
    return function(*arguments)


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
