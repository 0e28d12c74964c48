"""What is sent to Slack goes over connections that stay open."""

from pathlib import Path

from aiohttp import web

from bot.app import start_bot
from localslack.server import LocalSlack
from tests.bot_harness import ADA, GENERAL, MANIFEST, bot_settings, eventually, workspace

SEARCHES = 5


async def test_answers_share_a_connection(tmp_path: Path) -> None:
    sources: list[object] = []

    def attach(application: web.Application, _slack: LocalSlack) -> None:
        async def note(request: web.Request, _response: web.StreamResponse) -> None:
            if request.path.startswith("/commands/"):
                assert request.transport is not None
                sources.append(request.transport.get_extra_info("peername"))

        application.on_response_prepare.append(note)

    async with LocalSlack(workspace(), MANIFEST, extend=(attach,)) as slack:
        bot = await start_bot(bot_settings(slack, tmp_path / "archive"))
        try:
            await slack.wait_connected()
            person = slack.person(ADA)
            for _ in range(SEARCHES):
                await person.type("/slackquery help", channel=GENERAL)
                await eventually(lambda: bot.services.guard.running == 0)
            session = bot.services.client.session
        finally:
            await bot.stop()

    assert len(sources) == SEARCHES
    assert len(set(sources)) == 1
    assert session is not None
    assert session.closed, "stopping closes what it opened"
