"""Reading ViSAGe's two files: what is kept, what is reported, what is refused."""

import pytest

from annotation.imports.readers.oddities import FileRefused
from annotation.imports.readers.visage_annotations import group_and_number, read_annotations
from annotation.imports.readers.visage_attributes import read_attributes
from tests.annotation.imports import release_files
from tests.annotation.imports.release_files import BOX, FOLDER, NO_BOX, block, page


def codes(file) -> dict[str, int]:
    return {oddity.code: oddity.count for oddity in file.oddities}


def examples(file) -> dict[str, tuple[int, str]]:
    """The first row of each oddity, and what is said of it."""
    return {oddity.code: (oddity.row, oddity.example) for oddity in file.oddities}


def read(tmp_path, *rows):
    return read_annotations(release_files.annotations(tmp_path, rows=rows))


def changed(rows, place: int, column: int, value):
    """The rows with one cell changed; `place` counts from 0."""
    rows = [list(row) for row in rows]
    rows[place][column] = value
    return rows


# Visual attributes


def test_attributes_keep_their_order_scores_and_repeats(tmp_path):
    file = read_attributes(release_files.attributes(tmp_path))
    assert [(row.row, row.attribute, row.repeat, row.scores) for row in file.rows] == [
        (2, "sombrero", 0, (5, 5, 4)),
        (3, "poor", 0, (4, 2, 3)),
        (4, "sombrero", 1, (4, 4, 1)),
    ]
    assert codes(file) == {"attribute_twice": 1, "rating_without_reason": 1}
    assert examples(file) == {
        "attribute_twice": (4, "'sombrero', time 2"),
        "rating_without_reason": (3, "'poor', rater of North America"),
    }


@pytest.mark.parametrize(
    ("column", "value", "place"),
    [
        (1, "Rather agree", "rating_asia"),
        (3, "", "rating_emea"),
        (5, 4, "rating_na"),
        (5, "Unsure", "rating_na"),
        (2, 1, "score_asia"),
        (4, "5", "score_emea"),
        (7, "high", "mean"),
        (7, True, "mean"),
        (0, "", "attribute"),
        (0, "  ", "attribute"),
        (0, "a" * 201, "attribute"),
        (0, "a" * 200 + " ", "attribute"),
        (0, 1990, "attribute"),
    ],
)
def test_a_rating_that_cannot_be_is_refused_with_its_place(tmp_path, column, value, place):
    path = release_files.attributes(tmp_path, rows=changed(release_files.ATTRIBUTE_ROWS, 1, column, value))
    said = rf"Visual Attributes_\.xlsx, sheet 'all_visual_attr', row 3, column '{place}': "
    with pytest.raises(FileRefused, match=said):
        read_attributes(path)


def test_a_score_that_contradicts_its_label_says_both(tmp_path):
    path = release_files.attributes(tmp_path, rows=changed(release_files.ATTRIBUTE_ROWS, 0, 2, 4))
    with pytest.raises(FileRefused, match=r"'4\.0' contradicts the rating 'Strongly Agree', which is 5"):
        read_attributes(path)


def test_true_is_no_score_and_spaces_around_a_label_or_a_long_word_are_none_of_it(tmp_path):
    rows = changed(release_files.ATTRIBUTE_ROWS, 2, 6, True)
    with pytest.raises(FileRefused, match="row 4, column 'score_na'"):
        read_attributes(release_files.attributes(tmp_path, rows=rows))
    rows = changed(
        changed(release_files.ATTRIBUTE_ROWS, 1, 5, " Unsure (with Justification) "), 0, 0, "a" * 200
    )
    file = read_attributes(release_files.attributes(tmp_path, rows=rows))
    assert (len(file.rows), codes(file)) == (3, {"rating_without_reason": 1})


def test_a_wrong_mean_a_blank_row_and_capitals_are_reported(tmp_path):
    rows = [*changed(changed(release_files.ATTRIBUTE_ROWS, 0, 7, 1), 1, 0, " Poor"), [None] * 8]
    rows.append(list(release_files.ATTRIBUTE_ROWS[2]))
    file = read_attributes(release_files.attributes(tmp_path, rows=rows))
    assert codes(file) == {
        "row_blank": 1,
        "attribute_normalised": 1,
        "attribute_twice": 2,
        "rating_without_reason": 1,
        "mean_not_of_scores": 1,
    }
    assert (file.summary.rows_read, file.summary.rows_stored) == (5, 4)
    assert (file.rows[1].attribute, file.rows[3].repeat) == ("poor", 2)
    told = examples(file)
    assert told["mean_not_of_scores"] == (2, "'sombrero': 1, scores [5, 5, 4]")
    assert told["attribute_normalised"] == (3, "' Poor'")
    assert told["row_blank"][0] == 5


