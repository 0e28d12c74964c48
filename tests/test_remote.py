"""Artifacts from a web server that does everything wrong that a web server can."""

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from pydantic import ValidationError

from bot.settings import Settings
from retrieval import ArtifactStore, list_artifacts, publish, rollback
from retrieval.errors import RemoteArtifactError
from retrieval.locking import folder_lock
from retrieval.manifest import manifest_path
from retrieval.publication import current_path
from retrieval.remote import FETCHER_LOCK, PulledStore, RemoteArtifacts, RemoteOptions
from tests.artifact_factory import Row, write_artifact
from tests.artifact_server import ArtifactServer, Trouble
from tests.bot_harness import build_archive, running_bot

OLD = "20261101T000000Z-aaaaaaaa-11111111"
NEW = "20261102T000000Z-bbbbbbbb-22222222"


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def rows(word: str) -> list[Row]:
    return [Row(key=f"{number}.000000", text=f"{word} {number}", minute=number, vector=(1, 0, 0)) for number in (1, 2)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("made")
    return {
        OLD: write_artifact(folder, rows("alpha"), build_id=OLD),
        NEW: write_artifact(folder, rows("beta"), build_id=NEW, built_at=datetime(2026, 11, 2, tzinfo=UTC)),
    }


@pytest.fixture
def server(made: dict[str, Path]) -> Iterator[ArtifactServer]:
    with ArtifactServer(made[OLD].parent, manifest_path(made[OLD])) as running:
        yield running


def current(folder: Path) -> str | None:
    path = current_path(folder)
    return path.name.removeprefix("search-").removesuffix(".duckdb") if path is not None else None


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.glob(".fetching-*")]


def downloads(server: ArtifactServer) -> int:
    return sum(path.partition("?")[0].endswith(".duckdb") for path in server.asked)


def test_the_first_pull_brings_the_artifact_and_the_next_ones_only_ask(server: ArtifactServer, tmp_path: Path) -> None:
    remote = RemoteArtifacts(server.url, tmp_path / "here")
    assert [remote.pull() for _ in range(3)] == [None, None, None]

    assert current(tmp_path / "here") == OLD
    assert (downloads(server), server.unchanged) == (1, 2)
    assert [entry.problem for entry in list_artifacts(tmp_path / "here")] == [None]
    assert leftovers(tmp_path / "here") == []


def test_another_process_goes_on_where_this_one_stopped(server: ArtifactServer, tmp_path: Path) -> None:
    RemoteArtifacts(server.url, tmp_path).pull()
    RemoteArtifacts(server.url, tmp_path).pull()

    assert (downloads(server), server.unchanged) == (1, 1)


def test_a_new_manifest_brings_a_new_artifact(server: ArtifactServer, made: dict[str, Path], tmp_path: Path) -> None:
    remote = RemoteArtifacts(server.url, tmp_path)
    remote.pull()
    server.manifest = manifest_path(made[NEW])

    assert remote.pull() is None
    assert current(tmp_path) == NEW


@pytest.mark.parametrize(
    ("trouble", "sentence"),
    [
        (Trouble.DROP, "broke before everything had come"),
        (Trouble.TOO_LONG, "broke before everything had come"),
        (Trouble.TOO_SHORT, "does not have the checksum"),
        (Trouble.OTHER_CONTENT, "does not have the checksum"),
        (Trouble.STATUS_404, "HTTP status 404"),
        (Trouble.STATUS_503, "HTTP status 503"),
        (Trouble.MANIFEST_404, "HTTP status 404"),
        (Trouble.MANIFEST_503, "HTTP status 503"),
        (Trouble.MANIFEST_HTML, "is no manifest"),
        (Trouble.MANIFEST_HUGE, "too large for a manifest"),
    ],
)
def test_a_misbehaving_server_leaves_the_old_one_and_is_asked_again_later(
    server: ArtifactServer, made: dict[str, Path], tmp_path: Path, trouble: Trouble, sentence: str
) -> None:
    clock = Clock()
    remote = RemoteArtifacts(server.url, tmp_path, options=RemoteOptions(monotonic=clock))
    remote.pull()
    server.manifest, server.trouble = manifest_path(made[NEW]), trouble

    assert sentence in str(remote.pull())
    assert current(tmp_path) == OLD
    assert leftovers(tmp_path) == []
    assert [path.name for path in tmp_path.glob("search-*.duckdb")] == [made[OLD].name]
    server.trouble = Trouble.NONE
    clock.now += 31
    assert remote.pull() is None
    assert current(tmp_path) == NEW


