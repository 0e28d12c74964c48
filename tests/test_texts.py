"""What people read: sentences, help, status and errors."""

import inspect
import secrets

import pytest

from bot import action_state, texts
from bot.action_state import (
    ContextState,
    ExpiredStateError,
    ForeignStateError,
    ForgedStateError,
    NewSearchState,
    OldStateError,
    PageState,
    State,
    StateTooLargeError,
    ThreadState,
    decode_state,
)
from bot.elements import RenderedMessage
from bot.status_blocks import (
    ArchiveSize,
    StatusView,
    render_help,
    render_sentence,
    render_state_error,
    render_status,
    render_usage,
)
from retrieval import errors
from retrieval.errors import (
    AmbiguousNameError,
    ArtifactInvalidError,
    CursorRangeError,
    EmbeddingUnavailableError,
    NotFoundError,
    QuerySyntaxError,
    QueryTextError,
    StaleCursorError,
    UnknownNameError,
)
from retrieval.models import Mode, QueryClass, Retriever
from tests.block_examples import HERE, NOON_S, NOON_US, SECRET, TEAM, USER, make_signer
from tests.blockkit_referee import assert_legal_message, texts_of

MINUTE = 60_000_000
OWNER = {"user_id": USER, "team_id": TEAM, "expires_s": NOON_S}
ARGUMENTS = {
    "QuerySyntaxError": ("No such day.", {"modifier": "on:", "value": "x"}),
    "UnknownNameError": (None, {"kind": "channel", "name": "x"}),
    "AmbiguousNameError": (None, {"kind": "person", "name": "x", "matches": ["a", "b"]}),
    "StaleCursorError": (None, {"cursor_artifact_id": "a", "artifact_id": "b"}),
    "CursorRangeError": (None, {"offset": 10_001, "maximum": 10_000}),
    "NotFoundError": (None, {"kind": "thread", "identifier": "T:C:secret"}),
    "ArtifactInvalidError": ("/srv/secret.duckdb is broken", {"check": "checksum"}),
    "OldStateError": (None, {"version": "v0"}),
    "ExpiredStateError": (None, {"state": PageState(**OWNER, page=HERE)}),
    "StateTooLargeError": (None, {"length": 2_001}),
}


def all_errors() -> list[type[Exception]]:
    found = [
        thing
        for module in (errors, action_state)
        for _, thing in inspect.getmembers(module, inspect.isclass)
        if issubclass(thing, Exception) and thing.__module__ == module.__name__
    ]
    return [*found, TimeoutError, KeyError]


def make_error(kind: type[Exception]) -> Exception:
    message, arguments = ARGUMENTS.get(kind.__name__, ("/srv/secret.duckdb: boom", {}))
    return kind(*([message] if message else []), **arguments)


def legal(message: RenderedMessage) -> RenderedMessage:
    assert_legal_message(message.arguments())
    return message


def states(message: RenderedMessage) -> dict[str, State]:
    return {
        element["text"]["text"]: decode_state(element["value"], SECRET, now_s=NOON_S, user_id=USER, team_id=TEAM)
        for block in message.blocks
        if block["type"] == "actions"
        for element in block["elements"]
    }


@pytest.mark.parametrize("kind", all_errors(), ids=lambda kind: kind.__name__)
def test_every_error_has_a_sentence_and_a_legal_answer(kind: type[Exception]) -> None:
    error = make_error(kind)

    sentence = texts.sentence_for(error)

    assert sentence.endswith((".", "?", "boom"))
    assert len(sentence) < 300
    legal(render_sentence(sentence))


