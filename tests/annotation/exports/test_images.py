"""Exports of boxes: what the tools that people already use make of them."""

import csv
import json
import warnings
import xml.etree.ElementTree as ET
from fnmatch import fnmatch

import pytest
import yaml

from annotation.exports import image_answers
from annotation.exports.selection import ExportRefused, Selection
from annotation.models import Box, IdentityGroup, Image, Judgement, Response, TaskKind
from tests import factories
from tests.annotation.exports.world import depiction, document, unpacked, written

pytestmark = pytest.mark.django_db


# pycocotools' own, with numpy 2
@pytest.mark.filterwarnings("ignore:__array__ implementation doesn't accept a copy keyword")
def test_coco_opens_in_pycocotools_with_boxes_categories_and_images(tmp_path):
    from pycocotools.coco import COCO

    coco = COCO(str(written(depiction(), "coco", tmp_path / "coco.json")))
    by_name = {image["file_name"]: image for image in coco.imgs.values()}
    seen = by_name["Mexican5.png"]
    found = coco.loadAnns(coco.getAnnIds(imgIds=seen["id"]))
    assert [one["bbox"] for one in found] == [[40, 20, 100, 50], [0.5, 0, 399.5, 200]]
    assert [one["area"] for one in found] == [5000, 79900]
    assert {coco.cats[one["category_id"]]["name"] for one in found} == {"hat"}
    assert {one["annotator"] for one in found} == {"a-one"}
    assert coco.annToMask(found[0]).sum() == 5000
    assert coco.loadRes(found).anns.keys() == {1, 2}


def test_coco_keeps_images_that_were_reviewed_and_are_empty_with_who_reviewed_them():
    data = document(depiction(), "coco", "annotations.json")
    names = {one["id"]: one["name"] for one in data["categories"]}
    assert sorted(names.values()) == ["hat", "kind", "poor", "sombrero"]
    assert len(names) == len(data["categories"])
    empty = next(image for image in data["images"] if image["file_name"] == "French2.png")
    assert empty["reviewed"] is True
    assert [review["annotator"] for review in empty["reviews"]] == ["a-two-b"]
    assert empty["reviews"][0]["none_of_above"] is True
    seen = next(image for image in data["images"] if image["file_name"] == "Mexican5.png")
    first, second = seen["reviews"]
    assert [names[key] for key in first["shown"]] == ["hat", "sombrero", "poor", "kind"]
    assert [names[key] for key in first["chosen"]] == ["hat", "sombrero"]
    assert [names[key] for key in first["whole_image"]] == ["sombrero"]
    assert (second["annotator"], second["chosen"]) == ("a-two", [])


def test_coco_says_of_each_box_and_of_each_review_what_is_known():
    study = depiction()
    said = Response.objects.order_by("pk").values_list("pk", flat=True)
    data = document(study, "coco", "annotations.json")
    assert [(one["id"], one["name"]) for one in data["categories"]] == [
        *((1, "hat"), (2, "kind"), (3, "poor"), (4, "sombrero"))
    ]
    first, second = data["annotations"]
    assert first["segmentation"] == [[40, 20, 140, 20, 140, 70, 40, 70]]
    assert [first[name] for name in ("category_id", "iscrowd", "response", "role")] == [
        *(1, 0, said[0], "unassigned")
    ]
    assert [one["id"] for one in (first, second)] == [1, 2]
    reviews = [review for image in data["images"] for review in image["reviews"]]
    assert [review["response"] for review in reviews] == list(said)
    assert {(review["stratum"], review["page"]) for review in reviews} == {("any", 1)}
    assert [review["none_of_above"] for review in reviews] == [False, False, True]
    assert not any("name" in image for image in data["images"]), "it would be the same as the file's"


