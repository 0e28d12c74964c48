"""The command line over the sample archive and small exports: names, JSON fields, exit codes, sentences."""

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from bot.cli import main
from tests.artifact_factory import Row, write_artifact
from tests.export_factory import ExportFactory

ROWS = (
    Row(key="1.1", text="rate limit 429 for the partner tier", minute=1, thread="1.1", parent=True, vector=(1, 0, 0)),
    Row(key="1.2", text="we saw 429 again", minute=2, thread="1.1", author="U2", author_name="Lee", vector=(1, 1, 0)),
    Row(key="2.1", text="lunch at noon", minute=3, channel="C2", channel_name="random", vector=(0, 1, 0)),
    *(Row(key=f"9.{n:02}", text="filler words", minute=10 + n, channel="C2", vector=(0, 1, n)) for n in range(12)),
)
RESULT_FIELDS = {
    "document_id", "document_kind", "workspace_id", "channel_id", "channel_name", "author_id", "author_name", "ts_us",
    "timestamp", "thread_id", "thread_root_id", "text", "permalink", "fused_score", "lexical_rank", "lexical_score",
    "semantic_rank", "semantic_score", "contextual_rank", "exact_rank",
}  # fmt: skip
PAGE_FIELDS = {
    "query", "mode", "route", "effective_weights", "artifact_id", "generation_id", "warnings", "timings_ms", "results",
    "next_cursor",
}  # fmt: skip


def run(*arguments: str | Path) -> Result:
    """Run the command line in this process."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def run_json(*arguments: str | Path) -> dict[str, object]:
    """Run a command with --json and parse its stdout, which holds one document and nothing else."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert isinstance(document, dict)
    return document


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cli")
    write_artifact(path, ROWS, publish=True)
    return path


def test_search_json_has_the_documented_fields(folder: Path) -> None:
    page = run_json("search", "429", "--artifacts", folder, "--mode", "lexical")

    assert page.keys() >= PAGE_FIELDS
    results = page["results"]
    assert isinstance(results, list)
    assert [one["document_id"] for one in results] == ["T1:C1:1.2", "T1:C1:1.1"]
    assert results[0].keys() >= RESULT_FIELDS
    assert results[0]["lexical_rank"] == 1
    assert results[0]["semantic_rank"] is None


def test_search_as_text_shows_author_channel_time_and_reason(folder: Path) -> None:
    result = run("search", "429 partner", "--artifacts", folder, "--mode", "lexical")

    assert result.exit_code == 0
    assert "Ada  #general  2025-10-09 08:54 UTC" in result.stdout
    assert "keyword #1" in result.stdout
    assert "sees everything" not in result.stdout
    assert "Searching everything" in result.stderr


def test_explain_shows_the_parts_of_a_score(folder: Path) -> None:
    result = run("search", "429", "--artifacts", folder, "--mode", "lexical", "--explain")

    assert "lexical: rank 1, score" in result.stdout
    assert "sum" in result.stdout


def test_a_cursor_leads_to_the_next_page(folder: Path) -> None:
    arguments = ("search", "filler", "--artifacts", folder, "--mode", "lexical", "--limit", "10")
    first = run_json(*arguments)
    second = run_json(*arguments, "--cursor", str(first["next_cursor"]))

    assert len(first["results"]) == 10  # type: ignore[arg-type]
    assert len(second["results"]) == 2  # type: ignore[arg-type]
    assert second["next_cursor"] is None


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--channel", "general"), 2),
        (("--channel", "#random"), 0),
        (("--channel", "C1", "--author", "Lee"), 1),
        (("--workspace", "T9"), 0),
        (("--before", "2025-10-09T08:54:20"), 1),
        (("--after", "2025-10-10"), 0),
        (("--after", "2025-10-09", "--before", "2025-10-09"), 2),
    ],
)
def test_options_narrow(folder: Path, options: Sequence[str], expected: int) -> None:
    page = run_json("search", "429", "--artifacts", folder, "--mode", "lexical", *options)

    assert len(page["results"]) == expected  # type: ignore[arg-type]


def test_the_query_has_slacks_grammar(folder: Path) -> None:
    page = run_json("search", "429 in:#general from:Lee mode:lexical", "--artifacts", folder)

    assert page["mode"] == "lexical"
    assert [one["author_name"] for one in page["results"]] == ["Lee"]  # type: ignore[union-attr, index, attr-defined]


def test_hybrid_without_a_model_falls_back_and_says_so(folder: Path) -> None:
    page = run_json("search", "429", "--artifacts", folder)

    assert page["results"]
    assert any("meaning is not available" in one for one in page["warnings"])  # type: ignore[union-attr, attr-defined]


