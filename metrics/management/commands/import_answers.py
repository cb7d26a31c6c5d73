"""manage.py import_answers: store answers that were made elsewhere as a finished run (docs/importing.md)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.imports.readers.oddities import FileRefused
from annotation.imports.services.catalogue import Progress
from annotation.management.commands import _importing
from annotation.management.commands._lookups import command_errors
from annotation.models import ImageSet
from generation.answers.services.importing import import_answers
from generation.core.file_errors import FileUnusable
from generation.management.commands._targets import find_study_or_image_set
from generation.plans.errors import PlanRefused
from generation.recipes.checks import RecipeRefused
from generation.recipes.recipes import option_value
from metrics.associations.askings import Modality, Setting, settings_of
from metrics.associations.descriptors import read_descriptors
from metrics.associations.services.importing import import_associations
from metrics.inference.services.importing import import_inference

_LAYOUT = ("modality", "setting", "descriptors")
Importer = Callable[[Mapping[str, Any], Progress], Sequence[str]]
"""The options of the command -> what was done, line by line."""
_SETTINGS = (
    *("revision", "system", "chat", "temperature", "top_p"),
    *("max_tokens", "stop", "times", "seed", "options"),
)


def _texts(options: Mapping[str, Any], progress: Progress) -> Sequence[str]:
    imported = import_answers(
        path=options["file"],
        kind=options["kind"],
        name=options["name"],
        model=options["model"],
        settings={name: options[name] for name in _SETTINGS},
        image_set=_image_set(options["set"]),
        progress=progress,
    )
    return imported.summary()


def _image_set(name: str | None) -> ImageSet | None:
    if name is None:
        return None
    image_set = find_study_or_image_set(name)
    if not isinstance(image_set, ImageSet):
        raise CommandError(f"'{name}' is a study. Name its image set.")
    return image_set


def _inference(options: Mapping[str, Any], progress: Progress) -> Sequence[str]:
    imported = import_inference(
        path=options["file"],
        name=options["name"],
        model=options["model"],
        revision=options["revision"] or "",
        settings=options["options"] or {},
        progress=progress,
    )
    return imported.summary()


def _biasdora(options: Mapping[str, Any], progress: Progress) -> Sequence[str]:
    listed = options["descriptors"]
    imported = import_associations(
        path=options["file"],
        setting=_setting(options["modality"], options["setting"]),
        name=options["name"] or "",
        model=options["model"],
        listed=read_descriptors(_text(listed), listed.name) if listed else None,
        settings={name: options[name] for name in _SETTINGS},
        progress=progress,
    )
    return imported.summary()


def _setting(modality: str | None, short: str | None) -> Setting:
    """The setting that the options name, such as t2t and plural."""
    if not (modality and short):
        raise CommandError("--layout biasdora needs --modality and --setting, for example t2t and singular.")
    try:
        return Setting(short if short.startswith(f"{modality}-") else f"{modality}-{short}")
    except ValueError as error:
        known = ", ".join(setting.short for setting in settings_of(Modality(modality)))
        raise CommandError(f"--setting '{short}': of {modality} there are {known}.") from error


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path}: {error}. Give a CSV file in UTF-8.") from error


LAYOUTS: Mapping[str, Importer] = {"biasdora": _biasdora}
"""Whose tables a file may be, and what imports it."""
KINDS: Mapping[str, Importer] = {"completions": _texts, "descriptions": _texts, "inference": _inference}
"""What a file may hold, and what imports it."""
_OF_TEXTS = {*_SETTINGS} - {"revision", "options"}
UNUSED: Mapping[str, Iterable[str]] = {
    "completions": ("set", *_LAYOUT),
    "descriptions": _LAYOUT,
    "inference": ("set", *_LAYOUT, *sorted(_OF_TEXTS)),
    "biasdora": ("set",),
}
"""Options that a kind or a layout has no place for: they are refused and not dropped."""


class Command(BaseCommand):
    help = (
        "Store answers that were made elsewhere as a finished run, so that every measure works on them. "
        "JSON lines or CSV (UTF-8, perhaps compressed with gzip), one answer a line: prompt and text, and "
        "where known key, number, seed, ended, tokens_in, tokens_out, seconds, image; other fields are kept. "
        "For inference a CSV of source, identity, attribute, verb, object, entailment, neutral, "
        "contradiction. In the layout of BiasDora's authors, bias_type, template, answer_a to answer_z, run "
        "and seed, or id and generated_output. "
        "If a line is wrong, nothing is imported. Importing the same file again changes nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        holds = parser.add_mutually_exclusive_group(required=True)
        holds.add_argument("--kind", choices=sorted(KINDS), help="what the file holds")
        holds.add_argument("--layout", choices=sorted(LAYOUTS), help="whose table it is")
        parser.add_argument(
            "--name", metavar="RUN", help="name of the run that is made; with --layout by setting and model"
        )
        parser.add_argument("--model", required=True, metavar="ID", help="the model that answered")
        parser.add_argument("--set", metavar="NAME", help="the image set of descriptions, to find its images")
        layout = parser.add_argument_group("with --layout biasdora")
        layout.add_argument("--modality", choices=list(Modality))
        layout.add_argument("--setting", metavar="NAME", help="such as singular, subjective")
        layout.add_argument(
            "--descriptors",
            type=Path,
            metavar="FILE",
            help="CSV that says on which dimensions the names of images stand, if the table does not",
        )
        known = parser.add_argument_group("settings", "how the model was asked, as far as you know it")
        known.add_argument("--revision", metavar="REVISION", help="of the model")
        known.add_argument("--system", metavar="TEXT", help="the system message")
        known.add_argument(
            "--no-chat", dest="chat", action="store_const", const=False, help="the prompts were continued"
        )
        known.add_argument("--temperature", type=float)
        known.add_argument("--top-p", type=float)
        known.add_argument("--max-tokens", type=int, help="of an answer")
        known.add_argument("--stop", action="append", metavar="TEXT", help="a text that ends an answer")
        known.add_argument("--times", type=int, help="answers to each prompt")
        known.add_argument("--seed", type=int)
        known.add_argument(
            "--option", action="append", default=[], metavar="NAME=VALUE", help="anything else of the kind"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        options["stop"] = None if options["stop"] is None else tuple(options["stop"])
        options["options"] = _further(options["option"])
        if options["kind"] and not options["name"]:
            raise CommandError("--name is missing: name the run that is made.")
        _refuse_unused(options)
        importer = KINDS[options["kind"]] if options["kind"] else LAYOUTS[options["layout"]]
        refused = (FileUnusable, FileRefused, PlanRefused, RecipeRefused)
        with command_errors(*refused), _importing.progress_bar() as progress:
            done = importer(options, progress)
        for line in done:
            self.stdout.write(line)


def _refuse_unused(options: Mapping[str, Any]) -> None:
    what = "kind" if options["kind"] else "layout"
    given = [name for name in UNUSED[options[what]] if options[name] is not None]
    if given:
        named = ", ".join("--no-chat" if name == "chat" else f"--{name.replace('_', '-')}" for name in given)
        raise CommandError(f"--{what} {options[what]} has no place for {named}. Leave that out.")


def _further(given: Sequence[str]) -> Mapping[str, Any] | None:
    for one in given:
        if "=" not in one:
            raise CommandError(f"--option '{one}': write NAME=VALUE.")
    pairs = (one.partition("=") for one in given)
    return {name.strip(): option_value(value) for name, _, value in pairs} or None
