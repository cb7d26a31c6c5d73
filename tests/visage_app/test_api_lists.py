"""Every list of the API uses cursor pagination in one format; exceptions are listed here with the reason."""

from __future__ import annotations

from tests.annotation.api.calls import documented

COMPUTED = "rows that are computed together, each from all: half of them would cost as much, and not fit"
WRITTEN = "as many as the program has of them: no row comes in or goes while it runs"
WHOLE = {
    "metrics_list": WRITTEN,
    "figures_list": WRITTEN,
    "agreement_read": COMPUTED,
    "identities_list": COMPUTED,
    "quality_list": COMPUTED,
    "judge_items_list": "a ranking of all items, whose order changes with every answer",
    **dict.fromkeys(("inference_runs_read", "inference_runs_pairs"), COMPUTED),
    **dict.fromkeys(
        (
            "embedding_test_files_results",
            "embedding_test_files_encoders",
            "embedding_test_files_ranking",
        ),
        COMPUTED,
    ),
    **dict.fromkeys(("visual_question_runs_read", "marking_read"), COMPUTED),
    **dict.fromkeys(("inference_runs_read", "inference_runs_pairs", "brightness_runs_read"), COMPUTED),
}
PAGED = {"order", "limit", "cursor"}


def lists() -> dict[str, tuple[set[str], set[str]]]:
    """{operation: (its query parameters, what stands beside `results`)}."""
    document = documented()
    found = {}
    for operations in document["paths"].values():
        for operation in operations.values():
            content = operation["responses"].get("200", {}).get("content", {})
            ref = content.get("application/json", {}).get("schema", {}).get("$ref", "")
            shape = document["components"]["schemas"].get(ref.rpartition("/")[2], {}).get("properties", {})
            if shape.get("results", {}).get("type") == "array":
                asked = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"}
                found[operation["operationId"]] = asked, set(shape)
    return found


def test_every_list_goes_by_cursor():
    paged = {
        name
        for name, (asked, shape) in lists().items()
        if asked >= PAGED and shape >= {"next", "previous"} and not asked & {"page", "offset"}
    }
    assert set(lists()) - paged == set(WHOLE)
    assert len(paged) > 25
