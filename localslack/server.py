"""The stand-in as one object: start it, point the bot at it, act as people, look at what happened.

Use::

    async with LocalSlack(workspace, manifest, port=0) as slack:
        settings: SLACK_API_URL=slack.api_url, SLACK_BOT_TOKEN=slack.bot_token, SLACK_APP_TOKEN=slack.app_token
        ada = slack.person("U1")
        outcome = await ada.type("/slackquery rate limit", channel="C1")
        answer = await ada.wait_for_message("C1", lambda seen: "rate limit" in seen.plain_text)
        await ada.click(answer, text="Next")
        assert slack.recorder.notifications == []

Public shape (being filled in; names will stay)::

    class LocalSlack:                       # async context manager
        def __init__(self, workspace: Workspace, manifest: Mapping, *, clock=time.time, port=0,
                     ack_seconds=3.0, event_retry_seconds=(4.0, 60.0, 300.0), page_token=None,
                     rate_limits=False, message_blocks_chars=12_000, record_to: Path | None = None,
                     extend: Sequence[Callable[[aiohttp.web.Application, LocalSlack], None]] = ())
        # `extend` functions add routes before the server starts (page_routes.add_page_routes(app, slack)).
        workspace: Workspace; world: World; recorder: Recorder; faults: Faults; clock
        url -> "http://127.0.0.1:PORT"      api_url -> url + "/api/"        port -> int
        bot_token, app_token, page_token    # str; page_token guards the page's own routes
        def person(user_id) -> Person       # the same object for the same user, every time
        def changes(user_id) -> AsyncIterator[Change]      # a live feed of what this person now sees differently
        async def start(); async def stop()
        async def wait_connected(count=1, *, timeout=10.0) # until the bot's Socket Mode is up
        connections -> int
        # membership and channel changes; each also sends the events the manifest subscribes to
        async def join(channel_id, user_id); leave(channel_id, user_id); archive(channel_id);
        unarchive(channel_id); rename(channel_id, name); make_private(channel_id); share(channel_id);
        unshare(channel_id); delete_channel(channel_id); create_channel(channel: Channel); change_user(user_id, **fields)
        # faults
        def fault(kind: FaultKind | str, *, method="*", times=1, seconds=0.0, retry_after=30) -> None
        async def disconnect(reason="refresh_requested"); close_frame(); fin(); rst()

    @dataclass(frozen=True)
    class Change:                           # localslack.changes
        kind: "message" | "message_changed" | "message_deleted" | "ephemeral" | "view" | "home" | "channel" | "error" | "reload"
        channel_id: str | None; ts: str | None; view_id: str | None
"""