def test_between_attempts_the_server_is_left_alone_longer_and_longer(server: ArtifactServer, tmp_path: Path) -> None:
    clock = Clock()
    remote = RemoteArtifacts(server.url, tmp_path, options=RemoteOptions(monotonic=clock))
    server.trouble = Trouble.MANIFEST_503
    attempts = []
    for second in range(300):
        clock.now = 1000.0 + second
        assert remote.pull() is not None
        if len(server.asked) > len(attempts):
            attempts.append(second)

    assert attempts == [0, 30, 90, 210]


def test_an_older_manifest_from_a_stale_cache_is_refused(
    server: ArtifactServer, made: dict[str, Path], tmp_path: Path
) -> None:
    """Going back would show again what was deleted since."""
    server.manifest = manifest_path(made[NEW])
    remote = RemoteArtifacts(server.url, tmp_path)
    remote.pull()
    server.manifest = manifest_path(made[OLD])

    assert f"offers {OLD}, which is older than {NEW}" in str(remote.pull())
    assert current(tmp_path) == NEW
    assert downloads(server) == 1


def test_a_rollback_on_this_machine_stays_until_somebody_publishes(
    server: ArtifactServer, made: dict[str, Path], tmp_path: Path
) -> None:
    remote = RemoteArtifacts(server.url, tmp_path)
    remote.pull()
    server.manifest = manifest_path(made[NEW])
    remote.pull()
    rollback(tmp_path)

    assert RemoteArtifacts(server.url, tmp_path).pull() is None
    (tmp_path / "remote.json").unlink()
    assert "The rollback of" in str(RemoteArtifacts(server.url, tmp_path).pull())
    assert current(tmp_path) == OLD
    publish(tmp_path, tmp_path / made[NEW].name)
    assert RemoteArtifacts(server.url, tmp_path).pull() is None
    assert current(tmp_path) == NEW


def test_what_lies_in_the_folder_is_not_fetched_again(
    server: ArtifactServer, made: dict[str, Path], tmp_path: Path
) -> None:
    for origin in (made[OLD], manifest_path(made[OLD])):
        shutil.copy(origin, tmp_path)

    assert RemoteArtifacts(server.url, tmp_path).pull() is None
    assert current(tmp_path) == OLD
    assert downloads(server) == 0


@pytest.mark.parametrize("name", ["../search-x.duckdb", "/etc/passwd", "other.duckdb", "search-a/b.duckdb"])
def test_a_manifest_that_names_another_place_is_refused(
    server: ArtifactServer, made: dict[str, Path], tmp_path: Path, name: str
) -> None:
    content = json.loads(manifest_path(made[OLD]).read_text())
    server.manifest = tmp_path / "bad.json"
    server.manifest.write_text(json.dumps({**content, "artifact_file": name}))

    assert "names a file that no artifact can be called" in str(RemoteArtifacts(server.url, tmp_path / "here").pull())


def test_a_redirect_within_private_networks_is_followed(
    server: ArtifactServer, made: dict[str, Path], tmp_path: Path
) -> None:
    with ArtifactServer(server.folder, server.manifest) as other:
        server.redirects["/archive/current.manifest.json"] = f"{other.base}/elsewhere/current.manifest.json"

        assert RemoteArtifacts(server.url, tmp_path).pull() is None
    assert current(tmp_path) == OLD


