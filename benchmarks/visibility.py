"""What it costs to search half of a thousand channels, against searching everything.

    python -m benchmarks.visibility ARTIFACT [--channels 1000] [--queries 40] [--json FILE]

The artifact is copied, its threads are spread over that many channels, an artifact without vectors gets random ones of
256 numbers, and both ways are timed in turn on the same queries, texts of its own messages. The goal is a ratio of at
most 1.3 for the reader in memory.
"""

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import click
import duckdb
import numpy as np
from numpy.typing import NDArray

from benchmarks.timing import interleaved
from retrieval import Artifact, Mode, SearchRequest, Visibility, schema, search_slack
from retrieval.analyzer import tokenize

SPREAD_SQL: Final = (
    f"UPDATE {schema.DOCUMENTS} SET channel_id = 'C' || (hash(coalesce(thread_id, document_id)) % ?)::VARCHAR"
)
DIMENSIONS: Final = 256
VECTORS_SQL: Final = (
    f"INSERT INTO {schema.VECTORS} WITH drawn AS (SELECT document_id, list_transform(range({DIMENSIONS}), "
    f"x -> hash(document_id, x) / 1.8446744073709552e19 - 0.5) AS v FROM {schema.DOCUMENTS} "
    "WHERE document_kind <> 'thread_context') SELECT document_id, ?, "
    f"list_transform(v, x -> x / sqrt(list_inner_product(v, v)))::FLOAT[{DIMENSIONS}] FROM drawn"
)
QUERIES_SQL: Final = (
    f"SELECT string_split(text_display, ' ')[1:6].array_to_string(' ') FROM {schema.DOCUMENTS} "
    "WHERE document_kind = 'message' AND length(text_lexical) > 40 ORDER BY hash(document_id) LIMIT ?"
)


class RandomEmbedder:
    """Gives every text a direction of its own."""

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return a unit vector, `(dims,)`."""
        chance = np.random.default_rng(len(text) * 7919 + sum(text.encode()))
        vector = chance.standard_normal(self._dimensions)
        return (vector / np.linalg.norm(vector)).astype(np.float32)


def spread(source: Path, folder: Path, *, channels: int) -> Path:
    """Copy an artifact with its threads spread over *channels* channels."""
    target = Path(shutil.copy(source.resolve(), folder))
    target.chmod(0o600)
    with duckdb.connect(str(target)) as connection:
        connection.execute(SPREAD_SQL, [channels])
        vectors, generation = connection.execute(
            f"SELECT vector_count, generation_id FROM {schema.METADATA}"
        ).fetchall()[0]
        if not vectors:
            connection.execute(f"DROP TABLE {schema.VECTORS}")
            connection.execute(schema.VECTORS_DDL.format(dimensions=DIMENSIONS))
            connection.execute(VECTORS_SQL, [generation])
            connection.execute(f"UPDATE {schema.METADATA} SET vector_count = (SELECT count(*) FROM {schema.VECTORS})")
    return target


def measure(artifact: Artifact, *, channels: int, queries: int) -> dict[str, dict[str, float]]:
    """Return both ways' times and their ratio by mode, milliseconds."""
    with artifact.cursor() as cursor:
        texts = [row[0] for row in cursor.execute(QUERIES_SQL, [queries]).fetchall() if tokenize(row[0])]
    half = Visibility.of_channels(
        {one: [f"C{number}" for number in range(0, channels, 2)] for one in artifact.info.workspace_ids}
    )
    embedder = RandomEmbedder(artifact.info.dimensions or 1)
    modes = tuple(Mode) if artifact.info.vector_count else (Mode.LEXICAL,)
    found = {}
    for mode in modes:

        def way(visibility: Visibility, mode: Mode = mode) -> Callable[[str], object]:
            return lambda text: search_slack(
                artifact, SearchRequest(text=text, mode=mode), visibility=visibility, embedder=embedder
            )

        times = interleaved({"everything": way(Visibility.everything()), "half": way(half)}, texts)
        every, some = times["everything"], times["half"]
        found[mode.value] = {
            "everything_p50_ms": every.p50,
            "half_p50_ms": some.p50,
            "ratio": some.p50 / every.p50,
            "cpu_ratio": some.cpu_p50 / every.cpu_p50,
        }
    return found


@click.command()
@click.argument("artifact", type=click.Path(exists=True, path_type=Path))
@click.option("--channels", default=1000, show_default=True)
@click.option("--queries", default=40, show_default=True)
@click.option("--json", "as_json", type=click.Path(path_type=Path), default=None)
def main(*, artifact: Path, channels: int, queries: int, as_json: Path | None) -> None:
    """Measure, and print one line a mode."""
    with tempfile.TemporaryDirectory() as folder, Artifact(spread(artifact, Path(folder), channels=channels)) as opened:
        residency = opened.load()
        click.echo(
            f"{opened.info.document_count:,} documents, {opened.info.vector_count:,} vectors. {residency.detail}"
        )
        found = measure(opened, channels=channels, queries=queries)
    for mode, row in found.items():
        click.echo(f"{mode:<9}" + "  ".join(f"{name} {value:.2f}" for name, value in row.items()))
    if as_json is not None:
        as_json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
