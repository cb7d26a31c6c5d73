"""The setup pages of a study. They fill in the content of a study file; creating and opening the study works
as it does from a file (setup/services.py, studies/services/studies.py)."""

import tomllib

from django.contrib import messages
from django.contrib.auth.models import AnonymousUser, User
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation import policies
from annotation.core.requests import LoggedIn, accepts_files
from annotation.models import Study, TaskKind
from annotation.participation.services import invitations
from annotation.setup import queries, services
from annotation.setup.forms.base import Document, UploadForm, tasks_by_kind
from annotation.setup.forms.start import COPY, NewStudyForm
from annotation.setup.steps import STEPS, only_before_opening, step_after, step_url, wizard_context
from annotation.setup.views.errors import WizardErrors, find_error, find_errors, make_form
from annotation.setup.views.previews import previews
from annotation.studies.errors import StudyError, StudyFileError
from annotation.studies.services import feasibility
from annotation.studies.study_file.marks import find_marks
from annotation.studies.study_file.reading import read_study_text
from annotation.studies.study_file.votes import find_too_few_votes
from annotation.studies.study_file.writing import study_toml
from annotation.studies.study_templates.registry import texts_to_check


def _max_upload_bytes(user: User | AnonymousUser) -> int:
    return services.LARGEST_BYTES if policies.may_create_studies(user) else 0


@accepts_files(_max_upload_bytes)
@require_http_methods(["GET", "HEAD", "POST"])
def setup(request: LoggedIn) -> HttpResponse:
    """GET lists the studies being set up and what a new one can start from; POST starts one."""
    if not policies.may_create_studies(request.user):
        raise Http404
    posted = request.method == "POST"
    uploading = posted and "upload" in request.POST
    new = NewStudyForm(request.POST if posted and not uploading else None, user=request.user)
    upload = UploadForm(request.POST if uploading else None, request.FILES or None, label_suffix="")
    started = _uploaded_study(request, upload) if uploading else _new_study(request, new) if posted else None
    if started is not None:
        name, document = started
        try:
            services.save(user=request.user, name=name, document=document)
        except services.SetupRefused as refused:
            (upload if uploading else new).add_error(None, str(refused))
        else:
            return _first_page(name, document, new, uploading=uploading)
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


@require_http_methods(["GET", "HEAD", "POST"])
@only_before_opening
def setup_step(request: LoggedIn, name: str, step: str) -> HttpResponse:
    """One page of the wizard. POST saves it, and continues with the next page unless `stay` is sent."""
    if step not in STEPS:
        raise Http404
    document, study = services.begun(user=request.user, name=name)
    if step == "open":
        return _open(request, name, document, study)
    may_name_leads = policies.is_admin(request.user)
    data = request.POST if request.method == "POST" else None
    form = make_form(step, document, data, may_name_leads=may_name_leads)
    form.check_shown()
    if form.is_valid():
        changed, note = services.free_checks(form.updated_document(), before=document)
        changed = services.place_checks(changed)
        errors = WizardErrors(name, changed, form, may_name_leads=may_name_leads)
        problem = find_error(step, changed)
        if problem:
            errors.add_to_form(problem)
        else:
            try:
                services.save(user=request.user, name=name, document=changed)
            except services.SetupRefused as refused:
                errors.add_to_form(refused)
            else:
                messages.success(request, _("Saved. You can come back to every page."))
                if note:
                    messages.warning(request, note)
                following = step_after(step, changed)
                if "stay" in request.POST or "review" in request.POST:
                    following = step if "stay" in request.POST else "open"
                return redirect(step_url(name, following))
    context = {"form": form, **wizard_context(name, step, document, study)}
    if step == "tasks":
        context["tasks"] = previews(document, form)
    return render(request, f"annotation/setup/{step}.html", context, status=422 if form.errors else 200)


