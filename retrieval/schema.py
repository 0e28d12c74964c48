"""The artifact's tables, names and options: the one place that the builder and the readers share."""

from typing import Final

SCHEMA_VERSION: Final = 2

DOCUMENTS: Final = "search_documents"
VECTORS: Final = "document_vectors"
METADATA: Final = "artifact_metadata"
FTS_SCHEMA: Final = "fts_main_search_documents"

# What this project's builder adds to the contract's tables.
CHANNELS: Final = "channels"
CHANNEL_MEMBERS: Final = "channel_members"
USERS: Final = "users"
EMBEDDING_SPEC: Final = "embedding_spec"
DOCUMENT_MESSAGES: Final = "document_messages"
LEXICAL_POSTINGS: Final = "lexical_postings"
RESIDENT_PARTS: Final = "resident_parts"
RESIDENT_WORDS: Final = "resident_words"

# Tokens in text_lexical are made by retrieval.analyzer and separated by spaces, so that DuckDB's index must
# only split at white space. Its default `ignore` drops digits and `_` (docs/design.md).
FTS_IGNORE: Final = r"\s+"
FTS_STEMMER: Final = "none"
FTS_STOPWORDS: Final = "none"

# BM25's parameters. Measured on chat: short messages win too easily at the textbook's b = 0.75 (docs/design.md).
BM25_K: Final = 0.9
BM25_B: Final = 0.4

DOCUMENTS_DDL: Final = f"""
CREATE TABLE {DOCUMENTS} (
    document_id VARCHAR PRIMARY KEY,
    document_kind VARCHAR NOT NULL,
    workspace_id VARCHAR NOT NULL,
    workspace_name VARCHAR,
    workspace_slug VARCHAR NOT NULL,
    channel_id VARCHAR NOT NULL,
    channel_name VARCHAR,
    author_id VARCHAR,
    author_name VARCHAR,
    ts_us BIGINT NOT NULL,
    timestamp TIMESTAMPTZ NOT NULL,
    thread_id VARCHAR,
    thread_root_id VARCHAR,
    is_thread_parent BOOLEAN NOT NULL,
    is_thread_reply BOOLEAN NOT NULL,
    is_thread_broadcast BOOLEAN NOT NULL,
    text_display VARCHAR NOT NULL,
    text_lexical VARCHAR NOT NULL,
    text_embedding VARCHAR NOT NULL,
    source_version VARCHAR NOT NULL,
    metadata_json JSON NOT NULL,
    permalink VARCHAR
)
"""

VECTORS_DDL: Final = f"""
CREATE TABLE {VECTORS} (
    document_id VARCHAR PRIMARY KEY,
    generation_id VARCHAR NOT NULL,
    embedding FLOAT[{{dimensions}}] NOT NULL
)
"""

METADATA_DDL: Final = f"""
CREATE TABLE {METADATA} (
    build_id VARCHAR PRIMARY KEY,
    schema_version INTEGER NOT NULL,
    generation_id VARCHAR NOT NULL,
    source_watermark VARCHAR NOT NULL,
    document_count BIGINT NOT NULL,
    vector_count BIGINT NOT NULL,
    built_at TIMESTAMPTZ NOT NULL,
    fts_config_json JSON NOT NULL
)
"""

CHANNELS_DDL: Final = f"""
CREATE TABLE {CHANNELS} (
    workspace_id VARCHAR NOT NULL,
    channel_id VARCHAR NOT NULL,
    name VARCHAR,
    is_private BOOLEAN NOT NULL,
    is_im BOOLEAN NOT NULL,
    is_mpim BOOLEAN NOT NULL,
    is_archived BOOLEAN NOT NULL,
    is_ext_shared BOOLEAN NOT NULL,
    PRIMARY KEY (workspace_id, channel_id)
)
"""

CHANNEL_MEMBERS_DDL: Final = f"""
CREATE TABLE {CHANNEL_MEMBERS} (
    workspace_id VARCHAR NOT NULL,
    channel_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    PRIMARY KEY (workspace_id, channel_id, user_id)
)
"""

USERS_DDL: Final = f"""
CREATE TABLE {USERS} (
    workspace_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    name VARCHAR,
    display_name VARCHAR,
    real_name VARCHAR,
    is_guest BOOLEAN NOT NULL,
    is_bot BOOLEAN NOT NULL,
    deleted BOOLEAN NOT NULL,
    PRIMARY KEY (workspace_id, user_id)
)
"""

EMBEDDING_SPEC_DDL: Final = f"""
CREATE TABLE {EMBEDDING_SPEC} (
    model VARCHAR NOT NULL,
    revision VARCHAR NOT NULL,
    query_prefix VARCHAR NOT NULL,
    document_prefix VARCHAR NOT NULL,
    native_dimensions INTEGER NOT NULL,
    dimensions INTEGER NOT NULL,
    scripts VARCHAR[] NOT NULL,
    probe_text VARCHAR NOT NULL,
    probe_vector FLOAT[] NOT NULL
)
"""

# Which messages a thread window covers and which messages share a file, in time order (position from 0).
DOCUMENT_MESSAGES_DDL: Final = f"""
CREATE TABLE {DOCUMENT_MESSAGES} (
    document_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    message_id VARCHAR NOT NULL,
    channel_id VARCHAR NOT NULL,
    PRIMARY KEY (document_id, position)
)
"""

# The full-text index once more, in the order in which it is read into memory: by termid, then messages and file
# chunks before thread windows, then docid. DuckDB's own table is in the order of documents.
LEXICAL_POSTINGS_DDL: Final = f"""
CREATE TABLE {LEXICAL_POSTINGS} (
    termid BIGINT NOT NULL,
    docid BIGINT NOT NULL,
    tf UINTEGER NOT NULL
)
"""

# What `retrieval.resident` holds of the tables above, as it lies in memory, so that opening is reading: named arrays,
# one after the other as 64-bit words. `first_word` is NULL for an array that another column holds. `digest` is what
# `retrieval.resident.image.sealed` makes of its bytes, name, kind and length; 0 where another column holds it.
RESIDENT_PARTS_DDL: Final = f"""
CREATE TABLE {RESIDENT_PARTS} (
    part VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    length BIGINT NOT NULL,
    first_word BIGINT,
    digest UBIGINT NOT NULL
)
"""

RESIDENT_WORDS_DDL: Final = f"""
CREATE TABLE {RESIDENT_WORDS} (
    word UBIGINT NOT NULL
)
"""
