"""Shared by the commands for runs: look up arguments, build recipes, summarise plans."""

from argparse import ArgumentParser, _ArgumentGroup
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from django.core.management.base import CommandError, DjangoHelpFormatter
from django.template.defaultfilters import filesizeformat

from annotation.models import ImageSet, Study
from generation import backends
from generation.core.durations import duration
from generation.models import Run, RunKind, RunState
from generation.plans import services as plans
from generation.plans.queries.identity_groups import suggestion
from generation.recipes.checks import RecipeRefused
from generation.recipes.recipes import (
    FAKE,
    ImageRecipe,
    Recipe,
    as_json,
    option_value,
)
from generation.recipes.series import series_text
from generation.runs.named import find_run

_LOADING = ("variant", "lora", "quantisation", "offload")
R = TypeVar("R", bound=Recipe)
DTYPE_HELP = "auto (default: half precision on a GPU, float32 on a CPU), float32, float16 or bfloat16"


def find_study_or_image_set(name: str, *, new_set: bool = False) -> Study | ImageSet | None:
    """The study or image set `name`, also as study:NAME or set:NAME; None if a new set is possible.

    Raises CommandError if there is neither, or both.
    """
    kind, rest = _split(name)
    study = Study.objects.select_related("stereotype_source").filter(name=rest).first()
    image_set = ImageSet.objects.filter(name=rest).first()
    if kind == "study" or (kind == "" and image_set is None):
        image_set = None
    elif kind == "set" or study is None:
        study = None
    else:
        raise CommandError(
            f"'{rest}' is both a study and an image set. Write study:{rest} or set:{rest} to say which."
        )
    if study is not None or image_set is not None or (new_set and kind != "study"):
        return study or image_set
    studies = sorted(Study.objects.values_list("name", flat=True))
    sets = sorted(ImageSet.objects.values_list("name", flat=True))
    raise CommandError(
        f"There is no study or image set '{rest}'.{suggestion(rest, [*studies, *sets])} "
        f"Studies: {', '.join(studies) or 'none yet'}. Image sets: {', '.join(sets) or 'none yet'}."
    )


def planned_by(run: Run) -> str:
    """The command that plans runs of this kind."""
    commands = {RunKind.IMAGES: "generate", RunKind.CAPTIONS: "caption", RunKind.EMBEDDINGS: "embed"}
    return commands.get(RunKind(run.kind), "ask")


def cure(run: Run) -> str:
    """The command to use instead of a transition that is not possible."""
    commands = {
        RunState.PLANNED: f"manage.py runs start {run.pk}",
        RunState.PAUSED: f"manage.py runs resume {run.pk}",
        RunState.DONE: f"manage.py runs retry {run.pk}",
        RunState.CANCELLED: f"manage.py {planned_by(run)}, with the same arguments as before",
    }
    if run.state == RunState.PAUSED and run.error:
        commands[RunState.PAUSED] += f", manage.py runs discard {run.pk}"
    command = commands.get(RunState(run.state))
    return f" ({command})" if command else ""


def image_set_name(name: str) -> str:
    """The name of a possibly new set, without the prefix `set:`."""
    return _split(name)[1]


def get_run(name: str) -> Run:
    """The run with this number or name. A run without a name, of images for example, goes by the name of its
    image set as long as no other run of that set does. Raises CommandError."""
    known = Run.objects.select_related("image_set")
    run = find_run(known, name)
    if run is not None:
        return run
    of_set = list(known.filter(name="", image_set__name=name).order_by("pk"))
    if len(of_set) == 1:
        return of_set[0]
    if of_set:
        numbers = ", ".join(f"{each.pk} ({RunKind(each.kind).label.lower()})" for each in of_set)
        raise CommandError(f"The image set '{name}' has {len(of_set)} runs: {numbers}. Give a number.")
    latest = list(known.order_by("-pk")[:10])
    numbers = ", ".join(f"{each.pk} ({each.about})" for each in latest)
    raise CommandError(
        f"There is no run '{name}'.{suggestion(name, [each.about for each in latest])} The latest are: "
        f"{numbers or 'none yet'}."
    )


