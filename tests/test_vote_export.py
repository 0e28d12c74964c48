"""Votes as judged queries: how they combine, and that `slackquery eval` reads them as they are."""

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bot import texts
from bot.cli import main
from bot.store_file import StoreFile
from bot.store_records import Verdict, Vote
from bot.vote_export import topics_of, write_topics
from retrieval.judgements import read_qrels, read_queries
from tests.bot_harness import ADA, BEN, CLEO, build_archive, running_bot

GOOD, BAD = Verdict.GOOD, Verdict.NOT_RELEVANT
FIRST = Vote(
    team_id="T1",
    user_id=ADA,
    query_key="q",
    document_id="d1",
    verdict=GOOD,
    text="Rate  limit",
    understood="Rate limit",
    command="Rate  limit",
    mode="hybrid",
    rank=1,
    artifact_id="a",
    voted_us=1_700_000_000_000_000,
)


def of(user_id: str, verdict: Verdict, *, document_id: str = "d1", text: str = FIRST.text, after: int = 0) -> Vote:
    moment = FIRST.voted_us + after
    return replace(FIRST, user_id=user_id, verdict=verdict, document_id=document_id, text=text, voted_us=moment)


def grades(*votes: Vote) -> dict[str, int]:
    """The grades of the only topic."""
    (topic,) = topics_of(votes).topics
    return dict(topic.grades)


def test_good_is_one_and_not_relevant_nothing() -> None:
    assert grades(of(ADA, GOOD), of(ADA, BAD, document_id="d2")) == {"d1": 1, "d2": 0}


def test_the_majority_of_the_voters_counts() -> None:
    assert grades(of(ADA, GOOD), of(BEN, BAD), of(CLEO, GOOD)) == {"d1": 1}
    assert grades(of(ADA, BAD), of(BEN, BAD), of(CLEO, GOOD)) == {"d1": 0}


def test_as_many_for_as_against_leave_the_document_out_and_are_counted() -> None:
    voted = topics_of([of(ADA, GOOD), of(BEN, BAD), of(ADA, GOOD, document_id="d2")])

    assert dict(voted.topics[0].grades) == {"d2": 1}
    assert (voted.contested, voted.topics[0].voters) == (1, 2)


def test_of_one_persons_votes_under_different_filters_the_last_counts() -> None:
    filtered = replace(of(ADA, BAD, text="rate limit", after=1), query_key="other")

    assert grades(FIRST, filtered) == {"d1": 0}


def test_a_topic_is_its_words_whatever_their_case_and_spacing_and_keeps_its_id() -> None:
    (one,) = topics_of([FIRST, of(BEN, GOOD, text="rate LIMIT ")]).topics
    first, second = topics_of([of(BEN, BAD, text="outage"), of(BEN, GOOD, text="RATE limit")]).topics

    assert (one.qid, one.text) == ("va0f3a11be641", "Rate limit")
    assert second.qid == one.qid
    assert first.qid != one.qid


def test_queries_without_words_are_left_out_and_counted() -> None:
    voted = topics_of([of(ADA, GOOD, text=" "), FIRST])

    assert len(voted.topics) == 1
    assert voted.wordless == 1


def test_both_files_are_what_eval_reads_and_only_their_owner_may_read_them(tmp_path: Path) -> None:
    qrels, queries = tmp_path / "votes.qrels", tmp_path / "votes.queries.jsonl"
    voted = topics_of([of(ADA, GOOD, after=7), FIRST, of(BEN, BAD, document_id="d2", text="Zoë \u2028 “outage”")])
    qrels.touch(mode=0o644)

    write_topics(voted, qrels=qrels, queries=queries)

    read = read_queries(queries)
    assert [query.text for query in read] == ["Rate limit", "Zoë “outage”"]
    assert [query.asked_at_us for query in read] == [FIRST.voted_us + 7, FIRST.voted_us]
    assert read_qrels(qrels) == {read[0].qid: {"d1": 1}, read[1].qid: {"d2": 0}}
    assert qrels.read_text().splitlines()[0].split() == [read[0].qid, "0", "d1", "1"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in (qrels, queries)} == {0o600}
    assert ADA not in qrels.read_text() + queries.read_text()


