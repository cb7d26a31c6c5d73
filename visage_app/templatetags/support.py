"""The request id for support."""

from django import template

from visage_app.observability import log_lines

register = template.Library()


@register.simple_tag
def request_id() -> str:
    """The id of the current request, which is in all its log lines."""
    return log_lines.request_id.get()
