"""Store, change and delete files of embedding tests, and embed the texts that they need."""

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from annotation.models import AuditEvent, ImageSet
from generation.models import IMPORTED, Run, RunState
from generation.plans import services as plans
from generation.plans.errors import PlanRefused
from generation.recipes import recipes
from generation.recipes.checks import LONGEST_TEXT, RecipeRefused
from generation.runs import services as runs
from generation.runs.errors import RunRefused
from metrics.embedding_tests.data import SetGroups
from metrics.embedding_tests.queries import TestsRefused, image_set_of
from metrics.embedding_tests.reference import Reference, ReferenceRefused, read_reference, read_variables
from metrics.embedding_tests.test_file import Ranking, TestFile, TestFileRefused, parse
from metrics.models import EmbeddingTestFile


class FileRefused(Exception):
    """Why a file of tests cannot be stored: in `field`, one of name, text, reference and variables. The
    message has the cure."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class TextsRefused(Exception):
    """Why texts cannot be embedded. The message has the cure."""


def check(*, text: str, reference: str, variables: str = "") -> tuple[TestFile, ImageSet]:
    """The file and its set. `text`: TOML; `reference`: the CSV that it ranks against, or empty; `variables`:
    that of other variables, or empty. Raises FileRefused."""
    try:
        file = parse(text)
    except TestFileRefused as refused:
        raise FileRefused("text", str(refused)) from refused
    try:
        image_set = image_set_of(file)
    except TestsRefused as refused:
        raise FileRefused("text", str(refused)) from refused
    groups = SetGroups(image_set)
    for test in file.tests:
        check_groups("text", (*test.x, *test.y), groups)
    if variables.strip() and not (file.ranking and file.ranking.variables):
        raise FileRefused(
            "variables",
            _(
                "The file names no variables in a [ranking], which the table is for. Add "
                'variables = "variables.csv" there, or leave the table out.'
            ),
        )
    if file.ranking is None:
        if reference.strip():
            raise FileRefused(
                "reference",
                _("The file has no [ranking], which the table is for. Add it, or leave the table out."),
            )
        return file, image_set
    table = _table(file.ranking, reference)
    check_groups("reference", table.groups, groups)
    for region in table.regions:
        if len(file.ranking.prompt_of(region)) > LONGEST_TEXT:
            raise FileRefused(
                "text",
                _("The prompt for “%(region)s” has more than %(most)d characters. Shorten it.")
                % {"region": region[:60], "most": LONGEST_TEXT},
            )
    if file.ranking.variables:
        _check_variables(file.ranking, variables, table)
    return file, image_set


def check_groups(field: str, named: Sequence[str], groups: SetGroups) -> None:
    """Raises FileRefused, in `field`, for a name that the set has no images of."""
    for name in named:
        try:
            groups.find(name, column=field == "reference")
        except TestsRefused as refused:
            raise FileRefused(field, str(refused)) from refused


def create(*, name: str, text: str, reference: str, variables: str = "", by: User) -> EmbeddingTestFile:
    """Raises FileRefused."""
    _file, image_set = check(text=text, reference=reference, variables=variables)
    try:
        with transaction.atomic():
            made = EmbeddingTestFile.objects.create(
                name=name, image_set=image_set, text=text, reference=reference, variables=variables, owner=by
            )
            _record("embedding tests created", made, by)
    except IntegrityError as error:
        raise _taken(name) from error
    return made


def change(
    *, stored: EmbeddingTestFile, name: str, text: str, reference: str, variables: str = "", by: User
) -> EmbeddingTestFile:
    """Raises FileRefused."""
    _file, image_set = check(text=text, reference=reference, variables=variables)
    try:
        with transaction.atomic():
            locked = EmbeddingTestFile.objects.select_for_update().get(pk=stored.pk)
            locked.name, locked.image_set, locked.text, locked.reference = name, image_set, text, reference
            locked.variables = variables
            locked.save()
            _record("embedding tests changed", locked, by)
    except IntegrityError as error:
        raise _taken(name) from error
    return locked


@transaction.atomic
def delete(*, stored: EmbeddingTestFile, by: User) -> None:
    _record("embedding tests deleted", stored, by)
    stored.delete()


def embed_texts(*, run: Run, texts: Sequence[str], by: User) -> tuple[Run, int]:
    """Add jobs for `texts` to a run, and start it; returns it with the number of jobs.

    Raises TextsRefused. Call `generation.jobs.tasks.enqueue` afterwards.
    """
    if run.backend == IMPORTED or run.image_set is None:
        raise TextsRefused(
            _(
                "The vectors of the run %(run)d were made elsewhere, and only their encoder can embed more "
                "texts. Embed them there, and import them with the vectors of the images."
            )
            % {"run": run.pk}
        )
    try:
        recipe = recipes.from_json(run.recipe)
        assert isinstance(recipe, recipes.EmbeddingRecipe)
        plan = plans.plan_captions_or_embeddings(recipe=recipe, image_set=run.image_set, texts=texts)
        ensured = runs.ensure(plan=plan, by=by)
        if ensured.run.state == RunState.PLANNED:
            runs.start(run=ensured.run, by=by)
    except (PlanRefused, RecipeRefused, RunRefused) as refused:
        raise TextsRefused(str(refused)) from refused
    ensured.run.refresh_from_db()
    return ensured.run, ensured.added


def _table(ranking: Ranking, reference: str) -> Reference:
    if not reference.strip():
        raise FileRefused(
            "reference",
            _("The file ranks images against “%(file)s”. Add that table as CSV.")
            % {"file": ranking.reference},
        )
    try:
        return read_reference(reference)
    except ReferenceRefused as refused:
        raise FileRefused("reference", str(refused)) from refused


def _check_variables(ranking: Ranking, variables: str, reference: Reference) -> None:
    if not variables.strip():
        raise FileRefused(
            "variables",
            _("The file correlates shares with “%(file)s”. Add that table as CSV.")
            % {"file": ranking.variables},
        )
    try:
        read_variables(variables, reference)
    except ReferenceRefused as refused:
        raise FileRefused("variables", str(refused)) from refused


def _taken(name: str) -> FileRefused:
    return FileRefused("name", _("There is a file “%(name)s” already. Choose another name.") % {"name": name})


def _record(what: str, stored: EmbeddingTestFile, by: User) -> None:
    AuditEvent.objects.create(
        what=what, by=by, details={"name": stored.name, "image_set": stored.image_set.name}
    )
