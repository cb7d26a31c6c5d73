"""Image sets and one image with its whole history: for whom it is, and what of it."""

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation import policies
from annotation.models import (
    Box,
    Image,
    ImageSet,
    Judgement,
    Purpose,
    Response,
    Slot,
    SlotState,
    TaskKind,
    Unit,
)
from generation.image_sets.queries import (
    IMAGES_PER_PAGE,
    gallery,
    image_history,
    image_set_rows,
    studies_showing,
)
from generation.models import Provenance, Run
from generation.recipes.recipes import CaptionRecipe, EmbeddingRecipe
from tests import factories
from tests.generation.image_sets import world

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead():
    """Leads a study; may not make images."""
    return factories.user("lead")


@pytest.fixture
def run():
    return world.made(world.pictures("Mexican", "Indian"))


@pytest.fixture
def image(run):
    return Image.objects.get(group__name="Mexican", index=2)


def shown(client, user, name, *args, **query):
    client.force_login(user)
    return client.get(reverse(name, args=args), query)


def test_an_image_shows_all_that_a_repetition_needs(client, run, image):
    admin = factories.user("boss", admin=True)
    origin = image.provenance
    text = shown(client, admin, "image_history", image.pk).text
    for said in (
        *(image.prompt, str(origin.seed), origin.recipe_hash, image.sha256, origin.model, origin.device),
        *(origin.code_revision, f"{origin.made_at:%Y-%m-%d %H:%M:%S}", "not flagged"),
        *(f"{name} {version}" for name, version in origin.libraries.items()),
    ):
        assert said, "nothing was recorded"
        assert said.replace("+", "&#x2B;") in text or said in text
    for name in set(run.recipe) - {"kind", "version"}:
        assert f'<dt lang="en">{name.replace("_", " ")}</dt>' in text
    assert f'rel="prev">← No. {image.index - 1}' in text
    assert f'rel="next">No. {image.index + 1}' in text


def test_a_seed_that_was_not_sent_is_not_shown_as_the_images(client, run, image):
    admin = factories.user("boss", admin=True)
    Run.objects.update(backend="openai")
    text = shown(client, admin, "image_history", image.pk).text
    assert "none: the server was asked without a seed" in text
    assert str(image.provenance.seed) not in text


def test_captions_stand_by_run_best_first_and_embeddings_by_what_made_them(client, run, image):
    first = world.made(world.read(run, CaptionRecipe(backend="fake", count=8)))
    second = world.made(world.read(run, CaptionRecipe(backend="fake", count=2, seed=1)))
    embedded = world.made(world.read(run, EmbeddingRecipe(backend="fake", model="fake")))
    known = image_history(image, user=factories.user("boss", admin=True))
    assert [made_by for made_by, _ in known.captions] == [first, second]
    ranks = [caption.rank for caption in known.captions[0][1]]
    assert ranks == sorted(ranks)
    assert len(ranks) > 5
    assert [each.run for each in known.embeddings] == [embedded]
    # what made each of the three is told beside it
    text = shown(client, factories.user("chief", admin=True), "image_history", image.pk).text
    assert text.count('revision <code class="hash">1</code>') == 3
    assert f"numpy {embedded.made_with[0]['libraries']['numpy']}" in text


def test_judgements_are_summed_up_by_attribute_and_name_nobody(client, lead, image):
    study = world.judged(image, lead=lead, values=(1, 0, 1, 0, 0), times=3)
    picked = Judgement.objects.filter(value=1).first()
    Judgement.objects.filter(pk=picked.pk).update(justification="what I alone would write", whole_image=True)
    for x in (1, 5):
        Box.objects.create(judgement=picked, x0=x, y0=1, x1=x + 2, y1=3, image_width=64, image_height=64)
    account = factories.user("maria.gonzalez")
    who = factories.annotator(user=account, pseudonym="secret-maria")
    Response.objects.filter(pk=picked.response_id).update(annotator=who)
    (judged,) = image_history(image, user=lead).judgements
    assert (judged.study, judged.responses) == (study, 3)
    counts = {seen.text: (seen.k, seen.n, seen.boxes, seen.whole) for seen in judged.attributes}
    chosen = picked.option.attribute.text
    assert counts[chosen] == (3, 3, 2, 1)
    assert counts["kind"] == (0, 3, 0, 0)
    assert (judged.none_of_above.k, judged.none_of_above.n) == (0, 3)
    page = shown(client, lead, "image_history", image.pk).text
    assert f'<th scope="row">{chosen}</th>' in page
    assert "3 of 3" in page
    for secret in ("secret-", "maria", "gonzalez", "what I alone would write"):
        assert secret not in page


