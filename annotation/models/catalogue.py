"""Identity groups, attributes, the associations between them, and images (PROTOCOL §1, DESIGN §2)."""

from django.conf import settings
from django.db import models
from django.db.models import CheckConstraint, F, Q, UniqueConstraint
from django.db.models.functions import Lower, Trim


class Region(models.TextChoices):
    """The eight regions of SeeGULL (UN SDG groupings; PROTOCOL §1)."""

    SUB_SAHARAN_AFRICA = "Sub-Saharan Africa"
    MIDDLE_EAST = "Middle East"
    SOUTH_ASIA = "South Asia"
    EAST_ASIA = "East Asia"
    LATIN_AMERICA = "Latin America"
    AUSTRALIA = "Australia"
    NORTH_AMERICA = "North America"
    EUROPE = "Europe"


class Axis(models.TextChoices):
    """The kind of identity group; the nine dimensions of BiasDora are among them (PROTOCOL §11)."""

    NATIONALITY = "nationality"
    US_STATE = "us_state", "US state"
    INDIAN_STATE = "indian_state", "Indian state"
    AGE = "age"
    DISABILITY = "disability"
    GENDER = "gender"
    PHYSICAL_APPEARANCE = "physical_appearance", "Physical appearance"
    RACE_COLOUR = "race_colour", "Race or colour"
    RELIGION = "religion"
    SEXUAL_ORIENTATION = "sexual_orientation", "Sexual orientation"
    SOCIOECONOMIC_STATUS = "socioeconomic_status", "Socioeconomic status"
    OTHER = "other"


DIMENSIONS = (
    Axis.AGE,
    Axis.DISABILITY,
    Axis.GENDER,
    Axis.NATIONALITY,
    Axis.PHYSICAL_APPEARANCE,
    Axis.RACE_COLOUR,
    Axis.RELIGION,
    Axis.SEXUAL_ORIENTATION,
    Axis.SOCIOECONOMIC_STATUS,
)
"""The nine dimensions of BiasDora (PROTOCOL §11)."""


class Source(models.Model):
    """Where associations come from: a published dataset, a study, a file.

    What a study uses can only be superseded by another source (annotation/catalogue/services.py). `owner`,
    who made it on a page or through the API, may be empty: a command made it, or the account is gone.
    """

    name = models.SlugField(max_length=80, unique=True)
    title = models.CharField(max_length=200)
    licence = models.CharField(max_length=80, blank=True)
    citation = models.TextField(blank=True)
    origin = models.CharField(
        max_length=500,
        blank=True,
        db_default="",
        default="",
        help_text="Where it comes from: a URL or a text.",
    )
    # No indexes: sources are few, and building one would lock the table of a running server.
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, db_index=False, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True, null=True)
    superseded_by = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, db_index=False, related_name="supersedes"
    )

    class Meta:
        constraints = [
            CheckConstraint(
                condition=Q(superseded_by__isnull=True) | ~Q(superseded_by=F("pk")),
                name="source_not_superseded_by_itself",
            ),
        ]

    def __str__(self) -> str:
        return self.title


class IdentityGroup(models.Model):
    """A group of people as named by a resource, e.g. 'Mexican' (PROTOCOL §1).

    `singular`, `plural` and `article` say how a sentence names one or several of its people, e.g. 'old
    person', 'old people', 'an' (PROTOCOL §11); empty where nobody gave them.
    """

    name = models.CharField(max_length=120)
    axis = models.CharField(max_length=20, choices=Axis, default=Axis.NATIONALITY)
    demonym = models.CharField(max_length=120)
    country = models.CharField(max_length=120, blank=True)
    region = models.CharField(max_length=30, choices=Region, blank=True)
    global_south = models.BooleanField(null=True)
    singular = models.CharField(max_length=120, blank=True, default="", db_default="")
    plural = models.CharField(max_length=120, blank=True, default="", db_default="")
    article = models.CharField(max_length=10, blank=True, default="", db_default="")

    class Meta:
        ordering = ["name"]
        constraints = [
            UniqueConstraint(fields=["axis", "name"], name="identitygroup_unique_per_axis"),
            CheckConstraint(condition=~Q(name=""), name="identitygroup_has_name"),
            CheckConstraint(
                condition=Q(region="") | Q(region__in=Region.values), name="identitygroup_region_known"
            ),
            CheckConstraint(condition=Q(axis__in=Axis.values), name="identitygroup_axis_known"),
        ]

    def __str__(self) -> str:
        return self.name


