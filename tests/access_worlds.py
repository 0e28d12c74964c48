"""Worlds that differ in one channel: a local Slack and an archive that hold it, and the same two without it.

Everything else is equal, down to clock, keys and build id, so that whoever may not see the channel must get the very
same bytes in both. `Transcript` asks one person's questions about one channel through every surface of the bot.
"""

import contextlib
import dataclasses
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from bot.action_state import (
    AdminPage,
    ContextState,
    Judged,
    MoreState,
    PageReference,
    PageState,
    ShareState,
    ThreadState,
    VoteState,
    decode_state,
)
from bot.admin import answer_admin
from bot.answers import answer_search
from bot.app import start_bot
from bot.archive import Archive
from bot.asking import signer_for
from bot.elements import Block, RenderedMessage
from bot.expansions import answer_context, answer_thread, view_message, view_thread
from bot.form_check import FieldError, checked_command
from bot.form_fields import FormFields
from bot.guard import Request, sentence_of
from bot.hits import answer_more, answer_vote
from bot.home import home_for
from bot.listeners.recents import recents_view
from bot.payloads import Asked
from bot.recent_blocks import render_recents
from bot.reply import Reply
from bot.services import Services
from bot.shares import answer_share
from bot.similar import answer_similar, answer_similar_message
from localslack.server import LocalSlack
from localslack.workspace import Channel, Team, User, Workspace
from retrieval import ArtifactInfo, ArtifactStore, fts, schema
from retrieval.analyzer import ANALYZER_VERSION
from tests.artifact_factory import MINUTE_US, START_US, Row, unit, write_artifact, write_manifest
from tests.bot_harness import MANIFEST, bot_settings

TEAM, OTHER_TEAM, BOT, HOME = "T1", "T9OTHER", "UBOT", "C0HOME"
NOW = 1_790_000_000.0
MEMBER_IN, MEMBER_OUT, GUEST_IN, GUEST_OUT = "U1IN", "U2OUT", "U3GUESTIN", "U4GUESTOUT"
STRANGER, GONE, ROBOT, BOSS, EXTERNAL = "U5STRANGER", "U6GONE", "U7ROBOT", "U8BOSS", "U9EXTERNAL"
PEOPLE = (MEMBER_IN, MEMBER_OUT, GUEST_IN, GUEST_OUT, STRANGER, GONE, ROBOT, BOSS, EXTERNAL)
INSIDERS = (MEMBER_IN, GUEST_IN, GONE, ROBOT)
# By the last word of their names, which are unlike each other so that none is suggested for another.
CHANNELS = {
    "public": Channel(id="C1PUBLIC", name="orchard", members=(*INSIDERS,)),
    "private": Channel(id="C2PRIVATE", name="basement", members=(*INSIDERS, BOT), is_private=True),
    "botless": Channel(id="C3BOTLESS", name="whispers", members=(*INSIDERS,), is_private=True),
    "archived": Channel(id="C4ARCHIVED", name="fossil", members=(*INSIDERS,), is_archived=True),
    "converted": Channel(id="C5CONVERTED", name="umbrella", members=(*INSIDERS, BOT), is_private=True),
    "shared": Channel(id="C6SHARED", name="jetty", members=(*INSIDERS, EXTERNAL), is_ext_shared=True),
    "group_dm": Channel(id="G7GROUPDM", name="mpdm-in--guestin-1", members=INSIDERS, is_private=True, is_mpim=True),
    "dm": Channel(id="D8DM", name="", members=(MEMBER_IN, GUEST_IN), is_im=True),
    "not_in_archive": Channel(id="C9NEW", name="quarry", members=(*INSIDERS, BOT), is_private=True),
    "not_in_slack": Channel(id="CXDELETED", name="vineyard"),
}


def word(kind: str) -> str:
    """The word that only that channel's messages hold."""
    return f"tok{kind.replace('_', '')}"


def writer(kind: str) -> str:
    """Who wrote there, and nowhere else."""
    return f"UW{kind.upper().replace('_', '')}"


def slack_workspace(missing: str | None) -> Workspace:
    """The workspace as Slack has it, without one of the channels."""

    def user(user_id: str, **more: Any) -> User:
        name = user_id.lower()
        return User(id=user_id, name=name, real_name=name, display_name=name, **{"team_id": TEAM, **more})

    home = Channel(id=HOME, name="home", members=(*PEOPLE[:4], GONE, ROBOT, BOSS), is_general=True)
    kept = [one for kind, one in CHANNELS.items() if kind not in {missing, "not_in_slack"}]
    return Workspace(
        team=Team(id=TEAM, name="Example", domain="example", url="https://example.slack.com/"),
        users=(
            user(MEMBER_IN),
            user(MEMBER_OUT),
            user(GUEST_IN, is_restricted=True),
            user(GUEST_OUT, is_ultra_restricted=True),
            user(STRANGER, team_id=OTHER_TEAM),
            user(GONE, deleted=True),
            user(ROBOT, is_bot=True),
            user(BOSS, is_admin=True, is_owner=True),
            user(EXTERNAL, team_id=OTHER_TEAM),
            *(user(writer(kind)) for kind in CHANNELS),
        ),
        channels=(home, *kept),
        bot_user_id=BOT,
        acting_user_id=MEMBER_IN,
    )


