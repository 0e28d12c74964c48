"""The publish gate: what it measures, what it refuses, and what a gate's file may hold."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.cli import main
from retrieval import ArtifactInfo, list_artifacts
from retrieval.errors import EmbeddingModelError, JudgementError
from retrieval.gate import PublishGate, Verdict, read_rules
from retrieval.publication import current_path
from tests.artifact_factory import Row, ToyEmbedder, write_artifact
from tests.export_factory import ExportFactory
from tests.log_capture import captured_log

WORDS = ("apple", "banana", "cherry", "damson")
QUERIES = "\n".join(f'{{"qid": "{word}", "text": "{word}", "kind": "fruit"}}' for word in WORDS)
OLD = "20261101T000000Z-aaaaaaaa-11111111"
NEW = "20261102T000000Z-bbbbbbbb-22222222"


@pytest.fixture(autouse=True)
def own_log() -> Iterator[None]:
    """`index` configures the process's log; give it back as it was."""
    with captured_log():
        yield


class Models:
    """Gives each generation its model; one that is not known cannot be asked."""

    def __init__(self, **models: ToyEmbedder) -> None:
        self._models = models

    def for_artifact(self, info: ArtifactInfo) -> ToyEmbedder:
        if info.generation_id not in self._models:
            raise EmbeddingModelError(f"The model {info.generation_id} is not here.")
        return self._models[info.generation_id]


def one_hot(place: int) -> tuple[float, ...]:
    return tuple(1.0 if at == place else 0.0 for at in range(len(WORDS)))


def rows(words: Sequence[str], *, vectors: bool = True, shift: int = 0) -> list[Row]:
    """A message for each word, each near to one axis."""
    return [
        Row(
            key=f"{1_760_000_000 + number * 60}.000000",
            text=word,
            minute=number,
            vector=one_hot((number + shift) % len(WORDS)) if vectors else None,
        )
        for number, word in enumerate(words)
    ]


def write_gate(folder: Path, rules: str) -> Path:
    """Write a gate's file with its queries: each word is answered by the message that is the word."""
    folder.mkdir(exist_ok=True)
    (folder / "queries.jsonl").write_text(QUERIES)
    lines = [f"{word}\tC1:{1_760_000_000 + number * 60}.000000\t1" for number, word in enumerate(WORDS)]
    (folder / "qrels.tsv").write_text("\n".join(lines))
    path = folder / "gate.yaml"
    path.write_text(rules)
    return path


JUDGED = "queries: queries.jsonl\nqrels: qrels.tsv\n"


def judge(tmp_path: Path, rules: str, old: Path | None, new: Path, models: Models | None = None) -> Verdict:
    gate = PublishGate(write_gate(tmp_path / "gate", rules), embedders=models or Models())
    return gate.judge(new, current=old)


def test_floors_by_segment_let_pass_what_reaches_them(tmp_path: Path) -> None:
    new = write_artifact(tmp_path / "new", rows(WORDS, vectors=False))
    verdict = judge(tmp_path, JUDGED + "ranker: lexical\nfloors: {all: {MRR@10: 1.0}}", None, new)

    assert verdict.reasons == ()
    assert verdict.figures == {"all MRR@10": "1.0000 (floor 1)"}


def test_a_fall_below_a_floor_names_the_segment_and_both_numbers(tmp_path: Path) -> None:
    new = write_artifact(tmp_path / "new", rows(("apple", "banana", "cherry", "other"), vectors=False))
    rules = JUDGED + "ranker: lexical\nfloors: {all: {MRR@10: 0.9, Success@5: 0.7}}"

    assert judge(tmp_path, rules, None, new).reasons == ("MRR@10 over all is 0.7500, below the floor of 0.9.",)


def test_a_floor_for_a_segment_without_queries_is_an_error(tmp_path: Path) -> None:
    new = write_artifact(tmp_path / "new", rows(WORDS, vectors=False))

    with pytest.raises(JudgementError, match="kind=vegetable"):
        judge(tmp_path, JUDGED + "ranker: lexical\nfloors: {kind=vegetable: {MRR@10: 0.1}}", None, new)


@pytest.mark.parametrize(("allowed", "refused"), [(0.2, True), (0.25, False)])
def test_a_shrunk_archive_is_refused_above_the_share(tmp_path: Path, allowed: float, refused: bool) -> None:
    old = write_artifact(tmp_path / "old", rows(WORDS), build_id=OLD)
    new = write_artifact(tmp_path / "new", rows(WORDS[:3]), build_id=NEW)
    verdict = judge(tmp_path, f"max_shrink: {allowed}", old, new)

    assert bool(verdict.reasons) is refused
    assert not refused or "3 messages where the current one holds 4: 25.0% fewer" in verdict.reasons[0]


def other_generation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.artifact_factory.GENERATION", "toy-new")


def test_another_model_without_all_vectors_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = write_artifact(tmp_path / "old", rows(WORDS), build_id=OLD)
    other_generation(monkeypatch)
    half = [*rows(WORDS[:2]), *rows(WORDS, vectors=False)[2:]]
    new = write_artifact(tmp_path / "new", half, build_id=NEW)
    (reason,) = judge(tmp_path, "{}", old, new).reasons

    assert reason.startswith("The embedding model changed from toy-3 to toy-new, and 2 messages")


def toy(places: Sequence[int]) -> ToyEmbedder:
    """A model that puts each word on an axis."""
    return ToyEmbedder({word: one_hot(place) for word, place in zip(WORDS, places, strict=True)})


