"""Sending a message to an address that somebody else chose, without letting it lead inside.

Whoever may name an address could have this program call what only it can reach: the database next door, a
router, a cloud's metadata service (server-side request forgery). So an address is called only if all that
its name resolves to is on the public internet, and the connection goes to the very address that was looked
at: a name that resolves to something else a moment later (DNS rebinding) gains nothing. No redirect is
followed, no proxy is used, and nothing of the answer is read but its status.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 10.0
"""How long a connection may take, and how long the whole of sending and answering may."""
PORTS = frozenset({443, 8443})
HTTP_PORTS = frozenset({80, 8080})
# Counted as public, and yet a way inside: protocol assignments (a metadata service among them), the anycast
# of 6to4, Azure's metadata service, site-local addresses, and those of examples, which networks use inside.
_INSIDE = tuple(
    map(
        ipaddress.ip_network,
        ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32", "fec0::/10", "3fff::/20"),
    )
)
_LOOKUPS = ThreadPoolExecutor(4, thread_name_prefix="lookup")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], list[str]]


class AddressRefused(ValueError):
    """An address that is not called. The message says why and what to do."""


class NotDelivered(Exception):
    """There was no answer: no connection, a broken certificate, silence."""


@dataclass(frozen=True)
class Rules:
    """What may be called. `hosts` are names (lower case) of a laboratory's own machines: they may be
    anywhere and listen on any port."""

    allow_http: bool = False
    hosts: Collection[str] = field(default_factory=frozenset)


@dataclass(frozen=True)
class Target:
    """An address taken apart."""

    scheme: str
    host: str
    port: int


def resolve(host: str, port: int) -> list[str]:
    """The IP addresses of `host`, as the system resolves it. Raises NotDelivered."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NotDelivered(f"The name '{host}' cannot be resolved: {error}.") from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def checked(url: str, rules: Rules) -> Target:
    """`url` taken apart, if it is one that may be called at all; its name is not resolved yet.

    Raises AddressRefused.
    """
    if url != url.strip() or any(ord(letter) < 33 or ord(letter) == 127 for letter in url) or "\\" in url:
        raise AddressRefused("The address holds blanks or signs that no address has.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise AddressRefused(f"This is not an address: {error}.") from error
    host = (parts.hostname or "").rstrip(".").lower()
    if parts.scheme not in ("https", "http") or not host:
        raise AddressRefused("An address begins with https:// and the name of a host.")
    if parts.username is not None or parts.password is not None:
        raise AddressRefused(
            "The address holds a user name or a password. Leave it out: messages are signed instead."
        )
    if parts.fragment:
        raise AddressRefused("The part after # is never sent. Leave it out.")
    if parts.scheme == "http" and not rules.allow_http:
        raise AddressRefused("The address must begin with https://, so that nobody reads on the way.")
    port = port if port is not None else {"https": 443, "http": 80}[parts.scheme]
    allowed = PORTS | HTTP_PORTS if rules.allow_http else PORTS
    if host not in rules.hosts and port not in allowed:
        raise AddressRefused(
            f"Port {port} is not called. Use one of {', '.join(map(str, sorted(allowed)))}, "
            "or have the host named in WEBHOOK_ALLOWED_HOSTS."
        )
    return Target(parts.scheme, host, port)


def address_of(target: Target, rules: Rules, resolve: Resolve = resolve) -> str:
    """The IP address to connect to. Raises AddressRefused if the host has any that is not public, and
    NotDelivered if it has none."""
    found = resolve(target.host, target.port)
    if not found:
        raise NotDelivered(f"The name '{target.host}' has no address.")
    if target.host not in rules.hosts and not all(map(is_public, found)):
        # which address it was is not said: that would be a look inside
        raise AddressRefused(
            f"'{target.host}' is not on the public internet, so it is not called. In a laboratory of your "
            "own, name the host in WEBHOOK_ALLOWED_HOSTS."
        )
    return found[0]


def is_public(text: str) -> bool:
    """Whether an IP address is one of the public internet, also once what it wraps is unwrapped."""
    try:
        address: Address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None:
            return False
        if (wrapped := _wrapped(address)) is not None:
            return is_public(str(wrapped))
    return (
        address.is_global
        and not address.is_multicast
        and not address.is_reserved
        and not address.is_unspecified
        and not any(address in network for network in _INSIDE)
    )


def _wrapped(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that an IPv6 address stands for: mapped, 6to4, Teredo or NAT64."""
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None)


class Pinned(httpx.AsyncBaseTransport):
    """Connects to the address that was checked, under the name that was asked for: the request's Host and
    the name in the TLS handshake, which the certificate must be of, stay as they are."""

    def __init__(self, rules: Rules, resolve: Resolve = resolve) -> None:
        self._rules, self._resolve = rules, resolve
        self._inner = httpx.AsyncHTTPTransport(retries=0)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        target = checked(str(request.url), self._rules)
        # Off the loop, in threads that nobody waits for: looking a name up blocks, and may for long.
        loop = asyncio.get_running_loop()
        address = await loop.run_in_executor(_LOOKUPS, address_of, target, self._rules, self._resolve)
        pinned = httpx.Request(
            request.method,
            request.url.copy_with(host=address),
            headers=request.headers,
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": target.host},
        )
        return await self._inner.handle_async_request(pinned)

    async def aclose(self) -> None:
        await self._inner.aclose()


def post(
    url: str,
    *,
    body: bytes,
    headers: Mapping[str, str],
    rules: Rules,
    resolve: Resolve = resolve,
    seconds: float = ANSWER_SECONDS,
) -> int:
    """Send `body`; returns the HTTP status of the answer, of which nothing else is read.

    Raises AddressRefused if the address may not be called, and NotDelivered if there was no answer within
    `seconds`, all in all: a receiver that lets its answer drip does not hold the sender.
    """
    sending = asyncio.wait_for(_post(url, body, headers, Pinned(rules, resolve)), seconds)
    try:
        # In a thread of its own: whoever calls may have a loop running in theirs.
        with ThreadPoolExecutor(1, thread_name_prefix="webhook") as own:
            return own.submit(asyncio.run, sending).result()
    except TimeoutError as error:
        raise NotDelivered(f"There was no answer within {seconds:g} seconds.") from error
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        raise NotDelivered(f"{type(error).__name__}: {str(error) or 'no answer'}") from error


async def _post(url: str, body: bytes, headers: Mapping[str, str], transport: Pinned) -> int:
    timeout = httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
    async with (
        httpx.AsyncClient(
            transport=transport, timeout=timeout, follow_redirects=False, trust_env=False
        ) as client,
        client.stream("POST", url, content=body, headers=dict(headers)) as answer,
    ):
        return answer.status_code


__all__ = [
    "AddressRefused",
    "NotDelivered",
    "Pinned",
    "Rules",
    "Target",
    "address_of",
    "checked",
    "is_public",
    "post",
    "resolve",
]
