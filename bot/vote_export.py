"""People's votes as judged queries: a TREC qrels file and the queries that belong to it.

| what | how |
|---|---|
| a topic | the words of a query; case and spacing do not count, neither do filters, mode and order |
| its id | `v` and twelve hex digits of the words' SHA-256: the same in every export |
| several votes | of one person on one document the last counts; of several people the majority |
| as many for as against | the document is left out of the topic, and counted |
| a query without words | left out, and counted: `slackquery eval` searches for words alone |
| grades | good is 1, not relevant 0 |
"""

import hashlib
import json
import os
import stat
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bot.store_records import Verdict, Vote, folded

GOOD: Final = 1
NOT_RELEVANT: Final = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """One query and what its results were judged to be.

    Attributes:
        qid: Its id.
        text: Its words, as first voted on.
        grades: 1 or 0 by document id.
        voters: How many people voted on it.
        asked_at: When it was last voted on, Unix seconds: hybrid search counts how recent a message was then.
    """

    qid: str
    text: str
    grades: Mapping[str, int]
    voters: int
    asked_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class VotedTopics:
    """All topics, in the order of their first votes, and what was left out.

    Attributes:
        contested: Documents of a topic with as many votes for as against.
        wordless: Votes on queries without words.
    """

    topics: tuple[Topic, ...]
    contested: int
    wordless: int


def topics_of(votes: Iterable[Vote]) -> VotedTopics:
    """Return votes as judged topics.

    Args:
        votes: Oldest first.
    """
    by_words: dict[str, list[Vote]] = {}
    wordless = 0
    for vote in votes:
        if words := folded(vote.text):
            by_words.setdefault(words, []).append(vote)
        else:
            wordless += 1
    made = [_topic(words, given) for words, given in by_words.items()]
    contested = sum(len({vote.document_id for vote in given}) for given in by_words.values())
    contested -= sum(len(topic.grades) for topic in made)
    return VotedTopics(topics=tuple(made), contested=contested, wordless=wordless)


def write_topics(voted: VotedTopics, *, qrels: Path, queries: Path) -> None:
    """Write both files, mode 0600: they hold what people searched for.

    The qrels are TREC's, with tabs: qid, 0, document id, grade. The queries are JSON lines with qid, text and asked_at.

    Raises:
        OSError: A file cannot be written.
    """
    judged = [topic for topic in voted.topics if topic.grades]
    lines = [
        f"{topic.qid}\t0\t{document_id}\t{grade}\n"
        for topic in judged
        for document_id, grade in sorted(topic.grades.items())
    ]
    _write(qrels, "".join(lines))
    rows = (
        {"qid": topic.qid, "text": topic.text, "voters": topic.voters, "asked_at": topic.asked_at} for topic in judged
    )
    _write(queries, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))


def _topic(words: str, votes: list[Vote]) -> Topic:
    last: dict[tuple[str, str, str], Verdict] = {}
    for vote in votes:
        last[vote.team_id, vote.user_id, vote.document_id] = vote.verdict
    balance: Counter[str] = Counter()
    for (_, _, document_id), verdict in last.items():
        balance[document_id] += 1 if verdict is Verdict.GOOD else -1
    return Topic(
        qid=f"v{hashlib.sha256(words.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}",
        text=" ".join(votes[0].text.split()),
        grades={one: GOOD if sum_ > 0 else NOT_RELEVANT for one, sum_ in balance.items() if sum_},
        voters=len({(team_id, user_id) for team_id, user_id, _ in last}),
        asked_at=max(vote.voted_us for vote in votes) / 1_000_000,
    )


def _write(path: Path, content: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        # One that was there already keeps the mode it had.
        os.fchmod(descriptor, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogatepass") as file:
        file.write(content)
