"""Who is served and which channels are searched: from Slack's whole word alone, asked over real HTTP."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.deny_list import DenyList, DenyListError
from bot.directory import NameSource
from bot.live_workspace import KEEP_SECONDS, LiveWorkspace
from bot.visibility import AccessRules, DirectMessages, Refusal, RefusedError, Sight
from bot.web_api import SlackUnavailableError, WebAPI
from localslack.server import LocalSlack
from localslack.workspace import Channel, User, Workspace
from retrieval import UnknownNameError
from tests.bot_harness import (
    ADA,
    BEN,
    CLEO,
    DORA,
    EVE,
    GENERAL,
    GUS,
    MANIFEST,
    OLD,
    PAYMENTS,
    ROBO,
    SECRET,
    SHARED,
    workspace,
)
from tests.export_factory import TEAM_ID


class WaitingClock:
    """A monotonic clock on which sleeping takes no time."""

    def __init__(self) -> None:
        self.ahead = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return time.monotonic() + self.ahead

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.ahead += seconds


@dataclass(frozen=True, kw_only=True)
class Rules:
    slack: LocalSlack
    workspace: LiveWorkspace
    access: AccessRules
    names: NameSource
    clock: WaitingClock

    @property
    def deadline(self) -> float:
        return self.clock() + 10

    async def sight(self, user_id: str = ADA) -> Sight:
        person = await self.access.admit(user_id, TEAM_ID, deadline=self.deadline)
        return await self.access.sight_of(person, deadline=self.deadline)

    def calls(self, method: str) -> int:
        return len(self.slack.recorder.calls_to(method))


BOARD, CRISIS = "C6BOARD", "C7CRISIS"


def office_workspace() -> Workspace:
    """The harness's workspace with two private channels that the bot is in."""
    described = workspace()
    bot = described.bot_user_id
    private = (
        Channel(id=BOARD, name="board", members=(ADA, GUS, bot), is_private=True),
        Channel(id=CRISIS, name="crisis", members=(ADA, BEN, bot), is_private=True, is_archived=True),
        Channel(id="G8MPDM", name="mpdm-ada-ben-1", members=(ADA, BEN, bot), is_private=True, is_mpim=True),
        Channel(id="D9IM", name="", members=(ADA, bot), is_im=True),
    )
    return replace(described, channels=(*described.channels, *private))


def allowed_to(sight: Sight) -> frozenset[str]:
    """The channels of the team's own archive."""
    assert sight.visibility.allowed is not None
    return sight.visibility.allowed[TEAM_ID]


async def nobody() -> frozenset[str]:
    return frozenset()


@asynccontextmanager
async def rules(
    *,
    page_items: int | None = None,
    client: Callable[[LocalSlack], AsyncWebClient] | None = None,
    deny: Path | None = None,
    direct: DirectMessages | None = None,
) -> AsyncIterator[Rules]:
    clock = WaitingClock()
    async with LocalSlack(office_workspace(), MANIFEST, page_items=page_items) as slack:
        web = client(slack) if client else AsyncWebClient(slack.bot_token, base_url=slack.api_url)
        live = LiveWorkspace(web, web_api=WebAPI(monotonic=clock, sleep=clock.sleep), monotonic=clock)
        access = AccessRules(
            live,
            team_id=TEAM_ID,
            workspace_ids=lambda team: (team, "older-export"),
            denied=DenyList(deny),
            direct=direct,
            monotonic=clock,
        )
        yield Rules(slack=slack, workspace=live, access=access, names=NameSource(live), clock=clock)


PUBLIC = frozenset({GENERAL, PAYMENTS, OLD, SHARED})


async def test_a_full_member_sees_what_slack_lists_as_public_archived_and_shared_too() -> None:
    async with rules() as office:
        sight = await office.sight(CLEO)

    assert sight.visibility.allowed == {TEAM_ID: PUBLIC, "older-export": PUBLIC}
    assert SECRET not in {channel.id for channel in sight.channels}
    assert sight.is_complete


