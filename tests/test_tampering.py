"""What somebody altered is refused or harmless: buttons byte by byte, artifacts table by table."""

import json
import shutil
import string
from pathlib import Path

import duckdb
import pytest

from bot.action_state import (
    STATE_SECONDS,
    AdminPage,
    AdminState,
    ClearRecentsState,
    ContextState,
    ExpiredStateError,
    ForeignStateError,
    ForgedStateError,
    Judged,
    MoreState,
    NewSearchState,
    OldStateError,
    PageState,
    RecentState,
    ShareState,
    State,
    ThreadState,
    VoteState,
    decode_state,
    encode_state,
)
from retrieval import (
    Artifact,
    ArtifactInvalidError,
    ArtifactReadError,
    ArtifactStore,
    Mode,
    SearchRequest,
    Visibility,
    get_slack_message,
    search_slack,
)
from retrieval.checksum import file_sha256
from retrieval.manifest import manifest_path
from retrieval.verification import verify_lists
from tests.artifact_factory import Row, write_artifact
from tests.block_examples import HERE, NOON_S, SECRET, TEAM, USER
from tests.bot_harness import ADA, GENERAL, running_bot
from tests.export_factory import TEAM_ID

OWNER = {"user_id": USER, "team_id": TEAM, "expires_s": NOON_S + STATE_SECONDS}
JUDGED = Judged(query_key="k", text="w", understood="w", command="w", mode="hybrid", rank=1, artifact_id="a")
EVERY_KIND: list[State] = [
    PageState(**OWNER, page=HERE),
    ThreadState(**OWNER, thread_id="T:C:1.0", offset=3, back=HERE),
    ContextState(**OWNER, document_id="T:C:2.0"),
    MoreState(**OWNER, document_id="T:C:2.0", judged=JUDGED),
    VoteState(**OWNER, document_id="T:C:2.0", judged=JUDGED, verdict="good"),
    ShareState(**OWNER, document_id="T:C:2.0", channel_id="C1", nonce="once"),
    NewSearchState(**OWNER, command="lunch"),
    RecentState(**OWNER, command="lunch"),
    ClearRecentsState(**OWNER),
    AdminState(**OWNER, page=AdminPage(view="events")),
]
ALPHABET = string.ascii_letters + string.digits + "-_."


@pytest.mark.parametrize("state", EVERY_KIND, ids=lambda state: type(state).__name__)
def test_a_button_changed_in_any_character_does_nothing(state: State) -> None:
    value = encode_state(state, SECRET)
    for place, was in enumerate(value):
        for other in {ALPHABET[(ALPHABET.index(was) + step) % len(ALPHABET)] for step in (1, 7, 31)}:
            changed = value[:place] + other + value[place + 1 :]
            with pytest.raises((ForgedStateError, OldStateError)):
                decode_state(changed, SECRET, now_s=NOON_S, user_id=USER, team_id=TEAM)


@pytest.mark.parametrize("state", EVERY_KIND, ids=lambda state: type(state).__name__)
def test_a_button_is_good_for_its_owner_alone_and_for_its_time_alone(state: State) -> None:
    value = encode_state(state, SECRET)

    assert decode_state(value, SECRET, now_s=NOON_S, user_id=USER, team_id=TEAM) == state
    with pytest.raises(ForeignStateError):
        decode_state(value, SECRET, now_s=NOON_S, user_id="U0EVE", team_id=TEAM)
    with pytest.raises(ForeignStateError):
        decode_state(value, SECRET, now_s=NOON_S, user_id=USER, team_id="T0OTHER")
    with pytest.raises(ExpiredStateError):
        decode_state(value, SECRET, now_s=NOON_S + STATE_SECONDS, user_id=USER, team_id=TEAM)


def test_a_payload_under_the_signature_of_another_is_refused() -> None:
    mine, theirs = (encode_state(state, SECRET).split(".") for state in EVERY_KIND[:2])

    with pytest.raises(ForgedStateError):
        decode_state(".".join((*mine[:2], theirs[2])), SECRET, now_s=NOON_S, user_id=USER, team_id=TEAM)


ROWS = [
    Row(key="m0", text="lunch at the harbour", vector=(1, 0, 0)),
    Row(key="m1", text="error E4392 on checkout", minute=1, vector=(0, 1, 0)),
    Row(key="m2", text="lunch is cancelled", minute=2, vector=(0, 0, 1)),
]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_artifact(tmp_path_factory.mktemp("plain"), ROWS)


