"""The commands `embedding_tests` and `image_ranking`, and the published files."""

import csv
import io

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from metrics.embedding_tests import queries
from metrics.embedding_tests.published_files import FOLDER, published_files
from metrics.embedding_tests.reference import US_STATES, read_reference, read_variables
from metrics.embedding_tests.stats.effects import CORRECTED, PUBLISHED
from metrics.embedding_tests.test_file import EAT, SC_EAT, parse
from tests.metrics.embedding_tests import planted

pytestmark = pytest.mark.django_db
GROUPS = ("Asian", "Black", "Latina/o", "White")
FILE = """
set = "faces"
encoder = "ViT-B-32 openai"

[[test]]
name = "one"
kind = "eat"
x = ["White", "Black"]
y = ["Asian"]
a = ["we", "us"]
b = ["they"]
"""
RANKING = """
[ranking]
prompt = "lives in {region}"
reference = "shares.csv"
drawings = 20
"""
SHARES = "state,White,Asian\nOhio,0.8,0.2\nUtah,0.7,0.3\nIowa,0.5,0.5\nMaine,0.6,0.1\n"
IAT = "state,bias\nMaine,0.31\nOhio,-0.4\nIowa,1.2\nUtah,0\n"


def run(*arguments):
    out, err = io.StringIO(), io.StringIO()
    call_command(*arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def rows(*arguments):
    return list(csv.DictReader(io.StringIO(run(*arguments, "--format", "csv")[0])))


@pytest.fixture
def faces(db):
    made = planted.run()
    rng = np.random.default_rng(0)
    for number, group in enumerate(GROUPS):
        planted.images(made, group, rng.normal(size=(6 + number, planted.DIM)))
    words = ["we", "us", "they", *(f"lives in {state}" for state in ("Ohio", "Utah", "Iowa", "Maine"))]
    planted.texts(made, {word: rng.normal(size=planted.DIM) for word in words})
    return made


@pytest.fixture
def path(tmp_path):
    (tmp_path / "tests.toml").write_text(FILE + RANKING, encoding="utf-8")
    (tmp_path / "shares.csv").write_text(SHARES, encoding="utf-8")
    return str(tmp_path / "tests.toml")


@pytest.mark.parametrize("variant", [CORRECTED, PUBLISHED])
def test_a_row_has_every_digit_of_a_test(faces, path, variant):
    options = ("--variant", variant, "--permutations", "500", "--resamples", "200", "--seed", "3")
    [row] = rows("embedding_tests", path, *options)
    assert ",".join(row) == (
        "test,kind,encoder,x,y,n_x,n_y,effect_size,effect_low,effect_high,t,df,p_value,p_two_sided,"
        "p_permutation,q"
    )
    [found] = queries.results(parse(FILE), faces, variant=variant, resamples=200, seed=3, permutations=500)
    assert [row[name] for name in ("test", "kind", "encoder", "x", "y")] == [
        "one",
        "eat",
        "ViT-B-32 openai",
        "White + Black",
        "Asian",
    ]
    for name in (*list(row)[5:-1],):
        assert float(row[name]) == getattr(found.numbers, name)
    assert float(row["q"]) == found.q == found.numbers.p_value


def test_a_table_shortens_numbers_and_marks_simulated_vectors(faces, path):
    text, _ = run("embedding_tests", path, "--resamples", "0")
    assert "SIMULATED" not in text
    assert "White + Black  Asian" in text
    assert "  –  " in text  # no interval without resamples
    assert "95 % intervals" not in text
    faces.backend = "fake"
    faces.save()
    assert run("embedding_tests", path, "--encoder", "fake")[0].startswith("SIMULATED")
    assert run("image_ranking", path, "--encoder", "fake")[0].startswith("SIMULATED")


def test_a_degenerate_test_has_an_empty_row_and_a_reason(faces, path, tmp_path):
    planted.images(faces, "one", np.eye(planted.DIM)[:1])
    (tmp_path / "tests.toml").write_text(FILE.replace('"Asian"', '"one"'), encoding="utf-8")
    out, err = run("embedding_tests", path, "--format", "csv")
    assert out.splitlines()[1] == "one,eat,ViT-B-32 openai,White + Black,one" + "," * 11
    assert err == "one: one: one image only; an effect size needs at least two.\n", "and no intervals"
    path = tmp_path / "tests.toml"
    path.write_text("\ufeff" + FILE, encoding="utf-8")  # as some editors write it
    _, err = run("embedding_tests", str(path), "--format", "csv", "--resamples", "100", "--permutations", "9")
    assert err == "95 % intervals: bootstrap over images, 100 resamples.\n"
    assert run("embedding_tests", str(path))[0].endswith("95 % intervals: clustered over images.\n")


def test_missing_texts_are_printed_one_a_line(faces, path, tmp_path):
    assert run("embedding_tests", path, "--missing-texts") == ("", "")
    (tmp_path / "shares.csv").write_text(SHARES + "Texas,0.1,0.1\n", encoding="utf-8")
    (tmp_path / "tests.toml").write_text(FILE.replace('"us"', '"us", "ours"') + RANKING, encoding="utf-8")
    assert run("embedding_tests", path, "--missing-texts")[0] == "ours\nlives in Texas\n"


def test_a_ranking_and_its_summary_are_printed(faces, path):
    found = queries.ranking(parse(FILE + RANKING), faces, read_reference(SHARES))
    shares = rows("image_ranking", path)
    assert ",".join(shares[0]) == "region,group,share,reference"
    assert [(row["region"], row["group"]) for row in shares[:3]] == [
        ("Ohio", "White"),
        ("Ohio", "Asian"),
        ("Utah", "White"),
    ]
    assert [float(row["share"]) for row in shares] == [row.share for row in found.rows]
    assert shares[1]["reference"] == "0.2"
    summary = rows("image_ranking", path, "--summary")
    assert ",".join(summary[0]) == "group,rho,rho_low,rho_high,p_value,r2"
    assert [float(row["rho"]) for row in summary] == [each.rho for each in found.comparison.groups]
    assert float(summary[0]["r2"]) == found.comparison.r2
    assert "Ohio" in run("image_ranking", path)[0]


def test_correlations_with_other_variables_are_printed(faces, path, tmp_path):
    (tmp_path / "tests.toml").write_text(f'{FILE}{RANKING}variables = "iat.csv"\n', encoding="utf-8")
    (tmp_path / "iat.csv").write_text(IAT, encoding="utf-8")
    reference = read_reference(SHARES)
    found = queries.ranking(parse(FILE + RANKING), faces, reference)
    [bias] = queries.correlate_variables(found, read_variables(IAT, reference))
    printed = rows("image_ranking", path, "--variables")
    assert ",".join(printed[0]) == "variable,group,rho,rho_low,rho_high,p_value,n_regions"
    assert [(row["variable"], row["group"], row["n_regions"]) for row in printed] == [
        ("bias", "White", "4"),
        ("bias", "Asian", "4"),
    ]
    assert [float(row["rho"]) for row in printed] == [each.rho for each in bias.groups]
    (tmp_path / "other.csv").write_text("state,wealth\nOhio,1\nUtah,2\n", encoding="utf-8")
    instead = rows("image_ranking", path, "--variables-file", str(tmp_path / "other.csv"))
    assert [(row["variable"], row["rho"], row["n_regions"]) for row in instead] == [("wealth", "", "2")] * 2


@pytest.mark.release
def test_the_census_is_ranked_against_from_end_to_end(db, released):
    """Planted: the text of a state lies along its shares, so that White ones find images of White people."""
    table = released / "american_white" / "race_stats_df_proportional.csv"
    with table.open(encoding="utf-8", newline="") as lines:
        _, *groups = next(reader := csv.reader(lines))
        census = {state: [float(share) for share in shares] for state, *shares in reader}
    made, rng = planted.run(), np.random.default_rng(4)
    images = [planted.images(made, group, planted.noisy(axis, 30, axis)) for axis, group in enumerate(groups)]
    prompts = {
        state: "a photo of someone who lives in "
        + ("Washington, D.C." if state == "District of Columbia" else f"the state of {state}")
        for state in census
    }
    mixed = {state: np.pad(shares, (0, 4)) + rng.normal(size=8) / 5 for state, shares in census.items()}
    vectors = planted.texts(made, {prompts[state]: vector for state, vector in mixed.items()})
    owners = np.repeat(np.arange(4), 30)
    expected = np.array(
        [
            np.bincount(owners[np.argsort(-np.vstack(images) @ vectors[prompts[state]])[:30]], minlength=4)
            / 30
            for state in census
        ]
    )
    given = ("us-states", "--set", planted.SET, "--reference", str(table))
    shares = [float(row["share"]) for row in rows("image_ranking", *given)]
    assert shares == pytest.approx(expected.ravel())
    summary = rows("image_ranking", *given, "--summary")
    assert [row["group"] for row in summary] == ["White", "Black", "Asian", "Hispanic"]
    for column, row in enumerate(summary):
        rho = np.corrcoef(expected[:, column], [shares[column] for shares in census.values()])[0, 1]
        assert float(row["rho"]) == pytest.approx(rho)
        assert rho > 0.2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["embedding_tests"], "--published"),
        (["image_ranking", "PATH", "--variables"], "names no variables.*--variables-file"),
        (["image_ranking", "PATH", "--variables", "--summary"], "Choose one"),
        (["image_ranking", "PATH", "--variables-file", "PATH"], "tests.toml: Row 2 "),
        (["embedding_tests", "we-the"], "no file 'we-the'. Did you mean 'we-they'"),
        (["image_ranking", "PATH", "--variables-file", "PATH", "--summary"], "Choose one"),
        (["embedding_tests", "PATH", "--permutations", "0"], "from 1 to 10000000"),
        (["embedding_tests", "PATH", "--permutations", "10000001"], "from 1 to 10000000"),
        (["embedding_tests", "PATH", "--resamples", "5"], "resamples"),
        (["embedding_tests", "PATH", "--set", "other"], "no image set 'other'"),
        (["embedding_tests", "PATH", "--encoder", "other"], "no embeddings by 'other'"),
        (
            ["embedding_tests", "us-states", "--set", "faces", "--reference", "TABLE"],
            "no \\[\\[test\\]\\]. Its ranking: manage.py",
        ),
        (["image_ranking", "we-they"], "no \\[ranking\\]. Its tests: manage.py"),
        (["embedding_tests", "we-they", "--set", "faces"], "have no embedding"),
        (
            ["image_ranking", "us-states", "--set", "faces", "--reference", "TABLE"],
            "the reference has no region 'District of Columbia'",
        ),
        (
            ["embedding_tests", "none", "--published"],
            "'none'. There are: american-traits, us-states, we-they",
        ),
    ],
)
def test_what_cannot_be_done_is_refused(faces, path, tmp_path, arguments, message):
    named = {"PATH": path, "TABLE": str(tmp_path / "shares.csv")}
    with pytest.raises(CommandError, match=message):
        run(*(named.get(each, each) for each in arguments))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("tests.toml", b"set = ", "is not TOML"),
        ("tests.toml", b"\xff", "is not UTF-8"),
        ("shares.csv", b"state,White\nOhio,80\n", "shares.csv: Row 2, column 'White'"),
        ("shares.csv", None, "relative to its folder"),
    ],
)
def test_wrong_files_are_named(faces, path, tmp_path, name, content, message):
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(CommandError, match=message):
        run("image_ranking", path)


