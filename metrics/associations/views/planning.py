"""The page that plans what models are asked for associations."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from annotation.core.requests import LoggedIn
from generation.core.access import image_makers_only
from generation.runs.planning_page import preview_or_start
from metrics.associations.forms import FORMS, WordsForm
from metrics.associations.list_form import ListForm
from metrics.associations.services.descriptors import with_groups


@image_makers_only
@require_http_methods(["GET", "HEAD", "POST"])
def plan_associations(request: LoggedIn) -> HttpResponse:
    """GET shows the form of `?modality`; POST shows the preview, and with `start` plans and starts the
    previewed run."""
    kind = FORMS.get(request.GET.get("modality", ""), WordsForm)
    context: dict[str, Any] = {"here": "associations", "kind": kind.RECIPE.kind, "modality": kind.MODALITY}
    if request.method == "POST":
        files = {"files": request.FILES} if issubclass(kind, ListForm) else {}
        form = kind(request.POST, user=request.user, **files)
        started, previewed = preview_or_start(
            request, form, completed=lambda plan: with_groups(plan, form.listed())
        )
        if started is not None:
            return redirect("run", pk=started.pk)
        context |= previewed
        if "preview" in context:
            pictures = context["preview"].pictures.items()
            context["pictures"] = [(gettext(name.replace("_", " ")), number) for name, number in pictures]
    else:
        initial = {"image_set": request.GET["set"]} if "set" in request.GET else None
        form = kind(user=request.user, initial=initial)
    context |= {"form": form, "kinds": [(name, each.title) for name, each in FORMS.items()]}
    return render(request, "metrics/associations/plan.html", context, status=422 if form.errors else 200)
