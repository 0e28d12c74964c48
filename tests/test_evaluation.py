"""Judged queries over a small artifact, whose measures can be worked out by hand."""

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bot.cli import main
from retrieval import Artifact, Fusion, Mode, SearchRequest, Visibility, search_slack
from retrieval.errors import EmbeddingUnavailableError, JudgementError
from retrieval.evaluation import (
    MEASURES,
    Judgements,
    compare,
    gather_trials,
    make_run,
    mean_interval,
    mean_measures,
    score_run,
    segments,
)
from retrieval.judgements import JudgedQuery, read_qrels, read_queries, read_run, write_run
from retrieval.trials import WAYS, Way, gather_trial, rank_trial
from tests.artifact_factory import Row, ToyEmbedder, write_artifact

ROWS = (
    Row(key="100.000001", text="deploy plan for the mirror", thread="100.000001", parent=True, vector=(1, 0, 0)),
    Row(key="100.000002", text="deploy at noon", minute=2, thread="100.000001", vector=(0.9, 0.1, 0)),
    Row(key="100.000003", text="lunch at noon", minute=3, vector=(0, 1, 0)),
    Row(key="100.000004", text="mirror is broken E4392", minute=4, channel="C2", vector=(0.2, 0.9, 0.1)),
    Row(key="100.000005", text="E4392 again", minute=5, channel="C2", thread="100.000004", vector=(0, 0.3, 0.9)),
    Row(
        key="thread:T1:C1:100.000001:0",
        text="deploy plan for the mirror deploy at noon",
        kind="thread_context",
        thread="100.000001",
        covers=("100.000001", "100.000002"),
    ),
)
VECTORS = {"deploy mirror": (1, 0, 0), "noon": (0, 1, 0), "E4392": (0, 0, 1), "mirror deploy plan": (1, 0.2, 0)}


def at(row: Row) -> str:
    """The name of a row's message in judgements; the factory counts minutes from a fixed second."""
    return f"{row.channel}:{1_760_000_000 + 60 * row.minute}.000000"


ROOT, REPLY, LUNCH, BROKEN, AGAIN = (at(row) for row in ROWS[:5])


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Artifact]:
    with Artifact(write_artifact(tmp_path_factory.mktemp("judged"), ROWS)) as opened:
        yield opened


def query(qid: str, text: str, **more: object) -> JudgedQuery:
    return JudgedQuery(qid=qid, text=text, **more)


def document_ids(*rows: Row) -> list[str]:
    return [row.document_id for row in rows]


def test_a_message_counts_for_its_threads_root_where_the_root_was_judged(artifact: Artifact) -> None:
    judgements = Judgements(artifact, [query("q", "noon")], {"q": {ROOT: 2}})

    assert judgements.ranked_answers("q", document_ids(ROWS[2], ROWS[1])) == (LUNCH, ROOT)


def test_a_message_does_not_count_for_another_message_of_its_thread(artifact: Artifact) -> None:
    judgements = Judgements(artifact, [query("q", "noon")], {"q": {REPLY: 2}})

    assert judgements.ranked_answers("q", document_ids(ROWS[0], ROWS[1])) == (ROOT, REPLY)


def test_an_answer_found_twice_keeps_its_place_but_counts_once(artifact: Artifact) -> None:
    judgements = Judgements(artifact, [query("q", "noon")], {"q": {ROOT: 2}})

    assert judgements.ranked_answers("q", document_ids(ROWS[0], ROWS[1], ROWS[2])) == (ROOT, f"{ROOT}#again", LUNCH)


def test_without_repeats_what_stands_behind_a_thread_moves_up(artifact: Artifact) -> None:
    judgements = Judgements(artifact, [query("q", "noon")], {"q": {LUNCH: 2}}, repeats=False)

    assert judgements.ranked_answers("q", document_ids(ROWS[0], ROWS[1], ROWS[2])) == (ROOT, LUNCH)


def test_judged_messages_of_one_thread_are_one_answer_of_the_best_grade(artifact: Artifact) -> None:
    judgements = Judgements(artifact, [query("q", "noon")], {"q": {REPLY: 1, ROOT: 3, LUNCH: 2}})

    assert judgements.qrels == {"q": {REPLY: 3, LUNCH: 2}}
    assert judgements.ranked_answers("q", document_ids(ROWS[0]))[0] == REPLY