def test_a_mean_may_be_rounded_to_three_decimals(tmp_path):
    rows = [
        *changed(release_files.ATTRIBUTE_ROWS, 0, 7, 4.667),
        *changed(release_files.ATTRIBUTE_ROWS, 0, 7, 4.668),
    ]
    assert codes(read_attributes(release_files.attributes(tmp_path, rows=rows)))["mean_not_of_scores"] == 1


# Files that are not what they should be, alike for both readers


@pytest.mark.parametrize("reader", [read_attributes, read_annotations])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the file is empty"),
        (b"worker_id,img_path\nA0,x\n", "not an Excel file that can be read"),
        (b"PK\x03\x04 and then nothing", "not an Excel file that can be read"),
    ],
)
def test_an_excel_file_that_is_not_one_is_refused(tmp_path, reader, content, said):
    path = tmp_path / "file.xlsx"
    path.write_bytes(content)
    with pytest.raises(FileRefused, match=rf"file\.xlsx: .*{said}"):
        reader(path)


def test_a_missing_sheet_is_refused_with_the_sheets_there_are(tmp_path):
    path = release_files.annotations(tmp_path, sheet="Tabelle1", more_sheets={"Tabelle2": [["a"]]})
    with pytest.raises(FileRefused, match=r"no sheet 'full_set_annotations'\. It has: Tabelle1, Tabelle2\."):
        read_annotations(path)


def test_the_two_files_the_wrong_way_round_are_refused(tmp_path):
    with pytest.raises(FileRefused, match="no sheet 'all_visual_attr'"):
        read_attributes(release_files.annotations(tmp_path))


def test_a_renamed_column_is_refused_with_the_columns_there_are(tmp_path):
    header = ("worker_id", "img_path", "attribute", "is_present", "coords")
    path = release_files.annotations(tmp_path, header=header)
    said = r"sheet 'full_set_annotations', row 1: there is no column"
    with pytest.raises(FileRefused, match=rf"{said} 'present'\. .* is_present, coords"):
        read_annotations(path)
    path = release_files.annotations(tmp_path, header=(), rows=[release_files.ANNOTATIONS_HEADER, *page()])
    with pytest.raises(FileRefused, match=rf"{said} 'worker_id'"):  # an empty row is a row
        read_annotations(path)


def test_a_sheet_with_a_header_only_or_without_an_image_is_refused(tmp_path):
    with pytest.raises(FileRefused, match="sheet 'full_set_annotations': there are no rows below"):
        read(tmp_path)
    with pytest.raises(FileRefused, match="sheet 'full_set_annotations': no row has an image"):
        read(tmp_path, ["A100", "", "", "yes", "[nan, nan]"])


# Image annotations


def test_three_blocks_in_a_row_are_the_responses_to_one_page(tmp_path):
    file = read(
        tmp_path, *page("A0", "Mexican5.png"), *page("A1", "Mexican5.png"), *page("A2", "French12.png")
    )
    first = file.rows[0]
    assert [(p.image, p.number, p.worker, len(p.answers)) for p in file.rows] == [
        ("Mexican5.png", 1, "A0", 3),
        ("Mexican5.png", 2, "A1", 3),
        ("French12.png", 1, "A2", 3),
    ]
    assert (first.identity, first.index) == ("Mexican", 5)
    assert (file.rows[2].identity, file.rows[2].index) == ("French", 12)
    assert first.attributes == ("sombrero", "poor", "fun", "tall", None)
    assert [answer.row for answer in first.answers] == [2, 7, 12]
    assert [answer.values for answer in first.answers] == [(1, 0, 0, 0, 0), (0, 0, 0, 0, 0), (1, 0, 0, 1, 0)]
    assert first.answers[0].boxes == ((10.5, 20.0, 110.25, 220.0), None, None, None, None)


