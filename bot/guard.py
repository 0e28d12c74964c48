"""One guard around everything that happens after an ack: it always answers the person."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Final

import structlog

from bot import texts
from bot.acks import PendingAcks
from bot.action_state import StateError
from bot.audit import AuditEntry, AuditEvent, EntryWriter
from bot.deny_list import DenyListError
from bot.payloads import Asked, Body
from bot.reply import Reply
from bot.retrieval_pool import PoolClosedError, PoolFullError, UserBusyError
from bot.visibility import Refusal, RefusedError, UnconfirmedError
from bot.web_api import SlackUnavailableError
from retrieval.errors import ArtifactError, RequestError
from retrieval.timings import Stopwatch

_log = structlog.get_logger(__name__)

_REFUSALS: Final = {
    Refusal.OTHER_TEAM: texts.REFUSED_OTHER_TEAM,
    Refusal.BOT: texts.REFUSED_BOT,
    Refusal.DELETED: texts.REFUSED_DELETED,
    Refusal.UNKNOWN: texts.REFUSED_UNKNOWN,
}
_SENTENCES: Final[tuple[tuple[type[Exception], str], ...]] = (
    (SlackUnavailableError, texts.SLACK_DID_NOT_ANSWER),
    (DenyListError, texts.ARCHIVE_UNUSABLE),
    (PoolFullError, texts.BUSY),
    (UserBusyError, texts.USER_BUSY),
    (PoolClosedError, texts.STOPPING),
)
# These are part of the day's work: a line in the log, no traceback.
_EXPECTED: Final = (
    StateError,
    RequestError,
    ArtifactError,
    RefusedError,
    TimeoutError,
    UnconfirmedError,
    *(kind for kind, _ in _SENTENCES),
)


def sentence_of(error: BaseException) -> str:
    """Return what to tell a person about any error; the bot's own errors first, then the engine's."""
    if isinstance(error, RefusedError):
        return _REFUSALS[error.refusal]
    if isinstance(error, UnconfirmedError):
        return f"{texts.sentence_for(error.reason)} {texts.UNCONFIRMED_CHANNELS}"
    for kind, sentence in _SENTENCES:
        if isinstance(error, kind):
            return sentence
    return texts.sentence_for(error)


class Guard:
    """Runs the work that follows an ack, each piece as a task of its own. For one event loop.

    Bolt sends an ack once the listener has returned, and forgets it when the listener raises. So a listener only acks
    and hands its work over to `start`, which cannot raise; whatever the work raises becomes a sentence for the user, a
    log line and an entry in the audit file.

    Work begins when no envelope waits for its ack any more: of fifty that come together, the first ones' searches would
    otherwise take the processor and the interpreter's lock from the acks of the others.

    Args:
        audit: Where refusals and errors are kept; None to keep none.

    Attributes:
        acks: Counts the envelopes that wait for their acks; whoever takes them keeps it.
    """

    def __init__(self, *, audit: EntryWriter | None) -> None:
        self.acks = PendingAcks()
        self._audit = audit
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def running(self) -> int:
        """How many pieces of work are under way."""
        return len(self._tasks)

    def start(self, body: Body, work: Callable[["Request"], Awaitable[None]], *, reply: Reply) -> None:
        """Begin the work for one payload and return at once.

        Args:
            body: The payload.
            work: Gets the request; what it raises is answered.
            reply: Where answers go.
        """
        request = Request(asked=Asked.from_body(body), body=body, reply=reply)
        task = asyncio.create_task(self._run(request, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def drain(self, *, seconds: float) -> None:
        """Wait for the work under way; what is not done by then is cancelled, and its users are told."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        for task in (late := list(self._tasks)):
            task.cancel()
        if late:
            _log.warning("work_cancelled", count=len(late))
            await asyncio.wait(late, timeout=1.0)

    async def _run(self, request: "Request", work: Callable[["Request"], Awaitable[None]]) -> None:
        with structlog.contextvars.bound_contextvars(request_id=request.request_id):
            try:
                with request.stopwatch.stage("waiting"):
                    await self.acks.over()
                await work(request)
            except asyncio.CancelledError:
                await asyncio.shield(self._tell(request, texts.STOPPING))
                raise
            except Exception as exc:  # noqa: BLE001 - the one place where a user's request ends, whatever happened.
                await self._answer_error(request, exc)

    async def _answer_error(self, request: "Request", error: Exception) -> None:
        facts = {"reason": type(error).__name__, "user_id": request.asked.user_id}
        if isinstance(error, SlackUnavailableError):
            facts |= {"method": error.method, "slack_error": error.reason}
        if isinstance(error, DenyListError):
            facts |= {"problem": str(error)}
        if isinstance(error, _EXPECTED):
            _log.info("request_not_answered", **facts)
        else:
            _log.error("request_failed", exc_info=error, **facts)
        self._keep(request, error)
        await self._tell(request, sentence_of(error))

    def _keep(self, request: "Request", error: Exception) -> None:
        if self._audit is None:
            return
        is_refusal = isinstance(error, RefusedError)
        entry = request.entry(AuditEvent.REFUSED if is_refusal else AuditEvent.ERROR)
        reason = error.refusal.value if isinstance(error, RefusedError) else type(error).__name__
        self._audit.write(replace(entry, reason=reason))

    async def _tell(self, request: "Request", sentence: str) -> None:
        try:
            await request.reply.tell(sentence)
        except Exception as exc:  # noqa: BLE001 - nothing is left to answer with; the log is the last place to say it.
            _log.error("answer_failed", exc_info=exc)


class Request:
    """One payload being answered.

    Attributes:
        asked: Who asks, and where.
        body: The payload.
        reply: Where answers go.
        request_id: Joins its lines in the log and the audit file; 12 hex digits.
        search_id: The `request_id` of the command whose answer was pressed in; its own for a command.
        stopwatch: Times the stages of the answer, from the ack on.
    """

    __slots__ = ("asked", "body", "reply", "request_id", "search_id", "stopwatch")

    def __init__(self, *, asked: Asked, body: Body, reply: Reply) -> None:
        self.asked = asked
        self.body = body
        self.reply = reply
        self.request_id = uuid.uuid4().hex[:12]
        self.search_id = self.request_id
        self.stopwatch = Stopwatch()

    def belong_to(self, search_id: str | None) -> None:
        """Take it that this is a press in the answer to that command; None where the button does not say."""
        if search_id is not None:
            self.search_id = search_id
            structlog.contextvars.bind_contextvars(search_id=search_id)

    def entry(self, event: AuditEvent) -> AuditEntry:
        """Return an entry for the audit file with who and where, and how long it took so far."""
        return AuditEntry(
            event=event,
            request_id=self.request_id,
            search_id=self.search_id,
            user_id=self.asked.user_id,
            team_id=self.asked.team_id,
            channel_id=self.asked.channel_id,
            timings_ms=self.stopwatch.milliseconds(),
        )

    def timings_with(self, engine: Mapping[str, float]) -> dict[str, float]:
        """Return the milliseconds by stage so far, with the engine's stages in the place of `search`.

        Args:
            engine: The engine's own stages with their `total`; what the search took beyond it is `waiting`, as is
                what others' acks took.
        """
        own = self.stopwatch.milliseconds()
        total = own.pop("total")
        beyond = max(0.0, own.pop("search", 0.0) - engine.get("total", 0.0))
        own["waiting"] = own.get("waiting", 0.0) + beyond
        for stage, spent in engine.items():
            if stage != "total":
                own[stage] = own.get(stage, 0.0) + spent
        return {**{stage: round(spent, 3) for stage, spent in own.items()}, "total": total}