def test_only_answers_that_count_in_scores_are_summed_up(lead, image):
    world.judged(image, lead=lead, times=3)
    surplus, withdrawn, superseded = Response.objects.order_by("pk")
    Response.objects.filter(pk=surplus.pk).update(slot=None)
    Slot.objects.filter(pk=surplus.slot_id).update(state=SlotState.OPEN, annotator=None)
    factories.response(Unit.objects.get())
    Response.objects.filter(pk=withdrawn.pk).update(withdrawn_at=timezone.now())
    Response.objects.filter(pk=superseded.pk).update(current=False)
    (judged,) = image_history(image, user=lead).judgements
    assert judged.responses == 1
    Unit.objects.update(purpose=Purpose.GOLD)
    assert image_history(image, user=lead).judgements == []


def test_attributes_come_by_their_share_and_not_by_their_number(lead, image):
    study = world.judged(image, lead=lead, values=(1, 0, 0, 0, 0), times=2)
    factories.response(Unit.objects.get(), values=[0, 0, 0, 0, 1])
    once = factories.page_unit(study.tasks.get(), picture=image, page=2, texts=["cap", "bag", "bow", "tie"])
    factories.response(once, values=[1, 0, 0, 0, 0])
    (judged,) = image_history(image, user=lead).judgements
    assert [(seen.k, seen.n) for seen in judged.attributes][:2] == [(1, 1), (2, 3)]
    of_all, of_one = ["kind", "poor", "sombrero"], ["bag", "bow", "tie"]
    assert [seen.text for seen in judged.attributes] == ["cap", "hat", *of_all, *of_one]
    assert (judged.none_of_above.text, judged.none_of_above.k) == ("none of the above", 1)


def test_what_was_said_of_other_images_of_the_set_is_not_summed_up(lead, image):
    study = world.judged(image, lead=lead, times=2)
    beside = Image.objects.get(group__name="Indian", index=2)
    factories.response(factories.page_unit(study.tasks.get(), picture=beside), values=[1, 1, 1, 1, 0])
    (judged,) = image_history(image, user=lead).judgements
    assert judged.responses == 2
    assert sorted((seen.k, seen.n) for seen in judged.attributes) == [(0, 2), (0, 2), (2, 2), (2, 2)]


def test_a_lead_sees_their_own_studys_judgements_only(client, lead, image):
    """Two studies show one set; what one team's people saw is not for the other."""
    other = factories.user("other")
    world.judged(image, lead=lead, name="mine")
    world.judged(image, lead=other, name="theirs", values=(0, 1, 0, 0, 0))
    assert [each.study.name for each in image_history(image, user=lead).judgements] == ["mine"]
    text = shown(client, lead, "image_history", image.pk).text
    assert "theirs" not in text
    text = shown(client, lead, "image_set", "drawn").text
    assert "theirs" not in text
    assert len(image_history(image, user=factories.user("boss", admin=True)).judgements) == 2


