"""Results of files with vectors of known geometry, and what is refused."""

import dataclasses
import math
import re

import numpy as np
import pytest
from scipy import stats

from generation.models import Embedding, RunState, TextEmbedding
from metrics.embedding_tests import data, queries
from metrics.embedding_tests.reference import Reference
from metrics.embedding_tests.stats.effects import CORRECTED, PUBLISHED
from metrics.embedding_tests.test_file import parse
from tests import factories
from tests.metrics.embedding_tests import planted
from tests.metrics.embedding_tests.planted import FILE, RANKING

pytestmark = pytest.mark.django_db
E = np.eye(planted.DIM)


@pytest.fixture
def world(db):
    return planted.world()


def results(file, run, **options):
    return queries.results(file, run, **{"variant": CORRECTED, "resamples": 200, **options})


def associations(vectors, texts, a, b):
    def mean(image, words):
        return sum(planted.plain_cosine(image, texts[word]) for word in words) / len(words)

    return [mean(image, a) - (mean(image, b) if b else 0) for image in vectors]


@pytest.mark.parametrize(("variant", "ddof"), [(CORRECTED, 1), (PUBLISHED, 0)])
def test_numbers_are_those_of_plain_loops_over_the_stored_vectors(world, variant, ddof):
    run, vectors, texts = world
    eat, single = results(parse(FILE), run, variant=variant)
    others = np.concatenate([vectors["Asian"], vectors["Black"]])
    for found, (x, y, a, b), alternative in (
        (eat, (vectors["White"], vectors["Asian"], ["we", "us"], ["they"]), "greater"),
        (single, (vectors["White"], others, ["patriotic"], []), "less"),
    ):
        s_x, s_y = (np.array(associations(side, texts, a, b)) for side in (x, y))
        n, m = len(s_x), len(s_y)
        pooled = math.sqrt(((n - 1) * s_x.var(ddof=ddof) + (m - 1) * s_y.var(ddof=ddof)) / (n + m - 2))
        numbers = found.numbers
        assert (numbers.n_x, numbers.n_y, found.encoder) == (n, m, "ViT-B-32 openai")
        assert numbers.effect_size == pytest.approx((s_x.mean() - s_y.mean()) / pooled, rel=1e-9)
        scipys = stats.ttest_ind_from_stats(
            *(s_x.mean(), s_x.std(ddof=ddof), n, s_y.mean(), s_y.std(ddof=ddof), m),
            equal_var=False,
            alternative=alternative,
        )
        assert (numbers.t, numbers.p_value) == pytest.approx(tuple(scipys), rel=1e-7)
        assert numbers.effect_low < numbers.effect_size < numbers.effect_high
    assert eat.numbers.effect_size > 1  # White lies along the first axis, as "we" does
    assert [each.q for each in (eat, single)] == pytest.approx(
        stats.false_discovery_control([eat.numbers.p_value, single.numbers.p_value]).tolist()
    )


@pytest.mark.parametrize("variant", [CORRECTED, PUBLISHED])
def test_wefe_gives_the_same_effect(world, monkeypatch, variant):
    """WEFE divides the same difference by the standard deviation of all associations together (Caliskan et
    al. 2017), which follows from d: their sum of squares is that within the groups and that between them.
    *Published* that holds for groups of one size. An SC-EAT is an EAT with a text B that is at right angles
    to everything."""
    monkeypatch.setattr(np, "float_", np.float64, raising=False)  # WEFE 0.4.1 knows NumPy 1
    wefe = pytest.importorskip("wefe.metrics").WEAT()
    run, vectors, texts = world
    vectors["Latina/o"] = planted.images(run, "Latina/o", planted.noisy(4, 12, 5))
    nine = FILE.replace('"Asian", "Black"', '"Asian"')
    for file in (nine, nine.replace('"Asian"', '"Latina/o"')):
        other = vectors["Latina/o" if file != nine else "Asian"]
        n_x, n_y = len(vectors["White"]), len(other)
        if variant == PUBLISHED and n_x != n_y:
            continue
        eat, single = results(parse(file), run, variant=variant)
        for found, a, b in (
            (eat, [with_zero(texts["we"]), with_zero(texts["us"])], [with_zero(texts["they"])]),
            (single, [with_zero(texts["patriotic"])], [np.eye(planted.DIM + 1)[-1]]),
        ):
            theirs = wefe._calc_effect_size(
                *([with_zero(image) for image in side] for side in (vectors["White"], other)), a, b
            )
            n, d = n_x + n_y, found.numbers.effect_size
            within = (n - 2) * (n_x / (n_x - 1) if variant == PUBLISHED else 1)
            assert theirs == pytest.approx(d / math.sqrt((within + n_x * n_y / n * d**2) / n), rel=1e-6)


def with_zero(vector):
    return np.append(vector, 0.0)


