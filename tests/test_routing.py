"""What kind of query a text is, and what it is written in."""

import pytest

from retrieval.models import QueryClass
from retrieval.routing import main_script, route_query

CLASSES = (
    ("E4392", QueryClass.EXACT),
    ("error E4392", QueryClass.EXACT),
    ("why does E4392 fail", QueryClass.EXACT),
    ("apply_secrets() timeout", QueryClass.EXACT),
    ("PROJ-17", QueryClass.EXACT),
    ("DEC-0054 multi-agent", QueryClass.EXACT),
    ("rate limit 429 for the partner tier", QueryClass.MIXED),
    ("upgrading our mirror to v1.2.3 broke the build", QueryClass.MIXED),
    ("how do we rotate the certificates", QueryClass.CONCEPTUAL),
    ("what's John's deal", QueryClass.CONCEPTUAL),
    ("URGENT sign-in broken", QueryClass.CONCEPTUAL),
    ("-foo", QueryClass.CONCEPTUAL),
    ("", QueryClass.CONCEPTUAL),
)


@pytest.mark.parametrize(("text", "expected"), CLASSES)
def test_class_of_a_query(text: str, expected: QueryClass) -> None:
    assert route_query(text).query_class is expected


def test_a_quoted_span_makes_a_query_exact() -> None:
    route = route_query("rate limit partners", ["rate limit"])

    assert route.query_class is QueryClass.EXACT
    assert route.phrases == ("rate limit",)


def test_a_route_names_the_identifiers() -> None:
    assert route_query("did v1.2.3 fix foo.bar_baz?").identifiers == ("v1.2.3", "foo.bar_baz")


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("how to deploy", True),
        ("déployer sur Öffnung", True),
        ("検索の仕方", False),
        ("cabal の使い方を教えてください", False),
        ("deploy failed 本番", True),
        ("как развернуть", False),
        ("429 !!", True),
        ("", True),
    ],
)
def test_a_model_of_latin_script_reads_what_is_mostly_latin(text: str, known: bool) -> None:
    assert route_query(text, scripts=("Latin",)).known_script is known


def test_a_model_without_a_list_of_scripts_reads_everything() -> None:
    assert route_query("検索の仕方").known_script


def test_half_of_the_letters_is_enough() -> None:
    assert route_query("ab 検索", scripts=("Latin",)).known_script
    assert not route_query("ab 検索の", scripts=("Latin",)).known_script


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("plain words", "Latin"),
        ("検索", "Han"),
        ("テスト", "Katakana"),
        ("ትግርኛ", "other"),
        ("429", ""),
        ("aб", "Cyrillic"),
    ],
)
def test_main_script(text: str, script: str) -> None:
    assert main_script(text) == script
