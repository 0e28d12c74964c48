"""BM25 on the classic collections against published figures: is ours a sound BM25, and what does it cost not to stem?

    python -m benchmarks.published --data ../shared/data

Published, stemmed: Terrier 5.2's BM25 on Vaswani, Porter stemmer and stop words, MAP .2965 and nDCG .6212
(terrier-org/pyterrier, examples/notebooks/experiment.ipynb). DuckDB's stock index with the same stemmer and stop words
stands between that figure and ours, which stems nothing; all three rank 1,000 deep.

Published, unstemmed: BM25 with k 1.2 and b .75 on the 113 odd queries of Cranfield, no stop words, words of two
characters and more that begin with a letter, AP@100 .2751 and nDCG@10 .3378 (suharshkumar/cranfield-search-engine,
results/results.json, "naive+naive+none+none"; gains 4 to 1, as in this project's judgements).

A referee beside ours on our own tokens, where bm25s is to be had; it is no dependency:

    pip install --no-deps --target /tmp/referee bm25s
    PYTHONPATH=/tmp/referee python -m benchmarks.published --data ../shared/data
"""

import argparse
import importlib.util
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import duckdb
import ir_measures
import numpy as np
from ir_measures import AP, Measure, nDCG

from benchmarks.judged_sets import judged_set
from retrieval.analyzer import tokenize
from retrieval.artifact import Artifact
from retrieval.judgements import read_qrels, read_queries
from retrieval.models import Filters
from retrieval.readers import open_reader
from retrieval.visibility import Visibility

DEPTH: Final = 1000
PUBLISHED: Final = {"vaswani": "Terrier 5.2, stemmed, stop words | .297 | .621"}
PUBLISHED_UNSTEMMED: Final = "suharshkumar/cranfield-search-engine, unstemmed, k 1.2, b .75 | .275 | .338"
UNSTEMMED_MEASURES: Final = (AP @ 100, nDCG @ 10)
WHOLE_LIST: Final = (AP, nDCG)

Rank = Callable[[str], Sequence[tuple[str, float]]]
Split = Callable[[str], Sequence[str]]
# The published unstemmed figure's own words.
_WORDS: Final = re.compile(r"[a-z][a-z0-9\-]+")


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
            _print_rows(name, _whole_list_ranks(artifact), queries, qrels, WHOLE_LIST)
            if name == "cranfield":
                odd = dict(list(queries.items())[::2])
                print("\n| set | BM25 | AP@100 | nDCG@10 |\n|---|---|---|---|")
                print(f"| cranfield, odd queries | published: {PUBLISHED_UNSTEMMED} |")
                _print_rows("cranfield, odd queries", _unstemmed_ranks(artifact), odd, qrels, UNSTEMMED_MEASURES)


def _whole_list_ranks(artifact: Artifact) -> Mapping[str, Rank]:
    texts = _texts(artifact)
    ranks = {
        "stock DuckDB, stemmed, stop words, k 1.2, b .75": _stock(texts, "porter", "english", k=1.2, b=0.75),
        "stock DuckDB, unstemmed, no stop words, k 1.2, b .75": _stock(texts, "none", "none", k=1.2, b=0.75),
        "ours, unstemmed, k .9, b .4": lambda text: _own(artifact, text),
    }
    if _has_referee():
        ranks["bm25s on our tokens, k .9, b .4"] = _referee(texts, tokenize, _distinct(tokenize), k=0.9, b=0.4)
    return ranks


def _unstemmed_ranks(artifact: Artifact) -> Mapping[str, Rank]:
    """Return the published unstemmed configuration by other implementations, and ours as it serves."""
    texts = _texts(artifact)
    spaced = [(name, " ".join(_words(text))) for name, text in texts]
    stock = _stock(spaced, "none", "none", k=1.2, b=0.75, ignore=r"\s+")
    ranks = {
        "stock DuckDB on the same words, k 1.2, b .75": lambda text: stock(" ".join(_words(text))),
        "ours, unstemmed, k .9, b .4": lambda text: _own(artifact, text),
    }
    if _has_referee():
        ranks["bm25s on the same words, k 1.2, b .75"] = _referee(texts, _words, _words, k=1.2, b=0.75)
    return ranks