def test_judgements_may_name_document_ids(artifact: Artifact) -> None:
    judgements = Judgements(artifact, [query("q", "noon")], {"q": {"T1:C1:100.000003": 1}})

    assert judgements.ranked_answers("q", document_ids(ROWS[2])) == ("T1:C1:100.000003",)


def test_queries_without_a_relevant_document_are_left_out(artifact: Artifact) -> None:
    queries = [query("q", "noon"), query("zero", "noon"), query("none", "noon")]

    assert [one.qid for one in Judgements(artifact, queries, {"q": {LUNCH: 1}, "zero": {LUNCH: 0}}).queries] == ["q"]
    with pytest.raises(JudgementError, match="None of the queries"):
        Judgements(artifact, queries, {"other": {LUNCH: 1}})


def test_the_thread_that_a_query_was_asked_in_is_hidden_from_it(artifact: Artifact) -> None:
    asked = [query("q", "deploy mirror", exclude_thread_of=REPLY)]
    judgements = Judgements(artifact, asked, {"q": {BROKEN: 1}})
    trials = dict(gather_trials(artifact, judgements, embedder=ToyEmbedder(VECTORS)))

    for way in WAYS:
        run = make_run(judgements, trials, way)
        assert not {ROOT, REPLY} & set(run["q"])
        assert BROKEN in run["q"]


@pytest.mark.parametrize(
    ("more", "asked_at_us"),
    [
        ({}, None),
        ({"asked_at": 1_700_000_000.25}, 1_700_000_000_250_000),
        ({"exclude_thread_of": "dir:help:1700000000.000123"}, 1_700_000_000_000_123),
        ({"exclude_thread_of": "T1:C1:p1"}, None),
        ({"asked_at": 5, "exclude_thread_of": "C1:1700000000.000123"}, 5_000_000),
    ],
)
def test_a_query_says_when_it_was_asked(more: dict[str, object], asked_at_us: int | None) -> None:
    assert query("q", "noon", **more).asked_at_us == asked_at_us


@pytest.mark.parametrize("wrong", ["-1", "1e300", "NaN", '"today"'])
def test_a_moment_that_no_calendar_has_is_refused_by_line(tmp_path: Path, wrong: str) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text(f'{{"qid": "a", "text": "noon"}}\n{{"qid": "b", "text": "noon", "asked_at": {wrong}}}\n')

    with pytest.raises(JudgementError, match=r"queries\.jsonl, line 2: "):
        read_queries(path)


def test_recency_counts_from_when_a_query_was_asked(artifact: Artifact) -> None:
    embedder = ToyEmbedder(VECTORS)
    late, early = (
        gather_trial(artifact, "noon", embedder=embedder, asked_at_us=1_760_000_000_000_000 + days * 86_400_000_000)
        for days in (40, 2)
    )

    assert {late.evidence.days[one] - days for one, days in early.evidence.days.items()} == {38}


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
@pytest.mark.parametrize("text", VECTORS)
def test_a_trial_ranks_as_a_search_does(artifact: Artifact, way: Way, text: str) -> None:
    embedder = ToyEmbedder(VECTORS)
    request = SearchRequest(text=text, mode=way.mode, limit=50)
    page = search_slack(artifact, request, visibility=Visibility.everything(), embedder=embedder, fusion=way.fusion)

    ranked = rank_trial(gather_trial(artifact, text, embedder=embedder), way, limit=50)

    assert list(ranked) == [hit.document.document_id for hit in page.hits]


def test_a_trial_without_a_vector_ranks_by_keywords(artifact: Artifact) -> None:
    trial = gather_trial(artifact, "noon", embedder=None)

    assert rank_trial(trial, Way(name="meaning", mode=Mode.SEMANTIC), limit=5) == ()
    assert set(rank_trial(trial, Way(name="h", mode=Mode.HYBRID, fusion=Fusion.RRF), limit=5)) == set(
        document_ids(ROWS[1], ROWS[2])
    )
    assert trial.evidence.degraded


def test_a_failing_model_costs_the_vectors_list_alone(artifact: Artifact) -> None:
    with pytest.raises(EmbeddingUnavailableError):
        ToyEmbedder({}).embed_query("noon")

    assert gather_trial(artifact, "noon", embedder=ToyEmbedder({})).evidence.lists