def archive_rows(missing: str | None) -> list[Row]:
    """The archive's documents: in every channel a thread of three with its window, a message alone, a file passage."""
    rows = [
        Row(key=f"h{number}", channel=HOME, text="common talk" + " at home" * number, minute=number, vector=_at(number))
        for number in range(6)
    ]
    for place, (kind, channel) in enumerate(CHANNELS.items(), start=1):
        if kind in {missing, "not_in_archive"}:
            continue
        rows += _channel_rows(kind, channel, minute=place * 100)
    return rows


def _channel_rows(kind: str, channel: Channel, *, minute: int) -> list[Row]:
    where: dict[str, Any] = {"channel": channel.id, "channel_name": channel.name or None, "author": writer(kind)}
    talk = f"common {word(kind)}"
    thread = [
        Row(
            key=f"t{number}",
            thread="t0",
            text=talk + f" {kind} reply" * number,
            minute=minute + number,
            vector=_at(minute + number),
            parent=number == 0,
            **where,
        )
        for number in range(3)
    ]
    covers = tuple(one.document_id for one in thread)
    alone = Row(key="alone", text=f"{talk} stands alone", minute=minute + 50, vector=_at(minute + 50), **where)
    window = Row(key="w", kind="thread_context", thread="t0", text=f"{talk} {talk}", covers=covers, **where)
    file = Row(
        key="f", kind="file_chunk", text=f"file {talk}", covers=(alone.document_id,), vector=_at(minute), **where
    )
    return [*thread, alone, window, file]


def _at(number: int) -> tuple[float, ...]:
    angle = number * 0.7
    return (float(np.cos(angle)), float(np.sin(angle)), 0.1)


class HashEmbedder:
    """Gives every text a direction of its own."""

    def for_artifact(self, info: ArtifactInfo) -> "HashEmbedder":
        """Return itself."""
        return self

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the text's direction, `(3,)`."""
        return unit([byte - 127.5 for byte in hashlib.sha256(text.encode()).digest()[:3]])


def write_world(folder: Path, missing: str | None, *, contract: bool = False) -> Path:
    """Write and publish the archive without one of the channels; return its folder."""
    rows = archive_rows(missing)
    if contract:
        rows = [dataclasses.replace(row, covers=()) for row in rows]
    built_at = datetime(2026, 9, 21, tzinfo=UTC)
    path = write_artifact(folder, rows, publish=True, built_at=built_at, contract=contract)
    if not contract:
        _add_privacy_tables(path, missing)
        build_id = path.stem.removeprefix("search-")
        write_manifest(path, rows, build_id=build_id, config=fts.config_json(ANALYZER_VERSION), built_at=built_at)
    return folder


def _add_privacy_tables(path: Path, missing: str | None) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.begin()
        connection.execute(schema.CHANNELS_DDL)
        connection.execute(schema.CHANNEL_MEMBERS_DDL)
        for kind, channel in CHANNELS.items():
            if kind in {missing, "not_in_archive"}:
                continue
            # At the time of the export, `converted` was public still.
            private = channel.is_private and kind != "converted"
            flags = [private, channel.is_im, channel.is_mpim, channel.is_archived, channel.is_ext_shared]
            connection.execute(
                f"INSERT INTO {schema.CHANNELS} VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [TEAM, channel.id, channel.name, *flags],
            )
            # The archive's own lists: everybody stands on those of the private channels, and it must not matter.
            members = channel.members if channel.is_im or channel.is_mpim else PEOPLE
            connection.execute(
                f"INSERT INTO {schema.CHANNEL_MEMBERS} SELECT ?, ?, unnest(?::VARCHAR[])",
                [TEAM, channel.id, list(members)],
            )
        connection.commit()
        connection.execute("CHECKPOINT")


@contextlib.asynccontextmanager
async def world(folder: Path, missing: str | None, **settings: Any) -> AsyncIterator[Services]:
    """Run a local Slack and the bot over the archive in *folder*, and give the bot's parts."""
    async with LocalSlack(slack_workspace(missing), MANIFEST) as slack:
        kept = folder / "store.sqlite3"
        options = {"secret": "test secret of every world", "admins": frozenset({BOSS}), "store": kept, **settings}
        bot = await start_bot(bot_settings(slack, folder, **options), clock=lambda: NOW)
        store = ArtifactStore(folder)
        try:
            assert store.refresh().problem is None
            yield _with_toy_embedder(bot.services, store)
        finally:
            store.close()
            await bot.stop()


