"""Builds artifacts from Slack exports and slackdump archives; never imported while serving."""

from retrieval.builder.build import BuildResult, build_artifact
from retrieval.builder.progress import Advance, Progress, SilentProgress
from retrieval.builder.report import BuildReport, Problem, Unreadable
from retrieval.builder.workspace import WorkspaceIdentity
from retrieval.embedding import DocumentEmbedder

__all__ = [
    "Advance",
    "BuildReport",
    "BuildResult",
    "DocumentEmbedder",
    "Problem",
    "Progress",
    "SilentProgress",
    "Unreadable",
    "WorkspaceIdentity",
    "build_artifact",
]