def test_results_are_read_in_few_queries_and_then_cached(world, django_assert_num_queries):
    run, _, _ = world
    file = parse(FILE)
    with django_assert_num_queries(5):  # groups, versions of images and texts, cosines: images and texts
        first = results(file, run)
    with django_assert_num_queries(3):
        assert results(file, run) == first
    assert results(file, run, seed=1) != first
    assert results(file, run, variant=PUBLISHED) != first
    assert results(file, run, resamples=300) != first
    assert results(file, run, permutations=99)[1].numbers != first[1].numbers
    other_words = parse(FILE.replace('["we", "us"]', '["we"]'))
    assert results(other_words, run)[0].numbers != first[0].numbers
    other_groups = parse(FILE.replace('["White"]', '["Black"]'))
    assert results(other_groups, run)[0].numbers.n_x == 10
    planted.images(run, "White", planted.noisy(4, 3, 9))
    assert results(file, run)[0].numbers.n_x == 15


def test_the_same_seed_gives_the_same_numbers_whatever_else_the_file_tests(world):
    run, _, _ = world
    file = parse(FILE)
    alone = dataclasses.replace(file, tests=file.tests[1:])
    assert results(alone, run)[0].numbers == results(file, run)[1].numbers


def test_a_group_of_one_and_images_that_do_not_vary_are_named(world):
    run, _, _ = world
    planted.images(run, "Latina/o", E[3:4])
    planted.images(run, "still", np.tile(E[0] + E[1], (4, 1)))
    head = FILE.partition("[[test]]")[0]
    one = '[[test]]\nname = "one"\nkind = "sc-eat"\ntarget = "we"\na = "Latina/o"\nb = "White"\n'
    still = '[[test]]\nname = "still"\nkind = "sc-eat"\ntarget = "we"\na = "still"\nb = "White"\n'
    fine = '[[test]]\nname = "fine"\nkind = "sc-eat"\ntarget = "we"\na = "Asian"\nb = "White"\n'
    found = results(parse(head + one + still + fine), run)
    assert found[0].problem == "Latina/o: one image only; an effect size needs at least two."
    assert found[1].problem == "still: the associations of all images are the same: no variance."
    assert [each.q is None for each in found] == [True, True, False]
    assert found[2].q == found[2].numbers.p_value
    assert (found[0].numbers, found[1].numbers) == (None, None)


def test_groups_of_two_axes_with_one_name(world):
    run, _, _ = world
    planted.images(run, "White", planted.noisy(3, 4, 8), axis="other")
    with pytest.raises(queries.TestsRefused, match="Write 'other:White' or 'race_colour:White'"):
        results(parse(FILE), run)
    [found, _] = results(parse(FILE.replace('"White"', '"race_colour:White"')), run)
    assert found.numbers.n_x == 12
    twice = FILE.replace('x = ["White"]', 'x = ["Black", "race_colour:Black"]').replace(
        'a = "White"', 'a = "other:White"'
    )
    on_both_sides = twice.replace('"Black", "race_colour:Black"', '"race_colour:Asian"')
    for wrong in (twice, on_both_sides):
        with pytest.raises(queries.TestsRefused, match="one group is named twice"):
            results(parse(wrong), run)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"Asian", "Black"',
            '"Asain"',
            "no images of a group 'Asain'. Did you mean 'Asian'\\?.*Asian, Black, White",
        ),
        (
            '"they"',
            '"them"',
            "1 of 4 texts have no embedding in run .* \\(ViT-B-32 openai\\): 'them'. .*embed faces",
        ),
    ],
)
def test_unknown_groups_and_missing_texts_are_named(world, old, new, message):
    with pytest.raises(queries.TestsRefused, match=message):
        results(parse(FILE.replace(old, new)), world[0])


def test_missing_texts_are_listed_once_and_in_order(world):
    run, _, _ = world
    file = parse(FILE.replace('"they"', '"them", "we all", "they"'))
    assert queries.missing_texts(file, run) == ["them", "we all"]
    ranked = parse(RANKING)
    reference = Reference(("Ohio", "Utah"), ("White",), ((0.5,), (0.2,)))
    assert queries.missing_texts(ranked, run, reference) == ["lives in the Buckeye State", "lives in Utah"]
    assert queries.missing_texts(ranked, run) == []
    longest = dataclasses.replace(ranked.ranking, prompt="x" * 496 + "{region}", prompts={})
    of_ohio = Reference(("Ohio",), ("White",), ((0.5,),))
    found = queries.missing_texts(dataclasses.replace(ranked, ranking=longest), run, of_ohio)
    assert [len(text) for text in found] == [500]


