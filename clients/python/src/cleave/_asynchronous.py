"""How the asynchronous client waits and sends. The blocking counterpart is _blocking."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, AsyncGenerator, AsyncIterator, Iterator, Optional, TypeVar

import grpc.aio

from cleave._calls import Sending
from cleave.errors import Broken

Item = TypeVar("Item")

channels = grpc.aio
sleep = asyncio.sleep
in_thread = asyncio.to_thread


@contextlib.asynccontextmanager
async def closing(items: AsyncGenerator[Item, None]) -> AsyncIterator[AsyncGenerator[Item, None]]:
    """Closes a generator at the end, and so its call, which otherwise stays open until the generator is collected."""
    try:
        yield items
    finally:
        await items.aclose()


async def received(call: Any, silence: Optional[float]) -> AsyncGenerator[Any, None]:
    """Yields the responses of a call. The call breaks if it is silent for so many seconds; None is for any time."""
    while True:
        try:
            response = await asyncio.wait_for(call.read(), silence)
        except asyncio.TimeoutError:
            raise Broken("the server is silent") from None
        if response is grpc.aio.EOF:
            return
        yield response


async def send_parts(invoke: Any, sending: Sending, metadata: Any) -> Any:
    """Makes a call with the messages of an upload, which are made in a thread."""
    try:
        return await invoke(_each(sending.messages()), metadata=metadata)
    except asyncio.CancelledError:
        if sending.broken is not None:  # gRPC cancels a call whose parts cannot be made
            raise sending.broken from None
        raise


async def _each(messages: Iterator[bytes]) -> AsyncIterator[bytes]:
    while (message := await asyncio.to_thread(lambda: next(messages, None))) is not None:
        yield message
