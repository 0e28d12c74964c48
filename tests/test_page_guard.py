"""The page's door: token, Host, Origin, headers, files."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from localslack import page_files
from localslack.page_guard import SOCKET_PROTOCOL, PageGuard

TOKEN = "page-test-token"


@pytest.fixture
async def door() -> AsyncIterator[TestServer]:
    """A server with the page's files, one guarded answer and one guarded socket."""
    server: TestServer

    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.json_response({"ok": True})

    async def feed(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=[SOCKET_PROTOCOL])
        await socket.prepare(request)
        await socket.send_str("open")
        await socket.close()
        return socket

    guard = PageGuard(token=TOKEN, port=lambda: server.port or 0)
    app = web.Application()
    app.router.add_get("/", guard.wrap(page_files.serve_index, needs_token=False))
    app.router.add_route("*", "/page/api/thing", guard.wrap(answer, needs_token=True))
    app.router.add_get("/page/api/live", guard.wrap(feed, needs_token=True))
    app.router.add_get("/page/{path:.+}", guard.wrap(page_files.serve_file, needs_token=False))
    server = TestServer(app, host="127.0.0.1")
    await server.start_server()
    yield server
    await server.close()


async def ask(
    door: TestServer, path: str = "/page/api/thing", *, method: str = "GET", headers: Mapping[str, str] | None = None
) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, door.make_url(path), headers=headers or {}) as response,
    ):
        return response.status, await response.text()


def good(door: TestServer, **changes: str) -> dict[str, str]:
    origin = f"http://127.0.0.1:{door.port}"
    return {"Authorization": f"Bearer {TOKEN}", "Origin": origin} | {k.replace("_", "-"): v for k, v in changes.items()}


async def test_token_opens_api(door: TestServer) -> None:
    status, _ = await ask(door, headers=good(door))

    assert status == 200


@pytest.mark.parametrize("value", ["", "Bearer ", "Bearer other", f"Basic {TOKEN}", "Bearer å"])
async def test_wrong_token_refused(door: TestServer, value: str) -> None:
    status, text = await ask(door, headers={"Authorization": value})

    assert status == 401
    assert "token" in text


async def test_token_in_query_does_not_open_api(door: TestServer) -> None:
    status, _ = await ask(door, f"/page/api/thing?token={TOKEN}")

    assert status == 401


@pytest.mark.parametrize(
    "host", ["evil.example:{port}", "127.0.0.1", "localhost:1", "127.0.0.1.evil.example:{port}", ""]
)
async def test_wrong_host_refused_even_for_files(door: TestServer, host: str) -> None:
    headers = good(door) | {"Host": host.format(port=door.port)}
    del headers["Origin"]

    for path in ("/", "/page/js/main.js", "/page/api/thing"):
        status, _ = await ask(door, path, headers=headers)
        assert status in {400, 403}, path


async def test_localhost_is_a_name_of_the_page(door: TestServer) -> None:
    here = f"localhost:{door.port}"

    status, _ = await ask(door, headers=good(door, Host=here, Origin=f"http://{here}"))

    assert status == 200


@pytest.mark.parametrize("origin", ["http://127.0.0.1:1", "https://127.0.0.1:{port}", "http://evil.example", "null"])
async def test_other_origin_refused(door: TestServer, origin: str) -> None:
    status, _ = await ask(door, headers=good(door, Origin=origin.format(port=door.port)))

    assert status == 403


async def test_post_without_origin_refused(door: TestServer) -> None:
    status, _ = await ask(door, method="POST", headers={"Authorization": f"Bearer {TOKEN}"})

    assert status == 403


async def test_other_site_refused(door: TestServer) -> None:
    status, _ = await ask(door, headers=good(door, Sec_Fetch_Site="same-site"))

    assert status == 403


async def test_index_has_strict_headers(door: TestServer) -> None:
    async with aiohttp.ClientSession() as session, session.get(door.make_url("/")) as response:
        headers = response.headers
        policy = headers["Content-Security-Policy"]

    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Content-Type-Options"] == "nosniff"


async def test_refusal_has_strict_headers_too(door: TestServer) -> None:
    async with aiohttp.ClientSession() as session, session.get(door.make_url("/page/api/thing")) as response:
        assert response.status == 401
        assert "Content-Security-Policy" in response.headers


async def test_index_holds_no_inline_script_or_style(door: TestServer) -> None:
    _, text = await ask(door, "/")

    assert "<script>" not in text
    assert "style=" not in text
    assert "onclick" not in text
    assert "http://" not in text
    assert "https://" not in text


@pytest.mark.parametrize("path", ["/page/..%2fpage_guard.py", "/page/js/none.js", "/page/js", "/page/%2e%2e/server.py"])
async def test_only_page_files_are_served(door: TestServer, path: str) -> None:
    status, _ = await ask(door, path)

    assert status == 404


async def test_script_has_its_type(door: TestServer) -> None:
    async with aiohttp.ClientSession() as session, session.get(door.make_url("/page/js/main.js")) as response:
        assert response.content_type == "text/javascript"


async def open_socket(door: TestServer, protocols: tuple[str, ...], headers: Mapping[str, str]) -> str:
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(door.make_url("/page/api/live"), protocols=protocols, headers=headers) as socket,
    ):
        return str((await socket.receive()).data)


async def test_socket_opens_with_token_and_origin(door: TestServer) -> None:
    headers = {"Origin": f"http://127.0.0.1:{door.port}"}

    assert await open_socket(door, (SOCKET_PROTOCOL, f"token.{TOKEN}"), headers) == "open"


@pytest.mark.parametrize(
    ("protocols", "origin"),
    [
        ((SOCKET_PROTOCOL,), "http://127.0.0.1:{port}"),
        ((SOCKET_PROTOCOL, "token.other"), "http://127.0.0.1:{port}"),
        ((SOCKET_PROTOCOL, f"token.{TOKEN}"), "http://evil.example"),
        ((SOCKET_PROTOCOL, f"token.{TOKEN}"), ""),
    ],
)
async def test_socket_refused(door: TestServer, protocols: tuple[str, ...], origin: str) -> None:
    headers = {"Origin": origin.format(port=door.port)} if origin else {}

    with pytest.raises(aiohttp.WSServerHandshakeError):
        await open_socket(door, protocols, headers)


def test_emoji_names_of_slack_have_characters() -> None:
    names = page_files.emoji_names()

    assert names["tada"] == "🎉"
    assert names["+1"] == names["thumbsup"]
    assert "large_green_circle" in names


@pytest.mark.parametrize("sink", ["innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "DOMParser"])
def test_page_scripts_never_parse_markup(sink: str) -> None:
    """Text of messages becomes text nodes; the policy's Trusted Types would stop the rest, this finds it earlier."""
    scripts = sorted((page_files.PAGE_FOLDER / "js").glob("*.js"))

    assert scripts
    assert [path.name for path in scripts if sink in path.read_text(encoding="utf-8")] == []


def test_page_names_no_other_machine() -> None:
    """The only addresses in the page's files are the SVG namespace and none that a browser would fetch."""
    found = {
        address
        for path in page_files.PAGE_FOLDER.rglob("*")
        if path.is_file()
        for address in re.findall(r"https?://[\w.]+", path.read_text(encoding="utf-8"))
    }

    assert found <= {"http://www.w3.org"}
