"""The judged sets of the shared data: artifacts built once into a cache, with their queries and judgements."""

import gzip
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from bot.cli.output import ConsoleProgress
from retrieval.builder import DocumentEmbedder, WorkspaceIdentity, build_artifact
from retrieval.minilm import MiniLMEmbedder
from retrieval.publication import publish

CORPUS_CHANNEL: Final = "CCORPUS"
FIRST_SECOND: Final = 1_600_000_000
# Slack's own escapes, so that the builder reads a corpus back as it was.
_ESCAPES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedSet:
    """One set, ready to be searched.

    Attributes:
        name: Its name in the data folder.
        artifacts: The folder whose published artifact holds its documents.
        queries: `qid`, `text` and perhaps `kind`, one JSON object a line.
        qrels: `qid<TAB>doc<TAB>grade`, doc = `channel_id:ts`.
    """

    name: str
    artifacts: Path
    queries: Path
    qrels: Path


SLACK_SETS: Final = ("r_contributors", "haskell_jp", "lean_dev")
# Nearly all of it is Japanese, which the embedded model does not read: hybrid search leaves the vector out.
WITHOUT_VECTORS: Final = ("haskell_jp",)
CORPORA: Final = ("stackfaq", "cosqa_dev", "cranfield", "vaswani")


def judged_set(name: str, data: Path, cache: Path) -> JudgedSet:
    """Return the set *name*, after building its artifact where the cache has none.

    Args:
        name: One of `SLACK_SETS` or `CORPORA`.
        data: The shared data folder.
        cache: Where artifacts, vectors and converted corpora are kept.

    Raises:
        FileNotFoundError: The data folder lacks the set.
    """
    folder = cache / name
    if name in SLACK_SETS:
        source = data / "slack" / f"{name}.zip"
        found = JudgedSet(
            name=name,
            artifacts=folder,
            queries=data / "slack" / f"{name}.queries.jsonl",
            qrels=data / "slack" / f"{name}.qrels.tsv",
        )
    else:
        source = folder / "export"
        found = JudgedSet(
            name=name, artifacts=folder, queries=data / "eval" / name / "queries.jsonl", qrels=folder / "qrels.tsv"
        )
        if not found.qrels.exists():
            _convert(data / "eval" / name, folder)
    if not (folder / "current.duckdb").exists():
        _build(source, folder, embedder=None if name in WITHOUT_VECTORS else MiniLMEmbedder())
    return found


def _build(source: Path, folder: Path, *, embedder: DocumentEmbedder | None) -> None:
    result = build_artifact(
        [source],
        folder,
        workspace=WorkspaceIdentity(workspace_id="TBENCH", name=None, url=None),
        embedder=embedder,
        lenient=True,
        progress=ConsoleProgress(),
        clock=lambda: datetime.now(UTC),
    )
    publish(folder, result.artifact)


def _convert(source: Path, folder: Path) -> None:
    """Write a corpus as a Slack export of one channel, a document a message, and its judgements to match."""
    with gzip.open(source / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    times = {document["id"]: f"{FIRST_SECOND + number}.000000" for number, document in enumerate(documents)}
    messages = [
        {
            "type": "message",
            "user": "UBENCH",
            "ts": times[document["id"]],
            "text": document["text"].translate(_ESCAPES),
        }
        for document in documents
    ]
    export = folder / "export"
    shutil.rmtree(export, ignore_errors=True)
    (export / "corpus").mkdir(parents=True)
    _write_json(export / "users.json", [{"id": "UBENCH", "name": "bench"}])
    _write_json(export / "channels.json", [{"id": CORPUS_CHANNEL, "name": "corpus", "members": ["UBENCH"]}])
    _write_json(export / "corpus" / "2020-09-13.json", messages)
    rows = ["qid\tdoc\tgrade"]
    for line in (source / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        qid, document_id, grade = line.split("\t")
        # A judged document that the corpus lacks cannot be found by anybody; it still counts against recall.
        rows.append(f"{qid}\t{CORPUS_CHANNEL}:{times.get(document_id, 'missing-' + document_id)}\t{grade}")
    (folder / "qrels.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")


def _write_json(path: Path, value: Sequence[object]) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