async def test_a_full_member_also_sees_private_channels_that_slack_confirms() -> None:
    async with rules(page_items=1) as office:
        assert allowed_to(await office.sight(ADA)) == PUBLIC | {BOARD, CRISIS}
        assert allowed_to(await office.sight(BEN)) == PUBLIC | {CRISIS}


@pytest.mark.parametrize("flag", ["is_restricted", "is_ultra_restricted"])
async def test_a_guest_sees_only_channels_that_they_are_in(flag: str) -> None:
    async with rules(page_items=1) as office:
        office.slack.change_user(BEN, **{flag: True})

        assert allowed_to(await office.sight(GUS)) == {GENERAL, BOARD}
        assert allowed_to(await office.sight(BEN)) == {GENERAL, PAYMENTS, CRISIS}
        assert office.calls("conversations.list") == 0


async def test_an_admin_sees_no_more_than_anybody() -> None:
    async with rules() as office:
        office.slack.change_user(CLEO, is_admin=True, is_owner=True)

        assert allowed_to(await office.sight(CLEO)) == PUBLIC


@pytest.mark.parametrize(
    ("user_id", "team_id", "refusal"),
    [
        (DORA, TEAM_ID, Refusal.DELETED),
        (ROBO, TEAM_ID, Refusal.BOT),
        (EVE, "T9OTHER", Refusal.OTHER_TEAM),
        (EVE, TEAM_ID, Refusal.OTHER_TEAM),
        (ADA, "T9OTHER", Refusal.OTHER_TEAM),
        (ADA, "", Refusal.OTHER_TEAM),
        ("U0NOBODY", TEAM_ID, Refusal.UNKNOWN),
    ],
)
async def test_everybody_else_is_refused(user_id: str, team_id: str, refusal: Refusal) -> None:
    async with rules() as office:
        with pytest.raises(RefusedError) as caught:
            await office.access.admit(user_id, team_id, deadline=office.deadline)

    assert caught.value.refusal is refusal


async def test_the_asker_s_time_zone_comes_along() -> None:
    async with rules() as office:
        person = await office.access.admit(ADA, TEAM_ID, deadline=office.deadline)

    assert person.timezone == "America/Los_Angeles"


async def test_every_page_of_the_list_is_read() -> None:
    async with rules(page_items=1) as office:
        sight = await office.sight(CLEO)

        assert allowed_to(sight) == PUBLIC
        assert office.calls("conversations.list") == len(PUBLIC)


async def test_one_list_serves_everybody_for_five_minutes() -> None:
    async with rules() as office:
        await office.sight(ADA)
        await office.sight(BEN)
        assert office.calls("conversations.list") == 1
        assert office.calls("users.info") == 2
        assert office.calls("users.conversations") == 2
        office.clock.ahead += KEEP_SECONDS + 1

        await office.sight(ADA)

        assert office.calls("conversations.list") == 2
        assert office.calls("users.info") == 3
        assert office.calls("users.conversations") == 3


class FailsOnPage(AsyncWebClient):
    """Makes the local Slack fail from the given page of a list on, until `heal`."""

    def __init__(
        self, slack: LocalSlack, *, page: int, fault: str, method: str = "conversations.list", **details: Any
    ) -> None:
        super().__init__(slack.bot_token, base_url=slack.api_url)
        self._slack, self._page, self._fault, self._details = slack, page, fault, details
        self._method = method
        self._calls = 0
        self.healed = False

    async def conversations_list(self, **arguments: Any) -> Any:
        self._count("conversations.list")
        return await super().conversations_list(**arguments)

    async def users_conversations(self, **arguments: Any) -> Any:
        self._count("users.conversations")
        return await super().users_conversations(**arguments)

    def _count(self, method: str) -> None:
        self._calls += method == self._method
        if method == self._method and self._calls == self._page and not self.healed:
            self._slack.fault(self._fault, method=method, **self._details)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fault", "details"),
    [
        ("status_500", {}),
        ("malformed_json", {}),
        ("error", {"error": "fatal_error"}),
        ("rate_limited", {"retry_after": 3600}),
    ],
)
async def test_half_a_list_is_never_used_nor_kept(fault: str, details: dict[str, Any]) -> None:
    """B45: a list that broke off at page two is no list."""
    made: list[FailsOnPage] = []

    def client(slack: LocalSlack) -> AsyncWebClient:
        made.append(FailsOnPage(slack, page=2, fault=fault, **details))
        return made[0]

    async with rules(page_items=2, client=client) as office:
        with pytest.raises(SlackUnavailableError):
            await office.sight()
        made[0].healed = True
        office.clock.ahead += 3601

        sight = await office.sight(CLEO)

    assert allowed_to(sight) == PUBLIC


