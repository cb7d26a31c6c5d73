"""The default wordings of tasks, in every language of the program (docs/translating.md). Pure: no Django."""

from collections.abc import Mapping

WORDINGS = {
    "visual_nature": "The attribute '[attr]' can be visually depicted in an image.",  # PROTOCOL §2
    "prevalence": (
        "Do you know of an opinion in society that associates [id] people with '[attr]'? "
        "We ask what you know of, not what you think."
    ),  # PROTOCOL §3
    "offensiveness": (
        "How offensive would '[attr]' be as a generalisation about a group of people: 'Most [id] are [attr]'?"
    ),  # PROTOCOL §4
    "depiction": (
        "Select every attribute that this image depicts, and draw a box around what shows it."
    ),  # PROTOCOL §5
    # In quotes, because a group is named by an adjective, a noun or a phrase
    "association": "How biased is it to associate '[id]' with '[attr]'?",  # PROTOCOL §11
}
"""Kind of task -> wording."""
OFFENSIVENESS_OF_AN_ATTRIBUTE = "How offensive would '[attr]' be as a generalisation about a group of people?"

_SPANISH = {
    WORDINGS["visual_nature"]: "El atributo '[attr]' se puede representar visualmente en una imagen.",
    WORDINGS["prevalence"]: (
        "¿Conoce en la sociedad una opinión que asocie a las personas de identidad [id] con '[attr]'? "
        "Preguntamos qué conoce, no qué piensa."
    ),
    WORDINGS["offensiveness"]: (
        "¿Cuán ofensivo sería '[attr]' como generalización sobre un grupo de personas: «La mayoría de las "
        "personas de identidad [id] son [attr]»?"
    ),
    OFFENSIVENESS_OF_AN_ATTRIBUTE: (
        "¿Cuán ofensivo sería '[attr]' como generalización sobre un grupo de personas?"
    ),
    WORDINGS["depiction"]: (
        "Seleccione todos los atributos que muestra esta imagen y dibuje un recuadro alrededor de lo que los "
        "muestra."
    ),
    WORDINGS["association"]: "¿Cuán sesgado es asociar '[id]' con '[attr]'?",
}
_ARABIC = {
    WORDINGS["visual_nature"]: "يمكن تصوير الصفة '[attr]' بصريًا في صورة.",
    WORDINGS["prevalence"]: (
        "هل تعرف بوجود رأي في المجتمع يربط المنتمين إلى هوية [id] بالصفة '[attr]'؟ "
        "نسأل عما هو معروف لك، لا عن رأيك."
    ),
    WORDINGS["offensiveness"]: (
        "ما مدى الإساءة في '[attr]' كتعميم على مجموعة من الناس: «معظم المنتمين إلى هوية [id] هم [attr]»؟"
    ),
    OFFENSIVENESS_OF_AN_ATTRIBUTE: "ما مدى الإساءة في '[attr]' كتعميم على مجموعة من الناس؟",
    WORDINGS["depiction"]: ("يُرجى اختيار كل الصفات التي تصوّرها هذه الصورة ورسم إطار حول ما يدل عليها."),
    WORDINGS["association"]: "ما مدى التحيز في ربط '[id]' بكلمة '[attr]'؟",
}
TRANSLATED: Mapping[str, Mapping[str, str]] = {"es": _SPANISH, "ar": _ARABIC}
"""Language -> English wording -> translation."""


def default_wording(kind: str, *, names_group: bool) -> str:
    """The English default. `names_group`: whether the task has identity groups."""
    if kind == "offensiveness" and not names_group:
        return OFFENSIVENESS_OF_AN_ATTRIBUTE
    return WORDINGS[kind]


def shown_identity(kind: str, *, name: str, demonym: str, singular: str) -> str:
    """What [id] stands for on a page: the demonym, or else the name of the group; in an association task the
    name of one of its people, if the group has one (PROTOCOL §11).

    Examples
    --------
    >>> shown_identity("association", name="old", demonym="", singular="old person")
    'old person'
    >>> shown_identity("prevalence", name="Mexico", demonym="Mexican", singular="Mexican person")
    'Mexican'
    """
    usual = demonym or name
    return singular or usual if kind == "association" else usual


def translated_wording(wording: str, language: str) -> str:
    """The translation of a default English wording; empty if `wording` is not a default, or if there is no
    translation.

    Examples
    --------
    >>> translated_wording("The attribute '[attr]' can be visually depicted in an image.", "es")
    "El atributo '[attr]' se puede representar visualmente en una imagen."
    >>> translated_wording("Can '[attr]' be seen?", "es")
    ''
    """
    return TRANSLATED.get(language, {}).get(wording, "")