def test_where_an_attribute_is_stands_in_yolo_and_voc():
    """In a box, in the image as a whole, or nowhere that was said."""
    study = depiction()
    said = [str(pk) for pk in Response.objects.order_by("pk").values_list("pk", flat=True)]

    def told() -> tuple[list[str], list[str]]:
        rows = csv.DictReader(unpacked(study, "yolo")["annotators.csv"].decode().splitlines())
        where = [(row["response"], row["where"]) for row in rows]
        root = ET.fromstring(unpacked(study, "voc")["Annotations/Mexican5.xml"])
        voc = [
            (review.findtext("response"), chosen.get("where"))
            for review in root.iter("review")
            for chosen in review.iter("chosen")
        ]
        return where, voc

    nothing = [(said[1], "nothing"), (said[2], "nothing")]
    for whole, words in ((True, "whole image"), (False, "no box")):
        Judgement.objects.filter(whole_image=True).update(whole_image=whole)
        in_box, elsewhere = (said[0], "box"), (said[0], words)
        assert told() == ([in_box, in_box, elsewhere, *nothing], [in_box, elsewhere])


def test_a_line_of_a_hugging_face_dataset_holds_every_judgement():
    study = depiction()
    first, second, _ = Response.objects.order_by("pk").values_list("pk", flat=True)
    line = json.loads(unpacked(study, "huggingface")["data/train.jsonl"].decode().splitlines()[0])
    assert line["objects"] | {"bbox": []} == {
        "bbox": [],
        "category": ["hat"] * 2,
        "annotator": ["a-one"] * 2,
        "response": [first] * 2,
    }
    assert line["judgements"] == {
        "response": [first] * 5 + [second] * 5,
        "annotator": ["a-one"] * 5 + ["a-two"] * 5,
        "stratum": ["any"] * 10,
        "page": [1] * 10,
        "shown_position": [1, 2, 3, 4, 5] * 2,
        "attribute": ["hat", "sombrero", "poor", "kind", ""] * 2,
        "role": [*["unassigned"] * 4, "none_of_above"] * 2,
        "value": [1, 1] + [0] * 8,
        "whole_image": [False, True] + [False] * 8,
    }


def test_coco_of_a_study_without_answers_is_empty_and_valid():
    data = document(factories.study(), "coco", "annotations.json")
    assert (data["images"], data["annotations"], data["categories"]) == ([], [], [])


def test_yolo_has_centres_as_shares_and_an_empty_file_for_an_empty_image():
    files = unpacked(depiction(), "yolo")
    lines = files["labels/train/Mexican5.txt"].decode().splitlines()
    assert files["labels/val/French2.txt"] == b""
    assert lines == ["0 0.225000 0.225000 0.250000 0.250000", "0 0.500625 0.500000 0.998750 1.000000"]
    assert '  0: "hat"\n' in files["data.yaml"].decode()
    people = list(csv.reader(files["annotators.csv"].decode().splitlines()))[1:]
    said = [(image, line, who, attribute, where) for image, _, line, who, _, attribute, where in people]
    assert said == [
        ("Mexican5.png", "1", "a-one", "hat", "box"),
        ("Mexican5.png", "2", "a-one", "hat", "box"),
        ("Mexican5.png", "", "a-one", "sombrero", "whole image"),
        ("Mexican5.png", "", "a-two", "", "nothing"),
        ("French2.png", "", "a-two-b", "", "nothing"),
    ]
    assert {(image, part) for image, part, *_ in people} == {
        ("Mexican5.png", "train"),
        ("French2.png", "val"),
    }


def test_yolo_is_found_from_anywhere_and_no_image_to_validate_with_is_trained_on(settings, tmp_path):
    """As Ultralytics finds it: a missing `path` is the folder of data.yaml, and the text file of an image has
    `labels` for `images` in its path."""
    settings.MEDIA_ROOT = tmp_path / "media"
    study = depiction(files=True)
    task = study.tasks.get()
    for index in range(10, 19):
        factories.response(
            factories.page_unit(task, picture=factories.image(image_set=task.image_set, index=index))
        )
    folder = written(study, "yolo", tmp_path / "yolo")
    data = yaml.safe_load((folder / "data.yaml").read_text())
    assert "path" not in data
    labels = {part: {path.stem for path in folder.glob(f"labels/{part}/*.txt")} for part in ("train", "val")}
    assert (data["train"], data["val"]) == ("images/train", "images/val")
    assert (len(labels["train"]), len(labels["val"])) == (9, 2)
    assert not labels["train"] & labels["val"]
    pictures = list(folder.glob("images/*/*.png"))
    assert len(pictures) == 2
    for path in pictures:
        assert (folder / "labels" / path.parent.name / f"{path.stem}.txt").is_file()
    listed = list(csv.DictReader((folder / "images.csv").read_text().splitlines()))
    assert {row["image"].removesuffix(".png") for row in listed if row["part"] == "val"} == labels["val"]
    assert unpacked(study, "yolo")["images.csv"] == (folder / "images.csv").read_bytes()


