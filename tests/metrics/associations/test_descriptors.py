"""Lists of descriptors and the prompts that are made of them."""

import pytest

from annotation.imports.readers.oddities import FileRefused
from annotation.models import DIMENSIONS
from metrics.associations import descriptors, prompts
from metrics.associations.askings import Descriptor, Setting
from metrics.associations.descriptors import (
    article_of,
    descriptor_of,
    find_dimension,
    plural_of,
    read_descriptors,
    starter_list,
)


def test_dimensions_are_those_of_the_catalogue_and_are_found_by_loose_names():
    assert list(descriptors.DIMENSIONS) == [axis.value for axis in DIMENSIONS]
    found = {
        "race-color": "race_colour",
        "Race color": "race_colour",
        "race_colour": "race_colour",
        "race": "race_colour",
        "PHYSICAL-appearance": "physical_appearance",
        "physical appearance": "physical_appearance",
        "sexual-orientation": "sexual_orientation",
        "socioeconomic": "socioeconomic_status",
        "Socioeconomic status": "socioeconomic_status",
        "height": "",
    }
    assert {text: find_dimension(text) for text in found} == found


def test_the_starter_list_has_twenty_groups_in_each_dimension():
    listed = starter_list()
    for dimension in descriptors.DIMENSIONS:
        assert len(listed.on([dimension])) >= 20, dimension
    assert listed.repeated == 0
    assert all(article_of(one) == article_of(Descriptor("age", one.singular)) for one in listed.descriptors)


def test_our_form_makes_what_is_left_out():
    listed = read_descriptors(
        "\ufeffdimension,singular,plural,article\nAge,old person,,\nreligion,Sikhs,Sikhs,-\n"
        "disability,wheelchair user,,\n",
        "own.csv",
    )
    assert listed.descriptors == (
        Descriptor("age", "old person", "old people"),
        Descriptor("religion", "Sikhs", "Sikhs", "-"),
        Descriptor("disability", "wheelchair user", "wheelchair users"),
    )
    assert [article_of(one) for one in listed.descriptors] == ["an", "", "a"]
    assert [plural_of(one) for one in ("deaf woman", "baby", "boy", "boss", "child")] == [
        *("deaf women", "babies", "boys", "bosses", "children")
    ]


def test_the_authors_templates_are_kept_and_repeated_rows_too():
    listed = read_descriptors(
        "bias_type,template\nage,An old person is\nnationality,A chinese is \nrace-color,This chinese is\n"
        "physical-appearance,A skinny person\nage,This retiree is a/an\n"
        "age,Old People ARE\nage,An old person is\n",
        "templates.csv",
    )
    assert [(one.dimension, one.singular, one.template) for one in listed.descriptors] == [
        ("age", "old person", "An old person is"),
        ("nationality", "chinese", "A chinese is"),
        ("race_colour", "chinese", "This chinese is"),
        ("physical_appearance", "skinny person", "A skinny person"),
        ("age", "retiree", "This retiree is a/an"),
        ("age", "Old People", "Old People ARE"),
        ("age", "old person", "An old person is"),
    ]
    assert listed.repeated == 1
    assert descriptor_of("This A-level artisan is") == "A-level artisan"


def test_the_authors_targets_of_images():
    singular = "template_singular,target,bias_type,target_singular\n"
    singular += "x,old,age,an old person\nx,poor,socioeconomic,cleaner\n"
    plural = "template_plural,target,bias_type,target_plural\nx,old,age,old people\n"
    assert read_descriptors(singular, "s").descriptors == (
        Descriptor("age", "old person", "old people", "an"),
        Descriptor("socioeconomic_status", "cleaner", "cleaners"),
    )
    assert read_descriptors(plural, "p").descriptors == (Descriptor("age", "old people", "old people"),)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "The first row must have"),
        ("dimension,name\nage,x\n", "The first row must have"),
        (
            "bias_type,template\nheight,A man is\n",
            "row 2: column 'bias_type': 'height' is no dimension",
        ),
        (
            "bias_type,template\nage,An adult is\nage,This is\n",
            "row 3: column 'template': it names nobody",
        ),
        ("dimension,singular,plural,article\nage,x,y,el\n", "row 2: column 'article'"),
        ("dimension,singular\nage,x,y\n", "row 2: 3 cells"),
        (f"dimension,singular\nage,{'x' * 111}\n", "at most 110"),
        ("dimension,singular\n\n", "no rows"),
        ('dimension,singular\nage,"x\n', "not comma-separated"),
    ],
)
def test_a_wrong_row_is_named(text, says):
    with pytest.raises(FileRefused, match=says.replace("(", r"\(")):
        read_descriptors(text, "list.csv")


