"""One identity group: its attributes, its images, and who selected what."""

import re

import pytest
from django.core.files.base import ContentFile
from django.urls import reverse

from annotation.models import Annotator, Box, IdentityGroup, Image, Judgement, Response
from metrics.depiction.queries.gallery import GalleryImage
from metrics.depiction.queries.identities import identity_page
from metrics.depiction.queries.pictures import ImageAttribute, JudgedImage, rect
from metrics.models import Score, ScoreRun
from metrics.score_runs import services as score_runs
from metrics.score_runs.queries import score_history
from tests import factories
from tests.metrics import cast

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("few_resamples")]


@pytest.fixture
def lead():
    return factories.user()


@pytest.fixture
def study(lead):
    return cast.depiction_study(name="pictures", leads=[lead])


def mexican():
    return factories.group("Mexican")


def draw(judgement: Judgement, *corners: float) -> Box:
    x0, y0, x1, y1 = corners
    return Box.objects.create(
        judgement=judgement, x0=x0, y0=y0, x1=x1, y1=y1, image_width=512, image_height=512
    )


def selected(study, text: str, *, index: int = 1):
    return Judgement.objects.filter(
        option__attribute__text=text, value=1, response__unit__image__index=index
    ).order_by("response__slot__index")


def page_of(client, study, user, group=None) -> str:
    client.force_login(user)
    answer = client.get(reverse("identity", args=[study.name, (group or mexican()).pk]))
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def test_only_the_lead_and_admins_see_it(client, study, lead):
    url = reverse("identity", args=["pictures", mexican().pk])
    assert client.get(url).status_code == 302
    for user, expected in ((lead, 200), (factories.user(admin=True), 200), (factories.user(), 404)):
        client.force_login(user)
        assert client.get(url).status_code == expected


def test_a_group_without_images_in_this_study_is_not_found(client, study, lead):
    client.force_login(lead)
    stranger = factories.group("Welsh")
    assert client.get(reverse("identity", args=["pictures", stranger.pk])).status_code == 404


def test_attributes_have_role_k_n_and_votes_with_stereotypes_first(study):
    another = factories.source("another")
    for group, source in (("Mexican", another), ("Welsh", study.stereotype_source)):
        for text in ("hat", "kind"):
            factories.association(group_name=group, text=text, out_votes=(7, 0, 0), from_source=source)
    page = identity_page(study, mexican(), run=None)
    assert [(row.text, row.stereotypical, row.k, row.n) for row in page.attributes] == [
        ("hat", True, 4, 6),
        ("sombrero", True, 1, 6),
        ("poor", False, 1, 6),
        ("kind", False, 0, 6),
    ]
    assert (page.none_of_above.k, page.none_of_above.n) == (2, 6)
    assert page.attributes[0].votes.out_stereotypical == 2
    assert page.attributes[3].votes is None
    assert (page.n_stereotypical, page.n_random, page.responses) == (2, 2, 6)


def test_the_role_follows_the_rule_of_the_study(study):
    study.stereotype_threshold = 3
    page = identity_page(study, mexican(), run=None)
    assert [row.text for row in page.attributes if row.stereotypical] == ["sombrero"]


def test_who_selected_what_is_told_image_by_image(study):
    first, second = identity_page(study, mexican(), run=None).images
    names = list(
        Response.objects.filter(unit__image=first.image)
        .order_by("slot__index")
        .values_list("annotator__pseudonym", flat=True)
    )
    assert [(one.number, one.text, one.k, one.n) for one in first.selected] == [
        (1, "hat", 2, 3),
        (2, "sombrero", 1, 3),
    ]
    assert [who.name for who in first.selected[0].annotators[1]] == names[:2]
    Annotator.objects.filter(pseudonym=names[0]).update(simulated=True)
    for all_of_them in (False, True):
        study.simulated = all_of_them
        hat = identity_page(study, mexican(), run=None).images[0].selected[0]
        assert [who.simulated for who in hat.annotators[1]] == [True, all_of_them]
    assert first.unselected == ["kind", "poor"]
    assert (first.none_k, first.none_n) == (1, 3)
    assert [one.text for one in second.selected] == ["hat", "poor"]


def test_an_attribute_shown_on_two_pages_is_told_page_by_page(study):
    image = identity_page(study, mexican(), run=None).images[0].image
    unit = factories.page_unit(study.tasks.get(), picture=image, page=2, texts=("hat", "cap"))
    factories.response(unit, values=[1, 0, 0])
    hat = identity_page(study, mexican(), run=None).images[0].selected[0]
    assert (hat.k, hat.n) == (3, 4)
    assert {page: len(who) for page, who in hat.annotators.items()} == {1: 2, 2: 1}


def test_annotators_whom_the_source_does_not_identify_are_numbered_within_the_page(study, client, lead):
    Response.objects.update(annotator=None)
    page = identity_page(study, mexican(), run=None)
    assert not page.identified
    assert [who.name for who in page.images[0].selected[0].annotators[1]] == [
        "no.\N{NO-BREAK SPACE}1",
        "no.\N{NO-BREAK SPACE}2",
    ]
    assert "does not identify its annotators" in page_of(client, study, lead)


