"""Context of every page: which parts of the navigation this account may see."""

from django.http import HttpRequest

from annotation import policies


def roles(request: HttpRequest) -> dict[str, bool]:
    user = getattr(request, "user", None)
    return {"is_admin": user is not None and policies.is_admin(user)}
