"""The gallery: images with everybody's boxes, and what can be looked for in it."""

import re

import pytest
from django.core.files.base import ContentFile
from django.urls import reverse

from annotation.models import Box, Judgement, ProfileAnswer, Response, TaskKind
from metrics.depiction.queries.gallery import Filters, gallery_page
from tests import factories
from tests.metrics import cast

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead():
    return factories.user()


@pytest.fixture
def study(lead):
    made = cast.depiction_study(name="pictures", leads=[lead])
    for number, judgement in enumerate(Judgement.objects.filter(value=1, option__attribute__isnull=False)):
        Box.objects.create(
            judgement=judgement, x0=number, y0=10, x1=100, y1=200, image_width=512, image_height=512
        )
    return made


def mexican():
    return factories.group("Mexican")


def page_of(client, study, user, **query) -> str:
    client.force_login(user)
    answer = client.get(reverse("gallery", args=[study.name]), query)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def enrol(study, profiles) -> None:
    """Give the three annotators of the cast what they say of themselves."""
    people = sorted({response.annotator for response in Response.objects.all()}, key=lambda one: one.pk)
    for who, profile in zip(people, profiles, strict=True):
        factories.enrolment(study, who=who)
        for name, value in profile.items():
            ProfileAnswer.objects.create(annotator=who, field=name, value=value)


def test_only_the_lead_and_admins_see_it(client, study, lead):
    url = reverse("gallery", args=["pictures"])
    assert client.get(url).status_code == 302
    for user, expected in ((lead, 200), (factories.user(admin=True), 200), (factories.user(), 404)):
        client.force_login(user)
        assert client.get(url).status_code == expected


def test_it_begins_with_the_first_group(study):
    page = gallery_page(study, Filters())
    assert page.filters.group == mexican()
    assert [(one.image.group.name, one.image.index) for one in page.pictures] == [
        ("Mexican", 1),
        ("Mexican", 2),
    ]
    assert [group.name for group in page.groups] == ["Mexican", "Nepali"]


def test_each_image_has_everybodys_boxes_under_letters(study):
    first = gallery_page(study, Filters(group=mexican())).pictures[0]
    assert [(one.letter, one.style) for one in first.annotators] == [("A", 1), ("B", 2), ("C", 3)]
    # said[("Mexican", 1)] in tests/metrics/cast.py
    assert [
        (one.text, one.k, one.n, [annotator.letter for annotator in one.selected_by])
        for one in first.attributes
    ] == [
        ("hat", 2, 3, ["A", "B"]),
        ("sombrero", 1, 3, ["A"]),
        ("kind", 0, 3, []),
        ("poor", 0, 3, []),
    ]
    assert [(box.label, box.attribute.text) for box in first.boxes] == [
        ("1A", "hat"),
        ("2A", "sombrero"),
        ("1B", "hat"),
    ]
    assert len({box.label_x for box in first.boxes if box.attribute.text == "hat"}) == 2
    assert first.attributes[0].disagreement == pytest.approx(100 / 3)


def test_annotators_whom_the_source_does_not_identify_are_places(study):
    Response.objects.update(annotator=None)
    first = gallery_page(study, Filters(group=mexican())).pictures[0]
    assert [annotator.letter for annotator in first.annotators] == ["A", "B", "C"]
    assert [annotator.letter for annotator in first.attributes[0].selected_by] == ["A", "B"]


def test_pseudonyms_are_not_in_the_page(client, study, lead):
    page = page_of(client, study, lead)
    assert not any(who in page for who in Response.objects.values_list("annotator__pseudonym", flat=True))


def test_only_answers_that_count_are_shown(study):
    Response.objects.filter(unit__image__index=1).update(withdrawn_at="2026-01-01T00:00Z")
    first = gallery_page(study, Filters(group=mexican())).pictures[0]
    assert (first.annotators, first.attributes, first.boxes) == ([], [], [])


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"attribute": "hat"}, [("Mexican", 1), ("Mexican", 2)]),
        ({"attribute": " HAT "}, [("Mexican", 1), ("Mexican", 2)]),
        ({"attribute": "kind"}, [("Nepali", 1)]),
        ({"attribute": "poor", "group": "Mexican"}, [("Mexican", 2)]),
        ({"group": "Mexican", "differ": 25}, [("Mexican", 1), ("Mexican", 2)]),
        ({"group": "Mexican", "differ": 40}, []),
        ({"group": "Nepali", "differ": 25}, [("Nepali", 1)]),
        ({"attribute": "sombrero", "differ": 25}, [("Mexican", 1)]),
    ],
)
def test_it_finds_what_is_looked_for(study, filters, found):
    if "group" in filters:
        filters = {**filters, "group": factories.group(filters["group"])}
    page = gallery_page(study, Filters(**filters))
    assert [(one.image.group.name, one.image.index) for one in page.pictures] == found


