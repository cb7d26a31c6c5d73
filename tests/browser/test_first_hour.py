"""The first hour of a lead who has read nothing: from no study to three people's answers and a report."""

from __future__ import annotations

import csv
import io
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from annotation.models import Box, Option, Purpose, Response, Study, StudyStatus
from metrics.models import Score
from metrics.score_runs import services as score_runs
from tests import factories
from tests.browser.annotation_page import drag, png, wait_for_item

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("few_resamples"),
]

MOST_CLICKS, MOST_PAGES = 60, 5
IMAGES = {"mexican-1": "Mexican", "mexican-2": "Mexican", "french-1": "French", "french-2": "French"}
ATTRIBUTES = "group,attribute\nMexican,sombrero\nMexican,poor\nFrench,beret\nFrench,wine\n"
SEEN = ("sombrero", "sombrero", "beret")
"""What each of three people sees in every image."""
THETA = {"Mexican": 2.0, "French": 0.5}
"""Two of three see what is stereotypical of one group, in all images, and one what is of the other."""


@dataclass
class Hand:
    """Counts clicks: also a field that is filled, a file that is chosen, and a box that is drawn."""

    clicks: int = 0

    def click(self, what: Locator) -> None:
        self.clicks += 1
        what.click()

    def fill(self, what: Locator, text: str) -> None:
        self.clicks += 1
        what.fill(text)

    def choose_file(self, what: Locator, path: Path) -> None:
        self.clicks += 1
        what.set_input_files(path)

    def draw(self, page: Page) -> None:
        self.clicks += 1
        drag(page, 0.2, 0.2, 0.6, 0.5)


@pytest.fixture
def files(tmp_path) -> tuple[Path, Path]:
    """A ZIP of images with the table of their groups, and a table of attributes."""
    images, attributes = tmp_path / "images.zip", tmp_path / "attributes.csv"
    with zipfile.ZipFile(images, "w") as archive:
        for place, name in enumerate(IMAGES):
            archive.writestr(f"{name}.png", png(50 * place))
        rows = [f"{name}.png,{group}" for name, group in IMAGES.items()]
        archive.writestr("images.csv", "\n".join(["file,group", *rows]))
    attributes.write_text(ATTRIBUTES)
    return images, attributes


def test_from_nothing_to_three_peoples_answers_and_a_report(new_page, browser, files, tmp_path):
    # the groups that every new installation knows
    for group in THETA:
        factories.group(group)
    hand = Hand()
    lead = new_page(factories.user("lead", lead=True))
    invitation = open_a_study(lead, hand, *files)
    study = Study.objects.get()
    assert study.status == StudyStatus.OPEN
    gold = Option.objects.filter(unit__purpose=Purpose.GOLD, attribute__isnull=False)
    right = dict(gold.values_list("attribute__text", "expected"))
    assert right == {"sombrero": [1], "beret": [0], "wine": [0]}

    for place, seen in enumerate(SEEN):
        take_part(new_page(), hand, invitation, seen=seen, gender="Woman" if place == 2 else None)
    assert Response.objects.count() == Box.objects.count() == len(SEEN) * len(IMAGES)

    hand.click(lead.get_by_role("link", name="See the results"))
    expect(lead.get_by_text("being computed")).to_be_visible()
    score_runs.compute_pending()
    expect(lead.get_by_text("The largest θ is that of images of the group “Mexican”: 2.00")).to_be_visible()
    expect(lead.get_by_text("being computed")).to_have_count(0)

    hand.click(lead.get_by_role("link", name="Report", exact=True))
    with lead.expect_download() as download:
        hand.click(lead.get_by_role("button", name="Download the report"))
    with zipfile.ZipFile(download.value.path()) as archive:
        archive.extractall(tmp_path / "unpacked")
    (folder,) = (tmp_path / "unpacked").iterdir()
    assert_report_tells_what_is_stored(folder, study)
    assert_read_without_a_network(browser, folder)
    assert hand.clicks <= MOST_CLICKS


