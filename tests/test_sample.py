"""The sample archive: its structure is that of a real full export, and it holds what demos and tests need."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from localslack.workspace import load_workspace

SAMPLE = Path(__file__).parent.parent / "localslack" / "sample"
EXPORT = SAMPLE / "export"
LISTS = ("channels", "groups", "dms", "mpims")
SLACKBOT = "USLACKBOT"  # the author of tombstones; exports name it in messages but seldom in users.json
MENTION = re.compile(r"<@([UW][A-Z0-9]+)")
CHANNEL_MENTION = re.compile(r"<#([CG][A-Z0-9]+)\|([^>]*)>")
LINK = re.compile(r"https?://([^/|>\s\"]+)")
CJK = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
ALLOWED_HOSTS = re.compile(r"(^|\.)(example\.com|example\.org|lindwerk\.example|harborline\.example)(:\d+)?$")
MESSAGE_MINIMUM = 600
SIZE_LIMIT_BYTES = 800_000

Message = dict[str, Any]


@cache
def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def conversations() -> list[Message]:
    return [entry for name in LISTS for entry in read(EXPORT / f"{name}.json")]


def folder_of(conversation: Message) -> str:
    return str(conversation.get("name") or conversation["id"])


def day_files() -> list[Path]:
    return sorted(EXPORT.glob("*/*.json"))


def located_messages() -> Iterator[tuple[Path, Message]]:
    for path in day_files():
        for message in read(path):
            yield path, message


def messages() -> list[Message]:
    return [message for _, message in located_messages()]


@cache
def messages_by_ts(folder: str) -> dict[str, Message]:
    return {m["ts"]: m for path in (EXPORT / folder).glob("*.json") for m in read(path)}


def replies_of(root_ts: str, folder: str) -> list[Message]:
    found = [m for m in messages_by_ts(folder).values() if m.get("thread_ts") == root_ts != m["ts"]]
    return sorted(found, key=lambda m: m["ts"])


def users_by_id() -> dict[str, Message]:
    return {user["id"]: user for user in read(EXPORT / "users.json")}


def author_of(message: Message) -> str:
    return str(message.get("user") or message["bot_id"])


def files_of(message: Message) -> list[Message]:
    return [entry for entry in message.get("files", []) if "name" in entry]


def judged_queries() -> list[dict[str, str]]:
    return [json.loads(line) for line in (SAMPLE / "queries.jsonl").read_text(encoding="utf-8").splitlines()]


def judgements() -> list[list[str]]:
    return [line.split("\t") for line in (SAMPLE / "qrels.tsv").read_text(encoding="utf-8").splitlines()]


def test_there_are_enough_messages_in_little_space() -> None:
    size = sum(path.stat().st_size for path in SAMPLE.rglob("*") if path.is_file())
    assert len(messages()) >= MESSAGE_MINIMUM
    assert size < SIZE_LIMIT_BYTES


def test_every_author_is_known() -> None:
    users = users_by_id()
    known = {SLACKBOT, *users} | {u["profile"]["bot_id"] for u in users.values() if "bot_id" in u["profile"]}
    assert {author_of(m) for m in messages()} <= known


def test_every_person_but_the_apps_own_bot_has_written() -> None:
    users = users_by_id()
    authors = {author_of(m) for m in messages()}
    silent = [
        user["name"] for user in users.values() if not authors & {user["id"], user["profile"].get("bot_id", user["id"])}
    ]
    assert silent == ["slackquery"]


def test_the_deactivated_account_writes_nothing_after_its_last_day() -> None:
    (gone,) = [user["id"] for user in users_by_id().values() if user["deleted"]]
    last = max(float(m["ts"]) for m in messages() if m.get("user") == gone)
    assert datetime.fromtimestamp(last, UTC) < datetime(2026, 4, 1, tzinfo=UTC)


def test_authors_are_members_of_the_channel_they_write_in() -> None:
    deleted = {user["id"] for user in users_by_id().values() if user["deleted"]} | {SLACKBOT}
    members = {folder_of(c): set(c["members"]) for c in conversations()}
    strangers = [
        (path.parent.name, m["user"])
        for path, m in located_messages()
        if "user" in m and m["user"] not in members[path.parent.name] | deleted
    ]
    assert strangers == []


def test_every_folder_is_a_listed_conversation_and_every_conversation_has_a_folder() -> None:
    folders = {path.name for path in EXPORT.iterdir() if path.is_dir()}
    assert folders == {folder_of(c) for c in conversations()}


def test_day_files_hold_the_messages_of_their_utc_day_in_order() -> None:
    for path in day_files():
        stamps = [m["ts"] for m in read(path)]
        days = {datetime.fromtimestamp(float(ts), UTC).date().isoformat() for ts in stamps}
        assert days == {path.stem}, path
        assert stamps == sorted(stamps), path


def test_timestamps_have_six_decimals_and_are_unique() -> None:
    stamps = [m["ts"] for m in messages()]
    assert all(re.fullmatch(r"\d{10}\.\d{6}", ts) for ts in stamps)
    assert len(set(stamps)) == len(stamps)


def test_the_archive_covers_a_year_and_ends_just_before_the_end_of_november_2026() -> None:
    stamps = [float(m["ts"]) for m in messages()]
    first, last = (datetime.fromtimestamp(edge(stamps), UTC) for edge in (min, max))
    assert first.date().isoformat() == "2025-11-03"
    assert datetime(2026, 11, 25, tzinfo=UTC) < last < datetime(2026, 11, 29, tzinfo=UTC)
    months = Counter(datetime.fromtimestamp(ts, UTC).strftime("%Y-%m") for ts in stamps)
    assert len(months) == 13
    assert min(months.values()) >= 15


def test_thread_counts_of_roots_are_those_of_their_replies() -> None:
    for path, root in located_messages():
        if root.get("thread_ts") != root["ts"]:
            continue
        replies = replies_of(root["ts"], path.parent.name)
        assert root["reply_count"] == len(replies) > 0
        assert root["replies"] == [{"user": author_of(m), "ts": m["ts"]} for m in replies]
        assert root["latest_reply"] == replies[-1]["ts"]
        assert root["reply_users_count"] == len(set(root["reply_users"]))
        assert set(root["reply_users"]) == {author_of(m) for m in replies}


def test_every_reply_has_its_root_in_the_same_channel() -> None:
    for path, message in located_messages():
        if message.get("thread_ts", message["ts"]) != message["ts"]:
            root = messages_by_ts(path.parent.name)[message["thread_ts"]]
            assert message.get("parent_user_id", author_of(root)) == author_of(root)


def test_threads_run_from_one_reply_to_sixty() -> None:
    counts = [m["reply_count"] for m in messages() if "reply_count" in m]
    assert (min(counts), max(counts)) == (1, 60)


def test_a_broadcast_carries_a_copy_of_its_root() -> None:
    broadcasts = [m for m in messages() if m.get("subtype") == "thread_broadcast"]
    assert len(broadcasts) >= 3
    assert all(m["root"]["ts"] == m["thread_ts"] and m["root"]["text"] for m in broadcasts)


def test_mentions_name_people_and_channels_that_exist() -> None:
    users = set(users_by_id())
    names = {c["id"]: c.get("name") for c in conversations()}
    text = "\n".join(m["text"] for m in messages())
    assert set(MENTION.findall(text)) <= users
    assert CHANNEL_MENTION.findall(text)
    assert all(names[channel] == name for channel, name in CHANNEL_MENTION.findall(text))


def test_links_lead_to_reserved_example_hosts_only() -> None:
    everything = "\n".join(p.read_text(encoding="utf-8") for p in SAMPLE.rglob("*") if p.is_file())
    assert [host for host in LINK.findall(everything) if not ALLOWED_HOSTS.search(host)] == []


def test_nothing_looks_like_a_credential() -> None:
    everything = "\n".join(p.read_text(encoding="utf-8") for p in SAMPLE.rglob("*") if p.is_file())
    assert not re.search(r"xox[a-z]-|xapp-|AKIA[0-9A-Z]{12}|-----BEGIN|\bsk_live_|\bgh[pousr]_", everything)


def test_files_with_content_lie_beside_the_export_with_the_size_they_claim() -> None:
    listed = {f"{f['id']}-{f['name']}": f["size"] for m in messages() for f in files_of(m)}
    kept = {path.name: path.stat().st_size for path in (SAMPLE / "files").iterdir()}
    assert listed == kept
    assert {Path(name).suffix for name in kept} >= {".md", ".log", ".csv", ".py"}


def test_people_agree_between_the_export_and_the_workspace_description() -> None:
    workspace = read(SAMPLE / "workspace.json")
    users = users_by_id()
    assert [u["id"] for u in workspace["users"]] == list(users)
    for person in workspace["users"]:
        archived = users[person["id"]]
        shared = ("name", "team_id", "deleted", "is_bot", "is_admin", "is_owner", "is_restricted")
        assert {k: person[k] for k in shared} == {k: archived.get(k, False) for k in shared}
        assert person["display_name"] == archived["profile"]["display_name"]
        assert person["real_name"] == archived["profile"]["real_name"]
        assert person["tz"] == archived.get("tz", person["tz"])


def test_channels_agree_between_the_export_and_the_workspace_description() -> None:
    described = {c["id"]: c for c in read(SAMPLE / "workspace.json")["channels"]}
    kinds = {"channels": (False, False), "groups": (True, False), "dms": (True, False), "mpims": (True, True)}
    for name, (is_private, is_mpim) in kinds.items():
        for entry in read(EXPORT / f"{name}.json"):
            channel = described.pop(entry["id"])
            assert (channel["is_private"], channel["is_mpim"]) == (is_private, is_mpim)
            assert channel["is_im"] == (name == "dms")
            assert channel["name"] == entry.get("name", "")
            assert sorted(channel["members"]) == sorted(entry["members"])
            assert channel["is_archived"] == entry.get("is_archived", False)
    assert described == {}


def test_the_local_slack_accepts_the_workspace_description() -> None:
    workspace = load_workspace(SAMPLE / "workspace.json")
    assert workspace.team.id == "T0LINDWERK"
    assert len(workspace.channels) == len(conversations())


def test_the_cast_has_every_kind_of_account() -> None:
    workspace = read(SAMPLE / "workspace.json")
    users = {u["id"]: u for u in workspace["users"]}
    team = workspace["team"]["id"]
    guests = [u for u in users.values() if u["is_restricted"]]
    assert [u["name"] for u in users.values() if u["is_admin"]] == ["mara"]
    assert sorted(u["is_ultra_restricted"] for u in guests) == [False, True]
    assert [u["name"] for u in users.values() if u["team_id"] != team] == ["elif.kaya"]
    assert users[workspace["bot_user_id"]]["is_bot"]
    assert users[workspace["acting_user_id"]]["is_admin"]
    assert len({u["tz"] for u in users.values()}) >= 7


def test_the_channels_have_every_kind() -> None:
    channels = read(SAMPLE / "workspace.json")["channels"]
    private = [c for c in channels if c["is_private"] and not c["is_im"] and not c["is_mpim"]]
    assert sum(c["is_im"] for c in channels) == 2
    assert sum(c["is_mpim"] for c in channels) == 1
    assert sum(c["is_archived"] for c in channels) == 1
    assert sum(c["is_ext_shared"] for c in channels) == 1
    assert sum(c["is_general"] for c in channels) == 1
    assert len(private) == 2


def test_guests_are_in_the_channels_their_kind_allows() -> None:
    workspace = read(SAMPLE / "workspace.json")
    single = {u["id"] for u in workspace["users"] if u["is_ultra_restricted"]}
    joined = [c["id"] for c in workspace["channels"] if single & set(c["members"])]
    assert len(joined) == 1


@pytest.mark.parametrize(
    "subtype",
    ["bot_message", "channel_join", "channel_topic", "channel_archive", "me_message", "tombstone"],
)
def test_every_subtype_a_reader_must_handle_occurs(subtype: str) -> None:
    assert subtype in {m.get("subtype") for m in messages()}


def test_bots_post_with_only_blocks_and_with_only_attachments() -> None:
    empty = [m for m in messages() if not m["text"] and "bot_id" in m]
    assert any("blocks" in m and "attachments" not in m for m in empty)
    assert any("attachments" in m and "blocks" not in m for m in empty)


@pytest.mark.parametrize(
    "needle",
    [
        "E4392",
        "E5501",
        "Grade E",
        "429",
        "PAY-117",
        "v1.2.3",
        "apply_secrets()",
        "10.20.4.17",
        "TierLimiter",
        "```",
        "<!here>",
        "<!subteam^",
        "&amp;",
        "&lt;",
        "&gt;",
        ":tada:",
        "🎉",
        "ß",
        "ção",
        "検",
        "上海",
        "спасибо",
    ],
)
def test_what_searches_are_tried_on_occurs(needle: str) -> None:
    assert any(needle in m["text"] for m in messages())


def test_edits_and_reactions_occur() -> None:
    assert sum("edited" in m for m in messages()) >= 5
    assert sum(len(m.get("reactions", [])) for m in messages()) >= 50


def test_judged_queries_are_of_every_kind_and_all_are_judged() -> None:
    queries = judged_queries()
    assert len(queries) >= 30
    assert {q["kind"] for q in queries} == {"identifier", "keyword", "paraphrase", "conceptual", "cjk"}
    assert len({q["qid"] for q in queries}) == len(queries)
    assert {qid for qid, _, _ in judgements()} == {q["qid"] for q in queries}


def test_judgements_name_messages_of_the_archive_once_with_a_grade() -> None:
    ids = {c["id"]: folder_of(c) for c in conversations()}
    seen: set[tuple[str, str]] = set()
    for qid, doc, grade in judgements():
        channel, _, ts = doc.partition(":")
        assert ts in messages_by_ts(ids[channel])
        assert grade in {"1", "2", "3"}
        assert (qid, doc) not in seen
        seen.add((qid, doc))


def test_the_demo_query_has_several_answers_and_a_long_thread_among_them() -> None:
    (demo,) = [q["qid"] for q in judged_queries() if q["text"] == "rate limit 429 partner tier"]
    answers = {doc.partition(":")[2] for qid, doc, _ in judgements() if qid == demo}
    roots = {m["ts"] for m in messages() if m.get("reply_count") == 60}
    assert len(answers) >= 5
    assert answers & roots


def test_japanese_and_chinese_are_more_than_a_token() -> None:
    assert sum(bool(CJK.search(m["text"])) for m in messages()) >= 30
