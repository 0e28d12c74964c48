"""slackquery's Slack surface: the Bolt app, its rules, and the command line."""