def open_a_study(page: Page, hand: Hand, images: Path, attributes: Path) -> str:
    """From the first page to an invitation, whose address is returned."""
    seen: list[str] = []
    page.on("framenavigated", lambda frame: seen.append(frame.url.partition("?")[0]))
    page.goto("/")
    hand.click(page.get_by_role("link", name="Set up your first study"))
    expect(page.get_by_role("radio", name="What images depict")).to_be_checked()
    hand.fill(page.get_by_label("Title"), "What do pictures of people show?")
    hand.fill(page.get_by_label("Contact"), "studies@example.org")
    hand.click(page.get_by_role("button", name="Start"))

    hand.choose_file(page.get_by_label("ZIP of images"), images)
    hand.choose_file(page.get_by_label("CSV of attributes"), attributes)
    hand.click(page.get_by_role("button", name="Save and continue"))

    page.wait_for_url("**/gold/")
    image = page.get_by_role("group", name="Mexican, image 1")
    hand.click(image.get_by_label("sombrero", exact=True))
    hand.click(image.get_by_label("poor: In doubt"))
    hand.click(page.get_by_role("button", name="Save and continue"))

    page.wait_for_url("**/consent/")
    for place, marked in enumerate(page.get_by_role("group", name="To adapt").get_by_role("textbox").all()):
        hand.fill(marked, f"adapted {place}")
    hand.click(page.get_by_role("button", name="Save and review"))

    hand.click(page.get_by_role("button", name="Create the draft"))
    hand.click(page.get_by_label("I have adapted or checked"))
    hand.click(page.get_by_role("button", name="Open the study"))
    page.wait_for_url("**/invitations/?opened")
    walked = seen[seen.index(next(url for url in seen if url.endswith("/setup/"))) : -1]
    assert len(set(walked)) <= MOST_PAGES, walked

    return page.get_by_label("Send this to anybody.").input_value()


def take_part(page: Page, hand: Hand, invitation: str, *, seen: str, gender: str | None) -> None:
    """Join, agree, and answer every item: the attribute by its key, a box by mouse."""
    page.goto(invitation)
    hand.click(page.get_by_role("button", name="Read about taking part"))
    hand.click(page.get_by_role("button", name="I have read this and agree"))
    if gender is None:
        hand.click(page.get_by_role("link", name="Continue without saving"))
    else:
        # one place of each item is for somebody who is not male
        page.get_by_role("combobox", name="Gender").select_option(gender)
        hand.clicks += 1
        hand.click(page.get_by_role("button", name="Save and continue"))
    for _ in IMAGES:
        wait_for_item(page)
        item = page.locator("#item").get_attribute("data-shown")
        words = [words.strip() for words in page.locator(".option .choice-name").all_text_contents()]
        page.keyboard.press(str(words.index(seen) + 1))
        hand.draw(page)
        hand.click(page.get_by_role("button", name="Submit and continue"))
        expect(page.locator(f'#item[data-shown="{item}"]')).to_have_count(0)
    expect(page.get_by_role("heading", level=1)).to_have_text("Thank you")


def assert_report_tells_what_is_stored(folder: Path, study: Study) -> None:
    """Every number of the report's tables is a stored score, and every stored score is in them."""
    told: dict[tuple[str, ...], list[str]] = {}
    for table in (folder / "tables").glob("*.csv"):
        for row in csv.DictReader(io.StringIO(table.read_text(encoding="utf-8"))):
            key = (table.stem, row["identity"], row["attribute"], row["part"], row["score"])
            told[key] = [row[name] for name in ("n", "k", "value", "low", "high")]
    stored = Score.objects.filter(run__study=study).select_related("run", "group", "attribute")
    assert len(told) == len(stored) > 0
    thetas = {}
    for score in stored:
        group = score.group.name if score.group else ""
        attribute = score.attribute.text if score.attribute else ""
        numbers = told[score.run.metric, group, attribute, score.part, score.name]
        wanted = [score.n, score.k, score.value, score.low, score.high]
        assert [float(number) if number else None for number in numbers] == wanted
        if score.name == "theta":
            thetas[group] = score.value
    assert thetas == pytest.approx(THETA)


def assert_read_without_a_network(browser: Browser, folder: Path) -> None:
    """The report's pages open from their folder and show the scores."""
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(f"file://{folder}/index.html")
    page.get_by_role("link", name="English").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Results")
    expect(page.get_by_text("“Mexican”: 2.00")).to_be_visible()
    groups = page.get_by_role("table", name="θ of each group")
    for group, theta in THETA.items():
        row = groups.get_by_role("row").filter(has_text=group)
        assert float(row.get_by_role("cell").first.inner_text().split()[0]) == theta
    context.close()
