"""Sentiment, toxicity and bias level of a run's associations, by classifiers and models (PROTOCOL §11, §16):
what is asked, and which runs answered. Writes nothing; services/judging.py stores the answers."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet
from django.utils.text import slugify
from django.utils.translation import gettext as _

from annotation.core.leases import JobState
from generation.models import Answer, Run, RunState
from generation.plans.askings import Asking, shortened
from generation.plans.errors import PlanRefused
from generation.plans.plan import Plan
from generation.plans.services import plan_askings
from generation.recipes.askings import ClassificationRecipe, CompletionRecipe
from generation.recipes.limits import Limits
from generation.recipes.recipes import digest
from metrics.associations.labels import NEEDED, LabelsRefused, level_of, meant_labels
from metrics.associations.prompts import read_prompts
from metrics.associations.sentences import Named, sentence
from metrics.models import AssociationList, ModelAssociation

PURPOSE = "association judgements"
"""`design["purpose"]` of a run that judges associations; `design["run"]` names the run that made them."""
SENTIMENT, TOXICITY, LEVEL = "sentiment", "toxicity", "level"
FIELDS = {SENTIMENT: "negative", TOXICITY: "toxic", LEVEL: "model_level"}
"""What is asked -> the field of ModelAssociation that holds the answer."""
MODELS = {
    SENTIMENT: "distilbert/distilbert-base-uncased-finetuned-sst-2-english",
    TOXICITY: "s-nlp/roberta_toxicity_classifier",
}
"""The classifiers of the paper; any other can be chosen."""
LEXICON = "vader"
SENTENCE = "{sentence}"
LEVEL_PROMPT = read_prompts()["bias-level"].prompt
SIGNIFICANT = Q(significant=True) | Q(significant_corrected=True)
"""Significant in at least one variant."""
_MOST_NAME = 80
_AT_ONCE = 2000
JudgementRecipe = ClassificationRecipe | CompletionRecipe


@dataclass(frozen=True)
class PairAskings:
    """One asking for each row of a list, read while they are planned: a pair of several dimensions is asked
    once in each. `template`: the prompt around SENTENCE; "" asks for the sentence itself."""

    rows: QuerySet[ModelAssociation]
    template: str = ""

    @cached_property
    def _number(self) -> int:
        return self.rows.count()

    def __len__(self) -> int:
        return self._number

    def __iter__(self) -> Iterator[Asking]:
        named = ("group__demonym", "group__singular", "group__plural", "group__article", "group__name")
        rows = self.rows.order_by("pk").values_list("setting", "group", "word", *named)
        for setting, group, word, demonym, singular, plural, article, name in rows.iterator(_AT_ONCE):
            text = sentence(setting, Named(demonym.strip() or name, singular, plural, article), word)
            prompt = self.template.replace(SENTENCE, text) if self.template else text
            yield Asking(key=pair_key(setting, group, word), prompt=prompt, group_id=group)


def pair_key(setting: str, group: int, word: str) -> str:
    """The key of the asking about a pair."""
    return shortened(f"{setting}/{group}/{word}")


def default_recipe(what: str) -> JudgementRecipe:
    """The recipe that is planned unless another is chosen."""
    if what == LEVEL:
        return CompletionRecipe(temperature=0.0, max_tokens=20)
    return ClassificationRecipe(model=MODELS[what])


def plan_judgements(
    found: AssociationList,
    what: str,
    recipe: JudgementRecipe,
    *,
    all_pairs: bool = False,
    prompt: str = LEVEL_PROMPT,
    name: str = "",
    limits: Limits | None = None,
) -> Plan:
    """Plan a run that judges the significant pairs of a list, or all.

    `prompt`: of a level; it holds SENTENCE. `name` "": from the run, what is asked, and the recipe, so that
    the same choice gives the same run. Raises PlanRefused, which says what to choose instead.
    """
    _check(found, what, recipe, prompt)
    rows = found.associations.all() if all_pairs else found.associations.filter(SIGNIFICANT)
    design = {
        "purpose": PURPOSE,
        "what": what,
        "run": found.run.name,
        "pairs": "all" if all_pairs else "significant",
        # A worker refuses a model without it before it asks anything.
        **({"needs_labels": [NEEDED[what]]} if what in NEEDED else {"prompt": prompt}),
    }
    recipe = replace(recipe, design=design)
    if recipe.backend == LEXICON:
        recipe = replace(recipe, model=LEXICON, revision="")
    askings = PairAskings(rows, prompt if what == LEVEL else "")
    if not len(askings):
        raise PlanRefused(
            _("The run '%(run)s' has no significant pair. Choose all pairs, or ask for more answers.")
            % {"run": found.run.name}
        )
    return plan_askings(
        recipe=recipe, name=name or _default_name(found.run, what, recipe), askings=askings, limits=limits
    )


def judging_run(run: Run, what: str) -> Run | None:
    """The newest run with answers that judges the associations of `run`."""
    answered = Exists(Answer.objects.filter(run=OuterRef("pk")))
    started = (RunState.RUNNING, RunState.PAUSED, RunState.DONE)
    of_run = {"purpose": PURPOSE, "what": what, "run": run.name}
    rows = Run.objects.filter(**{f"recipe__design__{key}": value for key, value in of_run.items()})
    return rows.filter(answered, state__in=started).order_by("-pk").first()


def judgements_digest(run: Run) -> str:
    """Changes when there are new judgements of the run's associations; "" without any."""
    found = []
    for what in FIELDS:
        judging = judging_run(run, what)
        if judging is not None:
            answers = Answer.objects.filter(run=judging).order_by()
            counted = answers.aggregate(number=Count("pk"), last=Max("pk"))
            found.append(f"{what} {judging.pk} {counted['number']} {counted['last']}")
    return "; ".join(found)