def test_a_lead_who_makes_no_images_sees_the_sets_their_studies_show_and_nothing_of_runs(
    client, lead, run, image
):
    hidden = factories.image(image_set=factories.image_set("not-mine"))
    assert shown(client, lead, "image_sets").status_code == 404
    world.judged(image, lead=lead)
    text = shown(client, lead, "image_sets").text
    assert reverse("image_set", args=["drawn"]) in text
    assert "not-mine" not in text
    assert shown(client, lead, "image_set", "not-mine").status_code == 404
    assert shown(client, lead, "image_history", hidden.pk).status_code == 404
    for page in (
        text,
        shown(client, lead, "image_set", "drawn").text,
        shown(client, lead, "image_history", image.pk).text,
    ):
        for gone in ("/generation/runs/", "/generation/new/", "/generation/upload/", 'href="/generation/"'):
            assert gone not in page


def test_annotators_see_no_image_set_and_no_history(client, lead, image):
    study = world.judged(image, lead=lead)
    at_work = factories.user("at-work")
    factories.enrolment(study, who=factories.annotator(user=at_work), consented=True)
    assert policies.may_see_image(at_work, image)
    for name, key in (("image_set", "drawn"), ("image_history", image.pk)):
        assert shown(client, at_work, name, key).status_code == 404
    assert shown(client, at_work, "image_sets").status_code == 404


def test_a_lead_loses_the_set_with_the_study(client, lead, image):
    study = world.judged(image, lead=lead)
    assert shown(client, lead, "image_set", "drawn").status_code == 200
    study.leads.clear()
    assert shown(client, lead, "image_set", "drawn").status_code == 404
    assert shown(client, lead, "image_history", image.pk).status_code == 404


def test_the_gallery_is_paged_and_filtered_and_keeps_the_readers_choice(client):
    admin = factories.user("boss", admin=True)
    kept = factories.image_set("large")
    for index in range(1, IMAGES_PER_PAGE + 6):
        factories.image(image_set=kept, index=index)
    only = factories.image(image_set=kept, group_name="Indian")
    Provenance.objects.create(image=only, prompt_set="default")
    first = shown(client, admin, "image_set", "large")
    assert first.text.count('class="picture"') == IMAGES_PER_PAGE
    mexican = str(factories.group("Mexican").pk)
    second = shown(client, admin, "image_set", "large", group=mexican, page="2")
    assert second.text.count('class="picture"') == 5
    assert f"?group={mexican}&amp;page=1" in second.text
    filtered = shown(client, admin, "image_set", "large", prompts="default")
    assert [image.pk for image in filtered.context["page"]] == [only.pk]
    for odd in ({"page": "x"}, {"page": "0"}, {"page": "9" * 40}, {"group": "x"}, {"prompts": "x"}):
        assert shown(client, admin, "image_set", "large", **odd).status_code == 200
    alone = shown(client, admin, "image_history", only.pk).text
    assert 'rel="prev"' not in alone
    assert 'rel="next"' not in alone


def test_sets_are_listed_by_title_also_to_makers_of_images_who_lead_no_study(client):
    maker = factories.user(lead=True)
    for name, title in (("first", "b"), ("second", "a")):
        ImageSet.objects.create(name=name, title=title)
    of_table = factories.image(image_set=ImageSet.objects.get(name="first"))
    Provenance.objects.create(image=of_table, prompt_set="non_stereotypical")
    assert [each.title for each in shown(client, maker, "image_sets").context["page"]] == ["a", "b"]
    listed = shown(client, maker, "image_set", "first").context["prompt_sets"]
    assert listed == [("non_stereotypical", "non stereotypical", 1)]


def test_a_gallery_is_in_order_and_counts_what_it_may_be_filtered_by():
    boss = factories.user("boss", admin=True)
    kept = factories.image_set("kept")
    factories.group("Mexican")  # before the other
    second, first = factories.images((2, 1), of=kept)
    indian = factories.image(image_set=kept, group_name="Indian")
    sets = ((first, "detection"), (second, ""), (indian, "default"))
    for image, prompt_set in sets:
        Provenance.objects.create(image=image, prompt_set=prompt_set)
    listed = gallery(kept, user=boss)
    assert list(listed.page) == [indian, first, second]
    assert listed.groups == [(indian.group, 1), (first.group, 2)]
    assert listed.prompt_sets == [("default", 1), ("detection", 1)]
    assert list(gallery(kept, user=boss, prompt_set="pull").page) == [indian, first, second]
    assert list(gallery(kept, user=boss, group=str(first.group_id), prompt_set="detection").page) == [first]
    assert list(gallery(kept, user=boss, group=str(first.group_id)).page) == [first, second]


