"""A form for each kind of run, which gives a recipe and a plan. Forms write nothing."""

from generation.runs.planning_forms.askings import ClassificationsForm, CompletionsForm, DescriptionsForm
from generation.runs.planning_forms.base import RunForm
from generation.runs.planning_forms.images import CaptionsForm, EmbeddingsForm, ImagesForm

FORMS: dict[str, type[RunForm]] = {
    "images": ImagesForm,
    "captions": CaptionsForm,
    "embeddings": EmbeddingsForm,
    "completions": CompletionsForm,
    "descriptions": DescriptionsForm,
    "classifications": ClassificationsForm,
}
