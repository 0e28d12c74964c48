"""What `benchmarks.fuzz` throws its inputs at: every door that bytes of others come in by."""

import io
import json
import sqlite3
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, Final
from zoneinfo import ZoneInfo

import httpx
from pydantic import ValidationError

from benchmarks.fuzz_archives import ArchiveDoor, export_files, write_zip
from benchmarks.fuzz_inputs import as_json, damaged, damaged_bytes, damaged_text, one_of, text, value
from bot.action_state import (
    ContextState,
    PageReference,
    PageState,
    RecentState,
    State,
    StateError,
    ThreadState,
    decode_state,
    encode_state,
)
from bot.deny_list import DenyListError, read_denied_ids
from bot.form_blocks import form_view, read_form
from bot.form_fields import FormBlock, fields_of
from bot.payloads import (
    Asked,
    Command,
    MessageShortcut,
    Press,
    home_of,
    modal_of,
    response_url_of,
    trigger_of,
    view_id_of,
)
from bot.store_file import NewerStoreError, StoreFile
from bot.store_records import RecentSearch, Verdict, Vote
from retrieval import Filters, Fusion, NamedChannel, NameDirectory, NamedPerson, SearchRequest, Visibility, parse_query
from retrieval.builder.opening import open_source
from retrieval.builder.report import Ledger
from retrieval.cursor import decode_cursor, encode_cursor
from retrieval.endpoint import EndpointEmbedder, EndpointOptions
from retrieval.endpoint_address import parse_endpoint
from retrieval.errors import ArtifactError, EmbeddingError, RequestError, RetrievalError, SourceError
from retrieval.models import EmbeddingSpec

NOW: Final = datetime(2026, 3, 3, 12, tzinfo=UTC)
_SECRET: Final = b"a secret of the fuzzing alone"
_DIRECTORY: Final = NameDirectory(
    [NamedChannel(channel_id="C1", name="general"), NamedChannel(channel_id="C2", name="Großes Büro")],
    [NamedPerson(user_id="U1", name="ada", display_name="Ada"), NamedPerson(user_id="U2", real_name="Mara Lind")],
)
_ZONES: Final = ("UTC", "America/Los_Angeles", "Pacific/Apia", "Asia/Kathmandu")
_SPEC: Final = EmbeddingSpec(
    model="toy", revision="1", query_prefix="", document_prefix="", native_dimensions=4, dimensions=3
)


@dataclass(frozen=True, kw_only=True)
class Target:
    """One door.

    Attributes:
        name: What it is called on the command line.
        share: How many inputs it gets of 100,000.
        attempt: Makes one input from random numbers, tells what it is, and tries it.
        allowed: What trying may raise.
    """

    name: str
    share: int
    attempt: Callable[[Random, Callable[[object], None]], None]
    allowed: tuple[type[Exception], ...]


def targets(folder: Path) -> tuple[Target, ...]:
    """Return all doors; *folder* is theirs to write into."""
    door = ArchiveDoor(folder / "archive")
    return (
        Target(name="grammar", share=30_000, attempt=_grammar, allowed=(RequestError,)),
        Target(name="button", share=20_000, attempt=_button, allowed=(StateError,)),
        Target(name="cursor", share=15_000, attempt=_cursor, allowed=(RequestError,)),
        Target(name="payload", share=12_000, attempt=_payload, allowed=(ValidationError,)),
        Target(name="form", share=8_000, attempt=_form, allowed=(ValueError,)),
        Target(name="endpoint", share=4_000, attempt=_endpoint, allowed=(EmbeddingError,)),
        Target(name="deny-list", share=4_000, attempt=_DenyFile(folder), allowed=(DenyListError,)),
        Target(
            name="store-file",
            share=1_500,
            attempt=_StoreDoor(folder),
            allowed=(sqlite3.Error, OSError, NewerStoreError),
        ),
        Target(name="export", share=3_000, attempt=_ExportDoor(folder), allowed=(SourceError,)),
        Target(name="build", share=100, attempt=door.build, allowed=(RetrievalError,)),
        Target(name="search", share=1_400, attempt=door.search, allowed=(RequestError, EmbeddingError)),
        Target(name="artifact-bytes", share=500, attempt=door.bytes, allowed=(ArtifactError,)),
        Target(name="artifact-tables", share=500, attempt=door.tables, allowed=(RetrievalError,)),
    )


def _grammar(random: Random, told: Callable[[object], None]) -> None:
    typed, zone = text(random), random.choice(_ZONES)
    told((typed, zone))
    fields_of(typed)
    parsed = parse_query(typed, directory=_DIRECTORY, now=NOW, timezone=ZoneInfo(zone), me="U1")
    assert parsed.understood or not parsed.text


def _states(random: Random) -> State:
    owner: dict[str, Any] = {"user_id": "U1", "team_id": "T1", "expires_s": random.choice((50, 150))}
    page = PageReference(command=text(random, pieces=4).encode(errors="replace").decode(), cursor=None, offset=5)
    return random.choice(
        (
            PageState(**owner, page=page),
            ThreadState(**owner, thread_id="T1:C1:1.0", offset=3, back=page),
            ContextState(**owner, document_id="T1:C1:1.0"),
            RecentState(**owner, command="lunch"),
        )
    )


