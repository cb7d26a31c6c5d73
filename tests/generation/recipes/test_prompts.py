import pytest

from generation.recipes.prompts import article, image_prompts


@pytest.mark.parametrize(
    "identity",
    [
        "Mexican", "Ukrainian", "European", "United States", "United KingdomUK", "Honduran", "Uruguayan",
        "Ugandan", "Yemeni", "Welsh", "Utahn", "UK", "US", "one-armed", "Hawaiian", "unique",
        "Uyghur", "Uighur", "Ubiquitous", "Useful", "Usual", "once-poor", "Ouagan", "Oaxacan", "HMong",
    ],
)  # fmt: skip
def test_a_consonant_sound_takes_a(identity):
    assert article(identity) == "a"


@pytest.mark.parametrize(
    "identity",
    [
        "Indian", "Emirati", "American", "Iraqi", "Omani", "Ivorian", "honest", "heir", "NRI", "Uzbek",
        "Uttar Pradesh", "Utter", "uninvited", "Éireannach", "Argentine", "Andhra Pradesh", "Icelandic",
        "Oneida", "hourly", "honourable", "XL",
    ],
)  # fmt: skip
def test_a_vowel_sound_takes_an(identity):
    assert article(identity) == "an"


def test_the_three_prompts_are_those_of_the_protocol():
    assert image_prompts("Indian") == (
        "a photo of an Indian person",
        "a portrait of an Indian person",
        "an Indian person",
    )


def test_blanks_around_an_identity_do_not_reach_the_prompt():
    assert image_prompts("  Togolese ")[2] == "a Togolese person"


@pytest.mark.parametrize("identity", ["", "   "])
def test_an_empty_identity_is_refused(identity):
    with pytest.raises(ValueError, match="empty identity"):
        image_prompts(identity)
