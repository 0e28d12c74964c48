"""Text files to passages of about 512 tokens that overlap by 50."""

import re
from typing import Final

PASSAGE_TOKENS: Final = 512
OVERLAP_TOKENS: Final = 50

# About what a model's tokenizer counts: words, single signs, and each character of scripts without spaces.
_TOKEN: Final = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+|[^\w\s]"
)
# A "word" of base64 or minified code would be one token of any length; none may stretch a passage far.
MAX_PASSAGE_CHARACTERS: Final = 8000


def passages(text: str) -> list[str]:
    """Return the passages of a text in order; the last one may be short, and no text gives none."""
    spans = [match.span() for match in _TOKEN.finditer(text)]
    found: list[str] = []
    start = 0
    while start < len(spans):
        end = _end(spans, start)
        found.append(text[spans[start][0] : spans[end - 1][1]][:MAX_PASSAGE_CHARACTERS])
        if end == len(spans):
            break
        start = max(end - OVERLAP_TOKENS, start + 1)
    return found


def _end(spans: list[tuple[int, int]], start: int) -> int:
    """Return the index after a passage's last token."""
    end = min(start + PASSAGE_TOKENS, len(spans))
    while end > start + OVERLAP_TOKENS + 1 and spans[end - 1][1] - spans[start][0] > MAX_PASSAGE_CHARACTERS:
        end -= 1
    return end
