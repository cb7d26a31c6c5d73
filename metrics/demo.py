"""The demonstration's runs that ask fakes, and what is found in their answers (docs/demo.md)."""

from django.contrib.auth.models import User

from annotation.models import Axis, IdentityGroup, ImageSet, Source, Study, TaskKind
from generation import demo as generation_demo
from generation.models import Run
from generation.plans.from_images import plan_images_from
from generation.plans.services import plan_captions_or_embeddings
from generation.recipes.askings import ClassificationRecipe, CompletionRecipe, DescriptionRecipe
from generation.recipes.limits import Limits
from generation.recipes.prompts import PromptSet
from generation.recipes.recipes import FAKE, CaptionRecipe, EmbeddingRecipe, ImageRecipe
from metrics.associations.askings import Setting
from metrics.associations.descriptors import DescriptorList, starter_list
from metrics.associations.judgements import LEVEL, LEXICON, SENTIMENT, plan_judgements
from metrics.associations.planning import plan_words
from metrics.associations.prompts import read_prompts
from metrics.associations.services import lists as association_lists
from metrics.associations.services.descriptors import with_groups
from metrics.brightness.services import plan_brightness
from metrics.candidates.services import lists as candidate_lists
from metrics.embedding_tests import services as embedding_tests
from metrics.embedding_tests.reference import read_reference
from metrics.embedding_tests.test_file import parse
from metrics.inference.drawing import RANDOM
from metrics.inference.sentences import OBJECTS, VERBS
from metrics.inference.services.planning import Choice, plan_inference
from metrics.machine_judges import planning as judging
from metrics.machine_judges.design import Boxes
from metrics.models import EmbeddingTestFile
from metrics.visual_questions.question_file import read_questions, shipped_text
from metrics.visual_questions.services import plan_questions

ASSOCIATIONS = "demo-associations"
TESTS = "demo-embedding-tests"
MADE_FROM_IMAGES = "demo-from-images"
IMAGE_JUDGE, ATTRIBUTE_JUDGE = "demo-judge-images", "demo-judge-attributes"
JUDGE_SKILL, JUDGE_WEAK_IN, JUDGE_WEAK_SKILL = 0.93, "Sub-Saharan Africa", 0.5
"""What is planted in the judge of images: how often it says of an attribute what was drawn, and the region
for whose images it tosses a coin (generation/backends/fake_judge.py)."""
_WORDS = 3
"""How many verbs and objects the fake inference model is asked with."""
_DIMENSIONS = (Axis.AGE, Axis.RELIGION)
_DESCRIPTORS = 6
"""How many descriptors of each of these dimensions the fake language model is asked about."""
_AGAIN = 20
_JUDGE_PRICES = Limits(price_in=0.5, price_out=1.5)
"""Invented, so that the pages show a cost."""
_CROP = "centre"
_FROM_IMAGES = ("Japanese", "Mexican")
_TESTS = """
# Tests of drawn images with a fake encoder. They say nothing about anybody.
set = "demo-drawings"
encoder = "fake"

[[test]]
name = "we/they, Canadian-Mexican"
kind = "eat"
x = "Canadian"
y = "Mexican"
a = ["we", "us", "our", "familiar"]
b = ["they", "them", "their", "other"]

[[test]]
name = "we/they, French-Indian"
kind = "eat"
x = "French"
y = "Indian"
a = ["we", "us", "our", "familiar"]
b = ["they", "them", "their", "other"]

[[test]]
name = "at home, Canadian-Mexican"
kind = "sc-eat"
target = "a drawing of someone who is at home here"
a = "Canadian"
b = "Mexican"

[ranking]
prompt = "a drawing of someone who lives in {region}"
reference = "made-up.csv"
"""
_REFERENCE = """,French,Indian,Japanese,Mexican
France,0.9,0.05,0.03,0.02
India,0.01,0.97,0.01,0.01
Japan,0.02,0.02,0.94,0.02
Mexico,0.02,0.01,0.02,0.95
Canada,0.5,0.25,0.1,0.15
Brazil,0.3,0.1,0.3,0.3
"""
"""Made-up shares."""


def load(*, image_set: str, source: str, study: str, by: User) -> int:
    """Plan the runs, let the fakes answer, and find what is in the answers; returns how many are new.
    `image_set`, `source`, `study` (the finished one): of the demonstration."""
    pictures = ImageSet.objects.get(name=image_set)
    answers = generation_demo.answer_all(image_set=image_set, source=source, by=by)
    answers += _infer(source, by=by) + _associate(by=by) + _test_images(pictures, by=by)
    answers += _judge(Study.objects.get(name=study), by=by)
    candidates = candidate_lists.request(run=Run.objects.get(name=generation_demo.COMPLETIONS))
    candidate_lists.compute(list_id=candidates.pk)
    return answers


