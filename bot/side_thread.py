"""One thread for parsing and drawing: processor time that the event loop must not spend."""

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

# One and no more: this work holds the interpreter's lock, so more threads of it draw no faster, but each takes its turn
# at the lock before the event loop has it again. With six, fifty people's acks took four times as long.
_THREAD: Final = ThreadPoolExecutor(max_workers=1, thread_name_prefix="drawing")


async def in_side_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what `work` returns, or raise what it raises; for milliseconds of computing, never for waiting.

    Calls are carried out one after the other, in order. Log lines carry the request's id, as on the event loop.
    """
    bound = partial(contextvars.copy_context().run, work, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_THREAD, bound)
