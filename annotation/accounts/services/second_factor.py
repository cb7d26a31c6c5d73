"""The second factor: after the password, a code from a device that one has (RFC 6238), or a recovery code.

The secret behind the codes must be readable to check them, so whoever reads the database has it. Of recovery
codes only a keyed digest is kept: with another SECRET_KEY they are worth nothing.
"""

from __future__ import annotations

import secrets
import time
from base64 import b32encode
from typing import TYPE_CHECKING

from django.contrib.auth import get_user_model
from django.db import transaction
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _
from django_otp.models import Device
from django_otp.oath import TOTP
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from annotation.accounts.queries.accounts import has_second_factor
from annotation.models import Annotator, AuditEvent

if TYPE_CHECKING:
    from django.contrib.auth.models import User

RECOVERY_CODES = 10
_DIGITS = 6
_KEY_BYTES = 20
_NAME = "code"
# without letters and digits that look alike
_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"


class SecondFactorRefused(ValueError):
    """A second factor that cannot be set up. The message says why and what to do."""


def new_key() -> str:
    """A new secret, in hexadecimal digits."""
    return secrets.token_hex(_KEY_BYTES)


def shown(key: str) -> str:
    """A secret as it is typed into a program: base 32, in groups of four."""
    text = b32encode(bytes.fromhex(key)).decode()
    return " ".join(text[place : place + 4] for place in range(0, len(text), 4))


def address(*, user: User, key: str) -> str:
    """The otpauth:// address that a QR code holds."""
    return str(TOTPDevice(user=user, key=key).config_url)


def set_up(*, user: User, key: str, code: str, password: str) -> tuple[Device, list[str]]:
    """Ask `user` for codes of `key` from now on, if `code` is one; the device and its recovery codes.

    `password` is theirs, checked before. It is stored anew, which ends every session that was begun without
    the second factor. Raises SecondFactorRefused for a wrong code, and where there is a second factor.
    """
    with transaction.atomic():
        fresh = get_user_model().objects.select_for_update(no_key=True).get(pk=user.pk)
        if has_second_factor(fresh):
            raise SecondFactorRefused(_("There is a second step already. Remove it first."))
        device = TOTPDevice(user=fresh, name=_NAME, key=key)
        code = _plain(code)
        totp = TOTP(device.bin_key, device.step, device.t0, device.digits)
        totp.time = time.time()
        if not _is_number(code) or not totp.verify(int(code), device.tolerance):
            raise SecondFactorRefused(
                _("This code does not fit. Check the clock of your device, and send the next code.")
            )
        device.last_t = totp.t()
        device.save()
        user.set_password(password)
        user.save(update_fields=["password"])
        codes = _new_codes(fresh)
        _record("second factor set up", of=fresh, by=fresh)
        return device, codes


def check(*, user: User, code: str) -> Device | None:
    """The device of `user` that `code` is of, which it is for this one time; None for a wrong code, and for
    any code shortly after a wrong one: each wrong code doubles the pause."""
    code = _plain(code)
    with transaction.atomic():
        kind = TOTPDevice if _is_number(code) else StaticDevice
        device = kind.objects.select_for_update().filter(user=user, confirmed=True).first()
        if device is None:
            return None
        given = code if kind is TOTPDevice else _digest(code)
        return device if device.verify_token(given) else None


def new_codes(*, user: User) -> list[str]:
    """Ten new recovery codes; those there were are worth nothing from now on."""
    with transaction.atomic():
        codes = _new_codes(user)
        _record("recovery codes made", of=user, by=user)
        return codes


def device_of(user: User) -> Device | None:
    """What makes the codes of `user`."""
    device: Device | None = TOTPDevice.objects.filter(user=user, confirmed=True).first()
    return device


def codes_left(user: User) -> int:
    """How many recovery codes `user` has not used."""
    return int(StaticToken.objects.filter(device__user=user).count())


def remove(*, user: User, by: User | None) -> bool:
    """Ask `user` for the password alone from now on; False if that is how it stands. `by` is None for a
    command."""
    with transaction.atomic():
        removed, _each = TOTPDevice.objects.filter(user=user).delete()
        StaticDevice.objects.filter(user=user).delete()
        if removed:
            _record("second factor removed", of=user, by=by)
        return bool(removed)


def _new_codes(user: User) -> list[str]:
    StaticDevice.objects.filter(user=user).delete()
    device = StaticDevice.objects.create(user=user, name="recovery")
    codes = ["".join(secrets.choice(_ALPHABET) for _place in range(10)) for _code in range(RECOVERY_CODES)]
    StaticToken.objects.bulk_create(StaticToken(device=device, token=_digest(code)) for code in codes)
    return [f"{code[:5]}-{code[5:]}" for code in codes]


def _plain(code: str) -> str:
    return "".join(code.split()).replace("-", "").lower()


def _is_number(code: str) -> bool:
    return len(code) == _DIGITS and code.isascii() and code.isdigit()


def _digest(code: str) -> str:
    # as much of it as the column takes: 64 bits, for a code of 49
    return salted_hmac("annotation.second_factor", code, algorithm="sha256").hexdigest()[:16]


def _record(what: str, *, of: User, by: User | None) -> None:
    hidden = Annotator.objects.filter(user=of).exists()
    AuditEvent.objects.create(what=what, by=by, details={} if hidden else {"account": of.pk})


__all__ = [
    "RECOVERY_CODES",
    "SecondFactorRefused",
    "address",
    "check",
    "codes_left",
    "device_of",
    "new_codes",
    "new_key",
    "remove",
    "set_up",
    "shown",
]