def _button(random: Random, told: Callable[[object], None]) -> None:
    """A button that was altered does nothing; one that was not, nothing for anybody else or later."""
    try:
        genuine = encode_state(_states(random), _SECRET)
    except ValueError:
        genuine = ""
    presented = damaged_text(random, genuine) if random.random() < 0.8 else genuine
    user, team, now = random.choice(("U1", "U1", "U2")), random.choice(("T1", "T1", "T2")), random.choice((10, 100))
    told((presented, user, team, now))
    state = decode_state(presented, _SECRET, now_s=now, user_id=user, team_id=team)
    assert presented == genuine, "an altered button was accepted"
    assert (user, team) == ("U1", "T1"), "another's button was accepted"
    assert now < state.expires_s, "a button was accepted after its time"


def _cursor(random: Random, told: Callable[[object], None]) -> None:
    request = SearchRequest(text="lunch", filters=Filters(channel_ids=random.choice(((), ("C1",)))))
    sees = random.choice((Visibility.everything(), Visibility.of_channels({"T1": ["C1"]})))
    genuine = encode_cursor(
        random.choice((0, 10, 10_000, 10_001, -1)),
        artifact_id=random.choice(("a", "b")),
        request=request,
        visibility=sees,
        fusion=Fusion.RRF,
    )
    presented = damaged_text(random, genuine) if random.random() < 0.8 else genuine
    told(presented)
    offset = decode_cursor(
        presented, artifact_id="a", request=SearchRequest(text="lunch"), visibility=sees, fusion=Fusion.RRF
    )
    assert 0 <= offset <= 10_000


_COMMAND: Final = {"command": "/slackquery", "text": "lunch", "user_id": "U1", "team_id": "T1", "channel_id": "C1"}
_PRESS: Final = {
    "type": "block_actions",
    "user": {"id": "U1", "team_id": "T1"},
    "team": {"id": "T1"},
    "channel": {"id": "C1"},
    "trigger_id": "1.2",
    "response_url": "https://hooks.slack.test/x",
    "actions": [{"action_id": "next", "block_id": "b", "value": "v1.x.y"}],
    "view": {
        "id": "V1",
        "type": "modal",
        "hash": "h",
        "callback_id": "search_form",
        "private_metadata": "lunch",
        "title": {"type": "plain_text", "text": "Search"},
        "blocks": [{"type": "section"}],
    },
}
_HOME: Final = {
    "user": {"id": "U1"},
    "actions": [{"action_id": "home_search"}],
    "view": {"id": "V1", "type": "home", "private_metadata": "0f", "state": {"values": {"b": {"a": {"value": "x"}}}}},
}
_SHORTCUT: Final = {
    "user": {"id": "U1"},
    "trigger_id": "1.2",
    "channel": {"id": "C1"},
    "message_ts": "1.0",
    "message": {"text": "hello"},
}


def _payload(random: Random, told: Callable[[object], None]) -> None:
    """Whatever a payload lacks, who asks and how to answer is read without an error."""
    made = damaged(random, random.choice((_COMMAND, _PRESS, _HOME, _SHORTCUT)))
    told(made)
    if not isinstance(made, Mapping):
        return
    try:
        Asked.from_body(made), modal_of(made), trigger_of(made), response_url_of(made), view_id_of(made)
        home = home_of(made)
        if home is not None:
            home.entered("b", "a")
    except ValidationError as error:
        raise AssertionError("reading who asks raised") from error
    random.choice((Command, Press, MessageShortcut)).model_validate(made)


def _form(random: Random, told: Callable[[object], None]) -> None:
    """A submission is understood or refused, and what was understood can be shown again."""
    entries = {
        FormBlock.TEXT: {"value": text(random)},
        FormBlock.CHANNELS: {"selected_conversations": [one_of(random, ("C1", "C9", ""))]},
        FormBlock.PEOPLE: {"selected_users": [one_of(random, ("U1", "U9"))]},
        FormBlock.FIRST_DAY: {"selected_date": one_of(random, ("2026-03-01", "9999-12-31", "0001-01-01"))},
        FormBlock.LAST_DAY: {"selected_date": one_of(random, ("2026-03-04", "0001-01-01"))},
        FormBlock.KINDS: {"selected_options": [{"value": one_of(random, ("link", "thread"))}]},
        FormBlock.MODE: {"selected_option": {"value": one_of(random, ("hybrid", "lexical"))}},
        FormBlock.SORT: {"selected_option": {"value": one_of(random, ("newest",))}},
    }
    values = {block.value: {"value": entry} for block, entry in entries.items() if random.random() < 0.6}
    whole = {"view": {"state": {"values": values}}}
    made = damaged(random, whole) if random.random() < 0.5 else whole
    told(made)
    fields = read_form(made if isinstance(made, Mapping) else {})
    try:
        form_view(fields), fields_of(fields.command(_DIRECTORY))
        parse_query(fields.command(), directory=_DIRECTORY, now=NOW, timezone=ZoneInfo("UTC"), me="U1")
    except RequestError:
        return
    except ValueError as error:
        raise AssertionError("a form that was read cannot be shown") from error