@pytest.mark.parametrize(
    "error",
    [
        ArtifactInvalidError("/srv/secret.duckdb is broken", check="checksum"),
        EmbeddingUnavailableError("http://10.0.0.1 refused"),
        NotFoundError(kind="thread", identifier="T:C:secret"),
        KeyError("secret"),
        OSError("secret"),
    ],
)
def test_no_sentence_tells_what_is_not_for_the_reader(error: Exception) -> None:
    sentence = texts.sentence_for(error)

    assert "secret" not in sentence
    assert "10.0.0.1" not in sentence


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ForgedStateError(), texts.BUTTON_FORGED),
        (OldStateError(version="v0"), texts.BUTTON_OLD),
        (ForeignStateError(), texts.BUTTON_FOREIGN),
        (ExpiredStateError(state=PageState(**OWNER, page=HERE)), texts.BUTTON_EXPIRED),
        (StateTooLargeError(length=2_001), texts.TOO_LONG_TO_PAGE),
        (QueryTextError("x"), texts.NOTHING_TO_SEARCH),
        (QuerySyntaxError("No such day: x.", modifier="on:", value="x"), "No such day: x."),
        (StaleCursorError(cursor_artifact_id="a", artifact_id="b"), texts.RESTARTED_NEW_ARCHIVE),
        (
            CursorRangeError(offset=10_001, maximum=10_000),
            "Paging ends after 10,000 results. Add a word, a channel or a period to narrow the search.",
        ),
        (
            UnknownNameError(kind="channel", name="paymnts", suggestions=["payments", "payouts", "pay"]),
            "I know no channel called “paymnts” that I can search for you. Did you mean payments, payouts or pay?",
        ),
        (
            UnknownNameError(kind="person", name="x"),
            "I know no person called “x” that I can search for you.",
        ),
        (
            AmbiguousNameError(kind="person", name="ada", matches=["ada.b", "ada.l"]),
            "“ada” fits several people: ada.b and ada.l. Which one do you mean?",
        ),
        (TimeoutError(), texts.TOOK_TOO_LONG),
        (RuntimeError("boom"), texts.SOMETHING_WRONG),
    ],
)
def test_errors_are_told_in_their_own_words(error: Exception, sentence: str) -> None:
    assert texts.sentence_for(error) == sentence


def test_many_matches_are_not_all_listed() -> None:
    matches = [f"team-{number}" for number in range(25)]

    sentence = texts.sentence_for(AmbiguousNameError(kind="channel", name="team", matches=matches))

    assert "team-9 and 15 more" in sentence
    assert "team-10" not in sentence


@pytest.mark.parametrize(
    ("minutes", "words"),
    [
        (-5, "just now"),
        (0, "just now"),
        (1, "1 min ago"),
        (59, "59 min ago"),
        (60, "1 h ago"),
        (47 * 60 + 59, "47 h ago"),
        (48 * 60, "2 days ago"),
    ],
)
def test_age_is_told_in_the_unit_that_one_would_use(minutes: int, words: str) -> None:
    assert texts.age(NOON_US, NOON_US + minutes * MINUTE) == words


@pytest.mark.parametrize("ts_us", [0, -1, 253_402_300_800_000_000, 10**30])
def test_a_time_that_no_calendar_has_is_a_placeholder(ts_us: int) -> None:
    assert texts.moment(ts_us) == texts.clock(ts_us) == texts.UNKNOWN_TIME


@pytest.mark.parametrize(
    ("messages", "words"), [(2, "thread, 1 reply"), (13, "thread, 12 replies"), (0, "thread, 0 replies")]
)
def test_a_thread_counts_replies_without_its_first_message(messages: int, words: str) -> None:
    assert texts.thread_size(messages) == words


@pytest.mark.parametrize(
    ("first", "last", "total", "words"),
    [
        (11, 20, 34, "messages 11 to 20 of 34"),
        (31, 31, 31, "message 31 of 31"),
        (1, 6, 6, "all 6 messages"),
        (1, 1, 1, "1 message"),
    ],
)
def test_a_thread_says_which_of_its_messages_are_shown(first: int, last: int, total: int, words: str) -> None:
    assert texts.messages_range(first, last, total) == words


@pytest.mark.parametrize(("wait_s", "words"), [(0.2, "1 second"), (1.0, "1 second"), (12.6, "13 seconds")])
def test_a_rate_limit_says_how_long_to_wait(wait_s: float, words: str) -> None:
    assert f"wait {words}." in texts.too_many_searches(wait_s)


def test_every_retriever_mode_and_class_has_words() -> None:
    assert {texts.rank_words(one, 2) for one in Retriever} == {
        "keyword #2",
        "meaning #2",
        "thread #2",
        "exact match",
        "recent",
    }
    assert len({texts.mode_words(mode, one, degraded=False) for mode in Mode for one in QueryClass}) == 5


def test_no_sentence_speaks_the_language_of_its_makers() -> None:
    """Constants are read by people who know nothing of artifacts, cursors or vectors."""
    jargon = ("artifact", "cursor", "vector", "embedding", "payload", "token", "lexical search", "HMAC", "null")
    sentences = {name: value for name, value in vars(texts).items() if name.isupper() and isinstance(value, str)}
    assert len(sentences) > 50

    assert not [name for name, value in sentences.items() if any(word in value.lower() for word in jargon)]


def test_help_says_what_ranks_and_absence_are_not() -> None:
    text = legal(render_help()).text

    assert "not a probability" in text
    assert "does not prove that two messages mean the same" in text
    assert "no proof that nobody wrote it" in text


@pytest.mark.parametrize(
    "modifier",
    ["in:", "from:", "before:", "after:", "on:", "during:", "mode:", "has:", "is:thread", "sort:", "-word", "status"],
)
def test_help_shows_every_modifier(modifier: str) -> None:
    assert modifier in render_help().text