FAULTS = [
    ("status_500", {}),
    ("malformed_json", {}),
    ("error", {"error": "fatal_error"}),
    ("rate_limited", {"retry_after": 3600}),
]


@pytest.mark.parametrize(("fault", "details"), FAULTS)
async def test_memberships_that_fail_at_page_two_leave_the_public_channels(fault: str, details: dict[str, Any]) -> None:
    made: list[FailsOnPage] = []

    def client(slack: LocalSlack) -> AsyncWebClient:
        made.append(FailsOnPage(slack, page=2, fault=fault, method="users.conversations", **details))
        return made[0]

    async with rules(page_items=1, client=client) as office:
        sight = await office.sight(ADA)
        assert allowed_to(sight) == PUBLIC
        assert not sight.is_complete
        assert {channel.id for channel in sight.channels} == PUBLIC
        made[0].healed = True
        office.clock.ahead += 3601

        sight = await office.sight(ADA)

    assert sight.is_complete
    assert allowed_to(sight) == PUBLIC | {BOARD, CRISIS}


@pytest.mark.parametrize(("fault", "details"), FAULTS)
async def test_memberships_that_fail_leave_a_guest_nothing(fault: str, details: dict[str, Any]) -> None:
    async with rules(
        page_items=1,
        client=lambda slack: FailsOnPage(slack, page=2, fault=fault, method="users.conversations", **details),
    ) as office:
        with pytest.raises(SlackUnavailableError):
            await office.sight(GUS)


async def test_what_was_incomplete_has_the_same_look_whether_there_is_more_or_not() -> None:
    async with rules() as office:
        office.slack.fault("status_500", method="users.conversations", times=-1)

        ada, cleo = await office.sight(ADA), await office.sight(CLEO)

    assert ada == cleo


async def test_memberships_that_take_five_seconds_are_not_waited_for_but_kept_for_the_next_press() -> None:
    async with rules() as office:
        await office.sight(CLEO)
        office.slack.fault("slow", method="users.conversations", seconds=5)
        began = time.monotonic()

        sight = await office.sight(ADA)

        assert time.monotonic() - began < 4.5
        assert not sight.is_complete
        await asyncio.sleep(2.5)
        assert allowed_to(await office.sight(ADA)) == PUBLIC | {BOARD, CRISIS}
        assert office.calls("users.conversations") == 2


async def test_a_rate_limit_of_memberships_is_not_asked_through() -> None:
    async with rules() as office:
        office.slack.fault("rate_limited", method="users.conversations", retry_after=60)
        for user in (ADA, BEN, CLEO):
            assert not (await office.sight(user)).is_complete
        assert office.calls("users.conversations") == 1
        office.clock.ahead += 61

        assert allowed_to(await office.sight(BEN)) == PUBLIC | {CRISIS}


async def test_dropped_memberships_are_asked_for_again() -> None:
    async with rules() as office:
        await office.sight(ADA)
        office.slack.leave(BOARD, ADA)
        assert BOARD in allowed_to(await office.sight(ADA))
        office.workspace.drop_memberships(ADA)

        assert BOARD not in allowed_to(await office.sight(ADA))