def test_the_runs_of_a_set_are_listed_by_what_they_made_and_only_to_whom_they_may_be_shown(run):
    def another(kind, recipe=None):
        return Run.objects.create(
            kind=kind,
            name="of-items" if recipe else "",
            image_set=run.image_set,
            backend="fake",
            recipe=recipe or {},
            recipe_hash=factories.recipe_hash(),
        )

    first, second = another("captions"), another("captions")
    hidden = another("descriptions", {"design": {"study": "theirs"}})
    listed = gallery(run.image_set, user=factories.user("boss", admin=True)).runs
    assert listed == [second, first, hidden, run]
    assert gallery(run.image_set, user=factories.user(lead=True)).runs == [second, first, run]


def test_studies_that_show_a_set_are_listed_by_title_and_those_of_others_are_not(client, lead):
    kept = factories.image_set("kept")
    for title, leads in (("b", [lead]), ("a", [lead]), ("theirs", [])):
        study = factories.study(f"study-{title}", title=title, leads=leads)
        factories.task(study, kind=TaskKind.DEPICTION, image_set=kept)
    assert [study.title for study in studies_showing(kept, user=lead)] == ["a", "b"]
    listed = shown(client, lead, "image_set", "kept").context["studies"]
    assert [study.title for study in listed] == ["a", "b"]
    [row] = image_set_rows([kept], user=lead)
    assert [study.title for study in row.studies] == ["a", "b"]


def test_the_images_beside_one_are_the_nearest_of_its_group_and_set(lead):
    images = factories.images((1, 3, 5, 7, 9))
    for other in ({"group_name": "Indian"}, {"image_set": factories.image_set("another")}):
        for index in (4, 6):
            factories.image(index=index, **other)
    history = image_history(images[2], user=lead)
    assert (history.previous, history.next) == (images[1], images[3])


def test_a_set_is_listed_with_what_it_holds_and_once_with_a_study_that_shows_it_twice(client, lead, run):
    one = factories.image_set("another")
    factories.image(image_set=one, index=1)
    stored = {"image_set": one, "file": "made-up.png", "sha256": "0" * 64}
    first, last = factories.image(index=2, **stored), factories.image(index=3, **stored)
    factories.image(image_set=one, group_name="Indian")
    study = factories.study("twice", leads=[lead])
    for version in (1, 2):
        factories.task(study, kind=TaskKind.DEPICTION, image_set=one, version=version)
    [row] = image_set_rows([one], user=lead)
    assert (row.images, row.groups, row.sample, row.studies) == (4, 2, first.pk, [study])
    assert list(shown(client, lead, "image_sets").context["page"]) == [one]
    listed = gallery(one, user=factories.user("boss", admin=True))
    assert (listed.runs, listed.prompt_sets) == ([], []), "those of the other set"
    history = image_history(last, user=lead)
    assert (history.previous, history.next) == (first, None)


def test_what_is_not_known_of_an_image_is_said(client):
    admin = factories.user("boss", admin=True)
    released = factories.image(prompt="a photo of a Mexican person")
    text = shown(client, admin, "image_history", released.pk).text
    assert "It is not known how this image was made" in text
    assert "a photo of a Mexican person" in text
    assert "not in this installation" in text
    brought = factories.image(index=2, reference="b.png")
    Provenance.objects.create(image=brought, model="an-api", note="<i>second</i>\ntry")
    text = shown(client, admin, "image_history", brought.pk).text
    assert "the image was uploaded" in text
    assert "&lt;i&gt;second&lt;/i&gt;<br>try" in text