def test_groups_without_embeddings_and_vectors_of_other_sizes_are_named(world):
    run, _, _ = world
    factories.image(group_name="Latina/o", image_set=run.image_set)
    with pytest.raises(queries.TestsRefused, match="embedded no image of the group 'Latina/o'"):
        results(parse(FILE.replace('"Asian", "Black"', '"Latina/o"')), run)
    TextEmbedding.objects.filter(text="us").update(dim=4, vector=planted.unit(E[0][:4]).tobytes())
    with pytest.raises(queries.TestsRefused, match="have 4 and 8 numbers"):
        results(parse(FILE), run)
    TextEmbedding.objects.filter(run=run).update(dim=4, vector=planted.unit(E[0][:4]).tobytes())
    with pytest.raises(queries.TestsRefused, match="of 8 numbers, and the texts of 4"):
        results(parse(FILE), run)


@pytest.mark.parametrize(
    "wrong",
    [
        bytes(4 * planted.DIM),
        b"\xff" * 4 * planted.DIM,
        np.full(planted.DIM, np.inf, dtype=np.float32).tobytes(),
    ],
    ids=["zero", "NaN", "infinite"],
)
def test_a_vector_that_is_zero_or_not_finite_is_named(world, monkeypatch, wrong):
    monkeypatch.setattr(data, "_AT_A_TIME", 5)  # so that the image is in another part than the first
    run, _, _ = world
    third = Embedding.objects.filter(image__group__name="Asian", image__index=3)
    third.update(vector=wrong)
    with pytest.raises(queries.TestsRefused, match=r"Image 3 of 'Asian' \(Asian3.png\) .* is zero"):
        results(parse(FILE), run)
    third.delete()
    TextEmbedding.objects.filter(text="they").update(vector=wrong)
    with pytest.raises(queries.TestsRefused, match=r"The text 'they' has an embedding .* is zero"):
        results(parse(FILE), run)


def test_a_run_is_found_by_encoder_model_and_number(world):
    run, _, _ = world
    empty = planted.run(repeatable=True)
    file = parse(FILE)
    assert queries.run_of(file) == run  # the newer one has embedded nothing
    planted.images(empty, "White", planted.noisy(0, 2, 4))
    assert queries.run_of(file) == empty
    assert queries.run_of(file, encoder=str(run.pk)) == run
    assert queries.run_of(parse(RANKING)) == empty
    other = planted.run(model="ViT-B-32", pretrained="laion2b", dtype="float32")
    with pytest.raises(queries.TestsRefused, match="Name 'ViT-B-32 openai' or 'ViT-B-32 laion2b'"):
        queries.run_of(parse(RANKING))
    assert queries.run_of(file, encoder="ViT-B-32 laion2b") == other
    with pytest.raises(queries.TestsRefused, match=r"no embeddings by 'clip'. There are: 'ViT-B-32 openai'"):
        queries.run_of(file, encoder="clip")


def test_unknown_sets_and_sets_without_embeddings_are_named(world):
    factories.image_set("plain")
    file = parse(FILE.replace('"faces"', '"plain"'))
    with pytest.raises(queries.TestsRefused, match=r"Run: manage.py embed plain"):
        queries.run_of(file)
    with pytest.raises(
        queries.TestsRefused, match=r"no image set 'face'. Did you mean 'faces'.*faces, plain"
    ):
        queries.run_of(parse(FILE.replace('"faces"', '"face"')))


def test_of_many_sets_and_texts_a_message_names_some(world, monkeypatch):
    run, _, _ = world
    factories.image_set("plain")
    unknown, lacking = parse(FILE.replace('"faces"', '"x"')), parse(FILE.replace('"they"', '"one", "two"'))
    for shown, sets, texts in ((1, "faces and 1 more.", "'one' and 1 more."), (2, "faces, plain.", "'two'.")):
        monkeypatch.setattr(queries, "_SHOWN", shown)
        monkeypatch.setattr(data, "_SHOWN", shown)
        with pytest.raises(queries.TestsRefused, match=re.escape(sets)):
            queries.image_set_of(unknown)
        with pytest.raises(queries.TestsRefused, match=re.escape(texts)):
            results(lacking, run)


def test_vectors_of_another_run_are_not_read(world):
    run, _, _ = world
    other = planted.run(model="ViT-B-32", pretrained="laion2b", dtype="float32")
    planted.texts(other, {"them": E[0]})
    planted.images(other, "White", planted.noisy(0, 2, 4))
    assert results(parse(FILE), run)[0].numbers.n_x == 12
    assert queries.missing_texts(parse(FILE.replace('"they"', '"them"')), run) == ["them"]


def test_an_unfinished_run_is_read_as_far_as_it_is(world):
    run, _, _ = world
    run.state, run.finished_at = RunState.RUNNING, None
    run.save()
    before = results(parse(FILE), run)[0].numbers.n_x
    planted.images(run, "White", planted.noisy(0, 1, 20))
    assert results(parse(FILE), run)[0].numbers.n_x == before + 1
