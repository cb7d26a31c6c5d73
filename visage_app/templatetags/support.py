"""What somebody quotes who asks for help."""

from django import template

from visage_app.observability import log_lines

register = template.Library()


@register.simple_tag
def request_id() -> str:
    """The id of the request that is being answered; it stands in every line that was logged for it."""
    return log_lines.request_id.get()
