"""Bad days: slow services, swaps under load, bad newcomers, broken connections, and the end of the process."""

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import duckdb
import pytest

from bot import texts
from bot.audit import read_audit
from localslack.seen import SeenMessage
from localslack.server import LocalSlack
from retrieval import EmbedderFactory, Mode, publish
from retrieval.manifest import manifest_path
from tests.bot_harness import (
    ADA,
    CROWD,
    GENERAL,
    MANIFEST,
    PAYMENTS,
    Office,
    assert_all_legal,
    build_archive,
    copy_archive,
    eventually,
    newer_export,
    running_bot,
    workspace,
)
from tests.fake_endpoint import FakeEndpoint, Fault
from tests.log_capture import captured_log


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faults") / "archive"
    build_archive(folder)
    return folder


@pytest.fixture(scope="session")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_archive(tmp_path_factory.mktemp("faults-newer") / "archive", made=newer_export())


@pytest.fixture
def archive(built: Path, tmp_path: Path) -> Path:
    return copy_archive(built, tmp_path / "archive")


@pytest.fixture
async def office(archive: Path, tmp_path: Path) -> AsyncIterator[Office]:
    async with running_bot(archive, audit_dir=tmp_path / "audit") as office:
        yield office


def answers(office: Office, user: str) -> list[SeenMessage]:
    return [seen for seen in office.slack.person(user).messages(GENERAL) if seen.by_app]


# A slow or missing embedding service.


async def test_twelve_at_once_with_a_hanging_embedding_service(tmp_path: Path) -> None:
    """B36: every ack comes at once, every answer later."""
    with FakeEndpoint() as endpoint:
        folder = tmp_path / "archive"
        build_archive(folder, embedders=EmbedderFactory(endpoint.ollama_url, "nomic-embed-text"))
        async with running_bot(folder, embedding_url=endpoint.ollama_url, embedding_seconds=2.0) as office:
            await office.ask("warm words first")
            endpoint.fault = Fault.HANG
            loop = asyncio.get_running_loop()
            began = loop.time()

            async def one(user: str) -> tuple[float, SeenMessage]:
                typed = await office.slack.person(user).type(f"/slackquery rate limit {user}", channel=GENERAL)
                assert typed.acked
                answer = await office.slack.person(user).wait_for_message(GENERAL, timeout=15)
                return typed.seconds, answer

            got = await asyncio.gather(*(one(user) for user in CROWD))

            assert max(seconds for seconds, _ in got) < 1.0
            assert loop.time() - began < office.bot.services.answer_seconds
            assert all("keyword search only" in answer.plain_text for _, answer in got)
            assert all("rate limit" in answer.plain_text for _, answer in got)


async def test_semantic_mode_says_that_meaning_is_off_and_what_works(tmp_path: Path) -> None:
    with FakeEndpoint() as endpoint:
        folder = tmp_path / "archive"
        build_archive(folder, embedders=EmbedderFactory(endpoint.ollama_url, "nomic-embed-text"))
        endpoint.fault = Fault.STATUS_503
        async with running_bot(folder, embedding_url=endpoint.ollama_url) as office:
            answer = await office.ask("rate limit mode:semantic")
            status = await office.ask("status")

            assert texts.MEANING_OFF in answer.plain_text
            assert texts.mode_status(Mode.SEMANTIC, works=False) in status.plain_text
            assert texts.mode_status(Mode.LEXICAL, works=True) in status.plain_text


async def test_a_full_queue_says_so_and_everybody_is_answered(archive: Path) -> None:
    async with running_bot(archive, workers=1, queue_limit=2) as office:
        gate = hold_the_pool(office)
        typed = await asyncio.gather(
            *(office.slack.person(user).type("/slackquery rate limit", channel=GENERAL) for user in CROWD)
        )
        await eventually(lambda: sum(bool(answers(office, user)) for user in CROWD) >= len(CROWD) - 3)
        gate.set()
        await eventually(lambda: all(answers(office, user) for user in CROWD), seconds=15)

        assert all(outcome.acked and outcome.seconds < 1.0 for outcome in typed)
        busy = [user for user in CROWD if texts.BUSY in answers(office, user)[-1].plain_text]
        assert len(busy) == len(CROWD) - 2


