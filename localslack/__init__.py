"""A loopback Slack: Web API, Socket Mode and a page, for the demo and the tests.

Nothing here was ever compared with the real Slack. It was written from Slack's public documentation,
the sources of the official SDKs and reports of what people saw; where those are silent it follows the
stricter guess. What passes here is likely right there, which is all that can be claimed.

It listens on 127.0.0.1 only, keeps everything in memory, and is never part of what `slackquery serve`
runs. Start it with ``localslack.server.LocalSlack`` and act as a person through
``LocalSlack.person(user_id)`` (``localslack.driver.Person``).
"""