def altered(plain: Path, folder: Path, *statements: str) -> Path:
    """Return a copy that *statements* changed, with a manifest whose checksum is right."""
    path = folder / plain.name
    shutil.copyfile(plain, path)
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.execute("CHECKPOINT")
    stated = json.loads(manifest_path(plain).read_text()) | {"checksum_sha256": file_sha256(path)}
    manifest_path(path).write_text(json.dumps(stated))
    (folder / "current.duckdb").symlink_to(path.name)
    return path


def problem_of(folder: Path) -> str | None:
    store = ArtifactStore(folder)
    try:
        return store.refresh().problem
    finally:
        store.close()


def as_view(table: str) -> tuple[str, ...]:
    return (f"ALTER TABLE {table} RENAME TO hidden", f"CREATE VIEW {table} AS SELECT * FROM hidden")


@pytest.mark.parametrize("table", ["search_documents", "document_vectors", "artifact_metadata"])
def test_a_view_named_like_a_table_is_refused(plain: Path, tmp_path: Path, table: str) -> None:
    if table == "search_documents":
        # DuckDB does not rename a table that its index depends on.
        statements = ("DROP TABLE search_documents", "CREATE VIEW search_documents AS SELECT 1 AS document_id")
    else:
        statements = as_view(table)
    altered(plain, tmp_path, *statements)

    assert f"lacks the table {table}" in (problem_of(tmp_path) or "")


@pytest.mark.parametrize("table", ["terms", "dict", "docs", "stats"])
def test_a_view_named_like_a_table_of_the_index_is_refused(plain: Path, tmp_path: Path, table: str) -> None:
    place = "fts_main_search_documents"
    altered(
        plain,
        tmp_path,
        f"CREATE TABLE hidden AS SELECT * FROM {place}.{table}",
        f"DROP TABLE {place}.{table}",
        f"CREATE VIEW {place}.{table} AS SELECT * FROM main.hidden",
    )

    assert f"lacks the full-text table {table}" in (problem_of(tmp_path) or "")


@pytest.mark.parametrize(
    "macro",
    [
        "lower(x) AS 'stolen'",
        "array_cosine_similarity(a, b) AS 1.0",
        '"+"(a, b) AS 0',
        "count(x) AS 3",
        "current_setting(x) AS true",
        "duckdb_tables() AS TABLE SELECT 'main' AS schema_name, 'search_documents' AS table_name",
    ],
)
def test_a_macro_in_place_of_duckdbs_own_function_is_refused(plain: Path, tmp_path: Path, macro: str) -> None:
    """A file's macro stands before the built-in of the same name: it could rank, filter and count as it likes."""
    altered(plain, tmp_path, f"CREATE MACRO {macro}")

    assert problem_of(tmp_path) is not None


def test_a_macro_of_a_name_of_its_own_does_not_matter(plain: Path, tmp_path: Path) -> None:
    altered(plain, tmp_path, "CREATE MACRO our_report(x) AS x + 1")

    assert problem_of(tmp_path) is None


def test_a_file_that_says_it_is_hardened_is_hardened_all_the_same(plain: Path, tmp_path: Path) -> None:
    """Found on 2026-11-30: `current_setting` as a macro of the file left files and settings open to it."""
    path = altered(plain, tmp_path, "CREATE MACRO current_setting(x) AS true")

    with Artifact(path) as artifact:
        assert_hardened(artifact)


def test_no_file_of_the_machine_comes_into_an_answer(plain: Path, tmp_path: Path) -> None:
    """A macro in the file cannot read another one, at whatever moment it is called."""
    secret = tmp_path / "secret.txt"
    secret.write_text("xoxb-nothing-to-see")
    macro = f"CREATE MACRO epoch_us(x) AS (SELECT length(content) FROM read_text('{secret}'))"
    path = altered(plain, tmp_path, "CREATE MACRO current_setting(x) AS true", macro)

    with pytest.raises(ArtifactInvalidError, match="disabled by configuration"):
        Artifact(path)


def test_a_replaced_match_bm25_changes_no_list_and_verification_refuses_it(plain: Path, tmp_path: Path) -> None:
    path = altered(
        plain,
        tmp_path,
        "CREATE OR REPLACE MACRO fts_main_search_documents.match_bm25(docname, query_string, fields := NULL, "
        "k := 1.2, b := 0.75, conjunctive := 0) AS CASE WHEN docname LIKE '%m1' THEN 99.0 END",
    )
    request = SearchRequest(text="lunch", mode=Mode.LEXICAL)
    with Artifact(path) as artifact:
        page = search_slack(artifact, request, visibility=Visibility.everything(), embedder=None)
        assert [hit.document.text for hit in page.hits] == ["lunch is cancelled", "lunch at the harbour"]
        with pytest.raises(ArtifactInvalidError) as refused:
            verify_lists(artifact)

    assert refused.value.check == "macros"