def test_help_offers_nothing_that_does_not_answer_yet() -> None:
    assert "admin" not in render_help().text


def test_usage_is_short_and_not_an_error() -> None:
    message = legal(render_usage())

    assert len(message.text) < 250
    assert "/slackquery rate limit 429" in message.text
    assert legal(render_usage("A reason.")).text.startswith("A reason.\n")


@pytest.mark.parametrize(
    ("command", "typed"),
    [
        ("rate limit", "rate limit"),
        ("in:<#C123|payments> from:<@U1|ada> x", "in:#payments from:@ada x"),
        ("in:<#C123> from:<@U1>", "in:<#C123> from:<@U1>"),
        ("see <https://acme.example.test/a|docs> a &amp; b", "see https://acme.example.test/a a & b"),
        ("<http://x.io|x.io> <mailto:ada@x.io|ada@x.io>", "x.io ada@x.io"),
        ("<!here> <!date^1^{time}|noon>", "@here noon"),
    ],
)
def test_a_command_is_shown_as_one_would_type_it(command: str, typed: str) -> None:
    assert texts.typed_again(command) == typed


def test_status_tells_everyone_age_and_modes() -> None:
    view = StatusView(built_at_us=NOON_US, now_us=NOON_US + 12 * MINUTE, modes=(Mode.LEXICAL,))

    message = legal(render_status(view))

    assert message.text.split("\n") == [
        "Archive of 3 Mar 2026, 12:00 UTC, 12 min ago",
        "Keyword search: available",
        "Search by meaning: not available right now",
        "Hybrid search: keywords only for now",
    ]


def test_status_tells_only_admins_the_size() -> None:
    size = ArchiveSize(documents=120_178, vectors=1, file_bytes=734_003_200, artifact_id="2026-a")
    view = StatusView(built_at_us=NOON_US, now_us=NOON_US, modes=tuple(Mode), size=size)

    assert "120,178 documents, 1 found by meaning, 734.0 MB\nArchive 2026-a" in legal(render_status(view)).text


def test_status_without_an_archive_says_so() -> None:
    view = StatusView(built_at_us=None, now_us=NOON_US, modes=(), notices=("Wait.",))

    assert legal(render_status(view)).text == f"{texts.STATUS_NO_ARCHIVE}\nWait."


def test_an_answer_of_one_sentence_is_literal() -> None:
    message = legal(render_sentence("Tom & <!here>", notes=["a", "", "b"]))

    assert message.text == "Tom &amp; &lt;!here&gt;\na\nb"
    assert list(texts_of(message.blocks)) == ["Tom & <!here>", "a\nb"]


def test_an_empty_or_endless_sentence_is_still_legal() -> None:
    legal(render_sentence(""))
    legal(render_sentence("&" * 9_000, notes=["<" * 9_000] * 20))


@pytest.mark.parametrize(
    "state",
    [
        PageState(**OWNER, page=HERE.model_copy(update={"cursor": "c", "offset": 5})),
        ThreadState(**OWNER, thread_id="t", back=HERE),
        ContextState(**OWNER, document_id="d", back=HERE),
    ],
    ids=lambda state: type(state).__name__,
)
def test_an_expired_button_offers_the_same_search_afresh_counted_from_now(state: State) -> None:
    later = NOON_S + 1_000

    found = states(legal(render_state_error(ExpiredStateError(state=state), signer=make_signer(), now_s=later)))

    assert list(found) == ["Search again", "New search"]
    assert found["Search again"].page == HERE.model_copy(update={"now_s": later})
    assert found["New search"].command == HERE.command


def test_a_search_too_long_for_a_button_is_not_offered_again() -> None:
    page = HERE.model_copy(update={"command": secrets.token_hex(3_000)})
    error = ExpiredStateError(state=PageState(**OWNER, page=page))

    message = render_state_error(error, signer=make_signer(), now_s=NOON_S)

    assert list(states(message)) == ["New search"]


@pytest.mark.parametrize(
    "error",
    [
        ForgedStateError(),
        OldStateError(version="v0"),
        ForeignStateError(),
        ExpiredStateError(state=NewSearchState(**OWNER)),
        ExpiredStateError(state=ThreadState(**OWNER, thread_id="t")),
    ],
    ids=lambda error: type(error).__name__,
)
def test_other_button_errors_offer_a_new_search_only(error: action_state.StateError) -> None:
    message = legal(render_state_error(error, signer=make_signer(), now_s=NOON_S))

    assert list(states(message)) == ["New search"]
    assert texts.sentence_for(error) in message.text