def recipe_of(kind: type[R], options: Mapping[str, Any], *, like: R | None = None) -> R:
    """A recipe from command options; missing ones (None) are as in `like`, else the recipe's defaults.

    Raises CommandError, which names the field.
    """
    known = {field.name for field in fields(kind)}
    changes = {name: value for name, value in options.items() if name in known and value is not None}
    try:
        base = like or kind()
        if changes.get("backend", base.backend) != base.backend:
            # The model, its weights and its server belong to another backend.
            changes.setdefault("model", FAKE if changes["backend"] == FAKE else "")
            for name in known & {"pretrained", "server"}:
                changes.setdefault(name, "")
        return replace(base, **changes)
    except RecipeRefused as error:
        raise CommandError(f"{error} See --help.") from error


def add_precision_options(model: _ArgumentGroup) -> None:
    model.add_argument("--dtype", metavar="TYPE", help=DTYPE_HELP)
    model.add_argument(
        "--repeatable",
        action="store_const",
        const=True,
        help="on a GPU: slower settings, with which the same GPU and versions give the same bytes again",
    )


def parse_options(arguments: Sequence[str]) -> dict[str, Any]:
    """KEY=VALUE each; values are JSON if they can be parsed, else text."""
    found: dict[str, Any] = {}
    for text in arguments:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise CommandError(f"--option '{text}': write KEY=VALUE.")
        found[key] = option_value(value)
    return found


class _MultilineFormatter(DjangoHelpFormatter):
    """Keeps the line breaks of texts with several lines."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)


def list_backends_in_help(parser: ArgumentParser, *kinds: str, without: Container[str] = ()) -> None:
    """List the backends of these kinds of runs in --help, one per line; `without` those of no use here."""
    parser.formatter_class = _MultilineFormatter
    lines = []
    for kind in kinds:
        lines.append(f"backends of {kind}:" if len(kinds) > 1 else "backends:")
        known = backends.names(kind).items()
        lines += [f"  {name:<12}{label}" for name, label in known if name not in without]
    parser.epilog = "\n".join(lines)


def plan_summary(preview: plans.Preview) -> Iterable[str]:
    """What the plan will make, how many, and the estimate, line by line."""
    plan, recipe = preview.plan, preview.plan.recipe
    noun = RunKind(recipe.kind).label.lower()
    if plan.name:
        yield f"Run         {plan.name}"
    if plan.image_set:
        yield f"Image set   {plan.image_set}"
    stored = as_json(recipe)
    loading = [f"{name} {stored[name]}" for name in _LOADING if stored.get(name)]
    loaded = ", ".join(filter(None, [recipe.backend, recipe.model, *loading]))
    yield f"Recipe      {plan.recipe_hash[:12]}: {loaded}"
    if isinstance(recipe, ImageRecipe) and recipe.initial:
        yield f"From        {recipe.initial}, at strengths {series_text(recipe.strengths)}"
    for name, count in () if stored.get("initial") else preview.pictures.items():
        yield f"            {count:,} {noun} from {name.replace('_', ' ')} prompts"
    if preview.groups:
        yield f"Groups      {preview.groups:,}, e.g. '{preview.prompts[0]}'"
    existing = f"; {preview.existing:,} are already planned or made" if preview.existing else ""
    if plan.name and preview.prompts:
        yield f"Prompts     e.g. '{preview.prompts[0][:200]}'"
    if preview.texts:
        yield f"Texts       e.g. '{preview.prompts[0][:200]}'"
        images = f"{preview.added_images:,} of {preview.images:,} images"
        yield f"To make     {images} and {preview.added_texts:,} of {preview.texts:,} texts{existing}"
    else:
        noun_made = "askings" if plan.name else "images"
        yield f"To make     {preview.added:,} of {preview.total:,} {noun_made}{existing}"
    if preview.added:
        takes = preview.estimate
        yield f"Estimate    {duration(takes.seconds)}, {filesizeformat(takes.bytes)} ({takes.basis})"
        if takes.tokens_in is not None:
            yield (
                f"Tokens      about {takes.tokens_in:,} in prompts and {takes.tokens_out:,} in answers, at "
                f"most {takes.most_tokens_out:,}"
            )
        if takes.cost is not None:
            yield f"Cost        about {takes.cost:,.2f}, at most {takes.most_cost:,.2f}"
    if plan.attach_to is not None:
        yield (
            f"Study       the draft '{plan.attach_to.name}' will show this set; its pages are created from "
            "its file when the images exist (manage.py open_study FILE.toml)"
        )
    for note in plan.notes:
        yield f"Note        {note}"


def _split(name: str) -> tuple[str, str]:
    kind, colon, rest = name.partition(":")
    return (kind, rest) if colon and kind in ("study", "set") else ("", name)
