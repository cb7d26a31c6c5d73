"""Setting a study up in the browser, page by page. The pages fill in a study file's content; making and
opening the study is the same as from a file (setup/services.py, studies/services/studies.py)."""

from __future__ import annotations

import tomllib
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AnonymousUser, User
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation import policies
from annotation.core.requests import LoggedIn, accepts_files
from annotation.models import Study
from annotation.setup import queries, services
from annotation.setup.forms.base import Document, NewStudyForm, StepForm, UploadForm
from annotation.setup.forms.source import SourceForm
from annotation.setup.views.checks import FORMS, STEPS, Pages, problem_of
from annotation.setup.views.previews import previews
from annotation.studies.errors import StudyError
from annotation.studies.services import feasibility
from annotation.studies.study_file.reading import StudyFileError, read_study_text
from annotation.studies.study_file.writing import study_toml


def _most_bytes(user: User | AnonymousUser) -> int:
    return services.LARGEST_BYTES if policies.may_create_studies(user) else 0


@accepts_files(_most_bytes)
@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def setup(request: LoggedIn) -> HttpResponse:
    """GET lists what is being set up; POST begins a study, from two words or from a file."""
    if not policies.may_create_studies(request.user):
        raise Http404
    posted = request.method == "POST"
    uploading = posted and "upload" in request.POST
    new = NewStudyForm(request.POST if posted and not uploading else None, label_suffix="")
    upload = UploadForm(request.POST if uploading else None, request.FILES or None, label_suffix="")
    begun = _uploaded(request, upload) if uploading else _begun(request, new) if posted else None
    if begun is not None:
        name, document = begun
        try:
            services.save(user=request.user, name=name, document=document)
        except services.SetupRefused as refused:
            (upload if uploading else new).add_error(None, str(refused))
        else:
            return redirect("setup_step", name=name, step="open" if uploading else "source")
    documents = services.documents(user=request.user)
    return render(
        request,
        "annotation/setup/overview.html",
        {
            "new": new,
            "upload": upload,
            "drafts": queries.drafts(user=request.user, documents=documents),
        },
        status=422 if new.errors or upload.errors else 200,
    )


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def setup_step(request: LoggedIn, name: str, step: str) -> HttpResponse:
    """One page of a study being set up. POST saves what was filled in, and continues with the next page."""
    if step not in STEPS:
        raise Http404
    document, study = _document(request, name)
    if step == "open":
        return _open(request, name, document, study)
    form = _form(request, step, document)
    if request.method == "POST" and form.is_valid():
        changed = form.applied()
        pages = Pages(name, changed, form, may_name_leads=policies.is_admin(request.user))
        problem = problem_of(step, changed)
        if problem:
            pages.show(problem)
        else:
            try:
                services.save(user=request.user, name=name, document=changed)
            except services.SetupRefused as refused:
                pages.show(refused)
            else:
                messages.success(request, _("Saved. You can come back to every page."))
                if "stay" in request.POST:
                    return redirect("setup_step", name=name, step=step)
                following = list(STEPS)[list(STEPS).index(step) + 1]
                return redirect("setup_step", name=name, step=following)
    context = {"form": form, **_frame(name, step, document, study)}
    if step == "tasks":
        context["tasks"] = previews(document, form)
    return render(request, f"annotation/setup/{step}.html", context, status=422 if form.errors else 200)


@login_required
@never_cache
@require_safe
def setup_file(request: LoggedIn, name: str) -> HttpResponse:
    """The study file of what was filled in, as far as it goes."""
    document, _study = _document(request, name)
    return HttpResponse(
        services.toml({"name": name, **document}),
        content_type="application/toml; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}.toml"'},
    )


@login_required
@require_POST
def setup_discard(request: LoggedIn, name: str) -> HttpResponse:
    """Forget what was filled in; a draft that was made of it stays."""
    if not policies.may_create_studies(request.user) or name not in services.documents(user=request.user):
        raise Http404
    services.discard(user=request.user, name=name)
    messages.success(request, _("Discarded."))
    return redirect("setup")


