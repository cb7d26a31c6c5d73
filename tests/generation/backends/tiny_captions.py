"""Tiny captioners of the real classes, with random weights, saved as the folders that people load."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from generation.backends.torch_support import import_library
from tests.generation.backends import tiny

WORDS = (
    "a",
    "photo",
    "of",
    "person",
    "man",
    "woman",
    "in",
    "the",
    "hat",
    "turban",
    "sari",
    "street",
    "beard",
)
_HIDDEN = 32


def bart(folder: Path, *, seed: int = 0) -> Path:
    """BART with a tokenizer of bytes: it writes any letters, not words."""
    torch, transformers = import_library("torch"), import_library("transformers")
    torch.manual_seed(seed)
    letters = sorted(import_library("tokenizers").pre_tokenizers.ByteLevel.alphabet())
    tokens = ["<s>", "<pad>", "</s>", "<unk>", *letters, "<mask>"]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    transformers.BartTokenizer(vocab=vocabulary, merges=[]).save_pretrained(folder)
    config = transformers.BartConfig(
        vocab_size=len(tokens),
        d_model=_HIDDEN,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=37,
        decoder_ffn_dim=37,
        max_position_embeddings=128,
        init_std=0.5,  # so that what it reads changes what it writes
    )
    transformers.BartForConditionalGeneration(config).save_pretrained(folder)
    return folder


def lightning(path: Path, model: Any, **more: Any) -> Path:
    """A checkpoint of BART as PyTorch Lightning 1.3 and 1.4 write it: CLIP is beside BART, a key is a class,
    and one dictionary is of Lightning's own kind."""
    torch = import_library("torch")
    modules = {}
    for name in ("", ".callbacks", ".callbacks.model_checkpoint", ".utilities", ".utilities.parsing"):
        modules[f"pytorch_lightning{name}"] = ModuleType(f"pytorch_lightning{name}")
    callback = type("ModelCheckpoint", (), {"__module__": "pytorch_lightning.callbacks.model_checkpoint"})
    arguments = type("AttributeDict", (dict,), {"__module__": "pytorch_lightning.utilities.parsing"})
    modules[callback.__module__].ModelCheckpoint = callback  # type: ignore[attr-defined]
    modules[arguments.__module__].AttributeDict = arguments  # type: ignore[attr-defined]
    state = {"perceiver.visual.proj": torch.ones(3, 2)}
    state |= {f"model.{name}": one for name, one in model.state_dict().items()}
    stored = {
        "epoch": 5,
        "pytorch-lightning_version": "1.3.8",
        "state_dict": state,
        "callbacks": {callback: {"monitor": "vloss", "best_model_score": torch.tensor(2.163)}},
        "optimizer_states": [{"state": {0: {"exp_avg": torch.ones(2)}}, "param_groups": [{"lr": 3e-4}]}],
        "hparams_name": "args",
        "hyper_parameters": arguments(clip_model="ViT-B/16", topk=10, tmax=1e5, tpu_cores=None),
    }
    sys.modules.update(modules)
    try:
        torch.save({**stored, **more}, path)
    finally:
        for name in modules:
            del sys.modules[name]
    return path


def blip(folder: Path, *, seed: int = 0) -> Path:
    """BLIP over a dozen words."""
    torch, transformers = import_library("torch"), import_library("transformers")
    torch.manual_seed(seed)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = transformers.BertTokenizer(vocab=vocabulary)
    size = {"height": 32, "width": 32}
    transformers.BlipProcessor(transformers.BlipImageProcessor(size=size), tokenizer).save_pretrained(folder)
    text = {
        "vocab_size": len(words) + 2,
        "hidden_size": _HIDDEN,
        "encoder_hidden_size": _HIDDEN,
        "intermediate_size": 37,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "max_position_embeddings": 64,
        "bos_token_id": len(words),  # [DEC], which the released tokenizer does not know either
        "sep_token_id": vocabulary["[SEP]"],
        "eos_token_id": vocabulary["[SEP]"],
        "pad_token_id": vocabulary["[PAD]"],
        "initializer_range": 0.5,
    }
    vision = {
        "hidden_size": _HIDDEN,
        "intermediate_size": 37,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "image_size": 32,
        "patch_size": 16,
        "initializer_range": 0.5,
    }
    config = transformers.BlipConfig(text_config=text, vision_config=vision, projection_dim=16)
    transformers.BlipForConditionalGeneration(config).save_pretrained(folder)
    return folder


def coca(folder: Path, *, seed: int = 0, **text: Any) -> Path:
    """CoCa, loaded as `local-dir:FOLDER`."""
    torch, open_clip = import_library("torch"), import_library("open_clip")
    torch.manual_seed(seed)
    folder.mkdir(parents=True, exist_ok=True)
    words = {"context_length": 20, "width": 32, "heads": 2, "layers": 1, **tiny.open_clip_words(folder)}
    config = {
        "embed_dim": 32,
        "vision_cfg": {
            "image_size": 32,
            "layers": 1,
            "width": 32,
            "head_width": 16,
            "patch_size": 16,
            "attentional_pool": True,
            "attn_pooler_heads": 4,
            "output_tokens": True,
        },
        "text_cfg": {**words, "embed_cls": True, "output_tokens": True},
        "multimodal_cfg": {**words, "attn_pooler_heads": 4},
    }
    model = open_clip.coca_model.CoCa(**config)
    torch.nn.init.normal_(model.text_decoder.text_projection, std=0.5)
    stored = {"model_cfg": {**config, "custom_text": True}, "preprocess_cfg": {}}
    (folder / "open_clip_config.json").write_text(json.dumps(stored))
    import_library("safetensors.torch").save_file(model.state_dict(), folder / "open_clip_model.safetensors")
    return folder