def test_corners_in_any_order_give_the_same_box(tmp_path):
    file = read(tmp_path, *page())
    assert file.rows[0].answers[2].boxes[0] == file.rows[0].answers[0].boxes[0]
    assert codes(file)["box_corners_swapped"] == 1
    assert codes(file)["box_missing"] == 1
    boxes = {"sombrero": "['9,1', '3,5']", "poor": "['3,5', '9,1']", "fun": "[ '3e0,+1.' , '9E+0, 50e-1' ]"}
    file = read(tmp_path, *block(yes=boxes))
    assert file.rows[0].answers[0].boxes[:3] == ((3, 1, 9, 5),) * 3
    assert codes(file)["box_corners_swapped"] == 2


def test_a_box_outside_the_image_is_clipped_and_reported(tmp_path):
    file = read(tmp_path, *block(yes={"sombrero": "['-3,10', '600,511.5']"}))
    assert file.rows[0].answers[0].boxes[0] == (0.0, 10.0, 512.0, 511.5)
    assert codes(file)["box_clipped"] == 1
    assert {o.code: o.row for o in file.oddities}["box_clipped"] == 2
    places = {"sombrero": "['-3,1', '9,5']", "poor": "['3,1', '600,5']", "fun": "['0,0', '512,512']"}
    assert codes(read(tmp_path, *block(yes=places)))["box_clipped"] == 2
    places = {"sombrero": "['3,9', '9,-1']", "poor": "['600,1', '3,5']", "fun": "['3,600', '9,5']"}
    assert codes(read(tmp_path, *block(yes=places)))["box_clipped"] == 3


@pytest.mark.parametrize("coords", ["['621,658', '530,534.5']", "['5,5', '5,9']", "['9,0', '4,-7']"])
def test_a_box_of_which_nothing_is_left_is_reported_and_its_yes_kept(tmp_path, coords):
    file = read(tmp_path, *block(yes={"poor": coords}))
    answer = file.rows[0].answers[0]
    assert (answer.values[1], answer.boxes[1]) == (1, None)
    assert codes(file)["box_without_area"] == 1
    assert "box_clipped" not in codes(file)
    assert {o.code: o.row for o in file.oddities}["box_without_area"] == 3


def test_rows_without_image_and_attribute_are_left_out_and_counted(tmp_path):
    empty = ["A100", "", "", "yes", "[nan, nan]"]
    file = read(tmp_path, *page(), empty, empty, [None] * 5, *page("A1"))
    assert len(file.rows) == 2
    assert (codes(file)["row_without_image"], codes(file)["row_blank"]) == (2, 1)
    assert (file.summary.rows_read, file.summary.rows_stored, file.summary.rows_not_stored) == (33, 30, 3)
    assert file.summary.rows_not_stored == sum(oddity.not_stored for oddity in file.oddities)
    assert examples(file)["row_without_image"] == (17, "worker_id A100, present yes, coords [nan, nan]")
    assert examples(file)["row_blank"][0] == 19
    in_part = [["A100"], ["", "", "", "no"], ["", "", "", "", "[]"]]
    assert codes(read(tmp_path, *page(), *in_part))["row_without_image"] == 3


def test_pages_with_other_than_three_responses_are_kept_and_reported(tmp_path):
    four = [row for _ in range(4) for row in block("A3", "Welsh1.png")]
    file = read(tmp_path, *block("A0"), *block("A1", "French1.png"), *block("A1", "French1.png"), *four)
    assert [(p.image, p.number, len(p.answers)) for p in file.rows] == [
        ("Mexican5.png", 1, 1),
        ("French1.png", 1, 2),
        ("Welsh1.png", 1, 3),
        ("Welsh1.png", 2, 1),
    ]
    found = codes(file)
    assert (found["page_judged_once"], found["page_judged_twice"], found["page_judged_more"]) == (1, 1, 1)
    shown = "sombrero, poor, fun, tall"
    told = examples(file)
    assert told["page_judged_once"] == (2, f"A0, Mexican5.png: {shown}")
    assert told["page_judged_twice"] == (7, f"A1, French1.png: {shown}")
    assert told["page_judged_more"] == (17, f"A3, Welsh1.png: {shown}; 4 times")
    assert [p.row for p in file.rows] == [2, 7, 17, 32]