def _with_toy_embedder(services: Services, store: ArtifactStore) -> Services:
    pool = services.archive._pool
    archive = Archive(
        store,
        pool=pool,
        embedders=HashEmbedder(),
        fusion=services.fusion,
        monotonic=services.monotonic,
        on_embedding_failure=services.audit.metrics.embedding_failed,
    )
    return dataclasses.replace(services, archive=archive)


@dataclass(frozen=True, kw_only=True)
class Transcript:
    """One person's questions about one channel, asked of one world."""

    services: Services
    user_id: str
    kind: str

    async def ask(self) -> dict[str, str]:
        """Return every surface's answer, or the sentence that tells why there is none, as the bytes that Slack gets."""
        channel, name = CHANNELS[self.kind], word(self.kind)
        root, alone = f"{TEAM}:{channel.id}:t0", f"{TEAM}:{channel.id}:alone"
        label = channel.name or "nameless"
        searches = {
            "search by words": f"{name} mode:lexical",
            "search by meaning": f"{name} mode:semantic",
            "search": name,
            "search in files": f"file {name} has:file",
            "counts": "common is:thread",
            "no hit advice": f"{name} in:#home mode:lexical",
            "channel by name": f"common in:#{label}",
            "channel by near name": f"common in:#{label[:-1]}",
            "channel by id": f"common in:{channel.id}",
            "channel as typed": f"common in:<#{channel.id}|{label}>",
            "channel left out": f"common -in:#{label}",
            "person": f"common from:@{writer(self.kind).lower()} mode:lexical",
            "person by near name": f"common from:@{writer(self.kind).lower()[:-1]} mode:lexical",
        }
        await self._forget()
        answers = {surface: await self._answer(self._pages(command, most=1)) for surface, command in searches.items()}
        state = {"user_id": self.user_id, "team_id": self._team, "expires_s": int(NOW) + 60}
        thread = ThreadState(thread_id=root, document_id=root, **state)
        request = self._request()
        ts = f"{(START_US + (list(CHANNELS).index(self.kind) + 1) * 100 * MINUTE_US) // 1_000_000}.000000"
        return answers | {
            "expand": await self._answer(answer_thread(self.services, request, thread)),
            "thread": await self._answer(view_thread(self.services, request, thread)),
            "thread by offset": await self._answer(
                answer_thread(self.services, request, thread.model_copy(update={"offset": 1}))
            ),
            "context": await self._answer(
                answer_context(self.services, request, ContextState(document_id=alone, **state))
            ),
            "context of a file": await self._answer(
                answer_context(self.services, request, ContextState(document_id=f"{TEAM}:{channel.id}:f", **state))
            ),
            "find by id": await self._answer(view_message(self.services, request, channel_id=channel.id, ts=ts)),
            "form": await self._answer(self._submit(FormFields(text="common", channel_ids=(channel.id,)))),
            "form by name": await self._answer(self._submit(FormFields(text=f"common in:#{label}"))),
            "more": await self._answer(self._more(alone)),
            "more of a file": await self._answer(self._more(f"{TEAM}:{channel.id}:f")),
            "vote": await self._answer(self._vote(alone)),
            "share": await self._answer(self._share(alone, channel_id=None)),
            "share, confirmed": await self._answer(self._share(alone, channel_id=HOME)),
            "similar": await self._answer(self._similar(alone)),
            "similar to a file": await self._answer(self._similar(f"{TEAM}:{channel.id}:f")),
            "similar in slack": await self._answer(
                answer_similar_message(self.services, request, channel_id=channel.id, ts=ts, text="common talk")
            ),
            "recent searches": await self._answer(self._recents()),
            "home": await self._answer(self._home()),
            "admin": await self._answer(answer_admin(self.services, request, AdminPage())),
        }

    async def _forget(self) -> None:
        """Begin without recent searches, so that what is listed are those about this channel."""
        if self.services.store is not None:
            await self.services.store.forget_recents(self._team, self.user_id)

    async def _recents(self) -> RenderedMessage:
        asked = self._request().asked
        await self.services.access.admit(asked.user_id, asked.team_id, deadline=self.services.deadline())
        signer = signer_for(self.services, asked)
        return render_recents(await recents_view(self.services, asked, signer=signer))

    async def _home(self) -> Block:
        """Return the Home tab but for what only admins see: the archive's size, which differs from world to world."""
        services = dataclasses.replace(self.services, admins=frozenset())
        return await home_for(services, self._request().asked)

    async def _submit(self, fields: FormFields) -> object:
        """Submit the search form; what is wrong at a field is answered there."""
        try:
            command = await checked_command(self.services, self._request().asked, fields)
        except FieldError as exc:
            return {"errors": {exc.block: exc.sentence}}
        return await answer_search(self.services, self._request(), command)

    async def _more(self, document_id: str) -> RenderedMessage:
        return await answer_more(self.services, self._request(), MoreState(**self._hit(document_id)))

    async def _vote(self, document_id: str) -> RenderedMessage:
        return await answer_vote(self.services, self._request(), VoteState(**self._hit(document_id), verdict="good"))

    async def _share(self, document_id: str, *, channel_id: str | None) -> RenderedMessage:
        state = ShareState(**self._hit(document_id), channel_id=channel_id, nonce="once" if channel_id else None)
        return await answer_share(self.services, self._request(), state)

    def _hit(self, document_id: str) -> dict[str, Any]:
        judged = Judged(query_key="k", text="w", understood="w", command="w", mode="hybrid", rank=1, artifact_id="a")
        owner = {"user_id": self.user_id, "team_id": self._team, "expires_s": int(NOW) + 60}
        return {**owner, "document_id": document_id, "judged": judged}

    async def _similar(self, document_id: str) -> RenderedMessage:
        reference = PageReference(command="", similar_to=document_id)
        return await answer_similar(self.services, self._request(), reference)

    @property
    def _team(self) -> str:
        return OTHER_TEAM if self.user_id in {STRANGER, EXTERNAL} else TEAM

    def _request(self) -> Request:
        reply = Reply(self.services.client, response_url=None, view_id=None, is_press=True)
        asked = Asked(user_id=self.user_id, team_id=self._team, channel_id=HOME)
        request = Request(asked=asked, body={}, reply=reply)
        # Buttons hold it, and answers are compared as bytes.
        request.search_id = "0" * 12
        return request

    async def page_through(self) -> dict[str, str]:
        """Return all pages of what everybody writes, in each mode; the same for every channel of a world."""
        similar = PageReference(command="", similar_to=f"{TEAM}:{HOME}:h0")
        return {
            f"next, {mode}": await self._answer(self._pages(f"common mode:{mode}", most=50))
            for mode in ("lexical", "hybrid", "semantic")
        } | {"next, similar": await self._answer(self._pages("", most=50, reference=similar))}

    async def _pages(self, command: str, *, most: int, reference: PageReference | None = None) -> list[object]:
        """Search, and press Next until there is none."""
        pages: list[object] = []
        while True:
            if reference is not None and reference.is_similar:
                message = await answer_similar(self.services, self._request(), reference)
            else:
                message = await answer_search(self.services, self._request(), command, reference=reference)
            pages.append(dataclasses.asdict(message))
            values = [one["value"] for one in _elements(message.blocks) if one.get("action_id") == "results_next"]
            if not values or len(pages) == most:
                return pages
            state = decode_state(
                values[0], self.services.state_key, now_s=int(NOW), user_id=self.user_id, team_id=self._team
            )
            assert isinstance(state, PageState)
            reference = state.page

    async def _answer(self, asked: Awaitable[object]) -> str:
        try:
            answer = await asked
        except Exception as exc:  # noqa: BLE001 - the guard answers them all.
            return f"{type(exc).__name__}: {sentence_of(exc)}"
        shown = (
            dataclasses.asdict(answer) if dataclasses.is_dataclass(answer) and not isinstance(answer, type) else answer
        )
        return json.dumps(shown, sort_keys=True, ensure_ascii=False)


