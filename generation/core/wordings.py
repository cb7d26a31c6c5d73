"""Texts that pages translate but do not contain literally (docs/translating.md).

`makemessages` finds only literals, so they are listed here; a test compares them with models and backends.
"""

from django.utils.translation import gettext_noop, pgettext_lazy

RUN_KINDS = (
    gettext_noop("Images"),
    gettext_noop("Captions"),
    gettext_noop("Embeddings"),
    gettext_noop("Completions"),
    gettext_noop("Descriptions"),
    gettext_noop("Classifications"),
)
RUN_STATES = (
    pgettext_lazy("state of a run", "Planned"),
    pgettext_lazy("state of a run", "Running"),
    pgettext_lazy("state of a run", "Paused"),
    pgettext_lazy("state of a run", "Done"),
    pgettext_lazy("state of a run", "Cancelled"),
)
PROMPT_SETS = (
    gettext_noop("detection"),
    gettext_noop("default"),
    gettext_noop("stereotypical"),
    gettext_noop("non stereotypical"),
    gettext_noop("descriptors"),
    gettext_noop("from images"),
)
AXES = (
    gettext_noop("Nationality"),
    gettext_noop("US state"),
    gettext_noop("Indian state"),
    gettext_noop("Age"),
    gettext_noop("Disability"),
    gettext_noop("Gender"),
    gettext_noop("Physical appearance"),
    gettext_noop("Race or colour"),
    gettext_noop("Religion"),
    gettext_noop("Sexual orientation"),
    gettext_noop("Socioeconomic status"),
    gettext_noop("Other"),
)
ROLES = (gettext_noop("stereotypical"), gettext_noop("random"), gettext_noop("unassigned"))
"""The roles of an attribute (`Option.role`)."""

BACKENDS = (
    gettext_noop(
        "BLIP (Li et al. 2022): captions drawn from BlipForConditionalGeneration, by hub id or local folder."
    ),
    gettext_noop(
        "CoCa of open_clip (Yu et al. 2022): captions drawn from its decoder, "
        "by weights' tag, file or folder."
    ),
    gettext_noop(
        "Fake captions: sentences drawn from a short vocabulary by a hash of the picture, on any machine."
    ),
    gettext_noop(
        "ViSAGe's captioner: CLIP finds the n-grams nearest to an image, BART writes captions of them, CLIP "
        "ranks."
    ),
    gettext_noop(
        "Fake embeddings: a picture's colours, 4 by 4, and a text's hashed words as unit vectors, on any "
        "machine."
    ),
    gettext_noop(
        "open_clip: image and text embeddings by any of its models, by weights' tag, weights file or local "
        "folder."
    ),
    gettext_noop(
        "CLIP, SigLIP and BLIP's retrieval model, of transformers: image and text embeddings, by hub id or "
        "folder."
    ),
    gettext_noop(
        "diffusers: Stable Diffusion 1.x, 2.x, XL and 3, Flux and other pipelines, by hub id or local folder."
    ),
    gettext_noop(
        "Fake pictures: small drawings made from the prompt and the seed, on any machine, in milliseconds."
    ),
    gettext_noop(
        "Fake answers of a language model: tuples or a short sentence, from the prompt and the "
        "seed, on any machine."
    ),
    gettext_noop(
        "A language model on any server that speaks OpenAI's HTTP interface: OpenAI, Azure, "
        "vLLM, Ollama and others."
    ),
    gettext_noop(
        "Fake descriptions: a sentence of the image's main colour and brightness, and of the "
        "prompt, on any machine."
    ),
    gettext_noop(
        "A vision-language model on any server that speaks OpenAI's HTTP interface: OpenAI, "
        "Azure, vLLM and others."
    ),
    gettext_noop(
        "Brightness of a crop, and lightness of the skin in a face: measured in the pixels, by no model."
    ),
    gettext_noop(
        "Fake classifications: probabilities of entailment, neutral and contradiction by a hash, "
        "on any machine."
    ),
    gettext_noop(
        "VADER (Hutto and Gilbert 2014): a lexicon with rules for the sentiment of a text, not a trained "
        "classifier."
    ),
    gettext_noop(
        "A text-to-image model on any server that speaks OpenAI's HTTP interface (`/images/generations`)."
    ),
    gettext_noop(
        "A classifier of texts or pairs of texts, of transformers, by hub id or folder (DeBERTa, "
        "RoBERTa, BERT ...)."
    ),
    gettext_noop(
        "A vision-language model of transformers in the worker's process, by hub id or folder "
        "(LLaVA, SmolVLM ...)."
    ),
    gettext_noop(
        "BLIP (Li et al. 2022) for questions about images: BlipForQuestionAnswering, by hub id "
        "or local folder."
    ),
    gettext_noop(
        "A language model of transformers in the worker's process, by hub id or local folder "
        "(AutoModelForCausalLM)."
    ),
)
"""The first docstring lines of the backends in generation/backends."""