def test_a_page_that_comes_back_is_a_unit_of_its_own_and_reported(tmp_path):
    file = read(tmp_path, *block("A0"), *page("A1", "French1.png"), *page("A0"))
    assert [(p.image, p.number) for p in file.rows] == [
        ("Mexican5.png", 1),
        ("French1.png", 1),
        ("Mexican5.png", 2),
    ]
    assert codes(file)["page_repeated"] == 1
    assert examples(file)["page_repeated"][0] == 22
    assert "page_judged_more" not in codes(file)


def test_names_of_workers_folders_and_images_are_reported(tmp_path):
    elsewhere = [[row[0], f"/cns/elsewhere/{row[1].rpartition('/')[2]}", *row[2:]] for row in page("A1")]
    file = read(tmp_path, *page("A0"), *elsewhere, *page("A1", "United KingdomUK3.png"))
    found = codes(file)
    assert found["worker_names_page"] == 1
    assert found["worker_many_images"] == 1
    assert found["image_in_two_folders"] == 1
    assert found["folder_dropped"] == 45
    assert found["identity_misspelled"] == 1
    assert file.rows[2].identity == "United KingdomUK"
    more = block("A1", shown=("a", "b", "c", "d")), block("A0", shown=("a", "b", "c", "d"))
    told = examples(read(tmp_path, *page("A0"), *elsewhere, *page("A1", "French1.png"), *more[0], *more[1]))
    assert told["worker_names_page"] == (2, "A0: Mexican5.png, 2 page(s)")
    assert told["worker_many_images"] == (17, "A1: 2 images")
    assert told["image_in_two_folders"] == (17, "'Mexican5.png', 2 folders")
    assert told["folder_dropped"] == (2, FOLDER)


@pytest.mark.parametrize(
    ("name", "read_as"),
    [
        ("United KingdomUK123456.png", ("United KingdomUK", 123456)),
        ("Sri Lankan 70.png", ("Sri Lankan", 70)),
        ("Mexican1234567.png", ("Mexican1", 234567)),  # six digits at most
        ("Mexican05.png", ("Mexican0", 5)),
        ("Mexican0.png", None),
        ("Mexican5.jpg", None),
    ],
)
def test_an_image_is_named_by_its_group_and_its_number(name, read_as):
    assert group_and_number(name) == read_as


def test_none_of_the_above_is_reported_whether_it_is_chosen_or_not(tmp_path):
    file = read(tmp_path, *page())
    assert codes(file)["none_of_above_never_yes"] == 3
    assert examples(file)["none_of_above_never_yes"] == (6, "shown 3 times")
    file = read(tmp_path, *block(yes={"none of the above": NO_BOX}))
    assert codes(file)["none_of_above_yes"] == 1
    assert examples(file)["none_of_above_yes"] == (6, f"{FOLDER}/Mexican5.png")
    assert "box_missing" not in codes(file)
    assert file.rows[0].answers[0].values == (0, 0, 0, 0, 1)


def test_capitals_and_the_longest_names_are_read(tmp_path):
    file = read(tmp_path, *block("w" * 80, shown=("Poor", " fun", "a" * 200, "tall")))
    assert file.rows[0].attributes[:3] == ("poor", "fun", "a" * 200)
    assert codes(file)["attribute_normalised"] == 2


