"""Answers that the rules accept."""

from annotation.models import TaskKind


def rated(item, value=None, **more):
    """An answer that the rules accept, to an item of any kind."""
    judgements = []
    for option in item["options"]:
        first = option["position"] == 1
        judgement = {"option": option["id"], "position": option["position"], "value": 5}
        if value is not None:
            judgement["value"] = value
        if item["kind"] == TaskKind.DEPICTION:
            judgement |= {"value": int(first), "boxes": [[1, 2, 30, 40]] if first else []}
        elif item["kind"] != TaskKind.VISUAL_NATURE and value is None:
            judgement["value"] = 1
        judgements.append({**judgement, **more})
    return {"unit": item["unit"], "client_key": item["client_key"], "answers": judgements}