def hold_the_pool(office: Office) -> "asyncio.Event":
    """Keep one worker busy until the event is set."""
    gate = asyncio.Event()
    loop = asyncio.get_running_loop()

    def wait() -> None:
        asyncio.run_coroutine_threadsafe(gate.wait(), loop).result(20)

    pool = office.bot._pool
    held = asyncio.create_task(pool.run("somebody", wait, timeout_seconds=20))
    held.add_done_callback(lambda task: task.exception())
    return gate


async def test_one_person_cannot_crowd_out_the_others(archive: Path) -> None:
    async with running_bot(archive, workers=1, queue_limit=50, user_limit=3) as office:
        gate = hold_the_pool(office)
        ada = office.slack.person(ADA)
        await asyncio.gather(*(ada.type("/slackquery rate limit", channel=GENERAL) for _ in range(8)))
        await eventually(lambda: len(answers(office, ADA)) >= 5)
        other = await office.slack.person(CROWD[0]).type("/slackquery zebra", channel=GENERAL)
        gate.set()
        await eventually(lambda: len(answers(office, ADA)) == 8 and bool(answers(office, CROWD[0])), seconds=15)

        assert other.acked
        assert sum(texts.USER_BUSY in seen.plain_text for seen in answers(office, ADA)) == 5
        assert "zebra" in answers(office, CROWD[0])[-1].plain_text


async def test_a_search_over_its_budget_is_given_up_with_a_sentence(archive: Path) -> None:
    async with running_bot(archive, workers=1, answer_seconds=2.0) as office:
        gate = hold_the_pool(office)
        answer = await office.ask("rate limit")
        gate.set()

        assert texts.TOOK_TOO_LONG in answer.plain_text


# Slack is slow, limits or fails.


async def test_a_slow_users_info_does_not_delay_the_ack(office: Office) -> None:
    office.slack.fault("slow", method="users.info", seconds=1.5)
    outcome = await office.slack.person(ADA).type("/slackquery rate limit", channel=GENERAL)
    answer = await office.slack.person(ADA).wait_for_message(GENERAL, timeout=10)

    assert outcome.seconds < 1.0
    assert "results 1 to 5" in answer.plain_text


async def test_a_short_rate_limit_is_waited_for(office: Office) -> None:
    office.slack.fault("rate_limited", method="conversations.list", retry_after=1)
    answer = await office.ask("rate limit")

    assert "results 1 to 5" in answer.plain_text
    assert len(office.slack.recorder.calls_to("conversations.list")) == 2


async def test_a_long_rate_limit_searches_nothing_and_asks_slack_no_more(office: Office) -> None:
    office.slack.fault("rate_limited", method="conversations.list", retry_after=300)
    first = await office.ask("rate limit")
    second = await office.ask("rate limit")

    assert texts.SLACK_DID_NOT_ANSWER in first.plain_text
    assert texts.SLACK_DID_NOT_ANSWER in second.plain_text
    assert len(office.slack.recorder.calls_to("conversations.list")) == 1


@pytest.mark.parametrize("kind", ["status_500", "malformed_json", "drop", "error"])
async def test_a_failed_list_of_channels_searches_nothing_and_is_not_kept(office: Office, kind: str) -> None:
    office.slack.fault(kind, method="conversations.list", times=-1)  # type: ignore[arg-type]
    refused = await office.ask("rate limit")
    office.slack.faults.clear()
    answered = await office.ask("rate limit")

    assert texts.SLACK_DID_NOT_ANSWER in refused.plain_text
    assert "429" not in refused.plain_text
    assert "results 1 to 5" in answered.plain_text


