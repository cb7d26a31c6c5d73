"""Tiny models that answer and classify, of the real classes, with random weights, saved as folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from generation.backends.torch_support import import_library
from tests.generation.backends import tiny_captions

CHAT = (
    "{% for message in messages %}<{{ message['role'] }}>"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}{% if part['type'] == 'image' %}<image>"
    "{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}</s>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
NO_SYSTEM = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('No system here') }}{% endif %}" + CHAT
)
_HIDDEN = 32
_TEXT = {
    "hidden_size": _HIDDEN,
    "intermediate_size": 37,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "initializer_range": 0.5,  # so that what it reads changes what it writes
}
_VISION = {
    "hidden_size": _HIDDEN,
    "intermediate_size": 37,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 32,
    "patch_size": 16,
    "initializer_range": 0.5,
}


def llama(folder: Path, *, template: str | None = CHAT, seed: int = 0, positions: int = 256) -> Path:
    """Llama over bytes."""
    transformers = _seeded(seed)
    tokenizer = _tokenizer(template)
    ids = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "pad")}
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer), **_TEXT, max_position_embeddings=positions, **ids
    )
    model = transformers.LlamaForCausalLM(config)
    model.generation_config.repetition_penalty = 5.0  # the model's own, which must not apply
    return _saved(folder, model, tokenizer)


def gpt2(folder: Path, *, seed: int = 0) -> Path:
    """GPT-2 over bytes: no chat template, no token for padding, positions that are learnt."""
    transformers = _seeded(seed)
    tokenizer = _tokenizer(None, pad=None)
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer),
        n_embd=_HIDDEN,
        n_layer=2,
        n_head=4,
        n_positions=128,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        initializer_range=0.5,
    )
    return _saved(folder, transformers.GPT2LMHeadModel(config), tokenizer)


def llava(folder: Path, *, template: str | None = CHAT, seed: int = 0, positions: int = 256) -> Path:
    """LLaVA: a CLIP of 4 patches, and Llama."""
    transformers = _seeded(seed)
    tokenizer = _tokenizer(template)
    config = transformers.LlavaConfig(
        vision_config=transformers.CLIPVisionConfig(projection_dim=16, **_VISION),
        text_config=transformers.LlamaConfig(
            vocab_size=len(tokenizer),
            pad_token_id=tokenizer.pad_token_id,
            **_TEXT,
            max_position_embeddings=positions,
        ),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
    )
    size = {"height": 32, "width": 32}
    processor = transformers.LlavaProcessor(
        transformers.CLIPImageProcessor(size=size, crop_size=size),
        tokenizer,
        patch_size=16,
        vision_feature_select_strategy="default",
        image_token="<image>",
        chat_template=template,
        num_additional_image_tokens=1,
    )
    return _saved(folder, transformers.LlavaForConditionalGeneration(config), processor)


def blip_vqa(folder: Path, *, seed: int = 0) -> Path:
    """BLIP for questions, from the configuration and the words of the tiny captioner."""
    tiny_captions.blip(folder, seed=seed)
    transformers = _seeded(seed)
    config = transformers.BlipConfig.from_pretrained(folder)
    transformers.BlipForQuestionAnswering(config).save_pretrained(folder)
    return folder


def classifier(
    folder: Path, *, names: dict[int, str] | None = None, kind: str = "bert", seed: int = 0, **config: Any
) -> Path:
    """A BERT or DeBERTa that was never trained; `names`: of its labels, which the model's own code calls
    LABEL_0, ... without."""
    transformers = _seeded(seed)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *tiny_captions.WORDS]
    tokenizer = transformers.BertTokenizer(vocab={word: number for number, word in enumerate(words)})
    own = {"id2label": names, "label2id": {name: number for number, name in names.items()}} if names else {}
    kinds = {
        "bert": (transformers.BertConfig, transformers.BertForSequenceClassification),
        "deberta": (transformers.DebertaV2Config, transformers.DebertaV2ForSequenceClassification),
    }
    config_class, model_class = kinds[kind]
    made = config_class(
        vocab_size=len(words),
        hidden_size=_HIDDEN,
        intermediate_size=37,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
        type_vocab_size=2,
        initializer_range=0.5,
        pad_token_id=0,
        **{"num_labels": 3, **own, **config},
    )
    return _saved(folder, model_class(made), tokenizer)


def _tokenizer(template: str | None, *, pad: str | None = "<pad>") -> Any:
    """Over bytes, so that it reads and writes any text."""
    tokenizers, transformers = import_library("tokenizers"), import_library("transformers")
    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    special = ["<s>", "</s>", "<pad>", "<user>", "<assistant>", "<system>", "<image>"]
    vocabulary = {token: number for number, token in enumerate([*special, *letters])}
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[]))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made,
        bos_token="<s>",
        eos_token="</s>",
        pad_token=pad,
        additional_special_tokens=special[3:],
        chat_template=template,
    )


def _seeded(seed: int) -> Any:
    import_library("torch").manual_seed(seed)
    return import_library("transformers")


def _saved(folder: Path, model: Any, processor: Any) -> Path:
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