class Attribute(models.Model):
    """A noun or adjective (phrase), lower case, e.g. 'sombrero' (PROTOCOL §1)."""

    text = models.CharField(max_length=200, unique=True)

    class Meta:
        ordering = ["text"]
        constraints = [
            CheckConstraint(condition=Q(text=Lower(Trim("text"))), name="attribute_lower_case_trimmed"),
            CheckConstraint(condition=~Q(text=""), name="attribute_has_text"),
        ]

    def __str__(self) -> str:
        return self.text


class Association(models.Model):
    """A pair (identity group, attribute) with the votes behind it (PROTOCOL §1, §3, §4).

    The three counts of a pool are all known or all null: the state files of SeeGULL lack out-region votes,
    and pairs that nobody voted on yet have neither. Null is not zero: nobody was asked. `offensiveness` lists
    every rating (-1..4, halves occur in the release); `offensiveness_mean` is the mean *as published by its
    source* and null where nobody rated.
    """

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="associations")
    group = models.ForeignKey(IdentityGroup, on_delete=models.CASCADE, related_name="associations")
    attribute = models.ForeignKey(Attribute, on_delete=models.CASCADE, related_name="associations")
    in_stereotypical = models.PositiveSmallIntegerField(null=True)
    in_nonstereotypical = models.PositiveSmallIntegerField(null=True)
    in_unsure = models.PositiveSmallIntegerField(null=True)
    out_stereotypical = models.PositiveSmallIntegerField(null=True)
    out_nonstereotypical = models.PositiveSmallIntegerField(null=True)
    out_unsure = models.PositiveSmallIntegerField(null=True)
    offensiveness = models.JSONField(default=list)
    offensiveness_mean = models.FloatField(null=True)

    class Meta:
        constraints = [
            UniqueConstraint(fields=["source", "group", "attribute"], name="association_unique_per_source"),
            CheckConstraint(
                condition=Q(
                    in_stereotypical__isnull=True, in_nonstereotypical__isnull=True, in_unsure__isnull=True
                )
                | Q(
                    in_stereotypical__isnull=False,
                    in_nonstereotypical__isnull=False,
                    in_unsure__isnull=False,
                ),
                name="association_in_counts_all_or_none",
            ),
            CheckConstraint(
                condition=Q(
                    out_stereotypical__isnull=True, out_nonstereotypical__isnull=True, out_unsure__isnull=True
                )
                | Q(
                    out_stereotypical__isnull=False,
                    out_nonstereotypical__isnull=False,
                    out_unsure__isnull=False,
                ),
                name="association_out_counts_all_or_none",
            ),
            CheckConstraint(
                condition=Q(offensiveness_mean__isnull=True) | Q(offensiveness_mean__range=(-1, 4)),
                name="association_offensiveness_in_scale",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.group_id}:{self.attribute_id}"


class ImageSet(models.Model):
    """Images that were made or published together, e.g. "ViSAGe release"."""

    name = models.SlugField(max_length=80, unique=True)
    title = models.CharField(max_length=200)
    model_name = models.CharField(
        max_length=200, blank=True, help_text="The text-to-image model, where known."
    )
    licence = models.CharField(max_length=80, blank=True)
    drawn = models.BooleanField(default=False, help_text="Drawn sample pictures, not a model's output.")

    def __str__(self) -> str:
        return self.title


class Image(models.Model):
    """One image of an identity group. It has a file here or a reference to an external one, whose size may be
    unknown: 0."""

    image_set = models.ForeignKey(ImageSet, on_delete=models.CASCADE, related_name="images")
    group = models.ForeignKey(IdentityGroup, on_delete=models.PROTECT, related_name="images")
    prompt = models.CharField(max_length=500, blank=True)
    index = models.PositiveIntegerField(help_text="Number of the image within its set and group, from 1.")
    width = models.PositiveIntegerField(help_text="pixels")
    height = models.PositiveIntegerField(help_text="pixels")
    file = models.FileField(upload_to="images/", max_length=200, blank=True)
    sha256 = models.CharField(max_length=64, blank=True)
    reference = models.CharField(max_length=500, blank=True, help_text="Where the image is kept outside.")

    class Meta:
        ordering = ["group__name", "index"]
        constraints = [
            UniqueConstraint(fields=["image_set", "group", "index"], name="image_unique_in_set"),
            CheckConstraint(condition=~Q(file="") | ~Q(reference=""), name="image_file_or_reference"),
            CheckConstraint(
                condition=Q(file="") | Q(sha256__regex=r"^[0-9a-f]{64}$"), name="image_file_has_sha256"
            ),
            CheckConstraint(
                condition=Q(width__gt=0, height__gt=0) | Q(width=0, height=0, file=""), name="image_has_size"
            ),
            CheckConstraint(condition=Q(index__gt=0), name="image_index_from_one"),
        ]

    def __str__(self) -> str:
        return f"{self.group} {self.index}"
