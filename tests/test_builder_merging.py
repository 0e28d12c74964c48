"""Several sources of one workspace."""

from pathlib import Path

from tests.artifact_rows import build, rows, texts
from tests.export_factory import ExportFactory

FIRST, SECOND, THIRD = "1700000000.000100", "1700000100.000100", "1700000200.000100"
NEXT_DAY = "1700100000.000100"


def _export(*messages: tuple[str, str], edited: str | None = None) -> ExportFactory:
    export = ExportFactory()
    export.user("U1", name="ana")
    export.channel("C1", "general")
    for ts, text in messages:
        extra = {"edited": {"ts": edited, "user": "U1"}} if edited and ts == FIRST else {}
        export.message("C1", ts, text, **extra)
    return export


def test_a_message_in_two_sources_is_kept_once_with_its_newest_edit(tmp_path: Path) -> None:
    old = _export((FIRST, "first, corrected"), edited="1700000500.000000").write_zip(tmp_path / "old.zip")
    new = _export((FIRST, "first"), (NEXT_DAY, "later")).write_zip(tmp_path / "new.zip")
    result = build(tmp_path / "out", old, new)

    assert texts(result.artifact) == {FIRST: "first, corrected", NEXT_DAY: "later"}
    assert result.report.oddities["merged_messages"] == 1


def test_what_the_newest_source_of_a_day_lacks_is_gone_whatever_the_order(tmp_path: Path) -> None:
    old = _export((FIRST, "one"), (SECOND, "two"), (THIRD, "three")).write_zip(tmp_path / "old.zip")
    new = _export((FIRST, "one"), (THIRD, "three"), (NEXT_DAY, "four")).write_zip(tmp_path / "new.zip")

    for number, sources in enumerate(((old, new), (new, old))):
        result = build(tmp_path / f"out{number}", *sources)
        assert sorted(texts(result.artifact)) == [FIRST, THIRD, NEXT_DAY]
        assert result.report.oddities["deleted_messages"] == 1


def test_of_the_same_day_the_later_named_source_decides(tmp_path: Path) -> None:
    old = _export((FIRST, "one"), (SECOND, "two"), (THIRD, "three")).write_zip(tmp_path / "old.zip")
    new = _export((FIRST, "one"), (SECOND, "two")).write_zip(tmp_path / "new.zip")

    assert sorted(texts(build(tmp_path / "out", old, new).artifact)) == [FIRST, SECOND]


def test_days_before_the_newest_source_begins_are_kept(tmp_path: Path) -> None:
    old = _export((FIRST, "one"), (NEXT_DAY, "two")).write_zip(tmp_path / "old.zip")
    new = _export((NEXT_DAY, "two")).write_zip(tmp_path / "new.zip")

    assert sorted(texts(build(tmp_path / "out", old, new).artifact)) == [FIRST, NEXT_DAY]


def test_a_dump_that_lacks_a_message_deletes_nothing(tmp_path: Path) -> None:
    export = _export((FIRST, "one"), (SECOND, "two")).write_zip(tmp_path / "old.zip")
    dump = _export((FIRST, "one"), (NEXT_DAY, "three")).write_slackdump(tmp_path / "slackdump.sqlite")

    assert sorted(texts(build(tmp_path / "out", export, dump).artifact)) == [FIRST, SECOND, NEXT_DAY]


def test_the_newest_name_of_channel_and_person_counts(tmp_path: Path) -> None:
    old = _export((FIRST, "hello <@U1>")).write_zip(tmp_path / "old.zip")
    newer = ExportFactory()
    newer.user("U1", name="ana", display_name="Ana Maria")
    newer.channel("C1", "lobby")
    newer.message("C1", NEXT_DAY, "later")
    result = build(tmp_path / "out", old, newer.write_zip(tmp_path / "new.zip"))

    sql = "SELECT channel_id, channel_name, author_name, text_display FROM search_documents ORDER BY ts_us"
    assert rows(result.artifact, sql) == [
        ("C1", "lobby", "Ana Maria", "hello @Ana Maria"),
        ("C1", "lobby", "Ana Maria", "later"),
    ]


def test_duplicates_and_odd_ts_in_one_source_are_one_message(tmp_path: Path) -> None:
    export = _export((FIRST, "one"), ("1700000000.0001", "one again"), ("1700000000.00001", "earlier"))
    result = build(tmp_path / "out", export.write_zip(tmp_path / "a.zip"))

    assert list(texts(result.artifact)) == ["1700000000.000010", FIRST]
    assert result.report.oddities["duplicate_messages"] == 1
    assert result.report.oddities["odd_timestamps"] == 2


def test_a_deletion_event_deletes(tmp_path: Path) -> None:
    export = _export((FIRST, "one"), (SECOND, "two"))
    export.message("C1", THIRD, "", subtype="message_deleted", deleted_ts=SECOND)
    result = build(tmp_path / "out", export.write_zip(tmp_path / "a.zip"))

    assert list(texts(result.artifact)) == [FIRST]
