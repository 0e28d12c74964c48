"""The faults of the matrix: what goes wrong, while who asks.

Each case is a coroutine that breaks something, lets people ask meanwhile, mends it, and says `cleared`. Everything
else, the counting, the judging and the wait for recovery, is the same for all and stands in `fault_matrix`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from benchmarks import faults_inside as inside
from benchmarks import faults_outside as outside
from benchmarks.fault_scene import Run


@dataclass(frozen=True, kw_only=True)
class Case:
    """One fault.

    Attributes:
        area: What breaks: Slack, socket, embedding, archive, machine or load.
        bots: Processes that run when it begins.
        settings: The bot's, beside the usual ones.
        own_start: Whether the case starts the bot itself.
    """

    area: str
    name: str
    run: Run
    bots: int = 1
    settings: Mapping[str, str] = field(default_factory=dict)
    own_start: bool = False


CASES: Final[tuple[Case, ...]] = (
    *(Case(area="Slack", name=name, run=run) for name, run in outside.SLACK),
    Case(area="Slack", name="auth.test takes 5 s at the start", run=outside.slow_start, own_start=True),
    *(Case(area="socket", name=name, run=run) for name, run in outside.SOCKET),
    Case(
        area="socket",
        name="RST, and Slack's name cannot be looked up three times",
        run=outside.lookups_fail,
        own_start=True,
    ),
    *(Case(area="embedding", name=name, run=run) for name, run in outside.EMBEDDING),
    Case(area="embedding", name="is gone, its port closed", run=outside.service_gone, own_start=True),
    *(Case(area="archive", name=name, run=run) for name, run in inside.ARCHIVE),
    Case(area="archive", name="there is none at the start", run=inside.no_archive_at_start, own_start=True),
    *(Case(area="machine", name=name, run=run) for name, run in inside.MACHINE),
    Case(
        area="machine",
        name="DuckDB may use 64 MB, and nothing is kept in memory",
        run=partial(inside.at_once, 20),
        settings={"SLACKQUERY_MEMORY_MB": "64", "SLACKQUERY_RESIDENT_MB": "0"},
    ),
    Case(area="machine", name="10 GB of log and of audit file", run=inside.huge_logs, own_start=True),
    Case(area="machine", name="full disk: log, audit file and small store", run=inside.full_disk, own_start=True),
    Case(area="load", name="50 ask at once", run=partial(inside.at_once, 50)),
    Case(area="load", name="200 ask at once", run=partial(inside.at_once, 200)),
    Case(
        area="load",
        name="60 ask at once, room for 10",
        run=partial(inside.at_once, 60),
        settings={"SLACKQUERY_WORKERS": "2", "SLACKQUERY_QUEUE_LIMIT": "8"},
    ),
    Case(area="load", name="one asks twelve times at once", run=inside.one_greedy),
    Case(area="load", name="SIGTERM while forty ask", run=inside.terminated),
    Case(area="load", name="two processes, SIGTERM for one", run=inside.one_of_two_terminated, bots=2),
    Case(area="load", name="two processes, every envelope twice", run=inside.two_share, bots=2),
)