def test_yolo_has_nothing_to_validate_with_where_there_is_one_image():
    files = unpacked(depiction(), "yolo", group="French")
    data = yaml.safe_load(files["data.yaml"])
    assert "val" not in data
    assert b"# No val: there are too few images" in files["data.yaml"]
    assert "labels/train/French2.txt" in files


def test_voc_has_whole_pixels_from_one_and_every_review():
    files = unpacked(depiction(), "voc")
    root = ET.fromstring(files["Annotations/Mexican5.xml"])
    corners = [
        [int(box.findtext(name)) for name in ("xmin", "ymin", "xmax", "ymax")] for box in root.iter("bndbox")
    ]
    assert corners == [[41, 21, 140, 70], [1, 1, 400, 200]]
    assert [one.findtext("name") for one in root.iter("object")] == ["hat", "hat"]
    assert [one.findtext("annotator") for one in root.iter("object")] == ["a-one", "a-one"]
    assert [one.text for one in root.iter("chosen")] == ["hat", "sombrero"]
    assert (root.findtext("size/width"), root.findtext("size/height")) == ("400", "200")
    empty = ET.fromstring(files["Annotations/French2.xml"])
    assert list(empty.iter("object")) == []
    assert [one.findtext("annotator") for one in empty.iter("review")] == ["a-two-b"]
    assert files["ImageSets/Main/all.txt"].decode().split() == ["Mexican5", "French2"]


@pytest.mark.parametrize(("fmt", "path"), [("yolo", "images/*/"), ("voc", "JPEGImages/")])
def test_images_that_have_a_file_here_come_along(settings, tmp_path, fmt, path):
    settings.MEDIA_ROOT = tmp_path / "media"
    study = depiction(files=True)
    [picture] = [name for name in unpacked(study, fmt) if fnmatch(name, f"{path}Mexican5.png")]
    assert unpacked(study, fmt)[picture].startswith(b"\x89PNG")
    next((tmp_path / "media").rglob("*.png")).unlink()
    assert len([name for name in unpacked(study, fmt) if fnmatch(name, f"{path}*")]) == 1


