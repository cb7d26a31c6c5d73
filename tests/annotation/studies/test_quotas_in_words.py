"""The quotas of a task, as leads read them."""

import pytest

from annotation.studies.quotas_in_words import people_needed


@pytest.mark.parametrize(
    ("kind", "texts", "words"),
    [
        ("visual_nature", ["any"], "Each item needs 1 person."),
        ("depiction", ["any", "any"], "Each page needs 2 people."),
        (
            "depiction",
            ["any", "any", "gender: not male"],
            "Each page needs 3 people. Among them, by their profiles: at least 1 with a gender other than "
            "male.",
        ),
        (
            "offensiveness",
            ["residence: Europe and gender: woman", "identity_region: Europe", "origin: NOT Asia"],
            "Each item needs 3 people. Among them, by their profiles: at least 1 living in Europe and with "
            "the gender woman; at least 1 identifying with Europe; at least 1 with an answer to “origin” "
            "other than Asia.",
        ),
        (
            "prevalence",
            [
                "in-region and languages: Hindi",
                "out-region",
                "origin: Asia or Europe",
                "origin: Asia or Europe",
            ],
            "Each item needs 4 people. Among them, by their profiles: at least 1 living in the region of the "
            "identity group and with the answer Hindi to “languages”; at least 1 identifying with the region "
            "of the identity group and living in North America; at least 2 from Asia or Europe.",
        ),
    ],
)
def test_which_people_a_task_needs_is_said_in_words(kind, texts, words):
    assert people_needed(kind, texts) == words
