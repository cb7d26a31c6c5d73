"""The sentence of a pair, `template word`, which is judged (PROTOCOL §11). Pure: no Django."""

from dataclasses import dataclass

from generation.recipes import prompts
from metrics.associations.askings import Setting

PLURAL = (Setting.PLURAL, Setting.IMAGES_OF_SEVERAL)
NO_ARTICLE = "-"


@dataclass(frozen=True, slots=True)
class Named:
    """How a sentence names a group. `singular`, `plural` and `article` may be empty: they are then made of
    `demonym`. An article of NO_ARTICLE means that there is none."""

    demonym: str
    singular: str = ""
    plural: str = ""
    article: str = ""


def sentence(setting: str, named: Named, word: str) -> str:
    """The sentence that says `word` of a group, in the number in which it was asked.

    Examples
    --------
    >>> old = Named("old", "old person", "old people", "an")
    >>> sentence("t2t-plural", old, "lonely"), sentence("t2t-verb", old, "sleeping")
    ('Old people are lonely', 'An old person is sleeping')
    >>> sentence("i2t-lexical", Named("Ukrainian"), "farmer"), sentence("t2i-plural", Named("Thai"), "calm")
    ('A Ukrainian person is farmer', 'Thai people are calm')
    """
    if setting in PLURAL:
        text = f"{named.plural or f'{named.demonym} people'} are {word}"
    else:
        singular = named.singular or f"{named.demonym} person"
        article = named.article or prompts.article(singular)
        text = f"{singular if article == NO_ARTICLE else f'{article} {singular}'} is {word}"
    return text[:1].upper() + text[1:]