def _document(request: LoggedIn, name: str) -> tuple[Document, Study | None]:
    """What is known of a study being set up, and its draft if it was made; 404 if it is not theirs."""
    if not policies.may_create_studies(request.user):
        raise Http404
    study = Study.objects.filter(name=name).first()
    if study is not None and not policies.may_set_up(request.user, study):
        raise Http404
    document = services.documents(user=request.user).get(name)
    if document is None and study is not None:
        document = services.document_of(study)
    if document is None:
        raise Http404
    return document, study


def _form(request: LoggedIn, step: str, document: Document) -> StepForm:
    data = request.POST if request.method == "POST" else None
    if step == "source":
        return SourceForm(document, data, may_name_leads=policies.is_admin(request.user))
    return FORMS[step](document, data)


def _frame(name: str, step: str, document: Document, study: Study | None) -> dict[str, Any]:
    """What every page of the wizard shows around its form."""
    return {
        "name": name,
        "step": step,
        "title": document.get("title", name),
        "steps": [
            {"key": key, "label": label, "url": reverse("setup_step", args=[name, key]), "here": key == step}
            for key, label in STEPS.items()
        ],
        "draft": study,
    }


def _open(request: LoggedIn, name: str, document: Document, study: Study | None) -> HttpResponse:
    """The last page: whether the study is whole, whether it can be filled, and opening it."""
    pages = Pages(name, document, may_name_leads=policies.is_admin(request.user))
    problem: dict[str, str] | None = None
    if request.method == "POST":
        opening = "open" in request.POST
        try:
            made = services.make(
                user=request.user,
                name=name,
                document=document,
                may_name_leads=pages.may_name_leads,
                opening=opening,
            )
        except StudyError as refused:
            problem = pages.placed(refused)
        else:
            if opening:
                messages.success(request, _("The study is open."))
                return redirect("invitations", name=made.study.name)
            messages.success(request, _("The draft is made. Annotators do not see it yet."))
            return redirect("setup_step", name=name, step="open")
    else:
        whole = problem_of("", {"name": name, **document})
        problem = pages.placed(whole) if whole else None
    context = {
        "problem": problem,
        "toml": services.toml({"name": name, **document}),
        "fill": feasibility.report(study=study) if study is not None else None,
        **_frame(name, "open", document, study),
    }
    status = 422 if problem and request.method == "POST" else 200
    return render(request, "annotation/setup/open.html", context, status=status)


def _begun(request: LoggedIn, form: NewStudyForm) -> tuple[str, Document] | None:
    """A new study's name and first words; None, and the form says why, if they cannot be used."""
    if not form.is_valid():
        return None
    name = form.cleaned_data["name"]
    if name in services.documents(user=request.user):
        form.add_error(
            "name",
            _("You are setting up a study of that name already. Go on with it, or discard it first."),
        )
        return None
    if Study.objects.filter(name=name).exists():
        form.add_error("name", _("There is a study of that name already. Choose another."))
        return None
    return name, {"name": name, "title": form.cleaned_data["title"]}


def _uploaded(request: LoggedIn, form: UploadForm) -> tuple[str, Document] | None:
    """The document of an uploaded file; None, and the form says why, if it cannot be used. It takes the
    place of what was filled in for a draft of the same name, so that a file can be downloaded, changed and
    sent back."""
    if not form.is_valid():
        return None
    file = form.cleaned_data["file"]
    if file.size > services.LARGEST_BYTES:
        form.add_error("file", _("The file is too large. Use the command: manage.py open_study FILE.toml"))
        return None
    try:
        read = read_study_text(file.read().decode("utf-8-sig"))
    except UnicodeDecodeError:
        form.add_error("file", _("The file is not UTF-8. Save it as UTF-8."))
        return None
    except StudyFileError as error:
        form.add_error("file", str(error))
        return None
    study = Study.objects.filter(name=read.name).first()
    if study is not None and not policies.may_set_up(request.user, study):
        form.add_error("file", _("There is a study of that name already. Choose another."))
        return None
    return read.name, tomllib.loads(study_toml(read))
