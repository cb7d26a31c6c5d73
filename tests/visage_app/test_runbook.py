"""The commands and messages in docs/operations.md exist and work as described."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from django.core.management import call_command, get_commands, load_command_class
from django.test import Client
from django.urls import reverse

from tests import factories

ROOT = Path(__file__).resolve().parents[2]
RUNBOOK = (ROOT / "docs" / "operations.md").read_text()
WATCHING = (ROOT / "docs" / "monitoring.md").read_text()
PASSWORD = "a long enough password"


def test_every_command_and_option_there_is_one_of_the_program():
    said = re.findall(r"manage\.py ([a-z_]+)((?: [-\w./]+)*)", RUNBOOK)
    assert len(said) > 10
    for name, rest in said:
        app = get_commands().get(name)
        assert app is not None, name
        options = load_command_class(app, name).create_parser("manage.py", name)._option_string_actions
        asked = {each for each in shlex.split(rest) if each.startswith("-")}
        asked = {each if each.startswith("--") else each[:2] for each in asked}  # -v0 is -v
        verbs = "--later" in asked  # of a verb of `runs`, whose parser is its own
        assert verbs or asked <= set(options), f"{name} {rest}"


def test_every_test_and_every_paragraph_that_is_named_exists():
    for named in re.findall(r"`([\w/]*test_\w+\.py)`", RUNBOOK):
        assert list((ROOT / "tests").rglob(named.removeprefix("tests/"))), named
    titles = re.findall(r"^#+ (.*)$", RUNBOOK, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
    assert set(re.findall(r"operations\.md#([\w-]+)", WATCHING)) <= anchors


@pytest.mark.django_db
def test_somebody_who_mistyped_too_often_is_let_in_by_the_command(client, settings, capsys):
    account = factories.user("ada")
    account.set_password(PASSWORD)
    account.save()

    def log_in(password: str) -> int:
        return client.post(reverse("login"), {"username": "ada", "password": password}).status_code

    tried = [log_in("wrong") for _ in range(settings.LOGIN_ATTEMPTS)]
    assert tried[-1] == log_in(PASSWORD) == 429
    call_command("axes_list_attempts")
    assert "ada" in capsys.readouterr().out
    call_command("axes_reset_username", "ada")
    assert log_in(PASSWORD) == 302


@pytest.mark.django_db
def test_an_image_is_taken_out_by_the_line_that_stands_there(client, tmp_path, capsys):
    image = factories.image()
    image.sha256 = "0" * 64
    image.file.save("bad.png", ContentFile(b"\x89PNG\r\n\x1a\nnot really"))
    client.force_login(factories.user(admin=True))
    address = reverse("image_file", args=[image.pk])
    shown = client.get(address)
    assert (shown.status_code, f"/images/{image.pk}/" in address) == (200, True)
    shown.getvalue()
    [asked] = re.findall(r"manage\.py shell -v0 -c '([^']+)'", RUNBOOK)
    call_command("shell", "-v0", "-c", asked.replace("NUMBER", str(image.pk)))
    path = Path(capsys.readouterr().out.strip())
    path.rename(tmp_path / path.name)
    assert client.get(address).status_code == 404
    image.refresh_from_db()
    assert image.file, "its row stays"


@pytest.mark.django_db
def test_wrong_names_of_the_site_show_as_it_says(settings, caplog):
    settings.ALLOWED_HOSTS = ["right.example.org"]
    page = reverse("login")
    assert Client().get(page, headers={"Host": "wrong.example.org"}).status_code == 400
    assert "DisallowedHost" in "".join(f"{record.name} {record.exc_text}" for record in caplog.records)
    browser = Client(enforce_csrf_checks=True)
    elsewhere = {"Host": "right.example.org", "Origin": "https://wrong.example.org"}
    assert browser.post(page, {"username": "a", "password": "b"}, headers=elsewhere).status_code == 403
    assert "Origin checking failed" in caplog.text