@require_safe
@only_before_opening
def setup_file(request: LoggedIn, name: str) -> HttpResponse:
    """Download the study file of the current entries, complete or not."""
    document, _study = services.begun(user=request.user, name=name)
    return HttpResponse(
        services.to_toml({"name": name, **document}),
        content_type="application/toml; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}.toml"'},
    )


@require_POST
def setup_discard(request: LoggedIn, name: str) -> HttpResponse:
    """Discard the entries; a draft created from them is kept."""
    if not policies.may_create_studies(request.user) or name not in services.documents(user=request.user):
        raise Http404
    services.discard(user=request.user, name=name)
    messages.success(request, _("Discarded."))
    return redirect("setup")


def _first_page(name: str, document: Document, new: NewStudyForm, *, uploading: bool) -> HttpResponse:
    """Where the lead of a new study goes: to the images, if that is what is missing."""
    if uploading or new.cleaned_data["template"] == COPY:
        return redirect("setup_step", name=name, step="open")
    if any(task["kind"] == TaskKind.DEPICTION for task in document.get("tasks", [])):
        return redirect("study_images", name=name)
    return redirect("setup_step", name=name, step="source")


def _open(request: LoggedIn, name: str, document: Document, study: Study | None) -> HttpResponse:
    """The last page: errors, whether the quotas can be filled, creating the draft and opening the study."""
    errors = WizardErrors(name, document, may_name_leads=policies.is_admin(request.user))
    marks, unchecked = find_marks(document), texts_to_check(document)
    error: StudyError | None = None
    if request.method == "POST":
        opening = "open" in request.POST
        try:
            made = services.save_draft(
                user=request.user,
                name=name,
                document=document,
                may_name_leads=errors.may_name_leads,
                opening=opening,
                texts_checked="texts_checked" in request.POST,
            )
        except StudyError as refused:
            error = refused
        else:
            if opening:
                invitations.create_first(study=made.study, by=request.user)
                messages.success(request, _("The study is open."))
                return redirect(f"{reverse('invitations', args=[made.study.name])}?opened")
            messages.success(request, _("The draft has been created. Annotators cannot see it yet."))
            return redirect("setup_step", name=name, step="open")
    else:
        error = find_error("", {"name": name, **document})
    problems = [errors.for_page(each) for each in find_errors(document, first=error)] if error else []
    images = tasks_by_kind(document).get(TaskKind.DEPICTION)
    too_few = find_too_few_votes(document)
    context = {
        "problems": problems,
        "too_few_votes": errors.for_page(too_few) if too_few else None,
        "without_gold": images is not None and not images.get("gold"),
        "marks": [(errors.link_to(mark.key), mark.text) for mark in marks],
        "unchecked": [errors.link_to(key) for key in unchecked],
        "texts_checked": "texts_checked" in request.POST,
        "toml": services.to_toml({"name": name, **document}),
        "fill": feasibility.report(study=study) if study is not None else None,
        **wizard_context(name, "open", document, study),
    }
    status = 422 if problems and request.method == "POST" else 200
    return render(request, "annotation/setup/open.html", context, status=status)


def _new_study(request: LoggedIn, form: NewStudyForm) -> tuple[str, Document] | None:
    """Name and document of a new study; None after adding an error to the form."""
    if not form.is_valid():
        return None
    name = form.cleaned_data["name"]
    if name in services.documents(user=request.user):
        form.add_error(
            "name",
            _("You are already setting up a study with this name. Continue with it, or discard it first."),
        )
        return None
    if Study.objects.filter(name=name).exists():
        form.add_error("name", _("A study with this name already exists. Choose another name."))
        return None
    return name, form.document()


def _uploaded_study(request: LoggedIn, form: UploadForm) -> tuple[str, Document] | None:
    """Name and document of an uploaded file; None after adding an error to the form. The file replaces the
    entries of a draft of the same name, so it can be downloaded, changed and uploaded again."""
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
        form.add_error("file", _("A study with this name already exists. Choose another name."))
        return None
    return read.name, tomllib.loads(study_toml(read))
