"""Tests of slackquery."""