async def test_a_dead_response_url_is_logged_and_nothing_else(office: Office) -> None:
    office.slack.fault("response_url_404")
    with captured_log() as log:
        outcome = await office.slack.person(ADA).type("/slackquery rate limit", channel=GENERAL)
        await eventually(lambda: "answer_refused" in log.events())

    assert outcome.acked
    assert "results 1 to 5" in (await office.ask("rate limit")).plain_text


async def test_a_command_that_slack_delivers_twice_is_answered_once(office: Office) -> None:
    office.slack.fault("duplicate_envelope")
    await office.ask("rate limit")
    await office.ask("zebra")

    assert len(answers(office, ADA)) == 2


# The connection.


@pytest.fixture
async def quick(archive: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Office]:
    """A bot that pings, and with that notices a cut connection, within half a second."""
    monkeypatch.setattr("bot.connection.PING_SECONDS", 0.5)
    async with running_bot(archive) as office:
        yield office


async def cut_connection(office: Office, kind: str) -> None:
    """Cut every connection and wait until the bot is connected again."""
    if kind in ("refresh", "close"):
        if kind == "refresh":
            await office.slack.disconnect("refresh_requested", close_after=0.1)
        else:
            await office.slack.close_frames()
        await asyncio.sleep(0.3)
    else:
        (office.slack.fin if kind == "fin" else office.slack.rst)()
        await eventually(lambda: office.slack.connections == 0)
    await office.slack.wait_connected(timeout=20)


@pytest.mark.parametrize("kind", ["refresh", "close", "fin", "rst"])
async def test_after_a_cut_connection_the_next_command_is_answered(quick: Office, kind: str) -> None:
    """B41: refresh, CLOSE, FIN and RST."""
    await quick.ask("rate limit")
    await cut_connection(quick, kind)

    assert "zebra" in (await quick.ask("zebra paper")).plain_text


async def test_it_comes_back_although_slack_refuses_a_new_connection_three_times(quick: Office) -> None:
    """B41: a network that stays away for a while."""
    quick.slack.fault("status_500", method="apps.connections.open", times=3)
    await cut_connection(quick, "rst")

    assert "zebra" in (await quick.ask("zebra paper")).plain_text
    assert len(quick.slack.recorder.calls_to("apps.connections.open")) >= 5


async def test_a_connection_that_answers_no_ping_is_left_for_another(quick: Office) -> None:
    quick.slack.fault("pong_blackout", times=-1)
    await eventually(lambda: len(quick.slack.recorder.calls_to("apps.connections.open")) > 1, seconds=20)
    quick.slack.faults.clear()
    await quick.slack.wait_connected(timeout=10)

    await eventually(lambda: quick.bot.connection._handler is not None, seconds=5)
    assert "zebra" in (await quick.ask("zebra paper")).plain_text


async def test_a_search_under_way_survives_a_refresh(office: Office) -> None:
    office.slack.fault("slow", method="users.info", seconds=1.0)
    person = office.slack.person(ADA)
    typing = asyncio.create_task(person.type("/slackquery rate limit", channel=GENERAL))
    await asyncio.sleep(0.2)
    await office.slack.disconnect("refresh_requested", close_after=0.1)
    outcome = await typing
    await person.wait_for_message(GENERAL, timeout=10)

    assert outcome.acked
    assert len(answers(office, ADA)) == 1


