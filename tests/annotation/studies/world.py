"""A small resource, an image set and a study that has asked what is visual, for the tests of study files."""

from annotation.models import Study
from tests import factories

# group -> (region, {attribute: out-region votes for a stereotype})
RESOURCE = {
    "Mexican": ("Latin America", {"sombrero": 3, "poncho": 2, "kind": 3, "poor": 1}),
    "French": ("Europe", {"beret": 2, "chic": 1, "romantic": 3}),
    "Nepali": ("South Asia", {"prayer flag": 2, "short": 2, "poor": 2}),
}
VISUAL = ("sombrero", "poncho", "beret", "prayer flag", "short", "poor", "hat", "turban")


def resource(name: str = "votes") -> None:
    made = factories.source(name)
    for group, (region, votes) in RESOURCE.items():
        factories.group(group, region=region)
        for text, number in votes.items():
            factories.association(
                group_name=group, text=text, out_votes=(number, 3 - number, 0), from_source=made
            )


def pictures(name: str = "pictures", *, each: int = 2, groups=tuple(RESOURCE)) -> None:
    image_set = factories.image_set(name)
    for group in groups:
        for index in range(1, each + 1):
            factories.image(
                group_name=group,
                index=index,
                image_set=image_set,
                file=f"images/{group}{index}.png",
                sha256="0" * 64,
            )


def everything(*, each: int = 2) -> None:
    """All of them; so many images of each group."""
    resource()
    pictures(each=each)
    rated()


def rated(name: str = "seen", *, visual=VISUAL, rule: int | None = None) -> Study:
    """A study in which all three annotators found `visual` visual, and two of three found 'kind' so."""
    study = factories.study(name, visual_rule=rule)
    task = factories.task(study)
    said = [*((text, (5, 4, 5)) for text in visual), ("kind", (5, 4, 2))]
    units = factories.attribute_units(task, [text for text, _ in said])
    factories.responses(
        (unit, [value], None) for unit, (_, values) in zip(units, said, strict=True) for value in values
    )
    return study


HEAD = """
name = "whole"
title = "Everything at once"
contact = "studies@example.org"

[consent]
text = "What taking part means."

[stereotypes]
source = "votes"
"""

DEPICTION = """
[[tasks]]
kind = "depiction"
image_set = "pictures"
seed = 5
strata = ["any", "any", "gender: not male"]
attributes = { visual = "seen" }
"""

PREVALENCE = """
[[tasks]]
kind = "prevalence"
seed = 6
associations = { source = "votes" }
"""

EVERY_KEY = """
name = "whole"
title = "Everything at once"
description = "We want to know.\\n\\n- what is seen\\n- what is said"
contact = "studies@example.org"
leads = ["maria", "noor"]
visual_rule = 2
intervals = "bootstrap"

[consent]
text = '''
First paragraph with "quotes", \\ and ü.

Second paragraph.
'''
content_warning = "Some words hurt."

[consent.es]
text = "Lo que significa participar."
content_warning = "Algunas palabras duelen."

[consent.ar]
text = "ما تعنيه المشاركة."
content_warning = "بعض الكلمات جارحة."

[consent.fr]
text = "Ce que participer veut dire."

[translations.es]
title = "Todo a la vez"
description = "Queremos saber.\\n\\n- lo que se ve\\n- lo que se dice"
support_text = "Escríbanos.\\n\\nO llame."

[translations.ar]
title = "كل شيء دفعة واحدة"

[translations.pt-br]
support_text = "Escreva-nos."

[stereotypes]
source = "votes"
pool = "in"
threshold = 1

[recruitment]
self_enrol = false
completion_code = "C0DE"
completion_url = "https://app.prolific.com/submissions/complete?cc=C0DE"
parameters = { participant = "workerId", study = "hitId", session = "assignmentId" }

[quality]
training_pass = 0.75
gold_rate = 0.1

[care]
blur_images = true
break_after = 20
session_cap = 200
support_text = "Write to us.\\n\\nOr call."

[[questions]]
field = "diaspora"
label = "Do you live away from where you grew up?"
choices = ["yes", "no"]

[questions.translations.es]
label = "¿Vive lejos de donde creció?"
choices = ["sí", "no"]

[questions.translations.fr]
label = "Vivez-vous loin du lieu de votre enfance ?"
choices = ["oui", "non"]

[[questions]]
field = "job"
label = "What do you do?"

[questions.translations.ar]
label = "ما عملك؟"

[[tasks]]
kind = "visual_nature"
wording = "Can '[attr]' be seen?"
instructions = "Think of any image."
strata = ["origin: Asia", "diaspora: yes and gender: not male", "any"]
seed = 11
attributes = ["hat", "kind", "poor"]

[tasks.translations.es]
wording = "¿Se puede ver '[attr]'?"
instructions = "Piense en cualquier imagen."

[[tasks.translations.es.examples]]
text = "sombrero"
answer = "Muy de acuerdo"
why = "Se puede señalar."

[tasks.translations.fr]
wording = "Peut-on voir '[attr]' ?"

[[tasks.translations.fr.examples]]
text = "chapeau"
answer = "Tout à fait d'accord"

[[tasks.examples]]
text = "hat"
answer = "Strongly agree"
why = "One can point at it."

[[tasks.training]]
attribute = "sombrero"
expected = ["Agree", "Strongly agree"]
feedback = "A sombrero is an object."

[[tasks.gold]]
attribute = "hat"
expected = ["Strongly agree"]

[[tasks.attention]]
attribute = "choose unsure here"
expected = ["Unsure"]

[[tasks]]
kind = "prevalence"
seed = 12
associations = { source = "votes", limit = 6 }

[[tasks.training]]
group = "French"
attribute = "beret"
expected = ["Stereotypical"]
feedback = "Many know this one."

[[tasks]]
kind = "offensiveness"
strata = ["any"]
seed = 13
associations = { source = "votes", groups = ["Nepali", "Mexican"] }

[[tasks]]
kind = "depiction"
image_set = "pictures"
page_size = 4
strata = ["in-region and gender: not male", "any", "gender: not male"]
seed = 14
people_share = 0.5

[tasks.attributes]
visual = ["sombrero", "poncho", "beret", "prayer flag", "short", "hat", "turban"]
groups = ["Mexican", "French", "Nepali"]
allow_fewer = true

[[tasks.gold]]
group = "French"
image = 2
shown = ["beret", "hat"]
expected = ["beret"]

[[tasks.attention]]
group = "French"
image = 2
shown = ["turban"]
expected = []

[[tasks]]
kind = "association"
strata = ["any", "in-region"]
seed = 15
associations = { source = "votes", groups = ["Nepali"] }

[[tasks.training]]
group = "French"
attribute = "beret"
expected = ["Not at all biased", "Slightly biased"]
feedback = "It is a hat."
"""