async def test_memberships_are_obeyed_within_five_minutes_without_any_event() -> None:
    async with rules() as office:
        await office.sight(ADA)
        office.slack.leave(BOARD, ADA)
        office.slack.make_private(PAYMENTS)
        office.clock.ahead += KEEP_SECONDS + 1

        assert allowed_to(await office.sight(ADA)) == PUBLIC - {PAYMENTS} | {CRISIS}


class Mailbox:
    """Says who takes part in which direct messages."""

    async def direct_channels(
        self, user_id: str, workspace_ids: tuple[str, ...], *, deadline: float
    ) -> Mapping[str, frozenset[str]]:
        assert workspace_ids == (TEAM_ID, "older-export")
        return {TEAM_ID: frozenset({"D1"})} if user_id in {BEN, GUS} else {}


async def test_direct_messages_are_added_where_they_are_allowed(tmp_path: Path) -> None:
    async with rules(direct=Mailbox()) as office:
        assert allowed_to(await office.sight(CLEO)) == PUBLIC
        assert allowed_to(await office.sight(GUS)) == {GENERAL, BOARD, "D1"}
        sight = await office.sight(BEN)
        assert allowed_to(sight) == PUBLIC | {CRISIS, "D1"}
        assert sight.visibility.allowed is not None
        assert sight.visibility.allowed["older-export"] == PUBLIC | {CRISIS}
        assert "D1" not in {channel.id for channel in sight.channels}
    deny = tmp_path / "deny.txt"
    deny.write_text("D1\n")
    async with rules(direct=Mailbox(), deny=deny) as office:
        assert "D1" not in allowed_to(await office.sight(BEN))


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("#payments", "line 2: '#payments' is a name"),
        ("#payments  # by order", "is a name"),
        ("@ada", "line 2: '@ada' is a name"),
        ("C1 C2", "line 2: 'C1 C2' is not one id"),
        ("the board", "is not one id"),
    ],
)
def test_a_line_that_is_no_id_is_named_and_nothing_passes_for_a_comment(
    tmp_path: Path, line: str, complaint: str
) -> None:
    deny = tmp_path / "deny.txt"
    deny.write_text(f"C9\n{line}\n")
    with pytest.raises(DenyListError, match=complaint):
        DenyList(deny).ids()


def test_comments_and_empty_lines_are_not_ids(tmp_path: Path) -> None:
    deny = tmp_path / "deny.txt"
    deny.write_text("\ufeff# legal, 12 March\n\n#\nC1  # a channel\n  T1:C1:1.0 #one message\n", encoding="utf-8")
    assert DenyList(deny).ids() == {"C1", "T1:C1:1.0"}


async def test_a_private_channel_that_is_denied_is_not_shown(tmp_path: Path) -> None:
    deny = tmp_path / "deny.txt"
    deny.write_text(f"{BOARD}\n")
    async with rules(deny=deny) as office:
        assert allowed_to(await office.sight(ADA)) == PUBLIC | {CRISIS}
        assert allowed_to(await office.sight(GUS)) == {GENERAL}


async def test_a_rate_limit_within_the_time_is_waited_out() -> None:
    async with rules(
        page_items=2, client=lambda slack: FailsOnPage(slack, page=2, fault="rate_limited", retry_after=4)
    ) as office:
        sight = await office.sight(CLEO)

        assert 3.5 < sum(office.clock.slept) <= 4
        assert sight.visibility.allowed is not None
        assert sight.visibility.allowed[TEAM_ID] == PUBLIC


async def test_a_slow_slack_is_given_up_at_the_deadline_and_the_answer_is_kept_for_the_next() -> None:
    async with rules() as office:
        person = await office.access.admit(CLEO, TEAM_ID, deadline=office.deadline)
        office.slack.fault("slow", method="conversations.list", seconds=0.4)
        with pytest.raises(SlackUnavailableError):
            await office.access.sight_of(person, deadline=office.clock() + 0.1)

        sight = await office.access.sight_of(person, deadline=office.deadline)

        assert len(sight.channels) == len(PUBLIC)
        assert office.calls("conversations.list") == 1