def _judge(study: Study, *, by: User) -> int:
    """Let a fake judge the images of the study, and another its attributes."""
    options = {"skill": JUDGE_SKILL, "weak_in": JUDGE_WEAK_IN, "weak_skill": JUDGE_WEAK_SKILL}
    tokens = judging.MAX_TOKENS
    of_images = judging.plan_judge(
        recipe=DescriptionRecipe(
            backend=FAKE, model=FAKE, temperature=0.7, times=3, max_tokens=tokens, options=options
        ),
        choice=judging.Choice(study=study, task=TaskKind.DEPICTION, boxes=Boxes.PIXELS.value, again=_AGAIN),
        name=IMAGE_JUDGE,
        limits=_JUDGE_PRICES,
    )
    of_attributes = judging.plan_judge(
        recipe=CompletionRecipe(backend=FAKE, model=FAKE, temperature=0.0, max_tokens=tokens),
        choice=judging.Choice(study=study, task=TaskKind.VISUAL_NATURE, again=_AGAIN),
        name=ATTRIBUTE_JUDGE,
        limits=_JUDGE_PRICES,
    )
    return generation_demo.answer(plan=of_images, by=by) + generation_demo.answer(plan=of_attributes, by=by)


def _infer(source: str, *, by: User) -> int:
    """Ask the fake inference model about the source."""
    choice = Choice(
        source=Source.objects.get(name=source),
        baseline=RANDOM,
        verbs=VERBS[:_WORDS],
        objects=OBJECTS[:_WORDS],
    )
    recipe = ClassificationRecipe(backend=FAKE, model=FAKE)
    plan = plan_inference(recipe=recipe, choice=choice, name="demo-inference")
    return generation_demo.answer(plan=plan, by=by)


def _associate(*, by: User) -> int:
    """Ask the fake language model to complete words about some descriptors, and find its associations."""
    starter = starter_list()
    few = [one for axis in _DIMENSIONS for one in starter.on([axis]).descriptors[:_DESCRIPTORS]]
    listed = DescriptorList(tuple(few))
    plan = plan_words(
        recipe=CompletionRecipe(backend=FAKE, model=FAKE, temperature=0.7, times=10, options={"bias": 0.8}),
        name=ASSOCIATIONS,
        settings=[Setting.SINGULAR],
        listed=listed,
        prompts=read_prompts(),
    )
    answers = generation_demo.answer(plan=with_groups(plan, listed), by=by)
    run = Run.objects.get(name=ASSOCIATIONS)
    found = association_lists.compute(association_lists.request(run=run).pk)
    if found is None:
        return answers
    for what, recipe in (
        (SENTIMENT, ClassificationRecipe(backend=LEXICON)),
        (LEVEL, CompletionRecipe(backend=FAKE, model=FAKE)),
    ):
        judging = plan_judgements(found, what, recipe, name=f"{ASSOCIATIONS}-{what}")
        answers += generation_demo.answer(plan=judging, by=by)
    association_lists.compute(association_lists.request(run=run).pk)
    return answers


def _test_images(pictures: ImageSet, *, by: User) -> int:
    """Embed and caption the drawings, ask about them, change some, and measure their brightness."""
    file, reference = parse(_TESTS), read_reference(_REFERENCE)
    assert file.ranking is not None
    texts = [*file.texts, *map(file.ranking.prompt_of, reference.regions)]
    embeddings = EmbeddingRecipe(backend=FAKE, model=FAKE, pretrained="")
    made = generation_demo.answer(
        plan=plan_captions_or_embeddings(recipe=embeddings, image_set=pictures, texts=texts), by=by
    )
    _store_tests(by)
    captions = CaptionRecipe(backend=FAKE, model=FAKE, count=1)
    for plan in (
        plan_captions_or_embeddings(recipe=captions, image_set=pictures),
        plan_questions(
            recipe=DescriptionRecipe(backend=FAKE, model=FAKE, temperature=0),
            image_set=pictures,
            questions=read_questions(shipped_text()),
            name="demo-visual-questions",
        ),
        plan_brightness(image_set=pictures, crop=_CROP, faces=False, name="demo-brightness"),
        plan_images_from(
            recipe=ImageRecipe(
                backend=FAKE,
                model=FAKE,
                width=256,
                height=256,
                initial=pictures.name,
                strengths=(0.25, 0.5, 0.75),
                prompt_sets=(PromptSet.FROM_IMAGES.value,),
                images_per_prompt=1,
            ),
            initial_set=pictures,
            prompts=["a drawing of a person"],
            groups=list(IdentityGroup.objects.filter(axis=Axis.NATIONALITY, name__in=_FROM_IMAGES)),
            image_set=MADE_FROM_IMAGES,
        ),
    ):
        made += generation_demo.answer(plan=plan, by=by)
    changed = ImageSet.objects.get(name=MADE_FROM_IMAGES)
    if not changed.images.exists():
        # Another process, which loads the demonstration too, is making them, and measures them afterwards.
        return made
    measured = plan_brightness(image_set=changed, crop=_CROP, faces=False, name="demo-brightness-from-images")
    return made + generation_demo.answer(plan=measured, by=by)


def _store_tests(by: User) -> None:
    """Once, also if two processes load the demonstration at the same time."""
    stored = EmbeddingTestFile.objects.filter(name=TESTS)
    if stored.exists():
        return
    try:
        embedding_tests.create(name=TESTS, text=_TESTS.lstrip(), reference=_REFERENCE, by=by)
    except embedding_tests.FileRefused:
        if not stored.exists():
            raise
