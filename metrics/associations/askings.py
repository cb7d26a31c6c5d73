"""Whom, how and in which words models are asked for associations (PROTOCOL §11). Pure: no Django."""

from dataclasses import dataclass
from enum import StrEnum

LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Modality(StrEnum):
    """Text to text, text to image, image to text."""

    T2T = "t2t"
    T2I = "t2i"
    I2T = "i2t"


MODALITIES = [modality.value for modality in Modality]


class Setting(StrEnum):
    """How a model is asked. T2T completes a word. T2I describes images that were made for the singular or the
    plural; I2T interprets such images."""

    SINGULAR = "t2t-singular"
    PLURAL = "t2t-plural"
    ADJECTIVE = "t2t-adjective"
    NOUN = "t2t-noun"
    VERB = "t2t-verb"
    IMAGES_OF_ONE = "t2i-singular"
    IMAGES_OF_SEVERAL = "t2i-plural"
    SUBJECTIVE = "i2t-subjective"
    IMPLICIT = "i2t-implicit"
    LEXICAL = "i2t-lexical"
    STEREOTYPICAL = "i2t-stereotypical"

    @property
    def modality(self) -> Modality:
        return Modality(self.partition("-")[0])

    @property
    def short(self) -> str:
        """Its name within the modality, such as 'singular'."""
        return self.partition("-")[2]

    @property
    def label(self) -> str:
        """For people, on one line: 'T2T singular'."""
        return f"{self.modality.upper()}\N{NO-BREAK SPACE}{self.short}"


def settings_of(modality: Modality) -> tuple[Setting, ...]:
    return tuple(setting for setting in Setting if setting.modality == modality)


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A name of a group of people: 'old person', 'old people', 'an', on a dimension (annotation.models.Axis).

    `template`: the sentence before the bracket where a file gives it, such as 'An old person is'; it is asked
    as it is.
    """

    dimension: str
    singular: str
    plural: str = ""
    article: str = ""
    template: str = ""


def asking_key(setting: Setting, row: int, letter: str = "") -> str:
    """The key of an asking in its run. `row`: the descriptor's line in its list, from 1, or the id of the
    image. A letter belongs to T2T only.

    Examples
    --------
    >>> asking_key(Setting.SINGULAR, 12, "q")
    't2t-singular/12/q'
    """
    return f"{setting}/{row}/{letter}" if letter else f"{setting}/{row}"
