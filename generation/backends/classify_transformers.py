"""A classifier of texts or pairs of texts, of transformers, by hub id or folder (DeBERTa, RoBERTa, BERT ...).

Loaded with AutoModelForSequenceClassification. The labels and their order are those of the model's own
configuration (id2label). Where that has no names (LABEL_0, ...), the recipe's `labels` name them, in the
model's order. It has no options.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from generation.backends import options, torch_support, weights
from generation.backends.base import About, BackendError, Classifier, Refused, TextPair
from generation.backends.torch_support import FullBatches
from generation.backends.written_answers import batches_by_shape, longest_of
from generation.recipes.askings import ClassificationRecipe

_ROWS_PER_GIB = 4
_MOST_ROWS = 256


class TransformersClassifier(FullBatches):
    """A Classifier on its device. A text's probabilities do not depend on its batch, as in
    written_answers.py."""

    def __init__(
        self, model: Any, tokenizer: Any, *, labels: tuple[str, ...], about: About, full: bool
    ) -> None:
        self._model, self._tokenizer, self.labels = model, tokenizer, labels
        if tokenizer.pad_token_id is None:
            tokenizer.pad_token = tokenizer.eos_token
        if model.config.pad_token_id is None:
            model.config.pad_token_id = tokenizer.pad_token_id
        limits = (longest_of(model), tokenizer.model_max_length)
        self._longest = min(limit for limit in limits if limit is not None)
        batch = torch_support.fitting_batch(model.device, per_gib=_ROWS_PER_GIB, most=_MOST_ROWS)
        super().__init__(about, batch, full=full)

    def classify(self, texts: Sequence[TextPair]) -> list[tuple[float, ...]]:
        """As Classifier. Raises Refused for texts that are longer than the model can read."""
        lengths = [self._length(one) for one in texts]
        found: dict[int, tuple[float, ...]] = {}
        with self.halved_when_full(), torch_support.import_library("torch").inference_mode():
            for indexes, real in batches_by_shape([(length,) for length in lengths], self):
                rows = self._probabilities([texts[index] for index in indexes])
                found.update(zip(indexes[:real], rows[:real], strict=True))
        return [found[index] for index in range(len(texts))]

    def _length(self, one: TextPair) -> int:
        length = len(self._tokenizer(one.text, one.pair or None).input_ids)
        if length > self._longest:
            raise Refused(f"The text has {length} tokens, and this model reads {self._longest}. Shorten it.")
        return length

    def _probabilities(self, texts: Sequence[TextPair]) -> list[tuple[float, ...]]:
        encoded = [self._tokenizer(one.text, one.pair or None) for one in texts]
        inputs = self._tokenizer.pad(encoded, return_tensors="pt").to(self._model.device)
        rows = self._model(**inputs).logits.float().cpu().double().softmax(-1).tolist()
        if any(math.isnan(number) for row in rows for number in row):
            raise BackendError("The model returned NaN. Choose dtype float32 or bfloat16.")
        return [tuple(row) for row in rows]


def labels_of(config: Any, recipe: ClassificationRecipe) -> tuple[str, ...]:
    """The model's labels in the order of its numbers. Raises BackendError if it has no names for them and the
    recipe does not give as many, or if its outputs are not one probability for each label."""
    named = {int(number): name for number, name in (config.id2label or {}).items()}
    count = len(named)
    if count < 2 or config.problem_type in ("regression", "multi_label_classification"):
        kind = config.problem_type or "a single number"
        raise BackendError(
            f"'{recipe.model}' is no classifier with one label for each text ({kind}). Choose one that was "
            "trained to tell two or more labels apart."
        )
    labels = tuple(str(named.get(number)) for number in range(count))
    if all(re.fullmatch(r"LABEL_\d+|None|\d+|", label) for label in labels):
        if len(recipe.labels) != count:
            raise BackendError(
                f"'{recipe.model}' has {count} labels without names, and the recipe names "
                f"{len(recipe.labels)}. Name all {count} in the model's own order, which its authors give, "
                "for example labels=entailment,neutral,contradiction."
            )
        return recipe.labels
    if recipe.labels and recipe.labels != labels:
        raise BackendError(
            f"recipe: labels: '{recipe.model}' names its labels itself: {', '.join(labels)}. Leave them out."
        )
    if len(set(labels)) != count:
        raise BackendError(f"'{recipe.model}' has labels of the same name: {', '.join(labels)}.")
    return labels


def check(recipe: ClassificationRecipe) -> None:
    """Raises BackendError for what no model could do."""
    options.require_model(recipe)
    options.parse(recipe.options, options.NoOptions)


def load(recipe: ClassificationRecipe, *, device: str = "") -> Classifier:
    """Raises BackendError as `check` and `labels_of`, or if the libraries, the weights or the device are
    missing."""
    check(recipe)
    transformers = torch_support.import_library("transformers")
    torch_device = torch_support.choose_device(device)
    recipe = torch_support.settle(recipe, torch_device)
    model, tokenizer, revision = weights.load_transformers(
        transformers.AutoModelForSequenceClassification,
        transformers.AutoTokenizer,
        model=recipe.model,
        revision=recipe.revision,
        dtype=recipe.dtype,
        device=torch_device,
    )
    about = torch_support.about(recipe.model, revision, torch_device, recipe.dtype, "torch", "transformers")
    labels = labels_of(model.config, recipe)
    return TransformersClassifier(model, tokenizer, labels=labels, about=about, full=recipe.repeatable)
