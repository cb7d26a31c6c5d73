"""The servers that models are asked on, from environment variables only. Pure: no Django, no openai.

`MODEL_SERVERS` lists them as NAME=URL, separated by commas; `MODEL_SERVER_KEY_<NAME>` is the key of NAME, in
capitals, with _ for -. A recipe names a server and never has a URL or a key: who plans a run in the browser
cannot make a worker send a key to an address of their choice.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from generation.backends.base import BackendError

DEFAULT = "openai"
"""The server of a recipe that names none. It exists without any setting."""
_OPENAI_URL = "https://api.openai.com/v1"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_KEY_PREFIX = "MODEL_SERVER_KEY_"
_EXAMPLE = "MODEL_SERVERS=local=http://127.0.0.1:8000/v1,lab=https://models.lab.example/v1"


class ServersRefused(ValueError):
    """MODEL_SERVERS or a key is invalid; the message says how to fix it and never contains a key."""


@dataclass(frozen=True)
class ModelServer:
    """`url`: the base of its OpenAI-compatible HTTP interface. `key`: "" if it needs none."""

    name: str
    url: str
    key: str = field(default="", repr=False)

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc

    @property
    def key_variable(self) -> str:
        return _key_variable(self.name)

    @property
    def where(self) -> str:
        """For messages and records, for example 'local (127.0.0.1:8000)'."""
        return f"{self.name} ({self.host})"


def configured(environ: Mapping[str, str] = os.environ) -> dict[str, ModelServer]:
    """All servers by name. Raises ServersRefused."""
    urls = dict(_named_urls(environ.get("MODEL_SERVERS", "")))
    if DEFAULT not in urls:
        given = environ.get("OPENAI_BASE_URL", "").strip()
        urls[DEFAULT] = _checked_url(given, "OPENAI_BASE_URL") if given else _OPENAI_URL
    known = {_key_variable(name): name for name in urls}
    for variable in environ:
        if variable.startswith(_KEY_PREFIX) and variable not in known:
            raise ServersRefused(
                f"{variable} is the key of no server. There are {', '.join(sorted(urls))}, whose keys are "
                f"{', '.join(sorted(known))}. Correct the name, or add the server to MODEL_SERVERS."
            )
    return {name: ModelServer(name, url, _key(name, environ)) for name, url in urls.items()}


def find(name: str) -> ModelServer:
    """The server of a recipe, "" for the default. Raises BackendError."""
    try:
        servers = configured()
    except ServersRefused as error:
        raise BackendError(str(error)) from None
    server = servers.get(name or DEFAULT)
    if server is None:
        raise BackendError(
            f"recipe: server: there is no server '{name}'. There are: {', '.join(sorted(servers))}. "
            f"An administrator adds one with a setting such as {_EXAMPLE}."
        )
    return server


def _named_urls(text: str) -> Iterator[tuple[str, str]]:
    seen = set()
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, equals, url = (part.strip() for part in entry.partition("="))
        if not equals or not _NAME.fullmatch(name):
            # The entry itself may hold a password, so it is not repeated.
            shown = f"'{name}'" if re.fullmatch(r"[\w-]{1,40}", name) else "an entry"
            raise ServersRefused(
                f"MODEL_SERVERS: {shown} is not NAME=URL with a name of lower-case letters, digits and "
                f"hyphens. Write it like {_EXAMPLE}"
            )
        if name in seen:
            raise ServersRefused(f"MODEL_SERVERS names '{name}' twice. Give each server its own name.")
        seen.add(name)
        yield name, _checked_url(url, f"MODEL_SERVERS: {name}")


def _checked_url(url: str, what: str) -> str:
    """Without a final slash. Raises ServersRefused."""
    cure = "Write the base of its interface, such as http://127.0.0.1:8000/v1"
    try:
        parts = urlsplit(url)
        port_is_valid = parts.port != 0
    except ValueError:
        raise ServersRefused(f"{what}: this is not a URL. {cure}") from None
    if parts.username is not None or parts.password is not None:
        raise ServersRefused(
            f"{what}: the URL contains a name or password, which would show in records. Leave it out; a key "
            f"belongs in {_KEY_PREFIX}<NAME>."
        )
    if not _is_plain(parts) or not port_is_valid or not url.isprintable() or " " in url:
        raise ServersRefused(f"{what}: this is not the URL of a server, without query or fragment. {cure}")
    return url.rstrip("/")


def _is_plain(parts: SplitResult) -> bool:
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not (parts.query or parts.fragment)


def _key_variable(name: str) -> str:
    return _KEY_PREFIX + name.upper().replace("-", "_")


def _key(name: str, environ: Mapping[str, str]) -> str:
    variable = _key_variable(name)
    key = environ.get(variable, "").strip()
    if not key and name == DEFAULT:
        variable = "OPENAI_API_KEY"
        key = environ.get(variable, "").strip()
    if key and not re.fullmatch(r"[!-~]+", key):
        raise ServersRefused(f"{variable} contains a space or a letter that no key has. Copy the key again.")
    return key
