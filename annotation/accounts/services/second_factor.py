"""Two-factor authentication: after the password, a TOTP code (RFC 6238) or a recovery code. TOTP secrets are
stored readable; of a recovery code only a digest keyed by SECRET_KEY."""

import secrets
import time
from base64 import b32encode

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.crypto import get_random_string, salted_hmac
from django.utils.translation import gettext as _
from django_otp.models import Device
from django_otp.oath import TOTP
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from annotation.accounts.queries.accounts import has_second_factor
from annotation.models import Annotator, AuditEvent

RECOVERY_CODES = 10
_DIGITS = 6
_KEY_BYTES = 20
# Without letters and digits that look alike.
_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"


class SecondFactorRefused(ValueError):
    """The second factor cannot be set up. The message says why and what to do."""


def new_key() -> str:
    """A new random secret, in hexadecimal."""
    return secrets.token_hex(_KEY_BYTES)


def format_key(key: str) -> str:
    """A secret as people type it into an authenticator app: base 32, in groups of four."""
    text = b32encode(bytes.fromhex(key)).decode()
    return " ".join(text[start : start + 4] for start in range(0, len(text), 4))


def otpauth_url(*, user: User, key: str) -> str:
    """The otpauth:// URL for a QR code."""
    return str(TOTPDevice(user=user, key=key).config_url)


def set_up(*, user: User, key: str, code: str, password: str) -> tuple[Device, list[str]]:
    """Set up the second factor with the secret `key`, if `code` matches. Returns the device and its recovery
    codes. `password`, the user's, is hashed again, which ends all other sessions. Raises SecondFactorRefused
    for a wrong code, or if there is a second factor already."""
    with transaction.atomic():
        fresh = User.objects.select_for_update(no_key=True).get(pk=user.pk)
        if has_second_factor(fresh):
            raise SecondFactorRefused(_("Two-factor authentication is set up already. Remove it first."))
        device = TOTPDevice(user=fresh, name="code", key=key)
        code = _normalise(code)
        totp = TOTP(device.bin_key, device.step, device.t0, device.digits)
        totp.time = time.time()
        if not _is_totp(code) or not totp.verify(int(code), device.tolerance):
            raise SecondFactorRefused(
                _("This code is wrong. Check the clock of your device, and send the next code.")
            )
        device.last_t = totp.t()
        device.save()
        user.set_password(password)
        user.save(update_fields=["password"])
        codes = _new_codes(fresh)
        _record("second factor set up", of=fresh, by=fresh)
        return device, codes


def verify(*, user: User, code: str) -> Device | None:
    """The device that `code` belongs to; each code works once. None for a wrong code, and for any code
    shortly after a wrong one: each wrong code doubles the wait."""
    code = _normalise(code)
    with transaction.atomic():
        model = TOTPDevice if _is_totp(code) else StaticDevice
        device = model.objects.select_for_update().filter(user=user, confirmed=True).first()
        if device is None:
            return None
        token = code if model is TOTPDevice else _digest(code)
        return device if device.verify_token(token) else None


def new_codes(*, user: User) -> list[str]:
    """Create ten new recovery codes and delete the old ones."""
    with transaction.atomic():
        # Of two clicks at once, the second deletes the codes of the first.
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
        codes = _new_codes(user)
        _record("recovery codes made", of=user, by=user)
        return codes


def device_of(user: User) -> Device | None:
    """The TOTP device of `user`."""
    device: Device | None = TOTPDevice.objects.filter(user=user, confirmed=True).first()
    return device


def codes_left(user: User) -> int:
    """How many unused recovery codes `user` has."""
    return int(StaticToken.objects.filter(device__user=user).count())


def remove(*, user: User, by: User | None) -> bool:
    """Remove the second factor of `user`. Returns False if there was none. `by` is None for a command."""
    with transaction.atomic():
        removed, _by_model = TOTPDevice.objects.filter(user=user).delete()
        StaticDevice.objects.filter(user=user).delete()
        if removed:
            _record("second factor removed", of=user, by=by)
        return bool(removed)


def _new_codes(user: User) -> list[str]:
    StaticDevice.objects.filter(user=user).delete()
    device = StaticDevice.objects.create(user=user, name="recovery")
    codes = [get_random_string(10, _ALPHABET) for _ in range(RECOVERY_CODES)]
    StaticToken.objects.bulk_create(StaticToken(device=device, token=_digest(code)) for code in codes)
    return [f"{code[:5]}-{code[5:]}" for code in codes]


def _normalise(code: str) -> str:
    return "".join(code.split()).replace("-", "").lower()


def _is_totp(code: str) -> bool:
    return len(code) == _DIGITS and code.isascii() and code.isdigit()


def _digest(code: str) -> str:
    # The column holds 64 bits of the digest; a code has 49.
    return salted_hmac("annotation.second_factor", code, algorithm="sha256").hexdigest()[:16]


def _record(what: str, *, of: User, by: User | None) -> None:
    hidden = Annotator.objects.filter(user=of).exists()
    AuditEvent.objects.create(what=what, by=by, details={} if hidden else {"account": of.pk})