def test_message_shows_neighbours(folder: Path) -> None:
    context = run_json("message", "T1:C1:1.2", "--artifacts", folder, "--before", "1", "--after", "0")

    assert context["message"]["text"] == "we saw 429 again"  # type: ignore[index, call-overload]
    assert [one["document_id"] for one in context["before"]] == ["T1:C1:1.1"]  # type: ignore[union-attr, index, attr-defined]


def test_similar_messages_come_nearest_first_without_the_message(folder: Path) -> None:
    page = run_json("similar", "T1:C2:2.1", "--artifacts", folder, "--limit", "2")

    assert page["similar_to"] == "T1:C2:2.1"
    assert page["understood"] == "similar to “lunch at noon”"
    assert [one["document_id"] for one in page["results"]] == ["T1:C2:9.00", "T1:C1:1.2"]  # type: ignore[union-attr, index, attr-defined]
    second = run("similar", "T1:C2:2.1", "--artifacts", folder, "--limit", "2", "--cursor", str(page["next_cursor"]))
    assert second.stdout.startswith("similar to “lunch at noon”  |  semantic")
    assert "9.01" in second.stdout


def test_thread_is_oldest_first_with_its_total(folder: Path) -> None:
    thread = run_json("thread", "T1:C1:1.1", "--artifacts", folder)

    assert thread["total"] == 2
    assert [one["document_id"] for one in thread["messages"]] == ["T1:C1:1.1", "T1:C1:1.2"]  # type: ignore[union-attr, index, attr-defined]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("search", '"', "--mode", "lexical"), "no word or number"),
        (("search", "x in:#nowhere"), "no channel called"),
        (("search", "x", "--cursor", "junk", "--mode", "lexical"), "not a cursor"),
        (("search", "x before:someday"), "someday"),
        (("search", "x", "--after", ""), "--after takes"),
        (("message", "T1:C1:none"), "No message"),
        (("thread", "T1:C1:none"), "No thread"),
        (("similar", "T1:C1:none"), "No message"),
        (("rollback",), "no valid artifact"),
        (("publish", "absent.duckdb"), "no manifest"),
        (("search", "x", "--as", "U1"), "does not say who may see what"),
    ],
)
def test_failures_are_one_sentence_and_exit_1(folder: Path, arguments: Sequence[str], sentence: str) -> None:
    result = run(*arguments, "--artifacts", folder)

    assert result.exit_code == 1
    assert sentence in result.stderr
    assert "Traceback" not in result.output
    assert result.stdout == ""


def test_a_folder_without_an_artifact_says_what_to_do(tmp_path: Path) -> None:
    result = run("search", "x", "--artifacts", tmp_path)

    assert result.exit_code == 1
    assert "slackquery build" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [("search",), ("search", "x", "--mode", "magic"), ("search", "x", "--limit", "0"), ("nonsense",), ("search", "x")],
)
def test_wrong_usage_exits_2(arguments: Sequence[str]) -> None:
    assert run(*arguments).exit_code == 2


@pytest.mark.parametrize(
    ("query", "expected"), [("-again 429", 1), ('-"partner tier" 429', 1), ("-hello 429", 2), ("429 -again", 1)]
)
def test_a_query_may_begin_with_an_exclusion(folder: Path, query: str, expected: int) -> None:
    page = run_json("search", "-a", folder, "--mode", "lexical", query)

    assert page["query"] == query
    assert len(page["results"]) == expected  # type: ignore[arg-type]


def test_a_lone_exclusion_is_understood_and_a_misspelt_option_is_not(folder: Path) -> None:
    alone = run("search", "-hello", f"-a{folder}", "--mode", "lexical")
    misspelt = run("search", "429", "--limt", "3", "-a", folder)

    assert (alone.exit_code, misspelt.exit_code) == (0, 2)
    assert "--limit" in misspelt.stderr


@pytest.mark.parametrize("command", ["search", "message", "thread", "similar"])
def test_bytes_that_are_not_utf_8_do_no_harm(folder: Path, command: str) -> None:
    """The shell hands them over as half surrogates."""
    result = run(command, "caf\udce9 429", "--artifacts", folder, *(["--json"] if command == "search" else []))

    assert result.exception is None or isinstance(result.exception, SystemExit)
    if command == "search":
        assert json.loads(result.stdout)["query"] == "caf\ufffd 429"
    else:
        assert "caf\ufffd 429" in result.stderr


def test_messages_cannot_steer_the_terminal(tmp_path: Path) -> None:
    rows = [Row(key="1.1", text="deploy \x1b]0;owned\x07 \x1b[31mred \x9b2J", author_name="A\x1bda", thread="1.1")]
    write_artifact(tmp_path, rows, publish=True)
    found = run("search", "deploy", "--artifacts", tmp_path, "--mode", "lexical")
    around = run("message", "T1:C1:1.1", "--artifacts", tmp_path)
    thread = run("thread", "T1:C1:1.1", "--artifacts", tmp_path)

    for result in (found, around, thread):
        assert result.exit_code == 0
        assert "deploy" in result.stdout
        assert not re.search(r"[\x07\x1b\x9b]", result.output)


