"""A local S3 server from a package, and the storages of this program in its buckets."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import boto3
import httpx
import pytest
from botocore.config import Config
from moto.server import ThreadedMotoServer

from visage_app.storage import storages
from visage_app.storage.bucket import Bucket

BUCKET = "visage-images"
KEYS = {"access_key": "test-key", "secret_key": "test-secret"}


class Server:
    """An S3 server in a thread of this process, on a port of its own."""

    def __init__(self) -> None:
        self._moto = ThreadedMotoServer(port=0, verbose=False)
        self._moto.start()
        self.endpoint = "http://{}:{}".format(*self._moto.get_host_and_port())
        # What an earlier server of this process was given lives on in the process.
        httpx.post(f"{self.endpoint}/moto-api/reset").raise_for_status()
        # it reads what it knows of a service once
        self._session = boto3.session.Session(KEYS["access_key"], KEYS["secret_key"])

    def stop(self) -> None:
        self._moto.stop()

    @contextlib.contextmanager
    def asking_for_keys(self) -> Iterator[dict[str, str]]:
        """It lets everybody in otherwise. Yields the keys of somebody who may do everything with buckets."""
        people = self.client("iam")
        people.create_user(UserName="visage")
        allowed = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
        people.put_user_policy(UserName="visage", PolicyName="all", PolicyDocument=policy)
        key = people.create_access_key(UserName="visage")["AccessKey"]
        self._let_in("0")
        try:
            yield {"access_key": key["AccessKeyId"], "secret_key": key["SecretAccessKey"]}
        finally:
            self._let_in("inf")
            people.delete_access_key(UserName="visage", AccessKeyId=key["AccessKeyId"])
            people.delete_user_policy(UserName="visage", PolicyName="all")
            people.delete_user(UserName="visage")

    def _let_in(self, unknown: str) -> None:
        """So many requests without anybody looking at their keys."""
        httpx.post(f"{self.endpoint}/moto-api/reset-auth", content=unknown).raise_for_status()

    def client(self, service: str = "s3"):
        return self._session.client(
            service,
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            config=Config(s3={"addressing_style": "path"}),
        )


def buckets(endpoint: str, **changed) -> storages.Buckets:
    here = storages.Buckets(
        endpoint=endpoint,
        public_endpoint=endpoint,
        region="us-east-1",
        images=BUCKET,
        exports="",
        signed_minutes=0,
        **KEYS,
    )
    return replace(here, **changed)


@cache
def _session(*keys: str | None) -> boto3.session.Session:
    """It reads what it knows of S3 once, which is most of the time that a new storage takes."""
    return boto3.session.Session(*keys)


@contextlib.contextmanager
def one_session() -> Iterator[None]:
    """While it lasts, storages that have the same keys share a session. Tests make two of them each, in one
    thread."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            Bucket,
            "_create_session",
            lambda made: _session(made.access_key, made.secret_key, made.security_token),
        )
        yield


def use(settings, here: storages.Buckets) -> None:
    """Keep files there from now on, in this test."""
    settings.STORAGES = {**settings.STORAGES, **storages.in_buckets(here)}
    settings.IMAGES_SIGNED_SECONDS = here.signed_minutes * 60


@contextlib.contextmanager
def asked(storage) -> Iterator[list[str]]:
    """The requests that a storage sends meanwhile, by name: GetObject, HeadObject ..."""
    found: list[str] = []

    def note(model, **_):
        found.append(model.name)

    events = storage.connection.meta.client.meta.events
    events.register("before-call.s3", note)
    try:
        yield found
    finally:
        events.unregister("before-call.s3", note)


def nobody() -> str:
    """An address at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}"