def test_a_query_of_no_words_finds_nothing(artifact: Artifact) -> None:
    trial = gather_trial(artifact, "?!", embedder=None)

    assert [rank_trial(trial, way, limit=5) for way in WAYS] == [()] * len(WAYS)


def test_measures_by_their_formulas() -> None:
    """Grade 2 at rank 2, grade 1 at rank 4, and one answer that was not found."""
    values = score_run({"q": ["x", "a", "y", "b"]}, {"q": {"a": 2, "b": 1, "c": 1}})["q"]

    gained = 2 / math.log2(3) + 1 / math.log2(5)
    ideal = 2 / math.log2(2) + 1 / math.log2(3) + 1 / math.log2(4)
    assert values == pytest.approx({"nDCG@10": gained / ideal, "MRR@10": 1 / 2, "Recall@20": 2 / 3, "Success@5": 1.0})


def test_the_order_of_a_run_is_kept_and_missing_queries_score_zero() -> None:
    values = score_run({"q": ["b", "a"], "unjudged": ["a"]}, {"q": {"a": 1}, "absent": {"a": 1}})

    assert values["q"]["MRR@10"] == 1 / 2
    assert values["absent"] == dict.fromkeys(MEASURES, 0.0)
    assert "unjudged" not in values
    assert mean_measures(values, ["q", "absent"])["MRR@10"] == 1 / 4


def column(*values: float) -> dict[str, dict[str, float]]:
    return {str(n): dict.fromkeys(MEASURES, value) for n, value in enumerate(values)}


def test_comparison_is_with_the_better_single_mode() -> None:
    scored = {"lexical": column(0.2, 0.4), "semantic": column(0.5, 0.5), "rrf": column(0.6, 0.6)}

    found = compare(scored, "rrf", ["0", "1"])

    assert found.baseline == "semantic"
    assert (found.gain, found.gain_low, found.gain_high) == pytest.approx((0.1, 0.1, 0.1))
    assert (found.ratio, found.ratio_low, found.ratio_high) == pytest.approx((1.2, 1.2, 1.2))


def test_the_interval_of_a_mixed_gain_holds_both_signs_and_repeats() -> None:
    ups_and_downs = [0.5 + (0.3 if n % 2 else -0.3) for n in range(40)]
    scored = {"lexical": column(*[0.5] * 40), "rrf": column(*ups_and_downs)}
    qids = [str(n) for n in range(40)]

    first, second = compare(scored, "rrf", qids), compare(scored, "rrf", qids)

    assert first.gain_low < 0 < first.gain_high
    assert first == second
    assert mean_interval(scored["lexical"], qids) == pytest.approx((0.5, 0.5))


def test_a_baseline_that_found_nothing_gives_an_infinite_ratio() -> None:
    assert compare({"lexical": column(0.0), "rrf": column(0.5)}, "rrf", ["0"]).ratio == math.inf


def test_segments_by_kind_route_script_and_channel() -> None:
    queries = [query("a", "E4392", kind="code"), query("b", "日本語の検索"), query("c", "how to lunch", kind="code")]
    qrels = {"a": {"C1:1.0": 1}, "b": {"C1:2.0": 1, "C2:1.0": 1}, "c": {"C2:1.0": 1}}

    assert segments(queries, qrels) == {
        "all": ("a", "b", "c"),
        "kind=code": ("a", "c"),
        "route=exact": ("a",),
        "route=conceptual": ("b", "c"),
        "script=Latin": ("a", "c"),
        "script=Han": ("b",),
        "channel=C1": ("a",),
        "channel=C2": ("c",),
    }


def test_runs_survive_a_file(tmp_path: Path) -> None:
    run = {"q1": ("b", "a", "c"), "q2": ("x",)}
    write_run(tmp_path / "one.trec", run, tag="mine")

    assert (tmp_path / "one.trec").read_text().splitlines()[0] == "q1 Q0 b 1 1.000000000 mine"
    assert read_run(tmp_path / "one.trec") == run


def test_qrels_skip_a_heading_and_keep_the_higher_grade(tmp_path: Path) -> None:
    path = tmp_path / "qrels.tsv"
    path.write_text("qid\tdoc\tgrade\nq\tC1:1.0\t1\nq\tC1:1.0\t3\nq\tdir:old:2.0\t0\n")

    assert read_qrels(path) == {"q": {"C1:1.0": 3, "dir:old:2.0": 0}}