def test_the_name_of_a_direct_message_has_no_number_sign(tmp_path: Path) -> None:
    row = Row(key="1.1", text="between us", channel="D1", channel_name="Ada, Bo")
    write_artifact(tmp_path, [row], publish=True)

    assert "Ada  Ada, Bo  2025" in run("message", "T1:D1:1.1", "--artifacts", tmp_path).stdout


def test_build_ids_and_findings_are_never_cut(folder: Path) -> None:
    """They are copied into `rollback`."""
    listed = run("artifacts", "--artifacts", folder).stdout

    assert "20261101T000000Z-aaaaaaaa-bbbbbbbb" in listed
    assert "documents, 15 vectors of 3" in run("doctor", "--artifacts", folder).stdout


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--workspace-url", "acme.slack.com"),
        ("--workspace-url", "javascript:alert(1)"),
        ("--workspace-url", "https://"),
        ("--workspace-id", "T1:C1"),
        ("--workspace-id", ""),
    ],
)
def test_a_workspace_that_cannot_be_is_wrong_usage(tmp_path: Path, option: str, value: str) -> None:
    """Links that are silently missing are found out about a build later."""
    result = run("build", export(tmp_path), "--out", tmp_path / "out", "--embedder", "none", option, value)

    assert result.exit_code == 2
    assert option in result.stderr
    assert not (tmp_path / "out").exists()


def test_every_command_and_option_has_help() -> None:
    """A newcomer finds every verb explained."""
    context = click.Context(main)
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert command is not None
        assert command.help, name
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{name} {parameter.name}"
        assert run(name, "--help").exit_code == 0


def export(tmp_path: Path) -> Path:
    """A small export with a private channel, a direct message and a guest."""
    factory = ExportFactory()
    factory.user("U1", name="ana", display_name="Ana")
    factory.user("U2", name="bo", display_name="Bo")
    factory.user("U3", name="guest", display_name="Guest", is_restricted=True)
    factory.channel("C1", "general", members=["U1", "U2"])
    factory.channel("G1", "board", members=["U2"], kind="private")
    factory.message("C1", "1700000000.000100", "budget in public E4392", user="U1")
    factory.message("G1", "1700000060.000100", "budget in private", user="U2")
    return factory.write_folder(tmp_path / "export")


def test_build_publish_search_rollback(tmp_path: Path) -> None:
    """The whole life of an archive from the command line."""
    out = tmp_path / "out"
    url = "https://work.slack.example"
    built = run_json("build", export(tmp_path), "--out", out, "--embedder", "none", "--workspace-url", url, "--publish")

    assert built["published"] is True
    page = run_json("search", "E4392", "--artifacts", out)
    hit = page["results"][0]  # type: ignore[index]
    assert hit["permalink"] == f"{url}/archives/C1/p1700000000000100"
    assert hit["author_name"] == "Ana"
    listed = run_json("artifacts", "--artifacts", out)["artifacts"]
    assert [one["current"] for one in listed] == [True]  # type: ignore[union-attr, index, attr-defined]
    assert run("rollback", "--artifacts", out).exit_code == 1


