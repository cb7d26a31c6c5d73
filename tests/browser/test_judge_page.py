"""The page of a machine judge with all that it can show."""

import pytest
from django.urls import reverse

from annotation.models import IdentityGroup, TaskKind
from tests import factories
from tests.metrics import cast
from tests.metrics.machine_judges import stored
from tests.metrics.machine_judges.judged import judge

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
ALL = "reading: nominal"


def test_the_page_of_a_judge_is_sound_at_every_width(new_page, accessible_everywhere):
    lead = factories.user()
    study = cast.depiction_study(name="hats", leads=[lead])
    run = judge(study, TaskKind.DEPICTION, lambda *_: 1, name="a-judge")
    mexican = IdentityGroup.objects.get(name="Mexican")
    compared = [
        *stored.agreement(ALL, 62.0, 71.0, (-9.0, -13.0, -5.0), q=0.01),
        *stored.agreement(
            f"{ALL}; region: Latin America; annotators: woman", 50.0, 71.0, (-21.0, -30.0, -2.0)
        ),
        *stored.agreement(ALL, 50.0, 71.0, -21.0, group=mexican),
        *stored.agreement(ALL, 50.0, 71.0, -21.0, attribute=factories.attribute("a" * 40)),
        ("judge_kappa", ALL, 0.3, {}),
        ("judge_iou", ALL, 0.3, {}),
        ("stability", "variant: order", 0.9, {}),
        ("unusable", "problem: box", 0.1, {"n": 20, "k": 2}),
        *(
            ("confusion", f"people: {one}; judge: {other}", 0.5, {"n": 4, "k": 2})
            for one in (0, 1)
            for other in (0, 1)
        ),
    ]
    stored.score_run(study, run, "judge_agreement", compared)
    rates = [("winning_rate", "", 0.7, {"n": 10, "k": 7}), ("advantage", "", (0.8, 0.7, 0.9), {})]
    stored.score_run(study, run, "judge_alternative_annotator", rates)
    sides = [("theta", f"of: {of}", (1.0, 0.5, 2.0), {"group": mexican}) for of in ("judge", "people")]
    stored.score_run(study, run, "judge_scores", sides)
    stored.score_run(
        study, run, "judge_combined", [*sides, ("theta", "of: combined", 1.0, {"group": mexican})]
    )
    page = new_page(lead)
    page.goto(reverse("judge", args=["hats", run.pk]))
    page.get_by_text("New scores are being computed").wait_for()
    page.get_by_text("Latin America, “woman”").wait_for()
    accessible_everywhere(page)
