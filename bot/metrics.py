"""Prometheus metrics. No label holds a user's id, a query or a message: only fixed words and ids of archives."""

from collections.abc import Callable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from bot.audit import AuditEntry, AuditEvent

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_SEARCHES: Final = (AuditEvent.SEARCH, AuditEvent.PAGE, AuditEvent.SIMILAR)
_NONE: Final = "none"


class Metrics:
    """The bot's figures, each with what it means as its help text. Thread-safe.

    One process's figures; those that are read elsewhere are asked for when somebody looks (`watch`).
    """

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._searches = self._counter(
            "slackquery_searches", "Pages of results answered.", "event", "mode", "route", "outcome"
        )
        self._seconds = self._histogram("slackquery_search_seconds", "From the ack to the rendered answer.", "mode")
        self._stages = self._histogram("slackquery_stage_seconds", "Parts of that time.", "stage")
        self._degraded = self._counter(
            "slackquery_degraded", "Answers by keywords alone because the query's vector was missed.", "mode"
        )
        self._events = self._counter("slackquery_events", "Entries for the audit file by kind.", "event")
        self._refused = self._counter("slackquery_refused", "People or presses that were refused.", "reason")
        self._errors = self._counter("slackquery_errors", "Requests that ended in an error.", "reason")
        self._swaps = self._counter("slackquery_swaps", "Archives that were swapped in.")
        self._acks = self._histogram("slackquery_ack_seconds", "From an envelope's arrival to its ack.", "type")
        self._connections = self._counter(
            "slackquery_connections", "Connections that Slack greeted; the first included."
        )
        self._embedding = self._counter(
            "slackquery_embedding_failures", "Query vectors that were not to be had.", "reason"
        )

        self._archive = Gauge(
            "slackquery_artifact", "1 for the archive that serves.", ["artifact_id"], registry=self._registry
        )
        self._documents = Gauge("slackquery_artifact_documents", "Documents that it holds.", registry=self._registry)
        self._vectors = Gauge("slackquery_artifact_vectors", "Vectors that it holds.", registry=self._registry)

    def count(self, entry: AuditEntry) -> None:
        """Count one entry of the journal."""
        self._events.labels(entry.event.value).inc()
        if entry.event in _SEARCHES:
            self._count_search(entry)
        elif entry.event is AuditEvent.REFUSED:
            self._refused.labels(entry.reason or _NONE).inc()
        elif entry.event is AuditEvent.ERROR:
            self._errors.labels(entry.reason or _NONE).inc()
        elif entry.event is AuditEvent.SWAP:
            self._swaps.inc()

    def _count_search(self, entry: AuditEntry) -> None:
        mode = entry.mode or _NONE
        outcome = "hits" if entry.hits else "no_hit"
        self._searches.labels(entry.event.value, mode, entry.route or _NONE, outcome).inc()
        if entry.degraded:
            self._degraded.labels(mode).inc()
        for stage, spent_ms in entry.timings_ms.items():
            if stage == "total":
                self._seconds.labels(mode).observe(spent_ms / 1000)
            else:
                self._stages.labels(stage).observe(spent_ms / 1000)

    def acked(self, envelope_type: str, seconds: float) -> None:
        """Count an envelope that was acked."""
        self._acks.labels(envelope_type).observe(seconds)

    def connected(self) -> None:
        """Count a connection."""
        self._connections.inc()

    def embedding_failed(self, reason: str) -> None:
        """Count a query's vector that was not to be had, by the error's name."""
        self._embedding.labels(reason).inc()

    def watch(self, name: str, meaning: str, read: Callable[[], float]) -> None:
        """Show a figure that is read anew whenever somebody looks.

        Args:
            name: Without the prefix `slackquery_`.
            meaning: Its help text.
            read: Gives it; called in the thread of whoever looks.
        """
        Gauge(f"slackquery_{name}", meaning, registry=self._registry).set_function(read)

    def serve_archive(self, artifact_id: str, *, documents: int, vectors: int) -> None:
        """Show which archive serves, in the place of the one before."""
        self._archive.clear()
        self._archive.labels(artifact_id).set(1)
        self._documents.set(documents)
        self._vectors.set(vectors)

    def render(self) -> bytes:
        """Return all figures in Prometheus's text format, version 0.0.4."""
        return generate_latest(self._registry)

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(name, meaning, labels, registry=self._registry)

    def _histogram(self, name: str, meaning: str, *labels: str) -> Histogram:
        return Histogram(name, meaning, labels, registry=self._registry, buckets=_SECONDS)