@pytest.mark.parametrize(
    "change",
    [{"withdrawn_at": "2026-01-01T00:00Z"}, {"current": False}, {"slot": None}],
    ids=["withdrawn", "superseded", "surplus"],
)
def test_only_answers_that_count_are_shown(study, change):
    gone = selected(study, "sombrero").get().response
    Response.objects.filter(pk=gone.pk).update(**change)
    page = identity_page(study, mexican(), run=None)
    assert {row.text: (row.k, row.n) for row in page.attributes}["sombrero"] == (0, 5)
    assert "sombrero" in page.images[0].unselected


def test_boxes_are_drawn_in_pixels_of_the_image_and_carry_their_number(study, client, lead):
    hats = selected(study, "hat")
    draw(hats[0], 10, 20.25, 110, 220.25)
    draw(hats[1], 0, 500, 50, 512)
    page = page_of(client, study, lead)
    assert 'viewBox="0 0 512 512"' in page
    assert '<rect class="line" x="10" y="20.2" width="100" height="200"/>' in page
    assert page.count('<g class="box box-s"') == 3  # hat and sombrero in image 1, hat in image 2
    rects = identity_page(study, mexican(), run=None).images[0].selected[0].rects
    assert [(rect.x, rect.width, rect.label_y <= 512) for rect in rects] == [(10, 100, True), (0, 50, True)]


def test_more_boxes_than_can_be_read_are_crowded():
    boxes = [rect((0, 0, 9, 9), width=280, height=140)] * 15
    image = JudgedImage(
        Image(index=3, group=IdentityGroup(name="Thai")), [ImageAttribute("hat", False, rects=boxes)]
    )
    assert (image.name, image.boxes, image.crowded) == ("Thai 3", 15, False)
    assert GalleryImage(image.image).name == "Thai 3"
    image.selected.append(ImageAttribute("cap", False, rects=boxes[:1]))
    assert image.crowded
    assert (boxes[0].label_x, boxes[0].label_y, boxes[0].label_size) == (2.5, 10, 10)


def test_a_box_of_an_answer_that_was_withdrawn_is_not_drawn(study):
    hat = selected(study, "hat")[0]
    draw(hat, 1, 2, 3, 4)
    Response.objects.filter(pk=hat.response_id).update(withdrawn_at="2026-01-01T00:00Z")
    assert identity_page(study, mexican(), run=None).images[0].boxes == 0


def test_an_image_that_is_not_here_shows_its_empty_frame(study, client, lead):
    page = page_of(client, study, lead)
    assert '<rect class="no-image" width="512" height="512"/>' in page
    assert "<img" not in page
    shown = page.partition('<template id="image-missing">')[0]
    assert shown.count('class="picture-none"') == 2
    image = identity_page(study, mexican(), run=None).images[0].image
    image.sha256 = "0" * 64
    image.file.save("a.png", ContentFile(b"x"))
    page = page_of(client, study, lead)
    small = reverse("thumbnail_file", args=[image.pk, 320])
    assert f'<img src="{small}?000000000000" alt="" width="512" height="512" loading="lazy"' in page
    large = reverse("image_file", args=[image.pk])
    assert f'<img src="{large}" alt="" width="512" height="512" loading="lazy"' in page


def test_every_image_is_a_thumbnail_that_opens_it_and_its_neighbours_are_linked(study, client, lead):
    first, second = (one.image.pk for one in identity_page(study, mexican(), run=None).images)
    page = page_of(client, study, lead)
    for pk in (first, second):
        assert f'id="tile-{pk}" href="#image-{pk}"' in page
        assert f'<article class="image-page" id="image-{pk}" tabindex="-1"' in page
        assert f'<a href="#tile-{pk}" data-close>' in page
    assert page.count("2 of 4 attributes selected") == 2
    assert (
        page.count(f'href="#image-{second}" rel="next"')
        == page.count(f'href="#image-{first}" rel="prev"')
        == 1
    )
    assert page.count('rel="next"') == page.count('rel="prev"') == 1


def test_boxes_are_in_the_page_once_and_drawn_twice(study, client, lead):
    draw(selected(study, "hat")[0], 1, 2, 3, 4)
    image = identity_page(study, mexican(), run=None).images[0].image
    page = page_of(client, study, lead)
    assert page.count('class="halo"') == 1
    assert page.count(f'<use href="#boxes-{image.pk}"/>') == page.count(f'<g id="boxes-{image.pk}">') == 1


def test_blurred_images_are_blurred_here_too(study, client, lead):
    assert "is-blurred" not in page_of(client, study, lead)
    study.blur_images = True
    study.save()
    page = page_of(client, study, lead)
    assert "is-blurred" in page
    assert 'class="reveal"' in page


def test_nothing_in_the_page_is_inline_style_or_script(study, client, lead):
    draw(selected(study, "hat")[0], 1, 2, 3, 4)
    page = page_of(client, study, lead)
    assert not re.search(r"\sstyle=|<style|\son[a-z]+=|<script(?![^>]*\ssrc=)", page)