def test_the_datasets_library_opens_the_folder(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path / "media"
    folder = written(depiction(files=True), "huggingface", tmp_path / "dataset")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import datasets

        datasets.disable_progress_bars()
        opened = datasets.load_dataset(
            "imagefolder", data_dir=str(folder), split="train", cache_dir=str(tmp_path / "cache")
        )
        by_name = {row["name"]: row for row in opened}
    assert set(by_name) == {"Mexican5.png", "French2.png"}
    seen = by_name["Mexican5.png"]
    assert seen["image"].size == (400, 200)
    assert seen["objects"]["bbox"] == [[40, 20, 100, 50], [0.5, 0, 399.5, 200]]
    assert seen["objects"]["annotator"] == ["a-one", "a-one"]
    assert seen["judgements"]["value"] == [1, 1, 0, 0, 0, 0, 0, 0, 0, 0]
    assert by_name["French2.png"]["objects"]["bbox"] == []
    assert (folder / "README.md").read_text().startswith("---\npretty_name: ")


def test_the_datasets_library_opens_the_folder_by_its_card(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path / "media"
    folder = written(depiction(files=True), "huggingface", tmp_path / "dataset")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import datasets

        opened = datasets.load_dataset(str(folder), split="train", cache_dir=str(tmp_path / "cache"))
    assert opened.num_rows == 2
    assert "label" not in opened.column_names


def test_the_datasets_library_opens_images_that_have_no_file_here_as_a_table(tmp_path):
    folder = written(depiction(), "huggingface", tmp_path / "dataset")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import datasets

        opened = datasets.load_dataset(str(folder), split="train", cache_dir=str(tmp_path / "cache"))
    assert "image" not in opened.column_names
    assert opened["name"][:] == ["Mexican5.png", "French2.png"]
    assert opened[0]["objects"]["bbox"] == [[40, 20, 100, 50], [0.5, 0, 399.5, 200]]


def test_images_kept_elsewhere_are_told_apart_from_those_in_the_folder(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path / "media"
    study = depiction(files=True)
    seen = study.tasks.get().units.get(position=1).image
    seen.file.delete(save=False)
    files = unpacked(study, "huggingface")
    (here,) = files["data/metadata.jsonl"].decode().splitlines()
    assert json.loads(here)["file_name"] == "French2.png"
    (elsewhere,) = files["images_elsewhere.jsonl"].decode().splitlines()
    assert json.loads(elsewhere)["name"] == "Mexican5.png"


def test_label_studio_has_a_task_a_page_percentages_and_every_answer():
    files = unpacked(depiction(), "labelstudio")
    seen, empty = json.loads(files["labelstudio.json"])
    assert seen["data"]["image"] == "Mexican5.png"
    assert (seen["predictions"], len(seen["annotations"])) == ([], 2)
    assert (seen["data"]["page"], seen["data"]["shown"]) == (1, ["hat", "kind", "poor", "sombrero"])
    first, second = seen["annotations"]
    boxes = [one for one in first["result"] if one["type"] == "rectanglelabels"]
    assert boxes[0]["value"] == {
        "x": 10.0,
        "y": 10.0,
        "width": 25.0,
        "height": 25.0,
        "rotation": 0,
        "rectanglelabels": ["hat"],
    }
    assert (boxes[0]["original_width"], boxes[0]["original_height"]) == (400, 200)
    number = Response.objects.earliest("pk").pk
    assert [one["id"] for one in boxes] == [f"{number}-1-1", f"{number}-1-2"]
    assert (first["id"], first["unique_id"]) == (number, f"response-{number}")
    assert first["shown"] == ["hat", "sombrero", "poor", "kind", "none of the above"]
    assert {str(one["meta"]) for one in first["result"]} == {"{'text': ['a-one']}"}
    choices = {
        one["from_name"]: one["value"]["choices"] for one in first["result"] if one["type"] == "choices"
    }
    assert choices == {"depicted": ["hat", "sombrero"], "whole_image": ["sombrero"]}
    assert (first["annotator"], first["lead_time"], second["result"]) == ("a-one", 1.5, [])
    assert empty["annotations"][0]["result"][0]["value"]["choices"] == ["none of the above"]
    config = ET.fromstring(files["config.xml"])
    names = {one.get("name") for one in config}
    used = {
        one["from_name"] for task in (seen, empty) for each in task["annotations"] for one in each["result"]
    }
    assert used <= names
    assert {one.get("value") for one in config.iter("Label")} == {"hat", "kind", "poor", "sombrero"}


@pytest.mark.parametrize("fmt", ["coco", "yolo", "voc", "huggingface", "labelstudio"])
def test_only_counted_answers_are_in_and_surplus_where_asked(fmt):
    study = depiction()
    surplus, older, withdrawn = Response.objects.order_by("pk")
    Response.objects.filter(pk=surplus.pk).update(slot=None)
    Response.objects.filter(pk=older.pk).update(current=False)
    Response.objects.filter(pk=withdrawn.pk).update(withdrawn_at=withdrawn.submitted_at)
    assert list(image_answers.reviewed_images(Selection(study))) == []
    everything = b"".join(unpacked(study, fmt).values())
    assert not any(name in everything for name in (b"a-one", b"a-two", b"a-two-b"))
    asked = b"".join(unpacked(study, fmt, status="surplus").values())
    assert b"a-one" in asked
    assert b"a-two" not in asked


@pytest.mark.parametrize("fmt", ["coco", "yolo", "voc", "huggingface", "labelstudio"])
def test_a_task_without_images_is_refused(fmt):
    study = depiction()
    factories.task(study)
    with pytest.raises(ExportRefused, match="depiction tasks only"):
        unpacked(study, fmt, task="visual_nature")


def test_two_images_of_one_name_get_two_names():
    study = depiction()
    task = study.tasks.get()
    for name in ("mexican5.PNG", "folder/Mexican5.png", "..", "7-x.png", "../../etc/passwd"):
        picture = factories.image(
            group_name="Nepali", index=task.units.count() + 1, width=400, height=200, reference=name
        )
        factories.response(factories.page_unit(task, picture=picture))
    names = [image.file_name for image in image_answers.reviewed_images(Selection(study))]
    assert len({name.lower() for name in names}) == 7
    assert not any("/" in name or name.startswith(".") for name in names)
    stems = [image.stem.lower() for image in image_answers.reviewed_images(Selection(study))]
    assert len(set(stems)) == 7


def test_images_of_one_name_are_told_apart_by_set_axis_group_and_number():
    """`1.png` was uploaded to two sets, and both have a first image of a group that is on two axes."""
    study = factories.study()
    expected = []
    for version, (name, axis) in enumerate((("first", "nationality"), ("second", "us_state")), start=1):
        group = IdentityGroup.objects.create(name="Georgian", demonym="Georgian", axis=axis)
        picture = factories.image(image_set=factories.image_set(name), reference="1.png")
        Image.objects.filter(pk=picture.pk).update(group=group)
        task = factories.task(
            study, kind=TaskKind.DEPICTION, image_set=picture.image_set, version=version, strata=["any"]
        )
        factories.response(factories.page_unit(task, picture=picture))
        expected.append({"image_set": name, "axis": axis, "identity": "Georgian", "index": 1})

    def which(found) -> list[dict]:
        return [{name: one[name] for name in expected[0]} for one in found]

    assert which(document(study, "coco", "annotations.json")["images"]) == expected
    named = document(study, "coco", "annotations.json")["images"]
    assert [one.get("name") for one in named] == [None, "1.png"], "the second has another file name"
    tasks = [task["data"] for task in document(study, "labelstudio", "labelstudio.json")]
    assert which(tasks) == expected
    assert len({task["image"] for task in tasks}) == 2
    lines = unpacked(study, "huggingface")["data/train.jsonl"].decode().splitlines()
    assert which(map(json.loads, lines)) == expected
    text = {name: str(value) for name, value in expected[1].items()}
    yolo = csv.DictReader(unpacked(study, "yolo")["images.csv"].decode().splitlines())
    assert which(yolo)[1] == text
    voc = [ET.fromstring(data) for name, data in unpacked(study, "voc").items() if name.endswith(".xml")]
    assert [{one.tag: one.text for one in root.find("source")} for root in voc][1] == text
    rows = list(csv.DictReader(unpacked(study, "csv")["annotations.csv"].decode().splitlines()))
    assert {(row["image"], row["image_set"], row["axis"], row["image_index"]) for row in rows} == {
        ("1.png", "first", "nationality", "1"),
        ("1.png", "second", "us_state", "1"),
    }


def test_label_studio_is_told_no_time_where_none_is_known():
    study = depiction()
    Response.objects.filter(pk=Response.objects.latest("pk").pk).update(submitted_at=None)
    tasks = document(study, "labelstudio", "labelstudio.json")
    known, unknown = tasks[0]["annotations"][0], tasks[1]["annotations"][0]
    assert known["created_at"]
    assert "created_at" not in unknown


def test_queries_do_not_grow_with_images(django_assert_num_queries):
    study = depiction()
    with django_assert_num_queries(2):
        assert len(list(image_answers.reviewed_images(Selection(study)))) == 2
    assert Box.objects.count() == 2