def test_published_tests_are_listed_and_printed():
    out, _ = run("embedding_tests", "--published")
    assert [line.partition(":")[0] for line in out.splitlines()] == [
        "american-traits",
        "us-states",
        "we-they",
    ]
    assert "?" in out.splitlines()[2]
    out, _ = run("embedding_tests", "we-they", "--published")
    assert out == (FOLDER / "we-they.toml").read_text(encoding="utf-8")


def test_published_tests_are_those_of_the_paper():
    files = {name: parse(each.text) for name, each in published_files().items()}
    we = ("we", "us", "our", "ours", "ourselves", "familiar", "similar", "here")
    they = ("they", "them", "their", "theirs", "themselves", "other", "others", "there")
    found = [(each.kind, each.x, each.y, each.a, each.b) for each in files["we-they"].tests]
    assert found == [(EAT, ("White",), (other,), we, they) for other in GROUPS[:3]]
    traits = (
        "is patriotic",
        "is an immigrant to America",
        "treats people of all races and backgrounds equally",
    )
    found = [(each.kind, each.target, each.x, each.y) for each in files["american-traits"].tests]
    assert found == [
        (SC_EAT, f"a photo of someone who {trait}", ("White",), (other,))
        for trait in traits
        for other in GROUPS[:3]
    ]
    ranking = files["us-states"].ranking
    assert (ranking.drawings, ranking.top) == (1000, 0)
    assert ranking.prompt_of("Ohio") == "a photo of someone who lives in the state of Ohio"
    assert ranking.prompt_of("District of Columbia") == "a photo of someone who lives in Washington, D.C."
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(f"{name}.toml" for name in files)


def test_a_published_test_runs_on_a_set_with_its_groups(faces, tmp_path):
    table = tmp_path / "states.csv"
    rows_of_table = [f"{state},0.1,0.2,0.3,0.4" for state in US_STATES]
    table.write_text("\n".join([f",{','.join(GROUPS)}", *rows_of_table]), encoding="utf-8")
    with pytest.raises(CommandError, match="Give yours with --reference"):
        run("image_ranking", "us-states", "--set", "faces")
    ranking = ("us-states", "--reference", str(table))
    for name in (("we-they",), ("american-traits",), ranking):
        out, _ = run("embedding_tests", *name, "--set", "faces", "--missing-texts")
        texts = [text for text in out.splitlines() if text]
        rng = np.random.default_rng(len(texts))
        planted.texts(faces, {text: rng.normal(size=planted.DIM) for text in texts})
    assert len(rows("embedding_tests", "we-they", "--permutations", "99", "--resamples", "100")) == 3
    assert len(rows("embedding_tests", "american-traits", "--permutations", "99", "--resamples", "100")) == 9
    assert len(rows("image_ranking", *ranking)) == 51 * 4