def test_redirects_without_end_are_given_up(server: ArtifactServer, tmp_path: Path) -> None:
    server.redirects["/archive/current.manifest.json"] = "/archive/current.manifest.json"

    assert "redirects more than 5 times" in str(RemoteArtifacts(server.url, tmp_path).pull())


def pull_redirected(
    tmp_path: Path, made: dict[str, Path], target: str, *, addresses: dict[str, str], allow_public: bool = False
) -> tuple[str | None, list[httpx.Request]]:
    """Pull from `store.test`, which redirects to *target*, over a network of our own."""
    requests: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        if request.url.host == "store.test" and request.url.path.endswith(".json"):
            return httpx.Response(302, headers={"Location": target})
        path = manifest_path(made[OLD]) if request.url.path.endswith(".json") else made[OLD]
        return httpx.Response(200, content=path.read_bytes())

    options = RemoteOptions(
        transport=httpx.MockTransport(handle),
        resolve=lambda host, _port: [addresses[host]],
        allow_public=allow_public,
    )
    return RemoteArtifacts("https://store.test/current.manifest.json", tmp_path, options=options).pull(), requests


PRIVATE, PUBLIC, LINK_LOCAL = "10.0.0.7", "203.0.113.9", "169.254.169.254"
TARGET = "https://far.test/current.manifest.json"


@pytest.mark.parametrize(
    ("target", "places", "sentence"),
    [
        (TARGET, (PRIVATE, PUBLIC), "public address of far.test, which is refused"),
        (TARGET, (PUBLIC, PUBLIC), "public address of far.test, which is refused"),
        ("http://far.test/current.manifest.json", (PRIVATE, PRIVATE), "redirects to http:"),
        ("file:///etc/passwd", (PRIVATE, PRIVATE), "redirects to file:"),
    ],
)
def test_redirects_that_nobody_meant_are_refused(
    tmp_path: Path, made: dict[str, Path], target: str, places: tuple[str, str], sentence: str
) -> None:
    addresses = dict(zip(("store.test", "far.test"), places, strict=True))
    problem, requests = pull_redirected(tmp_path, made, target, addresses=addresses)

    assert sentence in str(problem)
    assert [request.url.host for request in requests] == ["store.test"]


@pytest.mark.parametrize(
    ("places", "sentence"),
    [((PUBLIC, PRIVATE), "redirects into a private network"), ((PRIVATE, LINK_LOCAL), "none that may be called")],
)
def test_some_redirects_are_refused_whatever_is_allowed(
    tmp_path: Path, made: dict[str, Path], places: tuple[str, str], sentence: str
) -> None:
    addresses = dict(zip(("store.test", "far.test"), places, strict=True))
    problem, requests = pull_redirected(tmp_path, made, TARGET, addresses=addresses, allow_public=True)

    assert sentence in str(problem)
    assert len(requests) == 1


def test_an_allowed_redirect_calls_the_address_that_was_checked(tmp_path: Path, made: dict[str, Path]) -> None:
    addresses = {"store.test": PRIVATE, "far.test": PUBLIC}
    problem, requests = pull_redirected(tmp_path, made, TARGET, addresses=addresses, allow_public=True)

    assert problem is None
    assert [(request.url.host, request.headers["Host"]) for request in requests[:2]] == [
        ("store.test", "store.test"),
        (PUBLIC, "far.test"),
    ]
    assert requests[1].extensions["sni_hostname"] == "far.test"


def test_no_password_and_no_query_stands_in_a_sentence(tmp_path: Path) -> None:
    transport = httpx.MockTransport(lambda _request: httpx.Response(503))
    url = "https://me:hush@store.test/current.manifest.json?sig=secret"
    problem = RemoteArtifacts(url, tmp_path, options=RemoteOptions(transport=transport)).pull()

    assert problem == "store.test/current.manifest.json answered with HTTP status 503."


