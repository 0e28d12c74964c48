"""The buttons under an answer: their action ids, and what signs their state."""

from dataclasses import dataclass
from typing import Final

from bot.action_state import (
    ContextState,
    MoreState,
    NewSearchState,
    PageReference,
    PageState,
    StateTooLargeError,
    ThreadState,
    encode_state,
)

NEXT_ACTION: Final = "results_next"
PREVIOUS_ACTION: Final = "results_previous"
BACK_ACTION: Final = "results_back"
AGAIN_ACTION: Final = "results_again"
THREAD_ACTION: Final = "thread_expand"
EARLIER_ACTION: Final = "thread_earlier"
LATER_ACTION: Final = "thread_later"
CONTEXT_ACTION: Final = "context_show"
MORE_ACTION: Final = "hit_more"
NEW_SEARCH_ACTION: Final = "search_new"
OPEN_ACTION: Final = "open_in_slack"
"""A link button: its press is only acked."""

PAGE_ACTIONS: Final = (NEXT_ACTION, PREVIOUS_ACTION, BACK_ACTION, AGAIN_ACTION)
"""All of these carry a `PageState`."""

THREAD_ACTIONS: Final = (THREAD_ACTION, EARLIER_ACTION, LATER_ACTION)
"""All of these carry a `ThreadState`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """Makes the values of one answer's buttons: for one person, until one moment.

    Attributes:
        secret: The signing key.
        user_id: Who may press.
        team_id: Their workspace.
        expires_s: Unix seconds from which the buttons no longer work.
    """

    secret: bytes
    user_id: str
    team_id: str
    expires_s: int

    def page(self, page: PageReference) -> str:
        """Return the value that shows that page.

        Raises:
            StateTooLargeError: The search is too long for a button.
        """
        state = PageState(user_id=self.user_id, team_id=self.team_id, expires_s=self.expires_s, page=page)
        return encode_state(state, self.secret)

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
            user_id=self.user_id,
            team_id=self.team_id,
            expires_s=self.expires_s,
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
            user_id=self.user_id,
            team_id=self.team_id,
            expires_s=self.expires_s,
            document_id=document_id,
            back=back,
        )
        return self._with_or_without_back(state)

    def more(self, document_id: str, *, back: PageReference | None = None) -> str:
        """Return the value that shows what else can be done with a hit.

        Raises:
            StateTooLargeError: Too long even without the way back.
        """
        state = MoreState(
            user_id=self.user_id,
            team_id=self.team_id,
            expires_s=self.expires_s,
            document_id=document_id,
            back=back,
        )
        return self._with_or_without_back(state)

    def new_search(self, command: str | None = None) -> str:
        """Return the value that starts a new search, from `command` where that fits."""
        state = NewSearchState(user_id=self.user_id, team_id=self.team_id, expires_s=self.expires_s, command=command)
        try:
            return encode_state(state, self.secret)
        except StateTooLargeError:
            return encode_state(state.model_copy(update={"command": None}), self.secret)

    def _with_or_without_back(self, state: ThreadState | ContextState | MoreState) -> str:
        try:
            return encode_state(state, self.secret)
        except StateTooLargeError:
            return encode_state(state.model_copy(update={"back": None}), self.secret)