SQL = "'); DROP TABLE search_documents; SELECT match_bm25('x', 'y'); --"


def test_sql_in_the_tables_of_the_index_is_text(plain: Path, tmp_path: Path) -> None:
    quoted = SQL.replace("'", "''")
    path = altered(
        plain, tmp_path, f"UPDATE fts_main_search_documents.dict SET term = '{quoted}' WHERE term = 'harbour'"
    )
    with Artifact(path) as artifact:
        for text in ("lunch", SQL, "harbour"):
            request = SearchRequest(text=text, mode=Mode.LEXICAL)
            search_slack(artifact, request, visibility=Visibility.everything(), embedder=None)
        message = get_slack_message(artifact, "T1:C1:m0", visibility=Visibility.everything())

    assert message.message.text == "lunch at the harbour"


@pytest.mark.parametrize(
    "config",
    [
        {"ignore": "(((", "stemmer": "none", "lower": 1, "strip_accents": 1, "analyzer": "x"},
        {"ignore": SQL, "stemmer": SQL, "lower": SQL, "strip_accents": SQL, "analyzer": SQL},
        {"ignore": None, "stemmer": None, "lower": None, "strip_accents": None, "analyzer": None},
    ],
)
def test_hostile_options_of_the_index_are_an_answer_or_a_typed_error(
    plain: Path, tmp_path: Path, config: dict[str, object]
) -> None:
    quoted = json.dumps(config).replace("'", "''")
    path = altered(plain, tmp_path, f"UPDATE artifact_metadata SET fts_config_json = '{quoted}'")
    with Artifact(path) as artifact:
        request = SearchRequest(text="lunch straße", mode=Mode.LEXICAL)
        try:
            page = search_slack(artifact, request, visibility=Visibility.everything(), embedder=None)
        except ArtifactReadError as error:
            assert "could not be read" in str(error)  # noqa: PT017 - either outcome is right, no other is.
        else:
            assert all("lunch" in hit.document.text for hit in page.hits)


def assert_hardened(artifact: Artifact) -> None:
    """Try what a hardened instance refuses."""
    for statement in (
        "SELECT content FROM read_text('/etc/hostname')",
        "SELECT * FROM read_csv('/etc/hostname')",
        "SELECT * FROM glob('/etc/*')",
        "COPY (SELECT 1) TO '/tmp/never-written.csv'",
        "ATTACH '/tmp/never-attached.duckdb'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "RESET enable_external_access",
        "SET memory_limit = '1TB'",
        "DELETE FROM search_documents",
        "CREATE TABLE added (x INTEGER)",
        "EXPORT DATABASE '/tmp/never-exported'",
    ):
        with pytest.raises(ArtifactReadError), artifact.cursor() as cursor:
            cursor.execute(statement).fetchall()


def test_an_open_artifact_reads_nothing_else_and_changes_nothing(plain: Path) -> None:
    with Artifact(plain) as artifact:
        assert_hardened(artifact)
        with Artifact(plain) as again:
            assert_hardened(again)


HOSTILE_NAMES = Row(
    key="1760000000.000100",
    workspace=TEAM_ID,
    channel=GENERAL,
    text="pelican <!channel> <@U1> &lt;b&gt; `code` \u202egnp.exe \x00\x1b[31m *bold*",
    author="<!everyone>",
    author_name="<!here> <https://evil.example|Ada> \u202e *root*",
    channel_name="general|<!channel> `x`",
    permalink="javascript:alert(1)",
    metadata={"files": [{"name": "<!channel>"}], "edited": ["<@U1>"]},
    vector=(1, 0, 0),
)


async def test_hostile_names_and_texts_are_shown_as_they_are(tmp_path: Path) -> None:
    """In every field of an artifact; the end of `running_bot` asserts that all is legal and nobody was notified."""
    write_artifact(tmp_path / "archive", [HOSTILE_NAMES], publish=True)
    async with running_bot(tmp_path / "archive") as office:
        answer = await office.ask("pelican mode:lexical", user=ADA)
        more = await office.press(answer, "More")

    for shown in (answer, more):
        assert "pelican <!channel>" in shown.plain_text
        assert "javascript:" not in json.dumps(shown.blocks)