def test_a_query_goes_on_to_the_artifact(server: ArtifactServer, tmp_path: Path) -> None:
    assert RemoteArtifacts(f"{server.url}?sig=1", tmp_path).pull() is None
    assert all(path.endswith("?sig=1") for path in server.asked)


@pytest.mark.parametrize("url", ["ftp://store.test/x", "nonsense", "https://", "http://[::1"])
def test_what_is_no_url_is_refused_at_once(tmp_path: Path, url: str) -> None:
    with pytest.raises(RemoteArtifactError, match="artifact URL"):
        RemoteArtifacts(url, tmp_path)


def test_a_server_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    assert "cannot be reached (ConnectError)" in str(RemoteArtifacts("http://127.0.0.1:9/x", tmp_path).pull())


def test_a_disk_without_room_is_a_sentence(
    server: ArtifactServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage)

    assert "There is no room for" in str(RemoteArtifacts(server.url, tmp_path).pull())
    assert leftovers(tmp_path) == []


def test_one_process_fetches_at_a_time_and_what_a_dead_one_left_goes(server: ArtifactServer, tmp_path: Path) -> None:
    remote = RemoteArtifacts(server.url, tmp_path)
    (tmp_path / ".fetching-1").mkdir()
    with folder_lock(tmp_path, FETCHER_LOCK, busy=""):
        assert remote.pull() is None
    assert server.asked == []
    assert remote.pull() is None
    assert current(tmp_path) == OLD

    assert leftovers(tmp_path) == []


def test_a_store_serves_what_was_pulled_and_tells_of_a_server_that_is_away(
    server: ArtifactServer, made: dict[str, Path], tmp_path: Path
) -> None:
    clock = Clock()
    store = ArtifactStore(tmp_path)
    pulled = PulledStore(store, RemoteArtifacts(server.url, tmp_path, options=RemoteOptions(monotonic=clock)))
    assert pulled.refresh().changed
    server.trouble = Trouble.MANIFEST_503
    outcome = pulled.refresh()

    assert (outcome.changed, outcome.info is not None) == (False, True)
    assert "HTTP status 503" in str(outcome.problem)
    server.manifest, server.trouble = manifest_path(made[NEW]), Trouble.NONE
    clock.now += 31
    outcome = pulled.refresh()
    assert outcome.changed
    assert outcome.problem is None
    assert outcome.info is not None
    assert outcome.info.artifact_id == NEW
    store.close()


def test_without_any_artifact_the_server_explains_why(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path / "here")
    outcome = PulledStore(store, RemoteArtifacts("http://127.0.0.1:9/x", tmp_path / "here")).refresh()

    assert "cannot be reached" in str(outcome.problem)


async def test_a_bot_on_another_machine_serves_what_the_builder_uploads(tmp_path: Path) -> None:
    """The seam in the composition root: an empty folder and a URL are enough."""
    artifact = build_archive(tmp_path / "builder")
    with ArtifactServer(artifact.parent, manifest_path(artifact)) as server:
        async with running_bot(tmp_path / "bot", artifact_url=server.url) as office:
            answer = await office.ask("rate limit 429 mode:lexical")
            server.trouble = Trouble.MANIFEST_503
            state = await office.bot.services.watch.check()

    assert "rate limit 429" in answer.plain_text
    assert state.info is not None
    assert "HTTP status 503" in str(state.problem)


def test_the_url_must_be_one(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="it must start with https"):
        Settings.of(slack_bot_token="xoxb-test", slack_app_token="xapp-test", artifact_url="ftp://store.test/x")


def test_a_plain_web_server_over_the_builders_folder_is_enough(made: dict[str, Path], tmp_path: Path) -> None:
    builder = tmp_path / "builder"
    publish(builder, made[OLD])
    with ArtifactServer(builder, builder / "current.manifest.json") as server:
        remote = RemoteArtifacts(server.url, tmp_path / "bot")
        assert remote.pull() is None
        publish(builder, made[NEW])
        assert remote.pull() is None

    assert current(tmp_path / "bot") == NEW
