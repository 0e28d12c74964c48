"""A small archive for `benchmarks.fuzz`: searched with anything, and opened after somebody altered it."""

import hashlib
import json
import shutil
import zipfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import IO, Final

import duckdb
import numpy as np
from numpy.typing import NDArray

from benchmarks.fuzz_inputs import as_json, damaged, one_of, text
from retrieval import (
    Artifact,
    ArtifactStore,
    Filters,
    Mode,
    RetrievalError,
    SearchRequest,
    Sort,
    Visibility,
    get_slack_message,
    get_slack_thread,
    publish,
    search_slack,
)
from retrieval.builder import WorkspaceIdentity, build_artifact
from retrieval.checksum import file_sha256
from retrieval.manifest import manifest_path
from retrieval.models import EmbeddingSpec
from retrieval.names import read_names

_CLOCK: Final = datetime(2026, 11, 30, 12, tzinfo=UTC)
_SEES: Final = Visibility.everything()
_TABLES: Final = (
    "search_documents",
    "document_vectors",
    "artifact_metadata",
    "channels",
    "users",
    "channel_members",
    "embedding_spec",
    "document_messages",
    "lexical_postings",
    "resident_parts",
    "resident_words",
    "fts_main_search_documents.dict",
    "fts_main_search_documents.docs",
    "fts_main_search_documents.terms",
    "fts_main_search_documents.stats",
)


class _Embedder:
    """Vectors of four numbers from a digest of the text."""

    spec = EmbeddingSpec(
        model="toy", revision="1", query_prefix="", document_prefix="", native_dimensions=4, dimensions=4
    )

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self.embed_query(one) for one in texts])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        digest = hashlib.sha256(text.encode("utf-8", "replace")).digest()[:4]
        vector = np.frombuffer(digest, dtype=np.uint8).astype(np.float32) + 1
        return vector / np.float32(np.linalg.norm(vector))


