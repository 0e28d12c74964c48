"""Make artifacts from Slack exports and archives; never imported while serving."""