def _elements(blocks: Iterable[Any]) -> list[dict[str, Any]]:
    return [element for block in blocks if block["type"] == "actions" for element in block["elements"]]


async def ask_all(
    folder: Path,
    kinds: Iterable[str],
    people: Iterable[str],
    *,
    missing: bool,
    contract: bool = False,
    see: Callable[[str], str] = str,
    **settings: Any,
) -> dict[tuple[str, str], dict[str, str]]:
    """Return every person's transcript about each channel.

    Args:
        folder: Where archives are written.
        kinds: The channels asked about.
        people: Who asks.
        missing: Whether each is asked of a world that does not hold the channel, else of one that holds them all.
        contract: Whether the archives carry the contract's tables alone.
        see: Names the folder of a world.
        settings: The bot's.
    """
    asked: dict[tuple[str, str], dict[str, str]] = {}
    worlds = [(kind, [kind]) for kind in kinds] if missing else [(None, list(kinds))]
    for without, about in worlds:
        place = folder / see(without or "whole")
        if not place.exists():
            write_world(place, without, contract=contract)
        async with world(place, without, **settings) as services:
            for user_id in people:
                paged = await Transcript(services=services, user_id=user_id, kind=about[0]).page_through()
                for kind in about:
                    own = await Transcript(services=services, user_id=user_id, kind=kind).ask()
                    asked[user_id, kind] = own | paged
    return asked
