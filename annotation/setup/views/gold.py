"""The page on which a lead makes gold items: some of the study's images, and what each of them shows."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation import policies
from annotation.core.requests import LoggedIn
from annotation.models import Image, TaskKind
from annotation.setup import queries, services
from annotation.setup.forms.base import tasks_by_kind
from annotation.setup.forms.gold import GoldForm
from annotation.setup.steps import only_before_opening, wizard_context
from annotation.setup.views.errors import WizardErrors, find_error
from annotation.studies.errors import StudyError

IMAGES = 8
"""On a page: enough for a first study, and each is looked at."""


@require_http_methods(["GET", "HEAD", "POST"])
@only_before_opening
def setup_gold(request: LoggedIn, name: str) -> HttpResponse:
    """POST saves what was ticked, and continues with the consent text, with more images (`more`) or with the
    last page (`review`)."""
    document, study = services.begun(user=request.user, name=name)
    task = tasks_by_kind(document).get(TaskKind.DEPICTION)
    if task is None:
        raise Http404
    may_name_leads = policies.is_admin(request.user)
    context = wizard_context(name, "gold", document, study)
    try:
        candidates = queries.gold_candidates(document)
    except StudyError as refused:
        # The key says 'the only task'.
        errors = WizardErrors(name, {**document, "tasks": [task]}, may_name_leads=may_name_leads)
        lacking = errors.for_page(refused) if task.get("image_set") else None
        return render(request, "annotation/setup/gold.html", {"lacking": lacking, **context})
    page = Paginator(candidates, IMAGES).get_page(request.GET.get("page"))
    images = Image.objects.select_related("group").in_bulk([pk for pk, _texts in page])
    data = request.POST if request.method == "POST" else None
    form = GoldForm(document, data, images=[(images[pk], texts) for pk, texts in page])
    if form.is_valid():
        changed = form.updated_document()
        # Items of elsewhere that are wrong do not stop somebody who makes none here.
        problem = find_error("checks", changed) if changed != document else None
        if problem is None:
            try:
                services.save(user=request.user, name=name, document=changed)
            except services.SetupRefused as refused:
                problem = refused
        if problem is None:
            if changed["tasks"] != document["tasks"] or form.has_items():
                messages.success(request, _("Saved. You can come back to every page."))
            else:
                text = _(
                    "No image was ticked, so no gold item was made. To make one, go back to the images and "
                    "tick what one of them shows, or “None of the above”."
                )
                messages.warning(request, text)
            if "more" in request.POST and page.has_next():
                return redirect(f"{reverse('setup_gold', args=[name])}?page={page.next_page_number()}")
            return redirect("setup_step", name=name, step="open" if "review" in request.POST else "consent")
        WizardErrors(name, changed, form, may_name_leads=may_name_leads).add_to_form(problem)
    status = 422 if form.errors else 200
    return render(
        request, "annotation/setup/gold.html", {"form": form, "page": page, **context}, status=status
    )