def test_the_order_is_that_of_the_first_votes_and_then_of_the_documents(tmp_path: Path) -> None:
    votes = [of(ADA, GOOD, text="b", document_id="d9"), of(ADA, GOOD, text="a"), of(BEN, BAD, text="b")]
    write_topics(topics_of(votes), qrels=tmp_path / "qrels", queries=tmp_path / "queries")

    assert [line.split()[2] for line in (tmp_path / "qrels").read_text().splitlines()] == ["d1", "d9", "d1"]
    assert [query.text for query in read_queries(tmp_path / "queries")] == ["b", "a"]


def logs(*arguments: object, exit_code: int = 0) -> Result:
    result = CliRunner().invoke(main, ["logs", *(str(one) for one in arguments)])
    assert result.exit_code == exit_code, result.output
    return result


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store.sqlite3"
    file = StoreFile(path)
    for vote in (FIRST, of(BEN, BAD, text="outage", after=1_000_000)):
        file.put_vote(vote)
    file.close()
    return path


def test_the_queries_stand_beside_the_qrels_unless_said_otherwise(store: Path, tmp_path: Path) -> None:
    result = logs("--qrels", tmp_path / "votes.qrels", "--store", store)

    assert len(read_queries(tmp_path / "votes.queries.jsonl")) == 2
    assert "2 judged documents" in result.stderr
    logs("--qrels", tmp_path / "other", "--queries", tmp_path / "elsewhere", "--store", store)
    assert len(read_queries(tmp_path / "elsewhere")) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--user", BEN), ["outage"]),
        (("--since", "2023-11-14T22:13:21"), ["outage"]),
        (("--until", "2023-11-14T22:13:21"), ["Rate limit"]),
    ],
)
def test_votes_are_filtered_as_entries_are(
    store: Path, tmp_path: Path, arguments: tuple[str, str], words: list[str]
) -> None:
    logs("--qrels", tmp_path / "votes.qrels", "--store", store, *arguments)

    assert [query.text for query in read_queries(tmp_path / "votes.queries.jsonl")] == words


def test_what_cannot_be_exported_is_one_sentence(store: Path, tmp_path: Path) -> None:
    target = tmp_path / "votes.qrels"
    (tmp_path / "broken").write_bytes(b"no database" * 1000)

    assert "There is no file" in logs("--qrels", target, "--store", tmp_path / "none", exit_code=1).output
    assert not (tmp_path / "none").exists()
    assert "cannot be read" in logs("--qrels", target, "--store", tmp_path / "broken", exit_code=1).output
    assert "no vote" in logs("--qrels", target, "--store", store, "--user", "U9", exit_code=1).output
    assert "cannot be written" in logs("--qrels", tmp_path / "no" / "x", "--store", store, exit_code=1).output
    assert "the same file" in logs("--qrels", target, "--queries", target, "--store", store, exit_code=2).output
    assert "have no meaning" in logs("--qrels", target, "--store", store, "--json", exit_code=2).output
    assert "belong to --qrels" in logs("--store", store, exit_code=2).output
    assert not target.exists()


async def test_what_people_vote_in_slack_is_measured_by_eval(tmp_path: Path) -> None:
    folder, store = tmp_path / "archive", tmp_path / "store.sqlite3"
    build_archive(folder)
    async with running_bot(folder, store=store) as office:
        for user, text, nth, label in (
            (ADA, "harbour", 0, texts.GOOD_RESULT),
            (BEN, "harbour in:#general", 0, texts.GOOD_RESULT),
            (BEN, "harbour", 1, texts.NOT_RELEVANT),
            (ADA, "zebra paper", 0, texts.GOOD_RESULT),
        ):
            answer = await office.ask(text, user=user)
            more = await office.press(answer, texts.MORE, user=user, nth=nth)
            await office.press(more, label, user=user)
    qrels, queries = tmp_path / "votes.qrels", tmp_path / "votes.queries.jsonl"
    logs("--qrels", qrels, "--store", store)

    arguments = ["eval", "--artifacts", folder, "--qrels", qrels, "--queries", queries, "--json"]
    result = CliRunner().invoke(main, [str(one) for one in arguments])

    assert result.exit_code == 0, result.output
    whole = json.loads(result.stdout)["segments"]["all"]
    assert whole["queries"] == 2
    assert whole["rankers"]["rrf"]["MRR@10"] == pytest.approx(1.0)
    assert sorted(grade for grades in read_qrels(qrels).values() for grade in grades.values()) == [0, 1, 1]