async def test_a_client_that_does_not_recover_is_replaced_by_a_new_one(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B41: a closed client never reconnects, whatever its session does: only another client helps."""
    monkeypatch.setattr("bot.connection.PATIENCE_SECONDS", 0.5)
    connection = office.bot.connection
    assert connection._handler is not None
    await connection._handler.client.close()
    await eventually(lambda: connection.rebuilt >= 1, seconds=15)
    await office.slack.wait_connected(timeout=10)

    assert "results 1 to 5" in (await office.ask("rate limit")).plain_text
    assert await connection.is_connected()


# Swaps.


async def test_a_swap_restarts_a_stale_next_at_page_one_and_says_why(office: Office, newer: Path) -> None:
    message = await office.ask("partner tier mode:lexical")
    publish(office.artifacts, newer)
    await office.bot.services.watch.check()

    message = await office.press(message, "Next")

    assert texts.RESTARTED_NEW_ARCHIVE in message.plain_text
    assert "results 1 to 5" in message.plain_text
    assert "platypus" in (await office.ask("platypus")).plain_text


async def test_the_scheduler_swaps_by_itself(archive: Path, newer: Path) -> None:
    async with running_bot(archive, swap_check_seconds=1) as office:
        publish(archive, newer)
        await eventually(lambda: office.bot.services.watch.state.info is not None and is_newer(office), seconds=10)

        assert "platypus" in (await office.ask("platypus")).plain_text


def is_newer(office: Office) -> bool:
    info = office.bot.services.watch.state.info
    return info is not None and Path(info.path).name == (office.artifacts / "current.duckdb").resolve().name


async def test_a_pointer_replaced_by_rename_is_followed(office: Office, newer: Path) -> None:
    """Some publishers move a file over current.duckdb instead of a symlink."""
    incoming = office.artifacts / "incoming"
    shutil.copyfile(newer, incoming)
    copy_manifest(newer, office.artifacts / "current.duckdb")
    incoming.replace(office.artifacts / "current.duckdb")
    await office.bot.services.watch.check()

    assert office.bot.services.watch.state.problem is None
    assert "platypus" in (await office.ask("platypus")).plain_text


def copy_manifest(artifact: Path, target: Path) -> None:
    """Write an artifact's manifest for a copy of it under another name."""
    content = json.loads(manifest_path(artifact).read_text())
    manifest = manifest_path(target)
    manifest.unlink(missing_ok=True)
    manifest.write_text(json.dumps(content | {"artifact_file": target.name}))


async def test_searching_and_paging_users_notice_no_error_while_archives_are_swapped(
    office: Office, newer: Path
) -> None:
    older = (office.artifacts / "current.duckdb").resolve()
    stop = asyncio.Event()
    shown: list[str] = []

    async def turned(message: SeenMessage, user: str) -> SeenMessage:
        # The next payload that anybody gets may be another's.
        person, before = office.slack.person(user), message.plain_text
        await office.press(message, "Next", user=user)
        await person.wait_until(lambda: person.current_message(message).plain_text != before, timeout=15)
        return person.current_message(message)

    async def use(user: str) -> None:
        while not stop.is_set():
            message = await office.ask("partner tier in:#payments mode:lexical", user=user)
            for _ in range(3):
                if all(control.text != "Next" for control in message.controls):
                    break
                message = await turned(message, user)
                shown.append(message.plain_text)

    users = [asyncio.create_task(use(user)) for user in CROWD[:8]]
    old = weak_artifact(office)
    for number in range(4):
        await asyncio.sleep(0.5)
        publish(office.artifacts, older if number % 2 else newer)
        await office.bot.services.watch.check()
    stop.set()
    await asyncio.gather(*users)

    trouble = (texts.SOMETHING_WRONG, texts.ARCHIVE_REPLACED, texts.ARCHIVE_UNUSABLE, texts.TOOK_TOO_LONG)
    assert not [text for text in shown if any(sentence in text for sentence in trouble)]
    assert any(texts.RESTARTED_NEW_ARCHIVE in text for text in shown)
    assert all("results" in text for text in shown)
    assert old() is True


def weak_artifact(office: Office) -> Callable[[], bool]:
    """Return whether the artifact that serves now has been closed by then."""
    with office.bot._store.lease() as artifact:
        return lambda: artifact._connection is None


async def test_a_file_overwritten_in_place_is_noticed_and_never_mixed(office: Office, newer: Path) -> None:
    served = (office.artifacts / "current.duckdb").resolve()
    served.chmod(0o644)
    shutil.copyfile(newer, served)
    during = await office.ask("platypus mode:lexical")
    assert texts.ARCHIVE_REPLACED in during.plain_text or texts.ARCHIVE_UNUSABLE in during.plain_text

    copy_manifest(newer, served)
    await office.bot.services.watch.check()
    after = await office.ask("platypus mode:lexical")

    assert "A platypus joined the partner tier" in after.plain_text


async def test_an_archive_whose_file_is_deleted_while_it_serves_goes_on_serving(office: Office) -> None:
    for one in office.artifacts.iterdir():
        one.unlink()
    await office.bot.services.watch.check()

    assert "results 1 to 5" in (await office.ask("rate limit")).plain_text


async def test_an_archive_cut_short_while_it_serves_is_said_and_the_next_one_serves(
    office: Office, newer: Path
) -> None:
    served = (office.artifacts / "current.duckdb").resolve()
    served.chmod(0o644)
    os.truncate(served, served.stat().st_size // 2)
    during = await office.ask("rate limit")
    publish(office.artifacts, newer)
    await office.bot.services.watch.check()
    after = await office.ask("platypus mode:lexical")

    assert texts.ARCHIVE_REPLACED in during.plain_text or texts.ARCHIVE_UNUSABLE in during.plain_text
    assert "A platypus joined the partner tier" in after.plain_text


async def test_everybody_who_is_turned_away_is_told_so(archive: Path) -> None:
    async with running_bot(archive, workers=1, queue_limit=3, user_limit=1) as office:
        gate = hold_the_pool(office)
        typed = await asyncio.gather(
            *(
                office.slack.person(user).type("/slackquery rate limit", channel=GENERAL)
                for user in (*CROWD, *CROWD, *CROWD)
            )
        )
        await eventually(lambda: sum(len(answers(office, user)) for user in CROWD) == 3 * len(CROWD) - 3, seconds=15)
        gate.set()
        await eventually(lambda: all(len(answers(office, user)) == 3 for user in CROWD), seconds=15)

        assert all(outcome.acked for outcome in typed)
        told = [seen.plain_text for user in CROWD for seen in answers(office, user)]
        assert sum("results 1 to 5" in text for text in told) == 3
        assert sum(texts.USER_BUSY in text for text in told) == 6
        assert sum(texts.BUSY in text for text in told) == 3 * len(CROWD) - 9


def corrupt(target: Path) -> None:
    content = bytearray(target.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 4096] = os.urandom(4096)
    target.write_bytes(bytes(content))


def empty(target: Path) -> None:
    target.write_bytes(b"")


def wrong_schema(target: Path) -> None:
    with duckdb.connect(str(target)) as connection:
        connection.execute("UPDATE artifact_metadata SET schema_version = 99")


def wrong_checksum(target: Path) -> None:
    manifest = manifest_path(target)
    content = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(content | {"checksum_sha256": "0" * 64}))


@pytest.mark.parametrize("spoil", [corrupt, empty, wrong_schema, wrong_checksum])
async def test_a_bad_newcomer_is_reported_once_and_the_old_archive_serves_on(
    office: Office, newer: Path, spoil: Callable[[Path], None], tmp_path: Path
) -> None:
    target = office.artifacts / newer.name
    shutil.copyfile(newer, target)
    copy_manifest(newer, target)
    spoil(target)
    link = office.artifacts / "next"
    link.symlink_to(target.name)
    link.replace(office.artifacts / "current.duckdb")

    with captured_log() as log:
        for _ in range(3):
            await office.bot.services.watch.check()

    assert log.events().count("archive_not_usable") == 1
    assert "results 1 to 5" in (await office.ask("rate limit")).plain_text
    assert texts.NEW_ARCHIVE_REFUSED in (await office.ask("status")).plain_text
    await office.bot.stop()
    kept = [entry for entry in read_audit(tmp_path / "audit") if entry.reason == "archive_not_usable"]
    assert len(kept) == 1


async def test_without_an_archive_it_starts_says_so_and_serves_the_first_that_comes(
    tmp_path: Path, newer: Path
) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    async with running_bot(folder) as office:
        assert "no archive to serve" in office.bot.notices[0]
        assert texts.NO_ARCHIVE in (await office.ask("rate limit")).plain_text
        publish(folder, newer)
        await office.bot.services.watch.check()

        assert "results 1 to 5" in (await office.ask("rate limit")).plain_text


async def test_an_archive_of_another_workspace_is_told_at_once(archive: Path) -> None:
    async with running_bot(archive, teams={"T1TEST": "T0ELSEWHERE"}) as office:
        assert "Nothing in the archive belongs to the bot's team T1TEST" in office.bot.notices[0]
        assert "SLACKQUERY_TEAMS=" in office.bot.notices[0]
        assert "Nothing found" in (await office.ask("rate limit")).plain_text


# The end of the process.


async def test_sigterm_in_the_middle_of_a_search_lets_it_answer_and_exits_zero(archive: Path, tmp_path: Path) -> None:
    async with LocalSlack(workspace(), MANIFEST) as slack:
        environment = {
            "PATH": os.environ["PATH"],
            "SLACK_BOT_TOKEN": slack.bot_token,
            "SLACK_APP_TOKEN": slack.app_token,
            "SLACK_API_URL": slack.api_url,
            "SLACKQUERY_ARTIFACTS": str(archive),
            "SLACKQUERY_AUDIT_DIR": str(tmp_path / "audit"),
        }
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "bot",
            "serve",
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            await slack.wait_connected(timeout=30)
            slack.fault("slow", method="users.info", seconds=1.0)
            person = slack.person(ADA)
            outcome = await person.type("/slackquery rate limit 429", channel=PAYMENTS)
            process.send_signal(signal.SIGTERM)
            began = asyncio.get_running_loop().time()
            answer = await person.wait_for_message(PAYMENTS, timeout=10)
            out, err = await asyncio.wait_for(process.communicate(), 10)
            seconds = asyncio.get_running_loop().time() - began
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

        assert outcome.acked
        assert "results 1 to 5" in answer.plain_text
        assert process.returncode == 0, err.decode()
        assert seconds < 10
        lines = [json.loads(line) for line in out.decode().splitlines()]
        assert [line["event"] for line in lines if line["event"] in ("started", "searched", "stopped")] == [
            "started",
            "searched",
            "stopped",
        ]
        assert "rate limit" not in out.decode() + err.decode()
        assert slack.bot_token not in out.decode() + err.decode()
        assert_all_legal(slack)
    assert [entry.event for entry in read_audit(tmp_path / "audit")][-1] == "stop"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"SLACK_BOT_TOKEN": "xoxb-test-wrong"}, "Slack does not accept SLACK_BOT_TOKEN (invalid_auth)."),
        ({"SLACK_APP_TOKEN": "xapp-test-wrong"}, "Slack does not accept SLACK_APP_TOKEN"),
        ({"SLACK_API_URL": "http://127.0.0.1:9/api/"}, "Slack cannot be reached at SLACK_API_URL"),
        ({"SLACKQUERY_ARTIFACTS": ""}, "SLACKQUERY_ARTIFACTS is not set."),
        ({"SLACKQUERY_FUSION": "best"}, "SLACKQUERY_FUSION cannot be used"),
        ({"SLACKQUERY_DENY": "/nowhere/deny.txt"}, "SLACKQUERY_DENY: /nowhere/deny.txt cannot be read"),
    ],
)
async def test_what_stops_it_from_starting_is_one_sentence(archive: Path, change: dict[str, str], words: str) -> None:
    async with LocalSlack(workspace(), MANIFEST) as slack:
        environment = {
            "PATH": os.environ["PATH"],
            "SLACK_BOT_TOKEN": slack.bot_token,
            "SLACK_APP_TOKEN": slack.app_token,
            "SLACK_API_URL": slack.api_url,
            "SLACKQUERY_ARTIFACTS": str(archive),
        }
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bot", "serve"),
            env=environment | change,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        _, err = await asyncio.wait_for(process.communicate(), 30)

    assert process.returncode == 1
    assert words in err.decode()
    assert "Traceback" not in err.decode()
