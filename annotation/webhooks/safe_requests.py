"""POST requests to URLs that users chose, protected against server-side request forgery.

A user's URL could point to something that only this server can reach: a database, a router, a cloud's
metadata service. So a URL is called only if every IP address of its host is on the public internet, and the
connection goes to the address that was checked: a name that resolves to another one a moment later (DNS
rebinding) gains nothing. Redirects are not followed, proxies are not used, and only the status of the
response is read.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx

CONNECT_SECONDS = 5.0
RESPONSE_SECONDS = 10.0
"""The longest time for connecting, and for the whole request and response."""
PORTS = frozenset({443, 8443})
HTTP_PORTS = frozenset({80, 8080})
# `ipaddress` counts these as global, but they can lead to internal services: protocol assignments (including
# a metadata service), 6to4 anycast, Azure's metadata service, site-local addresses, and addresses for
# documentation, which some networks use internally.
_INTERNAL = [
    ipaddress.ip_network(network)
    for network in ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32", "fec0::/10", "3fff::/20")
]
_LOOKUPS = ThreadPoolExecutor(4, thread_name_prefix="lookup")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")

Resolve = Callable[[str, int], list[str]]


class AddressRefused(ValueError):
    """A URL that is not called. The message says why and what to do."""


class NotDelivered(Exception):
    """There was no response: no connection, an invalid certificate, a timeout."""


@dataclass(frozen=True)
class Rules:
    """Which URLs may be called. `hosts` are host names (lower case) that may resolve to any address and use
    any port."""

    allow_http: bool = False
    hosts: Collection[str] = field(default_factory=frozenset)


class Target(NamedTuple):
    host: str
    port: int


def resolve(host: str, port: int) -> list[str]:
    """The IP addresses of `host`, as the system resolves it. Raises NotDelivered."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NotDelivered(f"The name '{host}' cannot be resolved: {error}.") from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def parse_url(url: str, rules: Rules) -> Target:
    """Host and port of `url`, without resolving its host. Raises AddressRefused if `rules` forbid the URL."""
    if url != url.strip() or any(ord(letter) < 33 or ord(letter) == 127 for letter in url) or "\\" in url:
        raise AddressRefused("The URL contains spaces or characters that are not allowed in URLs.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise AddressRefused(f"This is not a URL: {error}.") from error
    host = (parts.hostname or "").rstrip(".").lower()
    if parts.scheme not in ("https", "http") or not host:
        raise AddressRefused("The URL must begin with https:// and a host name.")
    if parts.username is not None or parts.password is not None:
        raise AddressRefused(
            "The URL contains a user name or a password. Remove it: messages are signed instead."
        )
    if parts.fragment:
        raise AddressRefused("The part after # is never sent. Remove it.")
    if parts.scheme == "http" and not rules.allow_http:
        raise AddressRefused("The URL must begin with https://, so that messages are encrypted.")
    if port is None:
        port = 443 if parts.scheme == "https" else 80
    allowed = PORTS | HTTP_PORTS if rules.allow_http else PORTS
    if host not in rules.hosts and port not in allowed:
        raise AddressRefused(
            f"Port {port} is not allowed. Use one of {', '.join(map(str, sorted(allowed)))}, "
            "or have the host added to WEBHOOK_ALLOWED_HOSTS."
        )
    if host not in rules.hosts and _is_inside(host):
        raise _not_public(host)
    return Target(host, port)


def resolve_public_address(target: Target, rules: Rules, resolve: Resolve = resolve) -> str:
    """The IP address to connect to. Raises AddressRefused if any address of the host is not public, and
    NotDelivered if it has none."""
    addresses = resolve(target.host, target.port)
    if not addresses:
        raise NotDelivered(f"The name '{target.host}' has no address.")
    if target.host not in rules.hosts and not all(map(is_public, addresses)):
        raise _not_public(target.host)
    return addresses[0]


def _not_public(host: str) -> AddressRefused:
    # The message does not name the IP address: that would reveal the internal network
    return AddressRefused(
        f"'{host}' is not on the public internet, so it is not called. If the receiver is yours, have the "
        "host added to WEBHOOK_ALLOWED_HOSTS."
    )


def _is_inside(host: str) -> bool:
    """Whether `host` is known without resolving to be this machine, or an address that is not public."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return not is_public(host)


def is_public(text: str) -> bool:
    """Whether an IP address, and any IPv4 address embedded in it, is on the public internet."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None:
            return False
        if (embedded := _embedded_ipv4(address)) is not None:
            return is_public(str(embedded))
    return (
        address.is_global
        and not address.is_multicast
        and not address.is_reserved
        and not address.is_unspecified
        and not any(address in network for network in _INTERNAL)
    )


def _embedded_ipv4(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address embedded in an IPv6 address: mapped, 6to4, Teredo or NAT64."""
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None)


def post(
    url: str,
    *,
    body: bytes,
    headers: Mapping[str, str],
    rules: Rules,
    resolve: Resolve = resolve,
    seconds: float = RESPONSE_SECONDS,
) -> int:
    """Send `body`; returns the HTTP status. Nothing else of the response is read.

    Raises AddressRefused if the URL may not be called, and NotDelivered if there was no response within
    `seconds` in total: a slow receiver cannot hold up the sender.
    """
    sending = asyncio.wait_for(_post(url, body, headers, rules, resolve), seconds)
    try:
        # In a thread of its own: the caller's may have a running event loop
        with ThreadPoolExecutor(1, thread_name_prefix="webhook") as executor:
            return executor.submit(asyncio.run, sending).result()
    except TimeoutError as error:
        raise NotDelivered(f"There was no response within {seconds:g} seconds.") from error
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        raise NotDelivered(f"{type(error).__name__}: {str(error) or 'no response'}") from error


async def _post(url: str, body: bytes, headers: Mapping[str, str], rules: Rules, resolve: Resolve) -> int:
    requested = httpx.URL(url)
    target = parse_url(str(requested), rules)
    # In a thread outside the loop: resolving a name blocks, possibly for long
    address = await asyncio.get_running_loop().run_in_executor(
        _LOOKUPS, resolve_public_address, target, rules, resolve
    )
    timeout = httpx.Timeout(RESPONSE_SECONDS, connect=CONNECT_SECONDS)
    async with (
        httpx.AsyncClient(timeout=timeout, follow_redirects=False, trust_env=False) as client,
        client.stream(
            "POST",
            requested.copy_with(host=address),
            content=body,
            headers={**headers, "Host": requested.netloc.decode()},
            # The name in the TLS handshake, which the certificate must match
            extensions={"sni_hostname": target.host},
        ) as response,
    ):
        return response.status_code
