"""A loopback Slack: Web API, Socket Mode and a page, for the demo and the tests."""