def score(study) -> None:
    for metric in ("likelihood", "tendency", "tendency_contrast", "offensiveness_contrast"):
        score_runs.request(study=study, metric=metric, variant="corrected")
    score_runs.compute_pending()


def test_the_attributes_are_those_of_the_stored_run(study, client, lead):
    assert "Counted from the images below" in page_of(client, study, lead)
    score(study)
    page = page_of(client, study, lead)
    assert "Counted from the images below" not in page
    assert '0.67 <span class="interval">[' in page
    Score.objects.filter(attribute__text="hat", group__name="Mexican").update(k=1, value=0.01, low=0.01)
    run = ScoreRun.objects.get(metric="likelihood")
    here, elsewhere = ({"run": run, "group": group, "value": 1, "k": 9} for group in (mexican(), None))
    for values in (here | {"part": "people: some"}, here | {"name": "another"}, elsewhere):
        Score.objects.create(
            **{"name": "likelihood", "n": 9, **values, "attribute": factories.attribute("hat")}
        )
    never = here | {"name": "likelihood", "value": None, "k": 0, "n": 0}
    Score.objects.create(**never, attribute=factories.attribute("never shown"))
    rows = identity_page(study, mexican(), run=run).attributes
    assert [(row.text, row.k, row.n) for row in rows if row.text == "hat"] == [("hat", 1, 6)]
    assert len(rows) == 4


def test_images_come_a_page_at_a_time(study, client, lead):
    for index in reversed(range(10, 58)):
        factories.page_unit(study.tasks.get(), picture=factories.image(index=index))
    first = identity_page(study, mexican(), run=None)
    last = identity_page(study, mexican(), run=None, page="2")
    assert (first.total, first.pages, len(first.images), len(last.images)) == (50, 2, 48, 2)
    assert [one.image.index for one in last.images] == [56, 57]
    assert first.none_of_above is None, "counted over some of the images only"
    assert "?page=2" in page_of(client, study, lead)


def test_past_runs_stand_beside_each_other(study, client, lead):
    score(study)
    unit = factories.page_unit(study.tasks.get(), picture=factories.image(index=9))
    factories.response(unit, values=[1, 1, 0, 0, 0])
    score(study)
    wanted = {"metric": "tendency", "names": ("l_stereo", "theta", "odd"), "variant": "corrected"}
    run = ScoreRun.objects.filter(metric="tendency").last()
    of_part = {"run": run, "group": mexican(), "name": "odd", "value": 9, "n": 1}
    Score.objects.create(**of_part, part="side: first")
    Score.objects.create(**of_part, attribute=factories.attribute("hat"))
    past = score_history(study, mexican(), **wanted)
    # hat 4/6 and sombrero 1/6, then 5/7 and 2/7
    assert [one.scores[0].value for one in past] == pytest.approx([0.5, 5 / 12])
    assert [one.scores[2] for one in past] == [None, None], "not of the whole group"
    assert all(one.comparable for one in past)
    for one, intervals in zip(past, ("clustered", "bootstrap"), strict=True):
        resamples = 100 if intervals == "bootstrap" else 0
        ScoreRun.objects.filter(pk=one.run.pk).update(intervals=intervals, resamples=resamples)
    ScoreRun.objects.filter(pk=past[1].run.pk).update(rule="another")
    page = page_of(client, study, lead)
    assert page.count("</code>; clustered standard errors") == page.count("</code>; bootstrap") == 1
    assert "Earlier scores of this group" in page
    assert page.count("different rule or version") == 1
    earlier = ScoreRun.objects.filter(pk=past[1].run.pk)
    earlier.update(rule=past[0].run.rule, version=99)
    assert [one.comparable for one in score_history(study, mexican(), **wanted)] == [True, False]
    earlier.update(parameters='{"by": "gender"}')
    assert len(score_history(study, mexican(), **wanted)) == 1


def test_accounts_of_annotators_are_not_in_the_page(study, client, lead):
    who = Response.objects.first().annotator
    who.user = factories.user("jane.doe")
    who.save()
    page = page_of(client, study, lead)
    assert who.pseudonym in page
    assert "jane.doe" not in page


def test_queries_do_not_grow_with_images_attributes_or_annotators(
    study, client, lead, django_assert_num_queries
):
    url = reverse("identity", args=["pictures", mexican().pk])
    client.force_login(lead)

    def add(count: int) -> None:
        pictures = factories.images(range(10 + 100 * count, 10 + 101 * count))
        units = factories.page_units(
            study.tasks.get(), [(picture, (f"new {picture.index % 100}", "hat")) for picture in pictures]
        )
        factories.responses((unit, [1, 1, 0], factories.annotator()) for unit in units for _ in range(3))
        for judgement in Judgement.objects.filter(response__unit__in=units, option__position=1):
            draw(judgement, 1, 2, 3, 4)

    for count in (1, 10):
        add(count)
        score(study)
        with django_assert_num_queries(23):
            client.get(url)
