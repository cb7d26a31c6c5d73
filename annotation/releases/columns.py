"""The files and columns of a release, for who writes one and who reads it (docs/releases.md). Pure."""

from __future__ import annotations

from collections.abc import Mapping

SCHEMA = 1
"""Version of all that is said here: another one is refused on import."""

ANNOTATIONS, PARQUET = "annotations.csv", "annotations.parquet"
ANNOTATORS, UNITS, IMAGES = "annotators.csv", "units.csv", "images.csv"
ASSOCIATIONS, IDENTITIES = "associations.csv", "identities.csv"
ABOUT, CHECKSUMS, STUDY = "release.json", "checksums.sha256", "study.toml"
CARD, CROISSANT, LICENCE, CITATION = "README.md", "croissant.json", "LICENSE.txt", "CITATION.cff"
IMAGE_FOLDER = "images"

LONGEST_SECONDS, STEP_SECONDS = 120, 5
"""Durations are told in steps of so many seconds, rounded up, and everything longer as the longest."""

JUSTIFICATION = "justification"

# name, type, what it holds. Types are those of the Parquet file.
Described = tuple[tuple[str, str, str], ...]
COLUMNS: Mapping[str, Described] = {
    ANNOTATIONS: (
        ("task", "text", "kind of the task: `visual_nature`, `prevalence`, `offensiveness`, `depiction`"),
        ("task_version", "number", "version of the task"),
        (
            "unit",
            "number",
            "position of the unit within its task, from 1; `units.csv` says what it showed",
        ),
        ("option", "number", "which option of the unit, from 1"),
        ("image", "text", "name of the image in `images.csv`; empty if the unit shows none"),
        ("identity", "text", "identity group of the image or association"),
        ("attribute", "text", "the attribute that was judged; empty for none of the above"),
        (
            "role",
            "text",
            "why it was there: `stimulus`, `stereotypical`, `random`, `none_of_above`, or `unassigned`",
        ),
        (
            "response",
            "number",
            "rows with one number were given together by one annotator. Numbered in this file, in no order "
            "that says anything",
        ),
        ("annotator", "text", "pseudonym, of this release only; empty where the source does not say who"),
        ("simulated", "yes/no", "`yes` if a program made the answer"),
        ("stratum", "text", "whom the place was reserved for; empty where that is not told"),
        ("value", "number", "the value on the task's scale"),
        ("label", "text", "the value in words"),
        ("shown_position", "number", "where the option stood when it was shown, from 1"),
        ("boxes", "boxes", "JSON list of `[x0, y0, x1, y1]` in pixels of the image"),
        ("whole_image", "yes/no", "`yes` if the attribute was said to be visible in the image as a whole"),
        (
            "active_seconds",
            "number",
            f"seconds of activity on the unit, rounded up to steps of {STEP_SECONDS}; {LONGEST_SECONDS} "
            "means that or longer; empty if not known",
        ),
        ("surplus", "yes/no", "`yes` if it came when all wanted answers were there; scores leave it out"),
        (
            JUSTIFICATION,
            "text",
            "what the annotator wrote; `[removed]` where something was taken out",
        ),
    ),
    ANNOTATORS: (
        ("annotator", "text", "pseudonym, of this release only"),
        ("simulated", "yes/no", "`yes` if this is a program, and no person"),
    ),
    UNITS: (
        ("task", "text", "kind of the task"),
        ("task_version", "number", "version of the task"),
        ("unit", "number", "position within the task, from 1"),
        ("page", "number", "page of options of an image, from 1"),
        ("repeat", "number", "above 0 where the same is asked again"),
        ("unit_name", "text", "what the source calls the unit, if anything; it names no person"),
        ("image", "text", "name of the image that is shown, in `images.csv`"),
        ("source", "text", "source of the association that is asked about"),
        ("axis", "text", "kind of its identity group"),
        ("identity", "text", "its identity group"),
        ("attribute", "text", "the attribute, or that of the association, that is asked about"),
        ("option", "number", "number of the option, from 1"),
        ("option_attribute", "text", "its attribute; empty for none of the above"),
        ("role", "text", "why the option is there"),
    ),
    IMAGES: (
        ("image", "text", "name of the image, unique in this release"),
        ("image_set", "text", "the set that it belongs to"),
        ("axis", "text", "kind of the identity group"),
        ("identity", "text", "identity group that it is to show"),
        ("index", "number", "number within set and group, from 1"),
        ("prompt", "text", "what the model was asked for, where known"),
        ("width", "number", "pixels"),
        ("height", "number", "pixels"),
        ("sha256", "text", "hash of the file, where there is one"),
        ("size", "number", "bytes of the file, where there is one"),
        ("reference", "text", "where the image is kept outside, if it is"),
        ("file", "text", "path of the file in this folder; empty if files were not asked for"),
    ),
    ASSOCIATIONS: (
        (
            "source",
            "text",
            "the resource that it comes from; `release.json` has its licence and citation",
        ),
        ("axis", "text", "kind of the identity group"),
        ("identity", "text", "the identity group"),
        ("attribute", "text", "the attribute"),
        ("in_stereotypical", "number", "votes of in-region annotators of the source"),
        ("in_nonstereotypical", "number", "the same, Non-stereotypical"),
        ("in_unsure", "number", "the same, Unsure"),
        ("out_stereotypical", "number", "votes of out-region annotators of the source; empty if not known"),
        ("out_nonstereotypical", "number", "the same, Non-stereotypical"),
        ("out_unsure", "number", "the same, Unsure"),
        ("offensiveness", "ratings", "JSON list of every rating, -1 to 4"),
        ("offensiveness_mean", "decimal", "the mean as the source gives it; empty where nobody rated"),
    ),
    IDENTITIES: (
        ("axis", "text", "kind of the identity group"),
        ("identity", "text", "its name"),
        ("demonym", "text", "what its people are called"),
        ("country", "text", "its country"),
        ("region", "text", "its region, one of SeeGULL's eight"),
        ("global_south", "yes/no", "whether it belongs to the Global South; empty if not known"),
    ),
}


def names(file: str) -> list[str]:
    """The columns of a file, in order."""
    return [name for name, _, _ in COLUMNS[file]]


__all__ = ["COLUMNS", "SCHEMA", "names"]
