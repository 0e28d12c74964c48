"""The same tokens in tantivy, as a yardstick: install it by hand, `pip install tantivy==0.27.0`."""

from collections.abc import Callable, Sequence
from pathlib import Path

from retrieval import Artifact, schema


def tantivy_search(artifact: Artifact, folder: Path, *, limit: int) -> Callable[[Sequence[str]], list[str]] | None:
    """Index messages and file chunks into *folder*; return a search for tokens that gives ids, best first.

    Returns:
        None where tantivy is not installed.
    """
    try:
        import tantivy  # noqa: PLC0415 - not a dependency of the project
    except ImportError:
        return None
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, tokenizer_name="raw")
    builder.add_text_field("text", stored=False, tokenizer_name="whitespace", index_option="freq")
    fields = builder.build()
    folder.mkdir(parents=True, exist_ok=True)
    index = tantivy.Index(fields, path=str(folder))
    searcher = index.searcher()
    if searcher.num_docs == 0:
        _fill(tantivy, index, artifact)
        searcher = index.searcher()

    def search(tokens: Sequence[str]) -> list[str]:
        parts = [
            (tantivy.Occur.Should, tantivy.Query.term_query(fields, "text", token, index_option="freq"))
            for token in tokens
        ]
        hits = searcher.search(tantivy.Query.boolean_query(parts), limit, count=False).hits
        return [searcher.doc(address)["id"][0] for _, address in hits]

    return search


def _fill(tantivy: object, index: object, artifact: Artifact) -> None:
    """Add every searchable document in one segment."""
    writer = index.writer(256_000_000, 1)  # type: ignore[attr-defined]
    with artifact.cursor() as cursor:
        cursor.execute(
            f"SELECT document_id, text_lexical FROM {schema.DOCUMENTS} WHERE document_kind <> 'thread_context'"
        )
        while rows := cursor.fetchmany(10_000):
            for document_id, text in rows:
                writer.add_document(tantivy.Document(id=document_id, text=text))  # type: ignore[attr-defined]
    writer.commit()
    writer.wait_merging_threads()
    index.reload()  # type: ignore[attr-defined]