def test_as_user_sees_what_the_export_says(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_json("build", export(tmp_path), "--out", out, "--embedder", "none", "--publish")

    def found(user: str) -> int:
        return len(run_json("search", "budget", "--artifacts", out, "--mode", "lexical", "--as", user)["results"])  # type: ignore[arg-type]

    assert (found("U1"), found("U2"), found("U3")) == (1, 2, 0)
    assert "knows no user" in run("search", "budget", "--artifacts", out, "--as", "U9").stderr
    assert "U3 may see no channel" in run("search", "budget", "--artifacts", out, "--as", "U3").stderr


def test_unreadable_files_are_named_and_exit_1_unless_lenient(tmp_path: Path) -> None:
    source = export(tmp_path)
    (source / "general" / "2023-11-15.json").write_text('[{"type": "message", ')
    strict = run("build", source, "--out", tmp_path / "a", "--embedder", "none")
    lenient = run("build", source, "--out", tmp_path / "b", "--embedder", "none", "--lenient")

    assert strict.exit_code == 1
    assert "2023-11-15.json" in strict.output
    assert lenient.exit_code == 0


def test_doctor_finds_nothing_wrong_and_verifies(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_json("build", export(tmp_path), "--out", out, "--embedder", "none", "--publish")
    report = run_json("doctor", "--artifacts", out, "--verify")

    assert report["ok"] is True
    names = {one["name"] for one in report["findings"]}  # type: ignore[union-attr, index, attr-defined]
    assert {"python", "duckdb", "fts extension", "artifact", "embedding", "verify"} <= names


def test_doctor_names_the_fault_and_the_remedy(tmp_path: Path) -> None:
    result = run("doctor", "--artifacts", tmp_path)

    assert result.exit_code == 1
    assert "FAIL  artifact" in result.stdout
    assert "slackquery build" in result.stdout


def test_module_and_script_are_the_same_program(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SLACK")}
    done = subprocess.run(
        [sys.executable, "-m", "bot", "--help"],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parent.parent,
        env=environment,
    )

    assert "slackquery build" in done.stdout


def test_a_thread_is_found_by_any_of_its_messages(folder: Path) -> None:
    thread = run_json("thread", "T1:C1:1.2", "--artifacts", folder)

    assert thread["thread_id"] == "T1:C1:1.1"
    assert thread["total"] == 2


def test_a_search_does_not_load_slacks_libraries(folder: Path) -> None:
    """They cost more time than the search."""
    code = (
        "import sys; from bot.cli import main\n"
        f"main(['search', '429', '--artifacts', {str(folder)!r}, '--mode', 'lexical'], standalone_mode=False)\n"
        "sys.exit(any(name.startswith(('slack_bolt', 'slack_sdk', 'aiohttp')) for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


def test_a_damaged_member_of_a_zip_is_named_and_skipped(tmp_path: Path) -> None:
    factory = ExportFactory()
    factory.user("U1", name="ana")
    factory.channel("C1", "general", members=["U1"])
    factory.message("C1", "1700000000.000100", "first day", user="U1")
    factory.message("C1", "1700100000.000100", "second day", user="U1")
    path = factory.write_zip(tmp_path / "export.zip")
    with zipfile.ZipFile(path) as archive:
        entry = next(one for one in archive.infolist() if one.filename.startswith("general/"))
    data = bytearray(path.read_bytes())
    start = entry.header_offset + 30 + len(entry.filename)
    for position in range(start + 4, start + 12):
        data[position] ^= 0xFF
    path.write_bytes(bytes(data))
    result = run("build", path, "--out", tmp_path / "out", "--embedder", "none")

    assert result.exit_code == 1
    assert entry.filename in result.output
    assert "Traceback" not in result.output


def test_an_env_file_that_is_no_text_is_one_sentence(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_bytes(b"SLACKQUERY_FUSION=caf\xe9\n")
    monkeypatch.chdir(tmp_path)
    result = run("search", "x", "--artifacts", folder)

    assert result.exit_code == 1
    assert "UTF-8" in result.stderr


def test_a_build_leaves_out_what_the_deny_list_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    factory = ExportFactory()
    for user in ("U1", "U2", "U3"):
        factory.user(user, name=user.lower())
    factory.channel("C1", "general", members=["U1", "U2"])
    factory.channel("C2", "gone", members=["U1", "U2"])
    factory.message("C1", "1700000000.000100", "kept words", user="U1")
    factory.message("C1", "1700000001.000100", "single words", user="U1")
    factory.message("C1", "1700000002.000100", "their words", user="U2")
    factory.message("C2", "1700000003.000100", "elsewhere words", user="U1")
    deny = tmp_path / "deny.txt"
    deny.write_text("# by name of the law\nC2\nU2  # a person\nT1TEST:C1:1700000001.000100\n")
    monkeypatch.setenv("SLACKQUERY_DENY", str(deny))
    source = factory.write_folder(tmp_path / "export")
    report = run_json("build", source, "--out", tmp_path / "out", "--embedder", "none", "--publish")
    page = run_json("search", "words", "--artifacts", tmp_path / "out", "--mode", "lexical")

    assert [one["text"] for one in page["results"]] == ["kept words"]  # type: ignore[union-attr, index, attr-defined]
    assert report["oddities"]["denied_messages"] == 3  # type: ignore[index, call-overload]
    deny.unlink()
    refused = run("build", source, "--out", tmp_path / "out", "--embedder", "none")
    assert refused.exit_code == 1
    assert "SLACKQUERY_DENY" in refused.stderr


@pytest.mark.parametrize("command", [("build", "x.zip", "--out", "out"), ("index", "--source", "x.zip", "--once")])
@pytest.mark.parametrize("wrong", [("--workspace-url", "acme.slack.com"), ("--workspace-id", "T1:C1")])
def test_a_workspace_that_would_give_no_links_or_ids_is_wrong_usage(
    tmp_path: Path, command: Sequence[str], wrong: Sequence[str]
) -> None:
    """Both commands that build refuse it before they read anything."""
    result = run(*command, *wrong, *(("--artifacts", tmp_path) if command[0] == "index" else ()))

    assert result.exit_code == 2
    assert wrong[0] in result.stderr