def _endpoint(random: Random, told: Callable[[object], None]) -> None:
    numbers = [random.choice((0.5, 0.0, -1.0, 1e30, 1e-40, 3)) for _ in range(random.choice((4, 4, 4, 3)))]
    ollama = random.random() < 0.5
    whole = {"embeddings": [numbers]} if ollama else {"data": [{"index": 0, "embedding": numbers}], "model": "toy"}
    content = as_json(random, damaged(random, whole) if random.random() < 0.7 else whole)
    status = random.choice((200, 200, 200, 200, 204, 302, 404, 500))
    told((status, content))
    options = EndpointOptions(
        transport=httpx.MockTransport(lambda _: httpx.Response(status, content=content)),
        resolve=lambda _host, _port: ["127.0.0.1"],
    )
    address = parse_endpoint(f"http://embed.test{'/api/embed' if ollama else '/v1/embeddings'}")
    vector = EndpointEmbedder(address, _SPEC, options=options).embed_query(text(random, pieces=2))
    assert vector.shape == (3,)
    assert abs(float((vector**2).sum()) - 1) < 1e-5


class _DenyFile:
    """The file of what nobody is shown."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "deny.txt"

    def __call__(self, random: Random, told: Callable[[object], None]) -> None:
        lines = [random.choice(("C0123456", "# why", "#payments", "U1 # gone", "T1:C1:1.0", text(random, pieces=3)))]
        content = "\n".join(lines * 2).encode("utf-8", "surrogatepass")
        content = damaged_bytes(random, content) if random.random() < 0.5 else content
        told(content)
        self._path.write_bytes(content)
        assert not any(set(one) & set(" \t\n#") for one in read_denied_ids(self._path))


class _StoreDoor:
    """The small store: a file that somebody damaged, and anything at all to keep in it."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "store.sqlite3"
        self._whole: bytes | None = None

    def __call__(self, random: Random, told: Callable[[object], None]) -> None:
        whole = self._whole = self._whole or self._make()
        for left in self._path.parent.glob("store.sqlite3*"):
            left.unlink()
        content = damaged_bytes(random, whole) if random.random() < 0.7 else whole
        typed = text(random, pieces=4)
        told((content if content != whole else "whole", typed))
        self._path.write_bytes(content)
        file = StoreFile(self._path)
        try:
            file.put_recent("T1", "U1", RecentSearch(command=typed, shown=typed, searched_us=random.choice((1, 2**62))))
            file.put_vote(_vote(typed))
            file.recents("T1", "U1", limit=20)
            file.votes()
            file.find_verdict("T1", "U1", query_key="k", document_id="d")
            file.take_envelopes([(typed or "e",)], now_s=1.0)
            file.drop_recents("T1", "U1")
        finally:
            file.close()

    def _make(self) -> bytes:
        file = StoreFile(self._path)
        file.put_vote(_vote("lunch"))
        file.put_recent("T1", "U1", RecentSearch(command="lunch", shown="lunch", searched_us=1))
        file.drop_recents("T2", "U2")
        file.close()
        return self._path.read_bytes()


def _vote(typed: str) -> Vote:
    return Vote(
        team_id="T1",
        user_id="U1",
        query_key="k",
        document_id="d",
        verdict=Verdict.GOOD,
        text=typed,
        understood=typed,
        command=typed,
        mode="hybrid",
        rank=1,
        artifact_id="a",
        voted_us=1,
    )


class _ExportDoor:
    """An export whose archive, JSON or values were damaged; everything in it is read."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "export.zip"

    def __call__(self, random: Random, told: Callable[[object], None]) -> None:
        content = _damaged_export(random)
        told(content)
        self._path.write_bytes(content)
        source = open_source(self._path, Ledger())
        source.users(), source.channels(), source.team_ids, source.newest_day()
        for conversation in source.conversations():
            for _ in source.messages(conversation):
                pass
        for attachment in source.attachments():
            attachment.source.read(attachment.path)


def _damaged_export(random: Random) -> bytes:
    files = dict(export_files())
    for name in random.sample(sorted(files), random.randrange(3)):
        files[name] = as_json(random, damaged(random, json.loads(files[name])))
    if random.random() < 0.2:
        files[one_of(random, ("../x.json", "/etc/x.json", "general/2026-99-99.json", "a" * 300 + ".json"))] = as_json(
            random, value(random)
        )
    stream = io.BytesIO()
    try:
        write_zip(stream, files, method=random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))
    except (ValueError, IndexError):
        return b"PK\x03\x04"
    content = stream.getvalue()
    return damaged_bytes(random, content) if random.random() < 0.3 else content
