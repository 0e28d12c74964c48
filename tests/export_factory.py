"""Small Slack exports and slackdump archives for tests, written into a temporary folder.

```python
export = ExportFactory()
export.user("U1", name="ana", display_name="Ana")
export.channel("C1", "general", members=["U1"])
export.message("C1", "1700000000.000100", "hello <@U1>", user="U1")
path = export.write_folder(tmp_path / "export")        # or write_zip(tmp_path / "export.zip")
```

A message's day file is named after its ts in UTC. `raw_file` writes any bytes anywhere, for what real exports hold
beside messages. `write_slackdump` writes the same content as slackdump's SQLite database.
"""

import json
import sqlite3
import zipfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

TEAM_ID = "T1TEST"

_LISTS = {"public": "channels.json", "private": "groups.json", "dm": "dms.json", "mpim": "mpims.json"}

SLACKDUMP_DDL = """
CREATE TABLE SESSION (ID INTEGER PRIMARY KEY, CREATED_AT TIMESTAMP, UPDATED_AT TIMESTAMP, PAR_SESSION_ID INTEGER,
  FINISHED SMALLINT NOT NULL DEFAULT FALSE, MODE TEXT NOT NULL, ARGS TEXT);
CREATE TABLE CHUNK (ID INTEGER PRIMARY KEY, UNIX_TS INTEGER NOT NULL, SESSION_ID INTEGER NOT NULL,
  TYPE_ID SMALLINT NOT NULL, NUM_REC INTEGER NOT NULL DEFAULT 0, FINAL SMALLINT NOT NULL DEFAULT FALSE,
  CHANNEL_ID TEXT, SEARCH_QUERY TEXT, THREAD_ONLY BOOLEAN);
CREATE TABLE MESSAGE (ID INTEGER NOT NULL, CHUNK_ID INTEGER NOT NULL, LOAD_DTTM TIMESTAMP, CHANNEL_ID TEXT NOT NULL,
  TS TEXT NOT NULL, PARENT_ID INTEGER, THREAD_TS TEXT, LATEST_REPLY TEXT, IS_PARENT SMALLINT NOT NULL DEFAULT FALSE,
  IDX INTEGER NOT NULL, NUM_FILES INTEGER NOT NULL DEFAULT 0, TXT TEXT, DATA BLOB NOT NULL, PRIMARY KEY (ID, CHUNK_ID));
CREATE TABLE CHANNEL (ID TEXT NOT NULL, CHUNK_ID INTEGER NOT NULL, LOAD_DTTM TIMESTAMP, NAME TEXT, IDX INTEGER NOT NULL,
  DATA BLOB NOT NULL, PRIMARY KEY (ID, CHUNK_ID));
CREATE TABLE CHANNEL_USER (CHANNEL_ID TEXT NOT NULL, USER_ID TEXT NOT NULL, CHUNK_ID INTEGER NOT NULL,
  LOAD_DTTM TIMESTAMP, IDX INTEGER NOT NULL, PRIMARY KEY (CHANNEL_ID, USER_ID, CHUNK_ID));
CREATE TABLE S_USER (ID TEXT NOT NULL, CHUNK_ID INTEGER NOT NULL, LOAD_DTTM TIMESTAMP, IDX INTEGER NOT NULL,
  USERNAME TEXT NOT NULL, DATA BLOB NOT NULL, PRIMARY KEY (ID, CHUNK_ID));
CREATE TABLE FILE (ID TEXT NOT NULL, CHUNK_ID INTEGER NOT NULL, LOAD_DTTM TIMESTAMP, CHANNEL_ID TEXT NOT NULL,
  MESSAGE_ID INTEGER, THREAD_ID INTEGER, IDX INTEGER NOT NULL, MODE TEXT NOT NULL, FILENAME TEXT, URL TEXT,
  DATA BLOB NOT NULL, PRIMARY KEY (ID, CHUNK_ID));
CREATE TABLE WORKSPACE (ID INTEGER PRIMARY KEY, CHUNK_ID INTEGER NOT NULL, LOAD_DTTM TIMESTAMP, TEAM TEXT NOT NULL,
  USERNAME TEXT, TEAM_ID TEXT NOT NULL, USER_ID TEXT NOT NULL, ENTERPRISE_ID TEXT, URL TEXT NOT NULL,
  DATA BLOB NOT NULL);
"""