def labels_that_count(judging: Run, what: str) -> frozenset[str]:
    """The labels of a classifier that mean negative or toxic, as its first answer has them. Raises
    LabelsRefused, which names the run."""
    first = Answer.objects.filter(run=judging).order_by("job").values_list("probabilities", flat=True).first()
    try:
        return meant_labels(what, first or {})
    except LabelsRefused as refused:
        raise LabelsRefused(f"Run {judging.name}: {refused}") from refused


@dataclass(frozen=True)
class Judged:
    """How far a judging run is: its askings and its answers. `unparsed`: answers without a level, which are
    left out."""

    run: Run
    asked: int
    answered: int
    unparsed: int


def judged(run: Run, what: str) -> Judged | None:
    """The newest judging run of `run` with its counts; None without one."""
    judging = judging_run(run, what)
    if judging is None:
        return None
    jobs = judging.jobs.order_by().aggregate(
        asked=Count("pk"), done=Count("pk", filter=Q(state=JobState.DONE))
    )
    unparsed = 0
    if what == LEVEL:
        texts = Answer.objects.filter(run=judging).order_by().values_list("text").annotate(Count("pk"))
        unparsed = sum(number for text, number in texts.iterator() if level_of(text) is None)
    return Judged(judging, jobs["asked"], jobs["done"], unparsed)


def _check(found: AssociationList, what: str, recipe: JudgementRecipe, prompt: str) -> None:
    if what not in FIELDS:
        raise PlanRefused(_("Choose one of: %(known)s.") % {"known": ", ".join(FIELDS)})
    if found.state != JobState.DONE:
        raise PlanRefused(
            _("The associations of the run '%(run)s' are not found yet. Find them first.")
            % {"run": found.run.name}
        )
    if what == LEVEL:
        if not isinstance(recipe, CompletionRecipe):
            raise PlanRefused(_("A bias level is asked of a language model. Plan completions."))
        if SENTENCE not in prompt:
            raise PlanRefused(_("The prompt does not hold {sentence}. Write it where the sentence belongs."))
        return
    if not isinstance(recipe, ClassificationRecipe):
        raise PlanRefused(_("Sentiment and toxicity are asked of a classifier. Plan classifications."))
    if recipe.backend == LEXICON and what != SENTIMENT:
        raise PlanRefused(_("The lexicon VADER knows sentiment only. Choose another backend."))
    if recipe.labels:
        try:
            meant_labels(what, recipe.labels)
        except LabelsRefused as refused:
            raise PlanRefused(str(refused)) from refused


def _default_name(run: Run, what: str, recipe: JudgementRecipe) -> str:
    model = slugify((recipe.model or recipe.backend).replace("/", "-").replace("_", "-"))
    ending = digest(recipe, image_set="")[:8]
    return f"{run.name}-{what}-{model}"[: _MOST_NAME - len(ending) - 1].rstrip("-_") + f"-{ending}"
