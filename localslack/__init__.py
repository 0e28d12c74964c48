"""A loopback Slack: Web API, Socket Mode and a page, for the demo and the tests.

Nothing here was ever compared with the real Slack. It was written from Slack's public documentation,
the sources of the official SDKs and reports of what people saw; where those are silent it follows the
stricter guess. What passes here is likely right there, which is all that can be claimed. Guesses are:

- the status and body of a response URL's errors (404 ``used_url``, ``expired_url``, ``no_service``; 400
  with the Web API's error name for unacceptable content), and that refused answers count as uses;
- that ``replace_original`` on a command's response URL posts a new message, and that replacing a message
  that is gone is accepted and does nothing;
- how ``msg_blocks_too_long`` is counted (here: the readable characters of all blocks);
- ``access_denied`` for apps.connections.open while the manifest leaves Socket Mode off;
- that views.open while a modal is open takes its place;
- that joins and leaves are told only for channels that the bot is in;
- which team the payload of an external member's click names (here: that member's own);
- that text blocks of every kind in ephemeral messages notify like those of others.

Left out, with an error or not at all: attachments, files, user groups, ``external_select`` suggestions,
Enterprise Grid, workflow steps, threads' "also send to channel".

It listens on 127.0.0.1 only, keeps everything in memory, and is never part of what `slackquery serve`
runs. Start it with ``localslack.server.LocalSlack`` and act as a person through
``LocalSlack.person(user_id)`` (``localslack.driver.Person``).
"""
