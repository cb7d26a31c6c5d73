"""manage.py release STUDY --out DIR --k 5 (docs/releases.md)"""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from annotation.management.commands._lookups import command_errors, get_study
from annotation.releases.metadata import describe_level
from annotation.releases.request import ReleaseOptions, ReleaseRefused
from annotation.releases.services import bundle


class Command(BaseCommand):
    help = (
        "Create a release of a study's annotator-level data: new pseudonyms, profiles coarsened until every "
        "combination has at least k people, a data card, Croissant metadata, checksums."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="the study's name")
        parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder to create")
        parser.add_argument(
            "--k",
            type=int,
            default=5,
            help="fewest people with each combination of profile values (default: 5)",
        )
        parser.add_argument(
            "--withhold",
            action="append",
            default=[],
            metavar="FIELD",
            help="leave out this profile field; may be given several times",
        )
        parser.add_argument(
            "--with-text",
            action="store_true",
            help="include screened free texts; read them before you publish",
        )
        parser.add_argument(
            "--without-pseudonyms",
            action="store_true",
            help="leave out who gave which answer, and everything about people",
        )
        parser.add_argument("--images", action="store_true", help="include the image files")
        parser.add_argument("--licence", default="", help="SPDX identifier, e.g. CC-BY-4.0, or any text")
        parser.add_argument("--citation", default="", help="how to cite the data")
        parser.add_argument("--force", action="store_true", help="replace an earlier release")

    def handle(self, *args: Any, **options: Any) -> None:
        study = get_study(options["study"])
        names = ("k", "with_text", "images", "licence", "citation", "without_pseudonyms")
        release_options = ReleaseOptions(
            **{name: options[name] for name in names}, withhold=tuple(options["withhold"])
        )
        with command_errors(ReleaseRefused, OSError):
            made = bundle.write(
                study=study, path=options["out"], by=None, options=release_options, overwrite=options["force"]
            )
        for each in made.people.coarsened.report:
            how = describe_level(each)
            self.stdout.write(
                f"{each.name}: {how}; published for {each.published} people, own words {each.own_words}, "
                f"withheld so that nobody stands out {each.rare}, "
                f"not permitted {made.people.unpermitted.get(each.name, 0)}"
            )
        if not made.people.coarsened.report:
            self.stdout.write("No profile field is published for anybody.")
        if not made.people.strata_published:
            self.stdout.write("Strata are withheld: they would say more of people than their profiles.")
        if found := made.people.linkage.found:
            self.stdout.write(
                f"But of {found} of {made.people.linkage.hidden} people they follow from who judged the "
                "same unit, for whoever knows the design of the study. With --without-pseudonyms they do not."
            )
        if made.screen is not None:
            self.stdout.write(
                f"{made.screen.removed} of {made.screen.texts} texts were changed. Read all of them before "
                "you publish: screening is a net, not a proof."
            )
        self.stdout.write(
            f"{options['out']}: {made.files} files, {made.counts.judgements:,} judgements, "
            f"{len(made.people):,} annotators. Checksum {made.checksum}. Fill in the blanks of README.md: "
            "they say 'to be filled in'; then renew the checksums."
        )
