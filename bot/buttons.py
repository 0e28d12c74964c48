"""The buttons under an answer: their action ids, and what signs their state."""

from dataclasses import dataclass
from typing import Final, Literal, TypedDict, TypeVar

from bot.action_state import (
    AdminPage,
    AdminState,
    ClearRecentsState,
    ContextState,
    Judged,
    MoreState,
    NewSearchState,
    PageReference,
    PageState,
    RecentState,
    ShareState,
    State,
    StateTooLargeError,
    ThreadState,
    VoteState,
    encode_state,
)
from bot.store_records import Verdict

NEXT_ACTION: Final = "results_next"
PREVIOUS_ACTION: Final = "results_previous"
BACK_ACTION: Final = "results_back"
AGAIN_ACTION: Final = "results_again"
THREAD_ACTION: Final = "thread_expand"
EARLIER_ACTION: Final = "thread_earlier"
LATER_ACTION: Final = "thread_later"
CONTEXT_ACTION: Final = "context_show"
MORE_ACTION: Final = "hit_more"
GOOD_ACTION: Final = "vote_good"
NOT_RELEVANT_ACTION: Final = "vote_not_relevant"
SHARE_ACTION: Final = "share_ask"
SHARE_CONFIRM_ACTION: Final = "share_confirm"
SHARE_CANCEL_ACTION: Final = "share_cancel"
NEW_SEARCH_ACTION: Final = "search_new"
OPEN_FORM_ACTION: Final = "search_open_form"
"""Opens the search form; it carries a `NewSearchState` to begin with, or nothing."""

SIMILAR_ACTION: Final = "hit_similar"
RECENT_ACTION: Final = "recent_search"
CLEAR_RECENTS_ACTION: Final = "recents_clear"
HOME_SEARCH_ACTION: Final = "home_search"
HOME_TEXT_ACTION: Final = "home_text"
HOME_FORM_ACTION: Final = "home_form"
HOME_RECENT_ACTION: Final = "home_recent_search"
HOME_CLEAR_ACTION: Final = "home_recents_clear"
ADMIN_ACTIONS: Final = {"summary": "admin_summary", "events": "admin_events", "served": "admin_served"}
ADMIN_NEWER_ACTION: Final = "admin_newer"
ADMIN_OLDER_ACTION: Final = "admin_older"
OPEN_ACTION: Final = "open_in_slack"
"""A link button: its press is only acked."""

PAGE_ACTIONS: Final = (NEXT_ACTION, PREVIOUS_ACTION, BACK_ACTION, AGAIN_ACTION, SIMILAR_ACTION)
"""All of these carry a `PageState`."""

THREAD_ACTIONS: Final = (THREAD_ACTION, EARLIER_ACTION, LATER_ACTION)
"""All of these carry a `ThreadState`."""

HIT_ACTIONS: Final = (
    MORE_ACTION,
    GOOD_ACTION,
    NOT_RELEVANT_ACTION,
    SHARE_ACTION,
    SHARE_CONFIRM_ACTION,
    SHARE_CANCEL_ACTION,
)
"""All of these carry a `MoreState`, a `VoteState` or a `ShareState`."""

HitStateT = TypeVar("HitStateT", MoreState, ShareState)