@pytest.mark.parametrize("content", ["q 0 C1:1.0 1\nq 0 C1:2.0 0\n", "q\t0\tC1:1.0\t1\nq\t0\tC1:2.0\t0\n"])
def test_qrels_as_trec_writes_them_are_read_too(tmp_path: Path, content: str) -> None:
    (tmp_path / "trec.qrels").write_text(content)

    assert read_qrels(tmp_path / "trec.qrels") == {"q": {"C1:1.0": 1, "C1:2.0": 0}}


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("queries.jsonl", '{"qid": "a"}\n', "line 1: text: Field required"),
        ("queries.jsonl", '{"qid": "a", "text": "x"}\nnonsense\n', "line 2"),
        ("queries.jsonl", '{"qid": "a", "text": "x"}\n{"qid": "a", "text": "y"}\n', "line 2: the query a stands twice"),
        ("queries.jsonl", "\n", "holds no query"),
        ("qrels.tsv", "q\tC1:1.0\n", "line 1: three fields"),
        ("qrels.tsv", "q\tC1:1.0\t1\nq\tC1:2.0\thigh\n", "line 2: the grade 'high'"),
        ("qrels.tsv", "qid\tdoc\tgrade\n", "holds no judgement"),
        ("run.trec", "q Q0 a first 1.0 tag\n", "line 1"),
    ],
)
def test_a_bad_file_is_named_with_its_line(tmp_path: Path, name: str, content: str, sentence: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    readers = {"queries.jsonl": read_queries, "qrels.tsv": read_qrels, "run.trec": read_run}

    with pytest.raises(JudgementError, match=sentence) as caught:
        readers[name](path)
    assert name in str(caught.value)


def test_a_missing_file_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(JudgementError, match="No such file"):
        read_queries(tmp_path / "absent.jsonl")


@pytest.fixture(scope="module")
def judged_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("eval")
    write_artifact(folder / "archive", ROWS, publish=True)
    (folder / "queries.jsonl").write_text(
        '{"qid": "a", "text": "deploy mirror", "kind": "words"}\n{"qid": "b", "text": "E4392", "kind": "code"}\n'
        '{"qid": "c", "text": "not judged"}\n'
    )
    (folder / "qrels.tsv").write_text(f"a\t{ROOT}\t2\nb\t{AGAIN}\t1\n")
    return folder


def run_eval(folder: Path, *arguments: str) -> Result:
    result = CliRunner().invoke(
        main,
        ["eval", "--artifacts", str(folder / "archive"), "--queries", str(folder / "queries.jsonl"),
         "--qrels", str(folder / "qrels.tsv"), *arguments],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    return result


def test_eval_json_holds_every_segment_way_and_measure(judged_folder: Path) -> None:
    document = json.loads(run_eval(judged_folder, "--segments", "--json").stdout)

    assert {"all", "kind=words", "kind=code", "route=exact", "channel=C2"} <= document["segments"].keys()
    whole = document["segments"]["all"]
    assert whole["queries"] == 2
    assert whole["rankers"].keys() == {way.name for way in WAYS}
    assert whole["rankers"]["lexical"].keys() >= set(MEASURES)
    assert whole["rankers"]["lexical"]["nDCG@10"] == pytest.approx(1.0)
    assert whole["rankers"]["rrf"]["against_better_single_mode"]["baseline"] == "lexical"


def test_eval_writes_runs_and_reads_them_back_as_another_column(judged_folder: Path, tmp_path: Path) -> None:
    run_eval(judged_folder, "--write-runs", str(tmp_path), "--json")
    (tmp_path / "lexical.trec").rename(tmp_path / "elsewhere.trec")

    document = json.loads(run_eval(judged_folder, "--run", str(tmp_path / "elsewhere.trec"), "--json").stdout)

    rankers = document["segments"]["all"]["rankers"]
    assert rankers["elsewhere"]["nDCG@10"] == rankers["lexical"]["nDCG@10"]


def test_eval_prints_a_table_and_says_what_was_left_out(judged_folder: Path) -> None:
    result = run_eval(judged_folder, "--grid")

    assert "nDCG@10" in result.stdout
    assert "linear-fixed alpha=0.65" in result.stdout
    assert "1 queries without a judgement were left out." in result.stderr