async def test_a_dropped_list_is_asked_for_again() -> None:
    async with rules() as office:
        await office.sight(CLEO)
        office.slack.make_private(PAYMENTS)
        office.workspace.drop_channels()

        sight = await office.sight(CLEO)

    assert PAYMENTS not in {channel.id for channel in sight.channels}


async def test_a_dropped_person_is_asked_for_again() -> None:
    async with rules() as office:
        await office.sight(BEN)
        office.slack.change_user(BEN, deleted=True)
        office.workspace.drop_person(BEN)

        with pytest.raises(RefusedError) as caught:
            await office.sight(BEN)

    assert caught.value.refusal is Refusal.DELETED


async def test_names_are_those_of_channels_in_sight_and_of_people() -> None:
    async with rules() as office:
        sight = await office.sight()
        directory = await office.names.directory_for("x from:ben", sight, met=nobody, deadline=office.deadline)

        assert directory.find_channel("#payments").channel_id == PAYMENTS
        assert directory.find_person("@Ben").user_id == BEN
        for hidden in ("secret-plans", SECRET):
            with pytest.raises(UnknownNameError) as caught:
                directory.find_channel(hidden)
            assert "secret-plans" not in caught.value.suggestions


async def test_people_are_only_asked_for_where_a_query_names_one() -> None:
    async with rules() as office:
        sight = await office.sight()
        await office.names.directory_for("rate limit in:#payments", sight, met=nobody, deadline=office.deadline)
        assert office.calls("users.list") == 0

        await office.names.directory_for("From:ben rate limit", sight, met=nobody, deadline=office.deadline)

        assert office.calls("users.list") == 1


async def test_a_guest_s_directory_names_only_whom_they_can_read() -> None:
    async def met() -> frozenset[str]:
        return frozenset({ADA})

    async with rules() as office:
        sight = await office.sight(GUS)
        directory = await office.names.directory_for("x from:ben", sight, met=met, deadline=office.deadline)

        assert directory.find_person("ada").user_id == ADA
        with pytest.raises(UnknownNameError) as caught:
            directory.find_person("ben")
        assert caught.value.suggestions == ()


async def test_what_is_denied_is_obeyed_at_once(tmp_path: Path) -> None:
    deny = tmp_path / "deny.txt"
    deny.write_text(f"# what legal asked for\n{PAYMENTS}  # a channel\n\n{BEN}\nT1TEST:C1:1760000000.000100\n")
    async with rules(deny=deny) as office:
        sight = await office.sight(CLEO)
        assert sight.visibility.allowed is not None
        assert sight.visibility.allowed[TEAM_ID] == PUBLIC - {PAYMENTS}
        assert PAYMENTS not in {channel.id for channel in sight.channels}
        assert BEN in sight.visibility.denied_author_ids
        assert "T1TEST:C1:1760000000.000100" in sight.visibility.denied_document_ids
        before = sight.visibility.fingerprint()
        deny.write_text("")

        sight = await office.sight(CLEO)

    assert sight.visibility.allowed is not None
    assert sight.visibility.allowed[TEAM_ID] == PUBLIC
    assert sight.visibility.fingerprint() != before


async def test_a_deny_list_that_cannot_be_read_shows_nothing(tmp_path: Path) -> None:
    async with rules(deny=tmp_path / "nowhere.txt") as office:
        with pytest.raises(DenyListError, match=r"SLACKQUERY_DENY: .*nowhere\.txt cannot be read"):
            await office.sight(CLEO)


def test_the_workspace_of_these_tests_has_one_of_each_kind() -> None:
    described = workspace()
    users: dict[str, User] = {user.id: user for user in described.users}
    channels: dict[str, Channel] = {channel.id: channel for channel in described.channels}

    assert users[GUS].is_guest
    assert users[DORA].deleted
    assert users[ROBO].is_bot
    assert users[EVE].team_id != TEAM_ID
    assert channels[SECRET].is_private
    assert channels[OLD].is_archived
    assert channels[SHARED].is_ext_shared
    assert replace(channels[SECRET], is_private=False).is_public
