"""How a request to a server that speaks OpenAI's HTTP interface is sent.

Importing this module does not import openai.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from generation.backends.model_servers import DEFAULT, ModelServer
from generation.backends.openai_errors import Malformed

if TYPE_CHECKING:
    import ssl

    import httpx2
    import openai

CONNECT_SECONDS = 10.0


class Sender:
    """Sends to one server, from one event loop.

    The methods of openai's client check, convert and copy each field, which takes longer than the rest of a
    request. This sends what they would: the client's headers, to its address, by its connections.
    """

    def __init__(self, server: ModelServer, *, timeout: float) -> None:
        import openai

        # aiohttp's connections: httpx2's pool searches all of them for each request.
        self._http = openai.DefaultAioHttpClient(**http_settings(timeout))
        self._timeout = self._http.timeout.as_dict()
        self._client = openai.AsyncOpenAI(**client_settings(server), http_client=self._http)
        headers = {**self._client.default_headers, **key_headers(server)}
        self._headers = {name: value for name, value in headers.items() if isinstance(value, str)}
        self._urls: dict[str, httpx2.URL] = {}

    async def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON object with which the server answers `body`. Raises openai's errors, Malformed."""
        import httpx2
        import openai

        request = httpx2.Request(
            "POST",
            self._url(path),
            headers=self._headers,
            content=json.dumps(body),
            extensions={"timeout": self._timeout},
        )
        try:
            response = await self._http.send(request)
        except httpx2.TimeoutException as error:
            raise openai.APITimeoutError(request=request) from error
        except Exception as error:
            raise openai.APIConnectionError(request=request) from error
        if not response.is_success:
            raise _status_error(response)
        return json_of(response)

    async def close(self) -> None:
        await self._client.close()

    def _url(self, path: str) -> httpx2.URL:
        import httpx2

        if path not in self._urls:
            self._urls[path] = httpx2.URL(f"{str(self._client.base_url).rstrip('/')}{path}")
        return self._urls[path]


def _status_error(response: httpx2.Response) -> openai.APIStatusError:
    """An error of this status, with the body as JSON or text."""
    import openai

    try:
        body = json.loads(response.content)
    except ValueError:
        body = response.text
    return openai.APIStatusError(f"status {response.status_code}", response=response, body=body)


def json_of(response: httpx2.Response) -> dict[str, Any]:
    """The JSON object of a response. Raises Malformed."""
    try:
        found = json.loads(response.content)
    except ValueError:
        found = None
    if isinstance(found, dict):
        return found
    kind = response.headers.get("content-type", "no type")
    raise Malformed(f"answered with {kind} that is not the JSON of an answer: {response.text[:200]!r}")


def key_headers(server: ModelServer) -> dict[str, Any]:
    """More headers of each request: without a key, openai's header of the key is omitted."""
    import openai

    return {} if server.key else {"Authorization": openai.omit}


def client_settings(server: ModelServer) -> dict[str, Any]:
    """Arguments of OpenAI and AsyncOpenAI. All that they would read from the environment is set here: it is
    meant for OpenAI, and must not go to other servers."""
    import openai

    headers: dict[str, Any] = {}
    if server.key:  # in place of one of OPENAI_CUSTOM_HEADERS
        headers["Authorization"] = f"Bearer {server.key}"
    if server.name != DEFAULT:
        lines = os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n")
        names = [line.partition(":")[0].strip() for line in lines if ":" in line]
        headers = dict.fromkeys([*names, "OpenAI-Organization", "OpenAI-Project"], openai.omit) | headers
    return {
        "base_url": server.url,
        "api_key": server.key or "none",  # `key_headers` omits the second
        "default_headers": headers,
        "max_retries": 0,
    }


def http_settings(timeout: float) -> dict[str, Any]:
    """Arguments of the HTTP clients. No redirects: a key goes to the server that was configured only."""
    import openai

    return {
        "timeout": openai.Timeout(timeout, connect=CONNECT_SECONDS, pool=None),
        "limits": _limits(),
        "follow_redirects": False,
        "verify": _authorities(),
    }


@functools.cache
def _authorities() -> ssl.SSLContext:
    """Who vouches for servers, by httpx2's own choice. Each client would read these certificates anew, which
    takes longer than its request."""
    import httpx2

    return httpx2.create_ssl_context()


def _limits() -> Any:
    """More connections than there can be askings in flight; the engine limits these. None would mean
    aiohttp's own limit of 100."""
    import httpx2

    return httpx2.Limits(max_connections=2048, max_keepalive_connections=2048)
