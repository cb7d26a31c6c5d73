"""Setting up the second step and logging in with it, by keyboard on a small screen."""

from base64 import b32decode

import pytest
from django_otp.oath import TOTP
from playwright.sync_api import expect

from tests import factories

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_from_the_first_code_to_a_recovery_code(new_page, accessible):
    page = new_page(factories.user("amal", admin=True), width=360, dark=True)
    page.goto("/accounts/password_change/")
    page.get_by_role("link", name="Two-factor authentication").press("Enter")
    # drawn: the Content-Security-Policy lets it through
    expect(page.locator("img.qr")).to_have_js_property("complete", True)
    assert page.locator("img.qr").evaluate("image => image.naturalWidth > 100")
    accessible(page)
    key = b32decode(page.locator("#secret").inner_text().replace(" ", ""))
    page.get_by_label("Six-digit code").focus()
    page.keyboard.type(f"{TOTP(key).token():06}")
    page.keyboard.press("Tab")
    page.keyboard.type("not my password")
    page.keyboard.press("Enter")
    expect(page.get_by_text("This is not your password.")).to_be_visible()
    accessible(page)
    page.get_by_label("Six-digit code").fill(f"{TOTP(key).token():06}")
    page.get_by_label("Password").fill("a-long-password")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    accessible(page)
    code = page.locator(".recovery-codes code").first.inner_text()
    page.get_by_role("link", name="I have written them down").press("Enter")
    expect(page.locator(".recovery-codes")).to_have_count(0)
    accessible(page)
    page.get_by_role("button", name="Log out").press("Enter")
    page.get_by_label("Username").fill("amal")
    page.get_by_label("Password").fill("a-long-password")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Code")).to_be_focused()
    accessible(page)
    page.keyboard.type(code)
    page.keyboard.press("Enter")
    expect(page.get_by_text("9 recovery codes are left.")).to_be_visible()
    accessible(page)
