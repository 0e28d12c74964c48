"""A Block Kit validator with Slack's limits, allowed types and unknown-key rules.

Limits come from docs.slack.dev/reference/block-kit and the type comments of @slack/types 3.2.0. Where
the two differ, or where Slack is silent, the stricter reading is taken. Public entry points are
``localslack.blockkit.check.check_message_blocks`` and ``check_view``.
"""