class ArchiveDoor:
    """Builds its archive when it is first needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def _whole(self) -> Path:
        return _built(self._folder / "whole")

    def search(self, random: Random, told: Callable[[object], None]) -> None:
        """Search for anything; every hit is one that may be seen."""
        request = SearchRequest(
            text=text(random),
            mode=random.choice(list(Mode)),
            sort=random.choice(list(Sort)),
            limit=random.choice((1, 5, 5, 10, 50, 50, 0)),
            cursor=text(random, pieces=1) if random.random() < 0.1 else None,
            filters=Filters(
                channel_ids=tuple(one_of(random, ("C1", "C2")) for _ in range(random.randrange(3))),
                phrases=tuple(text(random, pieces=2) for _ in range(random.randrange(2))),
                excluded_words=tuple(text(random, pieces=1) for _ in range(random.randrange(2))),
                has=random.choice(((), (), (), ("link",), ("code", "file"), (text(random, pieces=1),))),
                start_ts_us=random.choice((None, 0, -(2**63), 2**63 - 1)),
            ),
        )
        sees = random.choice((_SEES, Visibility.of_channels({"T1": ["C1"]})))
        told((request, sees))
        page = search_slack(_opened(self._whole), request, visibility=sees, embedder=_Embedder())
        assert sees is _SEES or all(hit.document.channel_id == "C1" for hit in page.hits)

    def build(self, random: Random, told: Callable[[object], None]) -> None:
        """Build from an export with damaged values; what is built passes its own checks."""
        files = dict(export_files())
        for name in random.sample(sorted(files), random.randrange(1, 4)):
            files[name] = as_json(random, damaged(random, json.loads(files[name])))
        told(files)
        folder = self._fresh("build")
        with (folder / "export.zip").open("wb") as stream:
            write_zip(stream, files)
        _build(folder / "export.zip", folder / "made")

    def bytes(self, random: Random, told: Callable[[object], None]) -> None:
        """Open a file with damaged bytes, past the checksum that would refuse it."""
        content = bytearray(self._whole.read_bytes())
        places = [random.randrange(len(content)) for _ in range(random.choice((1, 3, 40)))]
        cut = len(content) if random.random() < 0.8 else random.randrange(len(content))
        noise = [random.randrange(256) for _ in places]
        told((places, noise, cut))
        for place, byte in zip(places, noise, strict=True):
            content[place] = byte
        path = self._fresh("bytes") / self._whole.name
        path.write_bytes(content[:cut])
        with Artifact(path) as artifact:
            artifact.load()
            _use(artifact)

    def tables(self, random: Random, told: Callable[[object], None]) -> None:
        """Alter tables, give the file a manifest that fits, and use it if the store takes it."""
        folder = self._fresh("tables")
        path = folder / self._whole.name
        shutil.copyfile(self._whole, path)
        statements = [_statement(random) for _ in range(random.randrange(1, 4))]
        told(statements)
        _alter(path, statements)
        manifest = json.loads(manifest_path(self._whole).read_bytes())
        manifest["checksum_sha256"] = file_sha256(path)
        kept = damaged(random, manifest) if random.random() < 0.2 else manifest
        manifest_path(path).write_bytes(as_json(random, kept) if random.random() < 0.1 else json.dumps(kept).encode())
        (folder / "current.duckdb").symlink_to(path.name)
        store = ArtifactStore(folder, resident_mb=random.choice((0, 64)))
        try:
            if store.refresh().info is not None:
                with store.lease() as artifact:
                    _use(artifact)
        finally:
            store.close()

    def _fresh(self, name: str) -> Path:
        folder = self._folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder


def _use(artifact: Artifact) -> None:
    """Ask for all there is to ask for; each may be refused, the others are asked all the same."""
    embedder = _Embedder()
    asked: list[Callable[[], object]] = [
        lambda: read_names(artifact, visibility=_SEES),
        lambda: get_slack_message(artifact, "T1:C1:1767225600.000100", visibility=_SEES),
        lambda: get_slack_thread(artifact, "T1:C1:1767225600.000100", visibility=_SEES),
    ]
    for mode in Mode:
        request = SearchRequest(text="harbour lunch E4392", mode=mode)
        asked.append(lambda request=request: search_slack(artifact, request, visibility=_SEES, embedder=embedder))  # type: ignore[misc]
    for ask in asked:
        try:
            ask()
        except RetrievalError:
            continue


def _statement(random: Random) -> str:
    table = random.choice(_TABLES)
    column = f"(SELECT column_name FROM duckdb_columns() WHERE table_name = '{table.rpartition('.')[2]}' LIMIT 1)"
    hostile = text(random, pieces=3).encode("utf-8", "replace").decode().replace("\x00", "").replace("'", "''")
    return random.choice(
        (
            f"DROP TABLE {table}",
            f"DELETE FROM {table}",
            f"DELETE FROM {table} WHERE rowid % 3 = 0",
            f"INSERT INTO {table} SELECT * FROM {table} LIMIT 2",
            f"ALTER TABLE {table} RENAME TO stolen",
            f"CREATE TABLE copied AS FROM {table}; DROP TABLE {table}; CREATE VIEW {table} AS FROM copied",
            f"CREATE TABLE copied AS SELECT columns(*)::VARCHAR FROM {table}; DROP TABLE {table}; "  # noqa: ISC004
            f"CREATE TABLE {table} AS FROM copied",
            f"CREATE OR REPLACE TABLE {table} (x INTEGER)",
            f"UPDATE search_documents SET {_column(random)} = '{hostile}'",
            f"UPDATE search_documents SET {_column(random)} = NULL WHERE rowid = 1",
            f"UPDATE channels SET name = '{hostile}'",
            f"UPDATE users SET display_name = '{hostile}'",
            'UPDATE search_documents SET metadata_json = \'{"files": [1, null, {"name": 3}], "edited": []}\'',
            "UPDATE document_vectors SET embedding = [0, 0, 0, 'nan']",
            'UPDATE artifact_metadata SET fts_config_json = \'{"ignore": "(((", "stemmer": 7}\'',
            f"UPDATE artifact_metadata SET build_id = '{hostile}'",
            "UPDATE lexical_postings SET docid = 10_000_000",
            "UPDATE lexical_postings SET tf = 4_000_000_000",
            "UPDATE fts_main_search_documents.dict SET df = -1",
            "UPDATE fts_main_search_documents.stats SET avgdl = 'nan'",
            "UPDATE fts_main_search_documents.docs SET len = -5",
            "UPDATE resident_words SET word = 0",
            "UPDATE resident_parts SET length = 1_000_000_000_000",
            "UPDATE embedding_spec SET native_dimensions = -1, probe_vector = []",
            "CREATE OR REPLACE MACRO fts_main_search_documents.match_bm25(x, y) AS error('taken')",
            "CREATE OR REPLACE MACRO lower(x) AS 'stolen'",
            "CREATE OR REPLACE MACRO main.array_cosine_similarity(x, y) AS 1",
            f"SELECT {column}",
        )
    )


def _column(random: Random) -> str:
    return random.choice(
        ("text_display", "author_name", "channel_name", "permalink", "document_id", "thread_id", "document_kind",
         "channel_id", "workspace_id", "metadata_json", "ts_us")
    )  # fmt: skip


def _alter(path: Path, statements: Sequence[str]) -> None:
    connection = duckdb.connect(str(path))
    try:
        for statement in statements:
            try:
                connection.execute(statement)
            except duckdb.Error:
                continue
        connection.execute("CHECKPOINT")
    finally:
        connection.close()


@cache
def export_files() -> Mapping[str, bytes]:
    """Return a small export: its files by path."""
    start = 1_767_225_600
    users = [
        {"id": f"U{n}", "team_id": "T1", "name": f"person{n}", "profile": {"display_name": f"P{n}"}} for n in (1, 2)
    ]
    channels = [{"id": "C1", "name": "general", "members": ["U1", "U2"]}, {"id": "C2", "name": "quiet", "members": []}]
    messages: list[dict[str, object]] = [
        {"type": "message", "user": "U1", "ts": f"{start}.000100", "text": "Lunch at the <#C1|general> harbour",
         "thread_ts": f"{start}.000100", "reply_count": 1, "replies": [{"user": "U2", "ts": f"{start + 60}.000100"}]},
        {"type": "message", "user": "U2", "ts": f"{start + 60}.000100", "text": "error E4392 &lt;b&gt; <@U1>",
         "thread_ts": f"{start}.000100", "subtype": "thread_broadcast"},
        {"type": "message", "user": "U2", "ts": f"{start + 120}.000100", "text": "", "blocks": [
            {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [
                {"type": "text", "text": "a plan", "style": {"bold": True}}, {"type": "emoji", "name": "tada"}]}]}]},
        {"type": "message", "user": "U1", "ts": f"{start + 180}.000100", "text": "see file", "edited": {"user": "U1"},
         "files": [{"id": "F1234567", "name": "notes.txt", "mimetype": "text/plain", "size": 5}],
         "reactions": [{"name": "eyes", "users": ["U1"], "count": 1}], "attachments": [{"fallback": "card"}]},
    ]  # fmt: skip
    made: dict[str, object] = {
        "users.json": users,
        "channels.json": channels,
        "general/2026-01-01.json": messages,
        "quiet/2026-01-02.json": [{"type": "message", "user": "U1", "ts": f"{start + 90_000}.0001", "text": "quiet"}],
    }
    return MappingProxyType({name: json.dumps(content).encode() for name, content in made.items()})


def write_zip(stream: IO[bytes], files: Mapping[str, bytes], *, method: int = zipfile.ZIP_STORED) -> None:
    """Write *files* as a zip archive."""
    with zipfile.ZipFile(stream, "w", compression=method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def _build(source: Path, folder: Path) -> Path:
    identity = WorkspaceIdentity(workspace_id="T1", name="Example", url="https://example.slack.test/")
    made = build_artifact([source], folder, workspace=identity, embedder=_Embedder(), clock=lambda: _CLOCK)
    return made.artifact


@cache
def _built(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with (folder / "export.zip").open("wb") as stream:
        write_zip(stream, export_files())
    artifact = _build(folder / "export.zip", folder)
    publish(folder, artifact)
    return artifact


@cache
def _opened(path: Path) -> Artifact:
    artifact = Artifact(path)
    artifact.load()
    return artifact