def _print_rows(
    name: str,
    ranks: Mapping[str, Rank],
    queries: Mapping[str, str],
    qrels: Mapping[str, Mapping[str, int]],
    measures: Sequence[Measure],
) -> None:
    for label, rank in ranks.items():
        means = _measure(rank, queries, qrels, measures)
        print(f"| {name} | {label} | {' | '.join(f'{means[measure]:.4f}' for measure in measures)} |")


def _texts(artifact: Artifact) -> list[tuple[str, str]]:
    """Return every document's `channel:seconds` as judged, and its text."""
    with artifact.cursor() as cursor:
        return cursor.execute(
            "SELECT channel_id || ':' || (ts_us // 1000000) || '.' || lpad(CAST(ts_us % 1000000 AS VARCHAR), 6, '0'), "
            "text_display FROM search_documents WHERE document_kind = 'message'"
        ).fetchall()


def _stock(
    texts: Sequence[tuple[str, str]], stemmer: str, stopwords: str, *, k: float, b: float, ignore: str = "[^a-z0-9]+"
) -> Rank:
    """Return a ranking by an index that DuckDB makes by itself; *ignore* is what parts its words."""
    import duckdb_extension_fts  # noqa: PLC0415 - the extension is a file of this package

    connection = duckdb.connect(config={"allow_unsigned_extensions": "false"})
    extension = next(Path(duckdb_extension_fts.__file__).parent.rglob("fts.duckdb_extension"))
    connection.execute(f"LOAD '{extension}'")
    connection.execute("CREATE TABLE d (id VARCHAR, text VARCHAR)")
    connection.executemany("INSERT INTO d VALUES (?, ?)", texts)
    connection.execute(
        f"PRAGMA create_fts_index('d', 'id', 'text', stemmer='{stemmer}', stopwords='{stopwords}', ignore='{ignore}')"
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


def _words(text: str) -> list[str]:
    return _WORDS.findall(text.lower())


def _distinct(split: Split) -> Split:
    return lambda text: list(dict.fromkeys(split(text)))


def _has_referee() -> bool:
    return importlib.util.find_spec("bm25s") is not None


def _referee(texts: Sequence[tuple[str, str]], split: Split, ask: Split, *, k: float, b: float) -> Rank:
    """Return a ranking by bm25s's BM25 as Lucene has it: *split* makes a document's words, *ask* a query's."""
    import bm25s  # noqa: PLC0415 - a referee and no dependency

    index = bm25s.BM25(method="lucene", k1=k, b=b)
    index.index([list(split(text)) for _, text in texts], show_progress=False)

    def rank(text: str) -> Sequence[tuple[str, float]]:
        words = [word for word in ask(text) if word in index.vocab_dict]
        scores = index.get_scores(words) if words else np.zeros(len(texts))
        found = ((texts[place][0], float(scores[place])) for place in np.flatnonzero(scores).tolist())
        return sorted(found, key=lambda one: (-one[1], one[0]))[:DEPTH]

    return rank


def _measure(
    rank: Rank, queries: Mapping[str, str], qrels: Mapping[str, Mapping[str, int]], measures: Sequence[Measure]
) -> dict[Measure, float]:
    judged = {
        qid: dict(grades)
        for qid, grades in qrels.items()
        if qid in queries and any(grade > 0 for grade in grades.values())
    }
    run = {qid: {document: -float(place) for place, (document, _) in enumerate(rank(queries[qid]))} for qid in judged}
    return dict(ir_measures.calc_aggregate(list(measures), judged, run))


if __name__ == "__main__":
    main()
