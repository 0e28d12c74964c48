"""What families of embedding models expect: prefixes, length and scripts."""

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class KnownModel:
    """What a family of models expects.

    Attributes:
        name: How its names begin, in lower case, without the owner.
        native_dimensions: Its length; 0 where it depends on the size, and the service is asked.
        query_prefix: Put before a query.
        document_prefix: Put before a document.
        scripts: Unicode scripts it was trained on; empty means all.
    """

    name: str
    native_dimensions: int
    query_prefix: str = ""
    document_prefix: str = ""
    scripts: tuple[str, ...] = ()


# Also those of the artifact contract, whose recipe uses them whatever the model is called.
NOMIC_PREFIXES: Final = ("search_query: ", "search_document: ")

_LATIN: Final = ("Latin",)
_E5: Final = ("query: ", "passage: ")
_SENTENCE: Final = "Represent this sentence for searching relevant passages: "
_SENTENCE_ZH: Final = "为这个句子生成表示以用于检索相关文章："
_INSTRUCT: Final = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"

# Sources: the models' cards on Hugging Face, and mteb's registry for those that it lists.
KNOWN_MODELS: Final = (
    KnownModel("nomic-embed-text", 768, *NOMIC_PREFIXES, _LATIN),
    KnownModel("nomic-embed-text-v2-moe", 768, *NOMIC_PREFIXES),
    KnownModel("e5-small", 384, *_E5, _LATIN),
    KnownModel("e5-base", 768, *_E5, _LATIN),
    KnownModel("e5-large", 1024, *_E5, _LATIN),
    KnownModel("multilingual-e5-small", 384, *_E5),
    KnownModel("multilingual-e5-base", 768, *_E5),
    KnownModel("multilingual-e5-large", 1024, *_E5),
    KnownModel("multilingual-e5-large-instruct", 1024, _INSTRUCT + " "),
    KnownModel("bge-small-en", 384, _SENTENCE, "", _LATIN),
    KnownModel("bge-base-en", 768, _SENTENCE, "", _LATIN),
    KnownModel("bge-large", 1024, _SENTENCE, "", _LATIN),
    KnownModel("bge-small-zh", 512, _SENTENCE_ZH, "", ("Han", "Latin")),
    KnownModel("bge-base-zh", 768, _SENTENCE_ZH, "", ("Han", "Latin")),
    KnownModel("bge-large-zh", 1024, _SENTENCE_ZH, "", ("Han", "Latin")),
    KnownModel("bge-m3", 1024),
    KnownModel("mxbai-embed-large", 1024, _SENTENCE, "", _LATIN),
    KnownModel("all-minilm", 384, "", "", _LATIN),
    KnownModel("all-mpnet-base", 768, "", "", _LATIN),
    KnownModel("embeddinggemma", 768, "task: search result | query: ", "title: none | text: "),
    KnownModel("qwen3-embedding", 0, _INSTRUCT),
    KnownModel("snowflake-arctic-embed", 0, _SENTENCE, "", _LATIN),
    KnownModel("snowflake-arctic-embed2", 1024, "query: "),
    KnownModel("snowflake-arctic-embed-m-v2", 768, "query: "),
    KnownModel("snowflake-arctic-embed-l-v2", 1024, "query: "),
)


def find_known_model(name: str) -> KnownModel | None:
    """Return what is known of a model, or None; owner, version, size and quantisation in its name do not matter.

    `nomic-ai/nomic-embed-text-v1.5-GGUF`, `nomic-embed-text:latest` and `text-embedding-nomic-embed-text-v1.5`
    (as LM Studio names it) are all the same family. The longest fitting family wins.
    """
    short = name.strip().lower().rpartition("/")[2].removeprefix("text-embedding-")
    fitting = [model for model in KNOWN_MODELS if re.match(re.escape(model.name) + r"(?![a-z0-9])", short)]
    return max(fitting, key=lambda model: len(model.name), default=None)
