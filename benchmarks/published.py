"""BM25 on the classic collections against published figures: is ours a sound BM25, and what does it cost not to stem?

    python -m benchmarks.published --data ../shared/data

Published: Terrier 5.2's BM25 on Vaswani, Porter stemmer and stop words, MAP .2965 and nDCG .6212
(terrier-org/pyterrier, examples/notebooks/experiment.ipynb). DuckDB's stock index with the same stemmer and stop words
stands between that figure and ours, which stems nothing; all three rank 1,000 deep.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import duckdb
import ir_measures
from ir_measures import AP, nDCG

from benchmarks.judged_sets import judged_set
from retrieval.analyzer import tokenize
from retrieval.artifact import Artifact
from retrieval.judgements import read_qrels, read_queries
from retrieval.models import Filters
from retrieval.readers import open_reader
from retrieval.visibility import Visibility

DEPTH: Final = 1000
PUBLISHED: Final = {"vaswani": "Terrier 5.2, stemmed, stop words | .297 | .621"}

Rank = Callable[[str], Sequence[tuple[str, float]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path(".cache/relevance"))
    arguments = parser.parse_args()
    print("| set | BM25 | MAP | nDCG |\n|---|---|---|---|")
    for name in ("vaswani", "cranfield"):
        found = judged_set(name, arguments.data, arguments.cache)
        queries = {query.qid: query.text for query in read_queries(found.queries)}
        qrels = read_qrels(found.qrels)
        if name in PUBLISHED:
            print(f"| {name} | published: {PUBLISHED[name]} |")
        with Artifact(found.artifacts / "current.duckdb") as artifact:
            texts = _texts(artifact)
            for label, rank in (
                ("stock DuckDB, stemmed, stop words, k 1.2, b .75", _stock(texts, "porter", "english", k=1.2, b=0.75)),
                ("stock DuckDB, unstemmed, no stop words, k 1.2, b .75", _stock(texts, "none", "none", k=1.2, b=0.75)),
                ("ours, unstemmed, k .9, b .4", lambda text, artifact=artifact: _own(artifact, text)),
            ):
                mean = _measure(rank, queries, qrels)
                print(f"| {name} | {label} | {mean[AP]:.3f} | {mean[nDCG]:.3f} |")


def _texts(artifact: Artifact) -> list[tuple[str, str]]:
    """Return every document's `channel:seconds` as judged, and its text."""
    with artifact.cursor() as cursor:
        return cursor.execute(
            "SELECT channel_id || ':' || (ts_us // 1000000) || '.' || lpad(CAST(ts_us % 1000000 AS VARCHAR), 6, '0'), "
            "text_display FROM search_documents WHERE document_kind = 'message'"
        ).fetchall()


def _stock(texts: Sequence[tuple[str, str]], stemmer: str, stopwords: str, *, k: float, b: float) -> Rank:
    """Return a ranking by an index that DuckDB makes by itself, of letters and digits."""
    import duckdb_extension_fts  # noqa: PLC0415 - the extension is a file of this package

    connection = duckdb.connect(config={"allow_unsigned_extensions": "false"})
    extension = next(Path(duckdb_extension_fts.__file__).parent.rglob("fts.duckdb_extension"))
    connection.execute(f"LOAD '{extension}'")
    connection.execute("CREATE TABLE d (id VARCHAR, text VARCHAR)")
    connection.executemany("INSERT INTO d VALUES (?, ?)", texts)
    connection.execute(
        f"PRAGMA create_fts_index('d', 'id', 'text', stemmer='{stemmer}', stopwords='{stopwords}', ignore='[^a-z0-9]+')"
    )

    def rank(text: str) -> Sequence[tuple[str, float]]:
        return connection.execute(
            "SELECT id, score FROM (SELECT id, fts_main_d.match_bm25(id, ?, k := ?, b := ?) AS score FROM d) "
            "WHERE score IS NOT NULL ORDER BY score DESC, id LIMIT ?",
            [text, k, b, DEPTH],
        ).fetchall()

    return rank


def _own(artifact: Artifact, text: str) -> Sequence[tuple[str, float]]:
    with artifact.cursor() as cursor:
        reader = open_reader(artifact, cursor, filters=Filters(), visibility=Visibility.everything())
        reader.read_terms(tokenize(text))
        return [(_judged(one.document_id), one.score) for one in reader.lexical(limit=DEPTH).candidates]


def _judged(document_id: str) -> str:
    return document_id.partition(":")[2]


def _measure(rank: Rank, queries: Mapping[str, str], qrels: Mapping[str, Mapping[str, int]]) -> dict[object, float]:
    judged = {qid: dict(grades) for qid, grades in qrels.items() if any(grade > 0 for grade in grades.values())}
    run = {qid: {document: -float(place) for place, (document, _) in enumerate(rank(queries[qid]))} for qid in judged}
    return dict(ir_measures.calc_aggregate([AP, nDCG], judged, run))


if __name__ == "__main__":
    main()
