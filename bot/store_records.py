"""What the small store keeps: votes on results and people's recent searches."""

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum

from bot.audit import TEXT_FILTERS, describe_filters
from retrieval.models import SearchRequest


class Verdict(StrEnum):
    """What a person says of a result."""

    GOOD = "good"
    NOT_RELEVANT = "not_relevant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """One person's verdict on one document as a result of one query.

    A person has one vote on a query and document: a later one takes its place.

    Attributes:
        query_key: Which query, as `query_key` gives it.
        text: The words that were ranked, without modifiers; empty where there were none.
        understood: How the whole query was understood, in words.
        command: What was typed.
        mode: How was searched: `lexical`, `semantic` or `hybrid`.
        rank: Where the document stood when it was shown, from 1.
        artifact_id: The archive that it was shown from.
        voted_us: When, Unix microseconds.
    """

    team_id: str
    user_id: str
    query_key: str
    document_id: str
    verdict: Verdict
    text: str
    understood: str
    command: str
    mode: str
    rank: int
    artifact_id: str
    voted_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentSearch:
    """One search that a person made.

    Attributes:
        command: What was typed, as Slack sent it; this is what is searched for again.
        shown: The same as its owner reads it, with names for ids.
        searched_us: When last, Unix microseconds.
    """

    command: str
    shown: str
    searched_us: int


def query_key(request: SearchRequest) -> str:
    """Return what makes two searches the same query: their words and filters, whatever mode, order and page.

    Case and spacing do not count, nor the order in which modifiers stand, nor one that stands twice. The same in
    every process and after an upgrade.
    """
    described = describe_filters(request.filters, in_full=True)
    filters = {name: _unordered(value, is_text=name in TEXT_FILTERS) for name, value in described.items()}
    asked = [folded(request.text), filters]
    content = json.dumps(asked, ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def folded(text: str) -> str:
    """Return text with single spaces and without case: two that are alike in it are the same text."""
    return " ".join(text.split()).casefold()


def _unordered(condition: object, *, is_text: bool) -> object:
    """Return a condition such that it equals any other of the same meaning."""
    if not isinstance(condition, tuple):
        return condition
    return sorted({folded(str(one)) if is_text else str(one) for one in condition})