def test_exactly_as_many_as_are_asked_for_differ():
    task = factories.task(factories.study(), kind=TaskKind.DEPICTION, strata=("any",) * 4)
    hat, both, none, nothing = (1, 0, 0), (1, 1, 0), (0, 0, 1), (0, 0, 0)
    said = [[hat, *[nothing] * 3], [*[hat] * 3, nothing], [both] * 4, [none, *[nothing] * 3]]
    for index, answers in enumerate(said, start=1):
        unit = factories.page_unit(task, picture=factories.image(index=index), texts=("hat", "fez"))
        for values in answers:
            factories.response(unit, values=values)
    page = gallery_page(task.study, Filters(differ=25))
    assert [one.image.index for one in page.pictures] == [1, 2]


def test_an_attribute_shows_its_own_boxes_alone(study):
    page = gallery_page(study, Filters(attribute="hat"))
    assert {box.attribute.text for one in page.pictures for box in one.boxes} == {"hat"}


def test_what_is_not_an_attribute_is_said_to_be_none(client, study, lead):
    page = page_of(client, study, lead, attribute="<b>")
    assert "There is no attribute “&lt;b&gt;”" in page
    assert "No image matches these filters" in page_of(client, study, lead, group=mexican().pk, differ=40)


def test_groups_of_annotators_are_offered_from_three_people_on(study, client, lead):
    enrol(study, [{"gender": "woman", "origin": "Asia"}, {"gender": "woman"}, {"gender": "woman"}])
    assert gallery_page(study, Filters()).people == ("gender: woman",)
    who = Response.objects.order_by("slot__index").first().annotator
    who.profile_answers.filter(field="gender").delete()
    page = gallery_page(study, Filters())
    assert page.people == ()
    client.force_login(lead)
    url = reverse("gallery", args=["pictures"])
    assert client.get(url, {"people": "gender: woman"}).status_code == 404, "not by its address either"


def test_annotators_can_be_narrowed_to_a_pool(study):
    factories.group("Mexican")
    type(mexican()).objects.filter(name="Mexican").update(region="Latin America")
    enrol(study, [{"residence": "Latin America"}] * 3)
    outsider = factories.annotator(profile={"residence": "Europe"})
    factories.enrolment(study, who=outsider)
    unit = factories.page_unit(study.tasks.get(), picture=factories.image(index=9))
    factories.response(unit, values=[1, 0, 0, 0, 0], who=outsider)
    page = gallery_page(study, Filters(group=mexican(), people="in-region"))
    assert page.people == ("in-region", "residence: Latin America")
    assert [len(one.annotators) for one in page.pictures] == [3, 3, 0]


def test_images_stay_behind_their_permission_and_blurred_if_the_study_says_so(client, study, lead):
    assert "<image" not in page_of(client, study, lead)
    image = gallery_page(study, Filters()).pictures[0].image
    image.sha256 = "0" * 64
    image.file.save("a.png", ContentFile(b"x"))
    page = page_of(client, study, lead)
    assert f'<image href="{reverse("thumbnail_file", args=[image.pk, 640])}' in page
    assert "is-blurred" not in page
    study.blur_images = True
    study.save()
    page = page_of(client, study, lead)
    assert "is-blurred" in page
    assert page.count('class="reveal"') == 1, "there is nothing to reveal where the file is not here"


@pytest.mark.parametrize("query", [{"group": "x"}, {"group": 10**9}, {"group": "9" * 400}, {"group": -1}])
def test_guessed_groups_are_not_found(client, study, lead, query):
    client.force_login(lead)
    assert client.get(reverse("gallery", args=["pictures"]), query).status_code == 404


def test_pages_keep_what_was_looked_for(client, study, lead):
    pictures = factories.images(range(10, 23))
    units = factories.page_units(study.tasks.get(), [(picture, cast.TEXTS) for picture in pictures])
    factories.responses((unit, [1, 0, 0, 0, 0], None) for unit in units)
    page = page_of(client, study, lead, attribute="hat", differ="odd")
    assert "?attribute=hat&amp;differ=odd&amp;page=2" in page
    assert len(gallery_page(study, Filters(attribute="hat"), page="2").pictures) == 3
    assert gallery_page(study, Filters(attribute="hat"), page="odd").number == 1


def test_queries_do_not_grow_with_images_and_annotators(client, study, lead, django_assert_num_queries):
    enrol(study, [{"gender": "woman"}] * 3)
    client.force_login(lead)
    url = reverse("gallery", args=["pictures"])
    query = {"group": mexican().pk, "people": "gender: woman", "differ": 25, "attribute": "hat"}

    def add(count: int) -> None:
        for index in range(10, 10 + count):
            picture = factories.image(index=index + 100 * count)
            unit = factories.page_unit(study.tasks.get(), picture=picture, texts=(f"new {index}", "hat"))
            for value in (1, 1, 0):
                who = factories.annotator(profile={"gender": "woman"})
                factories.enrolment(study, who=who)
                made = factories.response(unit, values=[1, value, 0], who=who)
                Box.objects.create(
                    judgement=made.judgements.first(),
                    x0=1,
                    y0=1,
                    x1=9,
                    y1=9,
                    image_width=512,
                    image_height=512,
                )

    for count in (1, 9):
        add(count)
        with django_assert_num_queries(14):
            client.get(url, query)
