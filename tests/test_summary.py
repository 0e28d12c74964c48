"""The summary of a day is right, by figures that are computed here once more and otherwise."""

import csv
import io
import json
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bot.audit_reader import AuditRecord
from bot.cli import main
from bot.summary import percentile, summarise
from bot.summary_text import summary_lines

DAY = datetime(2026, 5, 4, tzinfo=UTC)
EVENTS = ("search",) * 70 + ("page",) * 12 + ("expand",) * 8 + ("context",) * 3 + ("refused",) * 3 + ("error",) * 2
MISSED = ("kiln manual", "Kiln  Manual", "=SUM(A1)", "glaze chart", "wheel speed", "тёплая глина", "clay \x1b[31mred")


def synthetic_day() -> list[dict[str, Any]]:
    """5,000 entries of one day: searches of all modes, presses, refusals, errors, swaps, a start and a stop."""
    chance = random.Random(20260504)  # noqa: S311 - invented entries, the same every time.
    entries: list[dict[str, Any]] = [{"event": "start", "artifact_id": "a0"}]
    for number in range(4_974):
        event = chance.choice(EVENTS)
        entry: dict[str, Any] = {"event": event, "request_id": f"{number:012x}", "team_id": "T1"}
        entry["user_id"] = f"U{chance.randint(1, 180)}"
        if event in {"refused", "error"}:
            entry["reason"] = chance.choice(
                ("bot", "deleted", "other_team") if event == "refused" else ("TimeoutError",)
            )
        if event in {"search", "page"}:
            entry |= {"mode": chance.choices(("hybrid", "lexical", "semantic"), (8, 2, 1))[0], "offset": 0}
            entry["hits"] = 0 if chance.random() < 0.07 else chance.randint(1, 5)
            entry["query"] = chance.choice(MISSED) if entry["hits"] == 0 else f"words {chance.randint(1, 999)}"
            entry["degraded"] = chance.random() < 0.02
            entry["timings_ms"] = {"total": round(chance.lognormvariate(3.5, 0.8), 3)}
        entries.append(entry)
    entries += [{"event": "swap", "artifact_id": f"a{number}"} for number in range(1, 25)]
    entries.append({"event": "stop"})
    for number, entry in enumerate(entries):
        entry["at"] = (DAY + timedelta(seconds=17 * number)).isoformat(timespec="milliseconds")
    assert len(entries) == 5_000
    return entries


@pytest.fixture(scope="module")
def entries() -> list[dict[str, Any]]:
    return synthetic_day()


