"""The plain sentences that a page of results may carry as warnings."""

from typing import Final

DEGRADED: Final = "Search by meaning is not available right now ({reason}); these are keyword results."
NO_KEYWORDS: Final = "Keyword search failed ({reason}); these are results by meaning only."
NO_VECTORS: Final = "This archive was built without vectors; these are keyword results."
UNKNOWN_SCRIPT: Final = "The embedding model does not read this script; only keywords were used."
CAPPED: Final = "The query is long; its {count} rarest words were used."
DIGITS: Final = (
    "This archive's index holds no digits and no underscores; identifiers were looked up by their exact string."
)
ANALYZER: Final = "This archive was made by another version of the analyzer ({version}); rebuild it for best results."
LONE_CJK: Final = (
    "A single {character} is found only where it stands alone; a word of two characters is found anywhere."
)
WHOLE_CJK: Final = (
    "This archive's index holds runs of Chinese, Japanese and Korean characters whole; words inside them are not found "
    "as keywords."
)
ORPHANS: Final = "Some discussions that matched have no message in this archive and were left out."
NEWEST_ONLY: Final = "There are no words to rank by; the newest messages are shown first."
OLDEST_ONLY: Final = "There are no words to rank by; the oldest messages are shown first."
SORTED: Final = "Ordered by time among the best {count} matches."
ROOT_MISSING: Final = "The message that began this thread is not in the archive."
