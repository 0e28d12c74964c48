"""Whatever happens after an ack, the person gets an answer and the guard lives on."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_sdk.web.async_client import AsyncWebClient

from bot import texts
from bot.audit import AuditFile, read_audit
from bot.guard import Guard, Request, sentence_of
from bot.payloads import Body
from bot.reply import Reply
from bot.retrieval_pool import PoolClosedError, PoolFullError, UserBusyError
from bot.settings import QueryText
from bot.visibility import Refusal, RefusedError
from bot.web_api import SlackUnavailableError
from retrieval import ArtifactMissingError, NotFoundError
from tests.log_capture import captured_log

BODY = {"user": {"id": "U1", "team_id": "T1"}, "channel": {"id": "C1"}, "type": "block_actions"}


class HeardReply(Reply):
    """Keeps what would be told instead of sending it."""

    def __init__(self, *, fails: bool = False) -> None:
        super().__init__(AsyncWebClient(), response_url=None, view_id=None, is_press=False)
        self.heard: list[str] = []
        self.fails = fails

    async def tell(self, sentence: str) -> bool:
        if self.fails:
            raise RuntimeError("the wire is cut")
        self.heard.append(sentence)
        return True


async def run(guard: Guard, error: BaseException) -> HeardReply:
    reply = HeardReply()

    async def work(_: Request) -> None:
        raise error

    guard.start(BODY, work, reply=reply)
    await guard.drain(seconds=1)
    return reply


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (RefusedError(Refusal.OTHER_TEAM), texts.REFUSED_OTHER_TEAM),
        (RefusedError(Refusal.BOT), texts.REFUSED_BOT),
        (RefusedError(Refusal.DELETED), texts.REFUSED_DELETED),
        (RefusedError(Refusal.UNKNOWN), texts.REFUSED_UNKNOWN),
        (SlackUnavailableError(method="users.info", reason="timeout"), texts.SLACK_DID_NOT_ANSWER),
        (PoolFullError("full"), texts.BUSY),
        (UserBusyError("busy"), texts.USER_BUSY),
        (PoolClosedError("closed"), texts.STOPPING),
        (TimeoutError(), texts.TOOK_TOO_LONG),
        (ArtifactMissingError("/srv/secret/path"), texts.NO_ARCHIVE),
        (NotFoundError(kind="message", identifier="T1:C9:1.0"), texts.NOT_FOUND),
        (KeyError("a bug"), texts.SOMETHING_WRONG),
    ],
)
async def test_every_error_becomes_its_sentence(error: Exception, sentence: str) -> None:
    reply = await run(Guard(audit=None), error)

    assert reply.heard == [sentence]


def test_every_refusal_has_a_sentence() -> None:
    assert len({sentence_of(RefusedError(refusal)) for refusal in Refusal}) == len(Refusal)


async def test_a_bug_is_logged_without_what_its_message_quotes() -> None:
    with captured_log() as log:
        await run(Guard(audit=None), KeyError("my private words"))

    (line,) = log.lines()
    assert line["event"] == "request_failed"
    assert line["error"] == "KeyError"
    assert line["user_id"] == "U1"
    assert len(line["request_id"]) == 12
    assert "private" not in log.getvalue()
    assert any("test_guard.py" in place for place in line["raised_at"])


async def test_refusals_and_errors_are_kept_in_the_audit_file(tmp_path: Path) -> None:
    audit = AuditFile(
        tmp_path,
        query_text=QueryText.HASHED,
        key=b"k",
        max_bytes=10_000,
        keep_days=1,
        clock=lambda: datetime(2026, 5, 4, tzinfo=UTC),
    )
    guard = Guard(audit=audit)
    await run(guard, RefusedError(Refusal.BOT))
    await run(guard, KeyError("secret"))
    audit.close()

    first, second = read_audit(tmp_path)
    assert (first.event, first.reason, first.user_id) == ("refused", "bot", "U1")
    assert (second.event, second.reason, second.channel_id) == ("error", "KeyError", "C1")


async def test_an_answer_that_cannot_be_sent_does_not_raise_either() -> None:
    guard = Guard(audit=None)
    reply = HeardReply(fails=True)

    async def work(_: Request) -> None:
        raise KeyError("a bug")

    guard.start(BODY, work, reply=reply)
    await guard.drain(seconds=1)

    assert guard.running == 0


async def test_draining_waits_for_what_runs_and_tells_those_it_cancels() -> None:
    guard = Guard(audit=None)
    quick, slow = HeardReply(), HeardReply()

    async def soon(request: Request) -> None:
        await asyncio.sleep(0.02)
        await request.reply.tell("done")

    async def never(_: Request) -> None:
        await asyncio.Event().wait()

    guard.start(BODY, soon, reply=quick)
    guard.start(BODY, never, reply=slow)
    await guard.drain(seconds=0.2)

    assert quick.heard == ["done"]
    assert slow.heard == [texts.STOPPING]
    assert guard.running == 0


@pytest.mark.parametrize("delay", [0.0, 0.001, 0.005])
async def test_an_error_right_after_the_ack_does_not_lose_the_ack(delay: float) -> None:
    """Bolt 1.30.0 forgets an ack when the listener itself raises within about ten milliseconds of it."""
    guard = Guard(audit=None)
    reply = HeardReply()

    async def authorize() -> AuthorizeResult:
        return AuthorizeResult(enterprise_id=None, team_id="T1", bot_token="xoxb-test", bot_id="B1")

    app = AsyncApp(client=AsyncWebClient("xoxb-test"), authorize=authorize)

    async def work(_: Request) -> None:
        await asyncio.sleep(delay)
        raise KeyError("a bug")

    @app.command("/slackquery")
    async def handle(ack: AsyncAck, body: Body) -> None:
        await ack()
        guard.start(body, work, reply=reply)

    body = {"command": "/slackquery", "text": "x", "user_id": "U1", "team_id": "T1", "channel_id": "C1"}
    response = await app.async_dispatch(AsyncBoltRequest(mode="socket_mode", body=body))
    await guard.drain(seconds=1)

    assert response.status == 200
    assert reply.heard == [texts.SOMETHING_WRONG]
