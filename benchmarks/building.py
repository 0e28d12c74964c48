"""Builds against the bare steps on the same rows, embedding against the bare model. Part of `benchmarks.speed`."""

import json
import tempfile
import time
import zipfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from benchmarks.archives import IDENTITY, Report, Setup
from benchmarks.timing import seconds
from retrieval import Artifact, fts, schema
from retrieval.builder import build_artifact
from retrieval.builder.vectors import BATCH, VectorCache, embed_texts, generation_id, missing_texts
from retrieval.minilm import MiniLMEmbedder


def measure_build(setup: Setup) -> Report:
    """A build without embeddings against the bare steps on the same rows."""
    source = setup.data / "slack" / "lean_dev.zip"
    folder = setup.cache / "build"
    started, used = time.perf_counter(), time.process_time()
    built = build_artifact(
        [source], folder, workspace=IDENTITY, embedder=None, lenient=True, clock=lambda: datetime.now(UTC)
    )
    own = {"wall": time.perf_counter() - started, "cpu": time.process_time() - used}
    started, used = time.perf_counter(), time.process_time()
    bare_pipeline(source, built.artifact, folder / "bare.duckdb")
    bare = {"wall": time.perf_counter() - started, "cpu": time.process_time() - used}
    (folder / "bare.duckdb").unlink()
    return {
        "build_s": {name: round(value, 1) for name, value in own.items()},
        "stages_s": {name: round(value, 1) for name, value in built.report.seconds.items()},
        "bare_s": {name: round(value, 1) for name, value in bare.items()},
        "ratios": {"build / bare (<= 3)": {name: round(own[name] / bare[name], 2) for name in own}},
    }


def measure_embedding(setup: Setup) -> Report:
    """The build's embedding, cache and checks included, against the bare model, batch by batch in turn."""
    base = setup.lean(1)
    with Artifact(base) as artifact, artifact.cursor() as cursor:
        found = cursor.execute(
            f"SELECT DISTINCT text_embedding FROM {schema.DOCUMENTS} WHERE document_kind = 'message' "
            f"ORDER BY hash(text_embedding) LIMIT {16 * BATCH}"
        ).fetchall()
    texts = sorted((text for (text,) in found), key=len)
    model = MiniLMEmbedder()
    model.embed_documents(texts[:BATCH])
    bare = own = 0.0
    with (
        tempfile.TemporaryDirectory() as folder,
        VectorCache(Path(folder), generation_id(model.spec), model.spec.dimensions) as cache,
    ):
        for start in range(0, len(texts), BATCH):
            batch = texts[start : start + BATCH]
            for turn in (start // BATCH % 2, 1 - start // BATCH % 2):
                if turn:
                    bare += seconds(lambda batch=batch: model.embed_documents(batch))
                else:
                    own += seconds(lambda batch=batch: _embed(batch, cache, model))
    return {
        "texts": len(texts),
        "bare, per second": round(len(texts) / bare, 1),
        "build, per second": round(len(texts) / own, 1),
        "ratios": {"build / bare rate (>= 0.95)": round(bare / own, 3)},
    }


def _embed(texts: Sequence[str], cache: VectorCache, model: MiniLMEmbedder) -> None:
    """Embed texts that are new to the cache, as a build does."""
    embed_texts(missing_texts([texts], cache), cache, model, advance=lambda _: None)


def bare_pipeline(source: Path, artifact: Path, target: Path) -> None:
    """Read the JSON, insert the same rows, index them, checkpoint."""
    with zipfile.ZipFile(source) as archive:
        for name in archive.namelist():
            if name.endswith(".json"):
                json.loads(archive.read(name))
    with duckdb.connect(str(target)) as connection:
        fts.load_fts(connection)
        connection.execute(schema.DOCUMENTS_DDL)
        connection.execute(f"ATTACH '{artifact}' AS built (READ_ONLY)")
        connection.execute(f"INSERT INTO {schema.DOCUMENTS} SELECT * FROM built.{schema.DOCUMENTS}")
        fts.create_index(connection)
        connection.execute("CHECKPOINT")