class ExportFactory:
    """Collects the content of one export; every method returns nothing, order is kept."""

    def __init__(self, *, team_id: str | None = TEAM_ID) -> None:
        self._team_id = team_id
        self._users: list[dict[str, object]] = []
        self._channels: dict[str, dict[str, object]] = {}
        self._kinds: dict[str, str] = {}
        self._messages: dict[str, list[dict[str, object]]] = {}
        self._raw: dict[str, bytes] = {}

    def user(
        self, user_id: str, *, name: str = "", display_name: str = "", real_name: str = "", **extra: object
    ) -> None:
        """Add a person; *extra* goes into the record as it is (`deleted`, `is_bot`, `is_restricted`, ...)."""
        record: dict[str, object] = {
            "id": user_id,
            "name": name,
            "deleted": False,
            "real_name": real_name,
            "profile": {"real_name": real_name, "display_name": display_name},
        }
        if self._team_id is not None:
            record["team_id"] = self._team_id
        self._users.append(record | extra)

    def channel(
        self, channel_id: str, name: str = "", *, kind: str = "public", members: Sequence[str] = (), **extra: object
    ) -> None:
        """Add a conversation; *kind* is `public`, `private`, `dm` or `mpim`."""
        record: dict[str, object] = {"id": channel_id, "members": list(members), "created": 1_600_000_000}
        if kind != "dm":
            record |= {"name": name, "is_archived": False, "is_general": False}
        self._kinds[channel_id] = kind
        self._channels[channel_id] = record | extra

    def message(self, channel: str, ts: str, text: str = "", *, user: str | None = "U1", **extra: object) -> None:
        """Add a message to a channel's id, or to a folder that no list mentions."""
        record: dict[str, object] = {"type": "message", "ts": ts, "text": text}
        if user is not None:
            record["user"] = user
        self._messages.setdefault(channel, []).append(record | extra)

    def thread(
        self, channel: str, root_ts: str, texts: Sequence[str], *, user: str = "U1", step: int = 60
    ) -> list[str]:
        """Add a root and its replies, *step* seconds apart; returns their ts, the root's first."""
        seconds, _, fraction = root_ts.partition(".")
        stamps = [f"{int(seconds) + step * index}.{fraction}" for index in range(len(texts))]
        self.message(channel, root_ts, texts[0], user=user, thread_ts=root_ts, reply_count=len(texts) - 1)
        for ts, text in zip(stamps[1:], texts[1:], strict=True):
            self.message(channel, ts, text, user=user, thread_ts=root_ts, parent_user_id=user)
        return stamps

    def raw_file(self, name: str, content: bytes | str) -> None:
        """Add any file by its path inside the export."""
        self._raw[name] = content.encode() if isinstance(content, str) else content

    def stamps(self) -> dict[str, dict[str, str]]:
        """Return every message's ts by channel, each with the thread it replies in or ""; as `Workspace.older`."""
        return {
            channel: {
                str(one["ts"]): str(one["thread_ts"]) if one.get("thread_ts", one["ts"]) != one["ts"] else ""
                for one in messages
            }
            for channel, messages in self._messages.items()
        }

    def files(self) -> dict[str, bytes]:
        """Return the export's files by their path, as bytes."""
        files = {"users.json": _json(self._users)}
        for kind, name in _LISTS.items():
            listed = [record for key, record in self._channels.items() if self._kinds[key] == kind]
            if listed or kind == "public":
                files[name] = _json(listed)
        for channel, messages in self._messages.items():
            for day, group in _by_day(messages).items():
                files[f"{self._folder(channel)}/{day}.json"] = _json(group)
        return files | self._raw

    def write_folder(self, folder: Path) -> Path:
        """Write the export as a folder and return it."""
        for name, content in self.files().items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return folder

    def write_zip(self, path: Path) -> Path:
        """Write the export as a zip file and return it."""
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in self.files().items():
                archive.writestr(name, content)
        return path

    def write_slackdump(
        self,
        path: Path,
        *,
        url: str = "https://example.slack.com/",
        newer: Mapping[str, Sequence[Mapping[str, object]]] | None = None,
    ) -> Path:
        """Write the content as slackdump's database and return it.

        Args:
            path: The SQLite file to make.
            url: The workspace's URL.
            newer: Messages by channel id in a second chunk of the channel, as a resumed session leaves them.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        with sqlite3.connect(path) as connection:
            connection.executescript(SLACKDUMP_DDL)
            connection.execute("INSERT INTO SESSION (ID, MODE, FINISHED) VALUES (1, 'archive', TRUE)")
            self._write_people(connection, url)
            chunk = 10
            for layer in (self._messages, newer or {}):
                for channel, messages in layer.items():
                    chunk = _write_messages(connection, channel, messages, first_chunk=chunk)
        connection.close()
        return path

    def _write_people(self, connection: sqlite3.Connection, url: str) -> None:
        for chunk, kind in ((1, 6), (2, 3), (3, 5), (4, 7)):
            connection.execute(
                "INSERT INTO CHUNK (ID, UNIX_TS, SESSION_ID, TYPE_ID) VALUES (?, 0, 1, ?)", (chunk, kind)
            )
        connection.execute(
            "INSERT INTO WORKSPACE (CHUNK_ID, TEAM, TEAM_ID, USER_ID, URL, DATA) "
            "VALUES (1, 'Example', ?, 'U1', ?, '{}')",
            (self._team_id or "T0", url),
        )
        for index, user in enumerate(self._users):
            connection.execute(
                "INSERT INTO S_USER VALUES (?, 2, NULL, ?, ?, ?)", (user["id"], index, user["name"], _json(user))
            )
        for index, (channel_id, record) in enumerate(self._channels.items()):
            data = record | {
                "is_private": self._kinds[channel_id] != "public",
                "is_im": self._kinds[channel_id] == "dm",
                "is_mpim": self._kinds[channel_id] == "mpim",
            }
            members = data.pop("members")
            connection.execute(
                "INSERT INTO CHANNEL VALUES (?, 3, NULL, ?, ?, ?)", (channel_id, record.get("name"), index, _json(data))
            )
            for position, member in enumerate(members if isinstance(members, list) else []):
                connection.execute("INSERT INTO CHANNEL_USER VALUES (?, ?, 4, NULL, ?)", (channel_id, member, position))

    def _folder(self, channel: str) -> str:
        record = self._channels.get(channel)
        if record is None or self._kinds[channel] == "dm":
            return channel
        return str(record["name"])


def _write_messages(
    connection: sqlite3.Connection, channel: str, messages: Sequence[Mapping[str, object]], *, first_chunk: int
) -> int:
    """Write a channel's messages as slackdump does: replies in a chunk of their own, broadcasts in both."""
    for kind in (0, 1):
        chunk = first_chunk + kind
        connection.execute(
            "INSERT INTO CHUNK (ID, UNIX_TS, SESSION_ID, TYPE_ID, CHANNEL_ID) VALUES (?, 0, 1, ?, ?)",
            (chunk, kind, channel),
        )
        for index, message in enumerate(messages):
            ts, thread = str(message["ts"]), message.get("thread_ts")
            is_reply = thread is not None and thread != ts
            is_broadcast = message.get("subtype") == "thread_broadcast"
            if (kind == 1) == is_reply or (kind == 0 and is_broadcast):
                connection.execute(
                    "INSERT INTO MESSAGE (ID, CHUNK_ID, CHANNEL_ID, TS, THREAD_TS, IDX, TXT, DATA) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (int(ts.replace(".", "")), chunk, channel, ts, thread, index, message.get("text"), _json(message)),
                )
    return first_chunk + 2


def _by_day(messages: Sequence[dict[str, object]]) -> dict[str, list[dict[str, object]]]:
    days: dict[str, list[dict[str, object]]] = {}
    for message in messages:
        seconds = int(str(message["ts"]).partition(".")[0])
        day = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
        days.setdefault(day, []).append(message)
    return days


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
