"""Documents, pages and views to render in tests, and a gallery of every kind of answer."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from bot.action_state import (
    ExpiredStateError,
    ForeignStateError,
    ForgedStateError,
    Judged,
    OldStateError,
    PageReference,
    PageState,
)
from bot.blocks import ResultsView, render_results
from bot.buttons import Signer
from bot.elements import Block, RenderedMessage
from bot.message_blocks import error_view, loading_view, not_found_view, thread_view
from bot.more_blocks import MoreView, render_more
from bot.share_blocks import SharedHit, ShareQuestion, render_question, render_shared
from bot.status_blocks import (
    ArchiveSize,
    StatusView,
    render_help,
    render_sentence,
    render_state_error,
    render_status,
    render_usage,
)
from bot.store_records import Verdict
from bot.texts import sentence_for
from bot.thread_blocks import ContextView, ThreadView, render_context, render_thread
from retrieval.errors import UnknownNameError
from retrieval.models import (
    Contribution,
    Document,
    DocumentKind,
    Hit,
    MessageContext,
    Mode,
    QueryClass,
    ResultPage,
    Retriever,
    SearchRequest,
    Thread,
)

SECRET = b"test-secret-of-the-block-examples"
USER, TEAM = "U0ADA", "T0ACME"
NOON_US = 1_772_539_200_000_000  # 2026-03-03 12:00 UTC
NOON_S = NOON_US // 1_000_000
WORKSPACE_URL = "https://acme.example.test/"
HERE = PageReference(command="rate limit 429 in:#payments", timezone="Europe/Berlin", now_s=NOON_S)

HOSTILE = "<!channel> <@U1> &lt;@U2&gt; <https://evil|docs>"
FAMILY = "👨‍👩‍👧‍👦"
HEBREW = "שלום עולם, הבקשה נכשלה עם 429"


def make_signer() -> Signer:
    return Signer(secret=SECRET, user_id=USER, team_id=TEAM, expires_s=NOON_S + 1800)


def make_document(number: int = 1, text: str = "The partner tier answers 429.", **changes: Any) -> Document:
    values: dict[str, Any] = {
        "document_id": f"{TEAM}:C0PAY:{NOON_S}.{number:06d}",
        "document_kind": DocumentKind.MESSAGE,
        "workspace_id": TEAM,
        "workspace_name": "Acme",
        "channel_id": "C0PAY",
        "channel_name": "payments",
        "author_id": "U0MARA",
        "author_name": "Mara Lind",
        "ts_us": NOON_US + number,
        "thread_id": f"{TEAM}:C0PAY:{NOON_S}.000001",
        "thread_root_id": None,
        "is_thread_parent": number == 1,
        "is_thread_reply": number > 1,
        "is_thread_broadcast": False,
        "text": text,
        "permalink": f"https://acme.example.test/archives/C0PAY/p{NOON_S}{number:06d}",
        "thread_size": 13,
    }
    return Document(**(values | changes))


def make_empty_document(number: int = 1) -> Document:
    """A row of an artifact that lacks everything it may lack."""
    return make_document(
        number,
        text="",
        channel_name=None,
        author_id=None,
        author_name=None,
        permalink=None,
        thread_id=None,
        thread_size=0,
        workspace_name=None,
        channel_id="dir:old",
    )


def make_hit(document: Document, rank: int = 1, *, more_in_thread: int = 0) -> Hit:
    contributions = tuple(
        Contribution(retriever=retriever, rank=place, score=0.123456, weight=1.0, value=1 / (60 + place))
        for retriever, place in ((Retriever.LEXICAL, 1), (Retriever.SEMANTIC, 4), (Retriever.EXACT, 1))
    )
    return Hit(
        document=document,
        rank=rank,
        score=0.0321,
        contributions=contributions,
        more_in_thread=more_in_thread,
    )


def make_page(documents: Sequence[Document], **changes: Any) -> ResultPage:
    offset = changes.get("offset", 0)
    values: dict[str, Any] = {
        "request": SearchRequest(text="rate limit 429", limit=5),
        "route": QueryClass.EXACT,
        "weights": {"lexical": 1.0},
        "artifact_id": "20260303T110000Z-aaaaaaaa-bbbbbbbb",
        "generation_id": "test-model",
        "built_at_us": NOON_US - 12 * 60_000_000,
        "hits": tuple(make_hit(one, offset + rank) for rank, one in enumerate(documents, start=1)),
        "offset": 0,
        "next_cursor": None,
        "previous_cursor": None,
        "terms": ("rate", "limit", "429"),
    }
    return ResultPage(**(values | changes))


def make_view(documents: Sequence[Document], **changes: Any) -> ResultsView:
    page_fields = set(ResultPage.__dataclass_fields__)
    page = make_page(documents, **{key: value for key, value in changes.items() if key in page_fields})
    values: dict[str, Any] = {
        "page": page,
        "here": HERE,
        "understood": "rate limit 429 in #payments",
        "now_us": NOON_US,
        "signer": make_signer(),
        "cursor_at": lambda offset: f"cursor-at-{offset}",
        "workspace_url": WORKSPACE_URL,
    }
    return ResultsView(**(values | {key: value for key, value in changes.items() if key not in page_fields}))


def make_thread(count: int = 10, *, offset: int = 0, total: int = 34, **changes: Any) -> Thread:
    messages = tuple(make_document(offset + number, f"Message {offset + number}.") for number in range(1, count + 1))
    values: dict[str, Any] = {
        "thread_id": f"{TEAM}:C0PAY:{NOON_S}.000001",
        "root": make_document(1, "Message 1."),
        "messages": messages,
        "offset": offset,
        "total": total,
    }
    return Thread(**(values | changes))


def make_context() -> MessageContext:
    return MessageContext(
        message=make_document(50, "Which key does the retry use?"),
        before=tuple(make_document(number, f"Before {number}.") for number in range(40, 50)),
        after=tuple(make_document(number, f"After {number}.") for number in range(51, 61)),
    )


def difficult_documents() -> list[Document]:
    """What has broken other bots: see faults B33, B34, B35 and B42."""
    return [
        make_document(1, "long words about 429 " * 2_000),
        make_document(2, "&" * 1_000),
        make_document(3, "before\n```\nlimit = 429\n\treturn limit\n```\nafter `inline`\n> quoted 429\nend"),
        make_document(4, HEBREW, author_name="מיכל", channel_name="תמיכה"),
        make_document(5, FAMILY * 120),
        make_document(6, HOSTILE, author_name="<!channel> *bold* _x_ `y`", channel_name="<@U1>"),
        make_empty_document(7),
        make_document(8, "```" + "x" * 40_000),
        make_document(9, "\u202egnp.exe\u0000\x1b[31m \ud800 e" + "\u0301" * 500),
        make_document(10, "429 :tada: 10:30:45 :not_an_emoji_name: https://acme.example.test/a?b=c&d=e"),
        make_document(
            11,
            "tail of a file with 429",
            document_kind=DocumentKind.FILE_CHUNK,
            metadata={"files": [{"name": "limits & quotas.md"}]},
        ),
        make_document(12, "odd link", permalink="javascript:alert(1)"),
        make_document(13, "odd time 429", ts_us=-5),
    ]


JUDGED = Judged(
    query_key="0" * 24,
    text="rate limit 429",
    understood="rate limit 429 in #payments",
    command=HERE.command,
    mode="hybrid",
    rank=3,
    artifact_id="20261130T120000Z-00000000-00000000",
)


def more_view(document: Document, **changes: Any) -> MoreView:
    """Return what a redrawn hit shows."""
    values: dict[str, Any] = {
        "document": document,
        "signer": make_signer(),
        "workspace_name": "Acme & <Sons>",
        "back": HERE,
        "judged": JUDGED,
        "workspace_url": WORKSPACE_URL,
    }
    return MoreView(**(values | changes))


def shared_hit(document: Document) -> SharedHit:
    """Return what would be posted of a document, by somebody whose name is meant to ping."""
    link = "https://acme.example.test/archives/C0PAY/p1760000000000100"
    return SharedHit(document=document, permalink=link, sharer="<!here> @channel *Eve*", built_at_us=NOON_US)


def question(document: Document) -> ShareQuestion:
    """Return the question before that is posted."""
    return ShareQuestion(
        hit=shared_hit(document),
        channel_id="C0PAY",
        channel_name="<!channel>",
        nonce="0" * 12,
        signer=make_signer(),
        back=HERE,
        judged=JUDGED,
    )


@cache
def messages() -> dict[str, RenderedMessage]:
    """Every kind of message the renderers make, by a name for test ids."""
    difficult = difficult_documents()
    signer = make_signer()
    page_state = PageState(user_id=USER, team_id=TEAM, expires_s=NOON_S, page=HERE)
    thread = make_thread(10, offset=10)
    marked = thread.messages[3].document_id
    return {
        "results": render_results(make_view(difficult[:5], next_cursor="c" * 120)),
        "results with more": render_results(make_view(difficult[5:10], with_more=True, offset=5)),
        "results of odd rows": render_results(make_view(difficult[8:], degraded=True)),
        "results with warnings": render_results(
            make_view(difficult[:2], warnings=("Keyword results only.",), notices=("The archive was renewed.",))
        ),
        "no results": render_results(make_view([])),
        "end of results": render_results(make_view([], offset=15)),
        "thread": render_thread(ThreadView(thread=thread, marked_id=marked, signer=signer, back=HERE)),
        "thread of difficult messages": render_thread(
            ThreadView(
                thread=replace(make_thread(), messages=tuple(difficult[:10]), root=None),
                marked_id=difficult[4].document_id,
                signer=signer,
            )
        ),
        "empty thread": render_thread(
            ThreadView(thread=make_thread(0, total=0, root=None), marked_id=None, signer=signer, back=HERE)
        ),
        "context": render_context(ContextView(context=make_context(), signer=signer, back=HERE)),
        **{f"hit {document.document_id[-3:]}": render_more(more_view(document)) for document in difficult},
        "hit that was voted on": render_more(
            more_view(difficult[0], present=Verdict.GOOD, notices=("Thank you & <more>.",), may_share=True)
        ),
        "hit without votes": render_more(more_view(difficult[2], judged=None, is_cut=True, back=None)),
        **{f"shared {document.document_id[-3:]}": render_shared(shared_hit(document)) for document in difficult},
        **{f"question {document.document_id[-3:]}": render_question(question(document)) for document in difficult},
        "help": render_help(),
        "usage": render_usage(),
        "usage with a reason": render_usage("There is nothing to search for in that."),
        "status": render_status(StatusView(built_at_us=NOON_US, now_us=NOON_US, modes=tuple(Mode))),
        "status for admins": render_status(
            StatusView(
                built_at_us=NOON_US - 10**12,
                now_us=NOON_US,
                modes=(Mode.LEXICAL,),
                size=ArchiveSize(documents=120_178, vectors=118_000, file_bytes=734_003_200, artifact_id="a-b-c"),
                notices=("The archive is being replaced.",),
            )
        ),
        "status without an archive": render_status(StatusView(built_at_us=None, now_us=NOON_US, modes=())),
        "sentence": render_sentence("Guests & <guests>.", notes=["A note."]),
        "unknown name": render_sentence(
            sentence_for(UnknownNameError(kind="channel", name="<!here>", suggestions=["payments"]))
        ),
        "unforeseen": render_sentence(sentence_for(KeyError("secret path"))),
        "forged": render_state_error(ForgedStateError(), signer=signer, now_s=NOON_S),
        "old": render_state_error(OldStateError(version="v0"), signer=signer, now_s=NOON_S),
        "foreign": render_state_error(ForeignStateError(), signer=signer, now_s=NOON_S),
        "expired": render_state_error(ExpiredStateError(state=page_state), signer=signer, now_s=NOON_S),
    }


@cache
def views() -> dict[str, Block]:
    """Every kind of modal, by a name for test ids."""
    difficult = tuple(difficult_documents()[:10])
    return {
        "loading": loading_view(),
        "thread and neighbours": thread_view(
            thread=make_thread(10, offset=10),
            context=make_context(),
            marked_id=make_context().message.document_id,
            signer=make_signer(),
            workspace_url=WORKSPACE_URL,
        ),
        "difficult thread": thread_view(
            thread=replace(make_thread(), messages=difficult),
            context=None,
            marked_id=difficult[0].document_id,
            signer=make_signer(),
        ),
        "neighbours alone": thread_view(
            thread=None, context=make_context(), marked_id=None, signer=make_signer(), workspace_url=None
        ),
        "nothing": thread_view(thread=None, context=None, marked_id=None, signer=make_signer()),
        "not found": not_found_view(),
        "error": error_view("Slack did not answer."),
    }