def test_another_model_is_run_in_the_shadow_and_passes_where_lists_agree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each artifact is asked with its own model; a vector never meets another generation's."""
    old = write_artifact(tmp_path / "old", rows(WORDS), build_id=OLD)
    other_generation(monkeypatch)
    new = write_artifact(tmp_path / "new", rows(WORDS, shift=1), build_id=NEW)
    models = Models(**{"toy-3": toy((0, 1, 2, 3)), "toy-new": toy((1, 2, 3, 0))})
    verdict = judge(tmp_path, JUDGED + "ranker: semantic\nmin_overlap: 1", old, new, models)

    assert verdict.reasons == ()
    assert verdict.figures["overlap@10 with the current artifact"] == "1.000"
    assert "ms (was" in verdict.figures["median latency"]


def test_lists_that_differ_too_much_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = [f"{word} {number}" for number in range(10) for word in WORDS]
    old = write_artifact(tmp_path / "old", rows(many), build_id=OLD)
    other_generation(monkeypatch)
    new = write_artifact(tmp_path / "new", rows(many, shift=1), build_id=NEW)
    models = Models(**{"toy-3": toy((0, 1, 2, 3)), "toy-new": toy((0, 1, 2, 3))})
    verdict = judge(tmp_path, JUDGED + "ranker: semantic\nmin_overlap: 0.5\nmax_slowdown: 1000", old, new, models)

    assert len(verdict.reasons) == 1
    assert "of the ten best results 0.0% are the current artifact's; at least 50.0%" in verdict.reasons[0]


def test_a_former_model_that_is_gone_leaves_the_decision_to_a_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = write_artifact(tmp_path / "old", rows(WORDS), build_id=OLD)
    other_generation(monkeypatch)
    new = write_artifact(tmp_path / "new", rows(WORDS), build_id=NEW)
    (reason,) = judge(tmp_path, JUDGED, old, new, Models(**{"toy-new": toy((0, 1, 2, 3))})).reasons

    assert "the former one cannot be asked: The model toy-3 is not here." in reason


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        ("floor: 1", "floor: Extra inputs are not permitted"),
        ("floors: {all: {MRR@10: 0.5}}", "floors need queries and qrels"),
        ("queries: q.jsonl", "queries and qrels belong together"),
        (JUDGED + "floors: {all: {NDCG: 0.5}}", "NDCG is none of"),
        ("ranker: magic", "ranker must be one of lexical"),
        ("max_shrink: 5", "max_shrink"),
        ("a: [", "is not YAML"),
        ("- a", "the file"),
    ],
)
def test_a_gate_that_cannot_be_meant_is_refused_at_the_start(tmp_path: Path, rules: str, sentence: str) -> None:
    with pytest.raises(JudgementError, match=r"gate\.yaml") as caught:
        read_rules(write_gate(tmp_path, rules))
    assert sentence in str(caught.value)


def test_a_gate_that_is_not_there_stops_the_indexer_before_it_builds(tmp_path: Path) -> None:
    arguments = ["index", "--once", "--source", str(tmp_path), "--artifacts", str(tmp_path / "out")]
    result = CliRunner().invoke(main, [*arguments, "--gate", str(tmp_path / "none.yaml")])

    assert result.exit_code == 1
    assert "none.yaml cannot be read" in result.stderr


def test_a_build_below_the_gate_is_kept_not_published_and_said(tmp_path: Path) -> None:
    folder, source = tmp_path / "out", tmp_path / "a.zip"
    gate = write_gate(tmp_path / "gate", "max_shrink: 0.1")
    arguments = ["index", "--once", "--source", str(source), "--artifacts", str(folder), "--embedder", "none"]
    arguments += ["--workspace-id", "T1"]
    for count in (10, 5):
        export = ExportFactory()
        export.channel("C1", "general")
        for number in range(count):
            export.message("C1", f"{1_700_000_000 + number}.000100", f"message number {number}")
        export.write_zip(source)
        result = CliRunner().invoke(main, [*arguments, "--gate", str(gate)])
    entries = list_artifacts(folder)

    assert result.exit_code == 1
    assert "kept and not published. It holds 5 messages where the current one holds 10" in result.stderr
    assert [(entry.current, entry.refusal is not None) for entry in sorted(entries, key=lambda e: e.current)] == [
        (False, True),
        (True, False),
    ]
    assert current_path(folder) == next(entry.path for entry in entries if entry.current)


def test_what_cannot_be_judged_is_not_published(tmp_path: Path) -> None:
    export = ExportFactory()
    export.channel("C1", "general")
    export.message("C1", "1700000000.000100", "apple")
    folder, source = tmp_path / "out", export.write_zip(tmp_path / "a.zip")
    gate = write_gate(tmp_path / "gate", JUDGED + "ranker: lexical\nfloors: {kind=vegetable: {MRR@10: 0.1}}")
    arguments = ["index", "--once", "--source", str(source), "--artifacts", str(folder), "--embedder", "none"]
    result = CliRunner().invoke(main, [*arguments, "--workspace-id", "T1", "--gate", str(gate)])

    assert result.exit_code == 1
    assert "The gate could not judge it: The gate has a floor for kind=vegetable" in result.stderr
    assert current_path(folder) is None
    assert all(entry.refusal is not None for entry in list_artifacts(folder))
