"""Judged queries and ranked lists as files: queries.jsonl, qrels.tsv and TREC runs."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from retrieval.errors import JudgementError

Qrels = Mapping[str, Mapping[str, int]]
Run = Mapping[str, Sequence[str]]

# The last day of 9999, as a date can say it.
_LAST_SECOND: Final = 253_402_300_799
_TS: Final = re.compile(r"(\d{1,11})\.(\d{6})")
_TREC_FIELDS: Final = 6
_QRELS_FIELDS: Final = (3, 4)


class JudgedQuery(BaseModel):
    """One line of queries.jsonl; keys that are not known are ignored.

    Attributes:
        qid: Its name in the judgements.
        text: What is searched for, as it stands: quotes and modifiers mean nothing.
        kind: What sort of query it is, for segments; empty where not said.
        exclude_thread_of: A message, `channel_id:ts`, whose thread is left out of the results, because it is the
            place that the question was asked in.
        asked_at: When it was asked, Unix seconds; None where not known.
    """

    model_config = ConfigDict(frozen=True)

    qid: str
    text: str
    kind: str = ""
    exclude_thread_of: str = ""
    asked_at: float | None = Field(default=None, ge=0, le=_LAST_SECOND, allow_inf_nan=False)

    @property
    def asked_at_us(self) -> int | None:
        """When it was asked, Unix microseconds; what was asked in a thread, when that message was written."""
        if self.asked_at is not None:
            return round(self.asked_at * 1_000_000)
        written = _TS.fullmatch(self.exclude_thread_of.rpartition(":")[2])
        return int(written[1]) * 1_000_000 + int(written[2]) if written else None


def read_queries(path: Path) -> tuple[JudgedQuery, ...]:
    """Return the queries of a JSON-lines file, in order.

    Raises:
        JudgementError: The file cannot be read, a line is no query, or a qid stands twice.
    """
    queries: dict[str, JudgedQuery] = {}
    for number, line in _lines(path):
        try:
            query = JudgedQuery.model_validate_json(line)
        except ValidationError as error:
            reason = error.errors()[0]
            place = ".".join(str(part) for part in reason["loc"]) or "the line"
            raise JudgementError(f"{path.name}, line {number}: {place}: {reason['msg']}.") from error
        if query.qid in queries:
            raise JudgementError(f"{path.name}, line {number}: the query {query.qid} stands twice.")
        queries[query.qid] = query
    if not queries:
        raise JudgementError(f"{path.name} holds no query.")
    return tuple(queries.values())


def read_qrels(path: Path) -> Qrels:
    """Return the grades of `qid<TAB>doc<TAB>grade`, by query and document; a document judged twice keeps the higher.

    TREC's four fields, `qid iteration doc grade` between tabs or blanks, are read as well; the iteration is ignored.
    A first line whose last field is no number is a heading. Grades of 0 and below mean "not relevant".

    Raises:
        JudgementError: The file cannot be read, or a line has other fields.
    """
    qrels: dict[str, dict[str, int]] = {}
    for number, line in _lines(path):
        fields = line.split("\t") if "\t" in line else line.split()
        if len(fields) not in _QRELS_FIELDS:
            wanted = "three fields are wanted: qid, doc and grade, or TREC's four"
            raise JudgementError(f"{path.name}, line {number}: {wanted}.")
        qid, document, grade = fields[0], fields[-2], fields[-1]
        if not _is_integer(grade):
            if number == 1:
                continue
            raise JudgementError(f"{path.name}, line {number}: the grade {grade!r} is no whole number.")
        grades = qrels.setdefault(qid, {})
        grades[document] = max(grades.get(document, int(grade)), int(grade))
    if not qrels:
        raise JudgementError(f"{path.name} holds no judgement.")
    return qrels


def read_run(path: Path) -> Run:
    """Return the ranked documents of a TREC run (`qid Q0 doc rank score tag`), by query, in order of rank.

    Raises:
        JudgementError: The file cannot be read, or a line has other fields.
    """
    ranked: dict[str, list[tuple[int, str]]] = {}
    for number, line in _lines(path):
        fields = line.split()
        if len(fields) != _TREC_FIELDS or not _is_integer(fields[3]):
            raise JudgementError(f"{path.name}, line {number}: wanted are qid, Q0, doc, rank, score and tag.")
        ranked.setdefault(fields[0], []).append((int(fields[3]), fields[2]))
    return {qid: tuple(document for _, document in sorted(entries)) for qid, entries in ranked.items()}


def write_run(path: Path, run: Run, *, tag: str) -> None:
    """Write a TREC run; ranks from 1.

    The score is 1 / rank: trec_eval orders by score alone and breaks ties in a way of its own.
    """
    lines = [
        f"{qid} Q0 {document} {rank} {1 / rank:.9f} {tag}\n"
        for qid, documents in run.items()
        for rank, document in enumerate(documents, start=1)
    ]
    path.write_text("".join(lines), encoding="utf-8")


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number and text of each line that is not empty."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise JudgementError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise JudgementError(f"{path.name} is no UTF-8 text: byte {error.start}.") from error
    for number, line in enumerate(text.split("\n"), start=1):
        if stripped := line.strip("\r"):
            yield number, stripped


def _is_integer(text: str) -> bool:
    return text.strip().lstrip("-").isdecimal()