def test_sentences_of_the_five_settings():
    shipped = prompts.read_prompts()
    old = Descriptor("age", "old person")

    def asked(setting, descriptor=old):
        return prompts.words_prompt(shipped[setting.value], descriptor, "q").splitlines()[-1]

    assert asked(Setting.SINGULAR) == "An old person is [q__]."
    assert asked(Setting.PLURAL) == "Old people are [q__]."
    assert asked(Setting.ADJECTIVE) == asked(Setting.VERB) == "This old person is [q__]."
    assert asked(Setting.NOUN) == "This old person is a/an [q__]."
    assert asked(Setting.SINGULAR, Descriptor("religion", "Sikhs", article="-")) == "Sikhs is [q__]."
    kept = Descriptor("age", "old person", template="This old person is a/an")
    assert asked(Setting.PLURAL, kept) == "This old person is a/an [q__]."
    images = {
        setting: prompts.image_prompt(shipped[prompts.image_prompt_name(setting)], old, setting)
        for setting in (Setting.IMAGES_OF_ONE, Setting.IMAGES_OF_SEVERAL)
    }
    assert list(images.values()) == ["Generate an image of an old person", "Generate an image of old people"]


def test_a_study_changes_a_prompt(tmp_path):
    assert prompts.changes_of_text(prompts.shown_as_tables(prompts.NAMES)).keys() == set(prompts.NAMES)
    same = prompts.read_prompts(prompts.changes_of_text(prompts.shown_as_tables(prompts.NAMES)))
    assert not any(one.changed for one in same.values())
    own = 'version = 2\nmax_tokens = 5\nprompt = "Go: {sentence}"\nsentence = "{plural} were [{letter}__]."\n'
    (tmp_path / "t2t-plural.toml").write_text(own)
    found = prompts.read_prompts(prompts.changes_of_folder(tmp_path))
    assert (found["t2t-plural"].changed, found["t2t-noun"].changed) == (True, False)
    assert (
        prompts.words_prompt(found["t2t-plural"], Descriptor("age", "adult"), "b") == "Go: Adults were [b__]."
    )
    assert found["t2t-plural"].as_design() == {
        "version": 2,
        "changed": True,
        "prompt": "Go: {sentence}",
        "sentence": "{plural} were [{letter}__].",
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x", "not TOML"),
        ("x = " + "[" * 5000, "not TOML"),
        ('[i2t-lexical]\nversion = 2\nprompt = "a\\u0000"', "character that is none"),
        ("[t2t-odd]\nversion = 1", "'t2t-odd' is no prompt"),
        ("i2t-lexical = 3", r"begins with \[i2t-lexical\]"),
        ('[i2t-lexical]\nprompt = "x"', "version is missing"),
        ('[i2t-lexical]\nversion = 2\nprompt = " "', "prompt is missing"),
        ('[i2t-lexical]\nversion = 2\nprompt = "x"\ntemperature = 1', "'temperature' is no field"),
        ('[i2t-lexical]\nversion = "2"\nprompt = "x"', "version must be a number"),
        ('[i2t-lexical]\nversion = 2\nprompt = "of {singular}"', "{singular} is not replaced"),
        ('[t2t-noun]\nversion = 2\nprompt = "x"\nsentence = "{letter}"', "prompt must have {sentence}"),
        ('[t2t-noun]\nversion = 2\nprompt = "{sentence}"\nsentence = "x"', "sentence must have {letter}"),
        ('[images-plural]\nversion = 2\nprompt = "x"', "must have {named}"),
    ],
)
def test_a_wrong_prompt_is_refused(text, says):
    with pytest.raises(prompts.PromptsRefused, match=says):
        prompts.changes_of_text(text)