@pytest.fixture(scope="module")
def folder(entries: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The entries in two files."""
    path = tmp_path_factory.mktemp("day")
    lines = [json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries]
    (path / "audit-2026-05-04.0001.jsonl").write_text("".join(lines[:3_000]), encoding="utf-8")
    (path / "audit-2026-05-04.0002.jsonl").write_text("".join(lines[3_000:]), encoding="utf-8")
    return path


def run(folder: Path, *arguments: str) -> Result:
    result = CliRunner().invoke(main, ["logs", "--audit-dir", str(folder), *arguments])
    assert result.exit_code == 0, result.output
    return result


def rank_of(times: list[float], percent: int) -> float:
    """The nearest-rank percentile, counted out: the first time that enough of them do not exceed."""
    return next(one for one in sorted(times) if 100 * sum(other <= one for other in times) >= percent * len(times))


def test_a_day_of_5000_entries_is_summed_up_right(folder: Path, entries: list[dict[str, Any]]) -> None:
    told = json.loads(run(folder, "summary", "--json").stdout)
    searches = [one for one in entries if one["event"] == "search"]

    assert told["searches"] == len(searches)
    assert told["people"] == len({one["user_id"] for one in searches})
    assert told["events"] == dict(Counter(one["event"] for one in entries))
    assert (told["first_at"], told["last_at"]) == (entries[0]["at"], entries[-1]["at"])
    assert told["refused"] == dict(Counter(one["reason"] for one in entries if one["event"] == "refused"))
    assert told["errors"] == {"TimeoutError": sum(one["event"] == "error" for one in entries)}
    assert [one["artifact_id"] for one in told["served"]] == [f"a{number}" for number in range(5, 25)]


def test_the_figures_of_each_mode_are_right(folder: Path, entries: list[dict[str, Any]]) -> None:
    told = {one["mode"]: one for one in json.loads(run(folder, "summary", "--json").stdout)["modes"]}

    assert list(told) == ["hybrid", "lexical", "semantic", "all"]
    for mode, figures in told.items():
        mine = [one for one in entries if one["event"] == "search" and mode in ("all", one["mode"])]
        times = [one["timings_ms"]["total"] for one in mine]
        assert figures["searches"] == len(mine)
        assert figures["p50_ms"] == rank_of(times, 50)
        assert abs(figures["p50_ms"] - median(times)) < 1
        assert figures["p95_ms"] == rank_of(times, 95)
        assert figures["no_hit"] == sum(one["hits"] == 0 for one in mine)
        assert figures["no_hit_share"] == sum(one["hits"] == 0 for one in mine) / len(mine)
        assert figures["degraded"] == sum(one["degraded"] for one in mine)


def test_what_was_not_found_is_listed_most_often_first(folder: Path, entries: list[dict[str, Any]]) -> None:
    told = json.loads(run(folder, "summary", "--json").stdout)["top_no_hit_queries"]
    missed = [one for one in entries if one["event"] == "search" and one["hits"] == 0]
    same = [one for one in missed if one["query"] in MISSED[:2]]

    assert told[0] == {
        "query": "kiln manual",
        "searches": len(same),
        "people": len({one["user_id"] for one in same}),
    }
    assert sum(one["searches"] for one in told) == len(missed)
    assert [one["searches"] for one in told] == sorted((one["searches"] for one in told), reverse=True)


def test_the_table_can_be_pasted_into_a_message(folder: Path, entries: list[dict[str, Any]]) -> None:
    table = run(folder, "summary").stdout
    searches = sum(one["event"] == "search" for one in entries)

    assert all(len(line) <= 64 for line in table.splitlines())
    assert "\x1b" not in table
    assert table.startswith("2026-05-04 00:00 to 2026-05-04 23:36 UTC\n")
    assert f"{searches:,} searches, 180 people" in table
    for word in ("mode", "p50 ms", "p95 ms", "no hit", "degraded", "kiln manual", "refused because", "a24"):
        assert word in table


def test_csv_has_the_same_figures_and_no_formula(folder: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(run(folder, "summary", "--format", "csv").stdout)))
    told = json.loads(run(folder, "summary", "--json").stdout)

    figures = {(row["figure"], row["of"]): row["value"] for row in rows}
    assert figures["searches", "hybrid"] == str(told["modes"][0]["searches"])
    assert figures["p95_ms", "all"] == str(told["modes"][-1]["p95_ms"])
    assert ("no_hit_query", "'=sum(a1)") in figures


def test_the_summary_counts_what_the_filters_admit(folder: Path, entries: list[dict[str, Any]]) -> None:
    told = json.loads(run(folder, "summary", "--json", "--user", "U7", "--since", "2026-05-04T06:00").stdout)

    mine = [
        one
        for one in entries
        if one.get("user_id") == "U7" and one["at"] >= "2026-05-04T06:00" and one["event"] == "search"
    ]
    assert told["searches"] == len(mine) > 0


def test_hashes_stand_in_for_texts_and_nothing_where_neither_is_kept() -> None:
    def search(**more: Any) -> AuditRecord:
        return AuditRecord(at=DAY, event="search", user_id="U1", hits=0, mode="lexical", **more)

    hashed = summarise([search(query_hash="ab12"), search(query_hash="ab12")])
    without = summarise([search(), search()])

    assert [(one.text, one.searches, one.people) for one in hashed.missed] == [("#ab12", 2, 1)]
    assert without.missed == []
    assert without.modes[0].no_hit == 2


def test_nothing_is_summed_up_without_entries(tmp_path: Path) -> None:
    assert run(tmp_path, "summary").stdout == "No entry fits.\n"
    assert json.loads(run(tmp_path, "summary", "--json").stdout)["modes"] == []
    assert summary_lines(summarise([AuditRecord(at=DAY, event="stop")]))[1] == "0 searches, 0 people"


@pytest.mark.parametrize(("share", "expected"), [(0.5, 20.0), (0.95, 40.0), (0.25, 10.0), (0.0, 10.0), (1.0, 40.0)])
def test_a_percentile_is_a_value_that_was_measured(share: float, expected: float) -> None:
    assert percentile([40.0, 10.0, 30.0, 20.0], share) == expected