def test_a_further_sheet_is_ignored_and_reported(tmp_path):
    path = release_files.annotations(tmp_path, more_sheets={"Sheet1": [["a"], ["b"]]})
    file = read_annotations(path)
    assert codes(file)["sheet_ignored"] == 1
    assert file.oddities[0].example == "sheet 'Sheet1', 2 rows"


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        (3, "maybe", "column 'present': 'maybe' is neither yes nor no"),
        (3, "", "column 'present': '' is neither"),
        (4, "['1,2']", "column 'coords': .* is not two corner points"),
        (4, "['1,2', '3,4', '5,6']", "column 'coords': .* is not two corner points"),
        (4, "[nan, nan]", "column 'coords': .* is not two corner points"),
        (4, "['1,2', '3,inf']", "column 'coords': .* is not two corner points"),
        (4, "", "column 'coords': .* is not two corner points"),
        (1, "/cns/somewhere/Mexican.png", "column 'img_path': 'Mexican.png' is not the name of an image"),
        (1, "/cns/somewhere/7.png", "column 'img_path': '7.png' is not the name of an image"),
        (1, "", "column 'img_path': '' has 0 characters"),
        (1, "/" * 501, f"column 'img_path': '{'/' * 40}' has 501 characters"),
        (2, "", "column 'attribute': '' has 0 characters"),
        (2, 1990, "column 'attribute': 1990.* is not text"),
        (4, 12, "column 'coords': 12.* is not text"),
        (4, "x" * 90, f"column 'coords': '{'x' * 80}' is not two"),
        (0, "", "column 'worker_id': '' has 0 characters"),
        (0, "w" * 81, "column 'worker_id': .* has 81 characters"),
        (2, "a" * 201, "column 'attribute': .* has 201 characters"),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_its_place(tmp_path, column, value, said):
    rows = [*page(), *block("A1", yes={"sombrero": BOX})]
    if column == 1 and value:
        rows = [*rows[:15], *([row[0], value, *row[2:]] for row in rows[15:])]
    else:
        rows = changed(rows, 15, column, value)
    with pytest.raises(FileRefused, match=rf"sheet 'full_set_annotations', row 17, {said}"):
        read(tmp_path, *rows)


def test_a_box_for_what_is_not_there_is_refused(tmp_path):
    with pytest.raises(
        FileRefused, match=r"row 3, column 'coords': there is a box, although present is 'no'"
    ):
        read(tmp_path, *changed(block(), 1, 4, BOX))


def test_a_duplicated_row_is_refused_as_a_page_that_is_not_five_rows(tmp_path):
    rows = page()
    with pytest.raises(FileRefused, match="row 7, column 'attribute': 'sombrero' appears twice on one page"):
        read(tmp_path, *rows[:6], rows[5], *rows[6:])


def test_a_row_too_few_is_refused_where_the_next_page_begins(tmp_path):
    rows = [*block("A0"), *block("A1", "French1.png")]
    with pytest.raises(FileRefused, match=r"row 6: row 5 of a page is of another image .* starts in row 2"):
        read(tmp_path, *rows[:3], *rows[4:])
    for column, other in ((0, "A7"), (1, f"{FOLDER}/French1.png")):
        with pytest.raises(FileRefused, match=r"row 4: row 3 of a page is of another image"):
            read(tmp_path, *changed(block(), 2, column, other))


def test_a_last_page_cut_short_is_refused(tmp_path):
    with pytest.raises(FileRefused, match="row 7: the last page has only 4 rows"):
        read(tmp_path, *block(), *block()[:4])


def test_a_page_without_none_of_the_above_is_refused(tmp_path):
    with pytest.raises(FileRefused, match="row 2, column 'attribute': the page lacks 'none of the above'"):
        read(tmp_path, *changed(block(), 4, 2, "big"))


@pytest.mark.release
def test_the_released_attributes_are_read_with_the_known_oddities(released):
    file = read_attributes(released / "visage" / "Visual Attributes_.xlsx")
    assert (file.summary.rows_read, file.summary.rows_stored) == (1994, 1994)
    assert codes(file) == {"attribute_twice": 1, "rating_without_reason": 112}
    assert [row.attribute for row in file.rows if row.repeat] == ["handsome"]


@pytest.mark.release
def test_the_released_annotations_are_read_with_the_known_oddities(released):
    file = read_annotations(released / "visage" / "Image Annotations.xlsx")
    assert (file.summary.rows_read, file.summary.rows_stored) == (122_675, 120_170)
    assert codes(file) == {
        "sheet_ignored": 1,
        "identity_misspelled": 15,
        "row_without_image": 2505,
        # 2,417 boxes reach outside; of one of them nothing is left
        "box_clipped": 2416,
        "box_without_area": 1,
        "box_corners_swapped": 1851,
        "none_of_above_never_yes": 24_034,
        "page_judged_once": 804,
        "page_judged_twice": 70,
        "page_judged_more": 44,
        "page_repeated": 115,
        "worker_names_page": 6395,
        "worker_many_images": 1,
        "image_in_two_folders": 657,
        "folder_dropped": 120_170,
    }
    assert (len(file.rows), sum(len(page.answers) for page in file.rows)) == (8592, 24_034)
    assert len({page.identity for page in file.rows}) == 135