class _Owner(TypedDict):
    user_id: str
    team_id: str
    expires_s: int
    search_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """Makes the values of one answer's buttons: for one person, until one moment.

    Attributes:
        secret: The signing key.
        user_id: Who may press.
        team_id: Their workspace.
        expires_s: Unix seconds from which the buttons no longer work.
        search_id: The request id of the command that is answered; left out of a button that would not hold it.
    """

    secret: bytes
    user_id: str
    team_id: str
    expires_s: int
    search_id: str | None = None

    def page(self, page: PageReference) -> str:
        """Return the value that shows that page.

        Raises:
            StateTooLargeError: The search is too long for a button.
        """
        state = PageState(**self._owner, page=page)
        return self._encode(state)

    def thread(
        self,
        thread_id: str,
        document_id: str | None,
        *,
        offset: int | None = None,
        back: PageReference | None = None,
    ) -> str:
        """Return the value that shows that part of a thread; without the way back where that does not fit.

        Args:
            thread_id: The thread.
            document_id: The hit to mark, or None.
            offset: Messages before the part; None for the part that holds the hit.
            back: The page of results to go back to.

        Raises:
            StateTooLargeError: Too long even without the way back.
        """
        state = ThreadState(
            **self._owner,
            thread_id=thread_id,
            document_id=document_id,
            offset=offset,
            back=back,
        )
        return self._with_or_without_back(state)

    def context(self, document_id: str, *, back: PageReference | None = None) -> str:
        """Return the value that shows a message's neighbours; without the way back where it does not fit.

        Raises:
            StateTooLargeError: Too long even without the way back.
        """
        state = ContextState(
            **self._owner,
            document_id=document_id,
            back=back,
        )
        return self._with_or_without_back(state)

    def similar(self, document_id: str, *, back: PageReference | None = None) -> str:
        """Return the value that shows what is similar to a hit; without the way back where it does not fit.

        Raises:
            StateTooLargeError: Too long even without the way back.
        """
        page = PageReference(command="", similar_to=document_id)
        if back is None:
            return self.page(page)
        # One step back: a chain of similar to similar would outgrow a button.
        try:
            return self.page(page.model_copy(update={"back": back.model_copy(update={"back": None})}))
        except StateTooLargeError:
            return self.page(page)

    def more(self, document_id: str, *, back: PageReference | None = None, judged: Judged | None = None) -> str:
        """Return the value that shows what else can be done with a hit.

        Where it does not fit, what a vote is about goes first, then the way back.

        Raises:
            StateTooLargeError: Too long even without these.
        """
        return self._shortest(MoreState(**self._owner, document_id=document_id, back=back, judged=judged))

    def vote(
        self,
        document_id: str,
        verdict: Verdict | None,
        *,
        judged: Judged,
        back: PageReference | None = None,
    ) -> str:
        """Return the value that votes on a hit, or withdraws the vote where `verdict` is None.

        Raises:
            StateTooLargeError: Too long with the way back, without which the results would be lost.
        """
        said: dict[Verdict | None, Literal["good", "not_relevant"]]
        said = {Verdict.GOOD: "good", Verdict.NOT_RELEVANT: "not_relevant"}
        state = VoteState(**self._owner, document_id=document_id, verdict=said.get(verdict), judged=judged, back=back)
        return self._encode(state)

    def share(
        self,
        document_id: str,
        *,
        channel_id: str | None = None,
        nonce: str | None = None,
        back: PageReference | None = None,
        judged: Judged | None = None,
    ) -> str:
        """Return the value that asks before a hit is shared, or shares it where `channel_id` is given; cut as `more`.

        Raises:
            StateTooLargeError: Too long even without what a vote is about and the way back.
        """
        state = ShareState(
            **self._owner, document_id=document_id, channel_id=channel_id, nonce=nonce, back=back, judged=judged
        )
        return self._shortest(state)

    def new_search(self, command: str | None = None) -> str:
        """Return the value that starts a new search, from `command` where that fits."""
        state = NewSearchState(**self._owner, command=command)
        try:
            return self._encode(state)
        except StateTooLargeError:
            return self._encode(state.model_copy(update={"command": None}))

    @property
    def _owner(self) -> _Owner:
        return {
            "user_id": self.user_id,
            "team_id": self.team_id,
            "expires_s": self.expires_s,
            "search_id": self.search_id,
        }

    def _encode(self, state: State) -> str:
        try:
            return encode_state(state, self.secret)
        except StateTooLargeError:
            return encode_state(state.model_copy(update={"search_id": None}), self.secret)

    def _shortest(self, state: HitStateT) -> str:
        """Return the value of the fullest state that fits."""
        without_vote = {"judged": None, "is_cut": state.judged is not None}
        for cut in ({}, without_vote):
            try:
                return self._encode(state.model_copy(update=cut))
            except StateTooLargeError:
                continue
        return self._encode(state.model_copy(update=without_vote | {"back": None}))

    def recent(self, command: str) -> str:
        """Return the value that makes that search again.

        Raises:
            StateTooLargeError: The search is too long for a button.
        """
        state = RecentState(**self._owner, command=command)
        return self._encode(state)

    def clear_recents(self) -> str:
        """Return the value that erases the owner's recent searches."""
        state = ClearRecentsState(**self._owner)
        return self._encode(state)

    def admin(self, page: AdminPage) -> str:
        """Return the value that shows that page of the logs."""
        return self._encode(AdminState(**self._owner, page=page))

    def _with_or_without_back(self, state: ThreadState | ContextState) -> str:
        try:
            return self._encode(state)
        except StateTooLargeError:
            return self._encode(state.model_copy(update={"back": None}))
