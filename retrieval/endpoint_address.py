"""Where an embedding service listens, and which addresses may be called at all."""

import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import httpx

from retrieval.errors import EmbeddingUnavailableError

OLLAMA_PATH: Final = "/api/embed"
OPENAI_PATH: Final = "/v1/embeddings"

# RFC 1918, RFC 4193 and loopback. `ipaddress.is_private` is wider: it also holds link-local addresses, where
# cloud machines keep their credentials service.
_PRIVATE: Final = tuple(
    ipaddress.ip_network(network)
    for network in ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7")
)


class ReplyShape(StrEnum):
    """Which of the two protocols a service speaks."""

    OLLAMA = "ollama"
    OPENAI = "openai"


@dataclass(frozen=True, slots=True, repr=False)
class EndpointAddress:
    """Where a service listens and what it speaks; its text form is only `host:port`."""

    url: httpx.URL
    shape: ReplyShape

    @property
    def port(self) -> int:
        """The port, the scheme's own where the URL names none."""
        return self.url.port or (443 if self.url.scheme == "https" else 80)

    def __str__(self) -> str:
        host = f"[{self.url.host}]" if ":" in self.url.host else self.url.host
        return f"{host}:{self.port}"

    def __repr__(self) -> str:
        return f"EndpointAddress({self}, {self.shape.value})"


def parse_endpoint(url: str) -> EndpointAddress:
    """Understand the URL of an embedding service; the path decides the protocol.

    Raises:
        EmbeddingUnavailableError: Not an http(s) URL, or its path is neither of the two understood.
    """
    try:
        parsed = httpx.URL(url.strip())
    except httpx.InvalidURL:
        # Without its cause: that quotes the URL, and a URL may hold a password.
        raise EmbeddingUnavailableError("The embedding URL cannot be read as a URL.") from None
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise EmbeddingUnavailableError("The embedding URL must begin with http:// or https:// and a host.")
    # httpx escapes what cannot stand in a host name instead of refusing it.
    if "%" in parsed.host or not 1 <= (parsed.port or 80) <= 65_535 or parsed.port == 0:
        raise EmbeddingUnavailableError("The embedding URL has a host name or port that cannot be.")
    path = parsed.path.rstrip("/")
    for ending, shape in ((OLLAMA_PATH, ReplyShape.OLLAMA), (OPENAI_PATH, ReplyShape.OPENAI)):
        if path.endswith(ending):
            return EndpointAddress(parsed.copy_with(path=path), shape)
    host = EndpointAddress(parsed, ReplyShape.OLLAMA)
    raise EmbeddingUnavailableError(
        f"The embedding URL of {host} must end in {OLLAMA_PATH} (Ollama) or {OPENAI_PATH} (OpenAI-compatible)."
    )


def is_allowed_address(address: str, *, allow_public: bool = False) -> bool:
    """Tell whether a service may be called at this address.

    Loopback and private networks always; anything else only if public addresses are allowed, and link-local,
    multicast and unspecified addresses never.
    """
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    if any(parsed in network for network in _PRIVATE if network.version == parsed.version):
        return True
    if parsed.is_link_local or parsed.is_multicast or parsed.is_unspecified:
        return False
    return allow_public


def resolve_host(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host name in the resolver's order, without repeats.

    Raises:
        OSError: The name is not known.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))
