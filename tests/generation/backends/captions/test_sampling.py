"""Choosing tokens from numbers drawn beforehand: greedy, among the top k, and from the nucleus."""

import numpy as np
import pytest

from generation.backends.sampling import Picker, Sampling, pick
from generation.backends.torch_support import padded_batches

ODDS = (0.1, 0.4, 0.2, 0.3)


@pytest.fixture(scope="module", autouse=True)
def _torch() -> None:
    """Imported for these tests alone, and not by every process that collects tests: it takes seconds."""
    global torch
    torch = pytest.importorskip(
        "torch", reason="NO MODELS: torch is not installed. Cure: pip install '.[models]'"
    )


def chosen(uniforms, odds=ODDS, **sampling):
    scores = torch.tensor([odds]).log().repeat(len(uniforms), 1)
    return pick(scores, torch.tensor(uniforms, dtype=torch.float64), Sampling(**sampling)).tolist()


def shares(**sampling):
    """How often each token is chosen, of 10,000 evenly spread numbers."""
    found = chosen(list((np.arange(10_000) + 0.5) / 10_000), **sampling)
    return [round(found.count(token) / 10_000, 2) for token in range(len(ODDS))]


def test_greedy_takes_the_likeliest_whatever_was_drawn():
    assert chosen([0.0, 0.5, 0.999], method="greedy") == [1, 1, 1]


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        ({"method": "top_p", "top_p": 1.0}, [0.1, 0.4, 0.2, 0.3]),
        ({"method": "top_p", "top_p": 0.69}, [0, 0.57, 0, 0.43]),  # 0.4 + 0.3 reach it
        ({"method": "top_p", "top_p": 0.71}, [0, 0.44, 0.22, 0.33]),
        ({"method": "top_p", "top_p": 0.01}, [0, 1, 0, 0]),
        ({"method": "top_k", "top_k": 1}, [0, 1, 0, 0]),
        ({"method": "top_k", "top_k": 2}, [0, 0.57, 0, 0.43]),
        ({"method": "top_k", "top_k": 99}, [0.1, 0.4, 0.2, 0.3]),
        ({"method": "top_k", "top_k": 4, "temperature": 0.5}, [0.03, 0.53, 0.13, 0.3]),  # odds squared
    ],
)
def test_the_shares_are_the_odds(sampling, expected):
    assert shares(**sampling) == expected


def test_the_fewest_that_reach_the_share_are_enough():
    assert chosen([0.0, 0.999], odds=(0.5, 0.5), top_p=0.5) == [0, 0]


@pytest.mark.parametrize("method", ["top_k", "top_p"])
def test_no_number_leads_to_a_token_without_a_chance(method):
    nearly_one = float(np.nextafter(1.0, 0.0))
    assert chosen([0.0, nearly_one], odds=(0.0, 1.0, 0.0), method=method, top_p=1.0) == [1, 1]


@pytest.mark.parametrize("method", ["greedy", "top_k", "top_p"])
def test_rows_do_not_touch_each_other(method):
    torch.manual_seed(0)
    scores = torch.randn(64, 500)
    numbers = torch.rand(64, dtype=torch.float64)
    sampling = Sampling(method=method)
    together = pick(scores, numbers, sampling)
    alone = [int(pick(scores[row : row + 1], numbers[row : row + 1], sampling)) for row in range(64)]
    assert together.tolist() == alone
    if method != "greedy":
        assert alone != pick(scores, numbers.flip(0), sampling).tolist()


class TestPicker:
    def picker(self, rows, steps=5, end=0, **sampling):
        return Picker(torch.full((rows, steps), 0.5, dtype=torch.float64), Sampling(**sampling), end=end)

    def test_a_choice_is_all_that_transformers_is_left(self):
        picker = self.picker(2, method="greedy")
        scores = torch.tensor([[0.0, 2.0, 1.0], [3.0, 2.0, 1.0]])
        only = picker(torch.zeros(2, 1, dtype=torch.long), scores)
        assert only.softmax(-1).tolist() == [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]

    def test_likelihoods_stop_at_the_end(self):
        picker = self.picker(2, method="greedy")
        for ended in (False, True, True):  # token 0 ends the first row at once, the second row never
            picker.pick(torch.tensor([[0.9, 0.1], [0.2, 0.8]]).log())
            assert picker.done.tolist() == [True, False], ended
        assert picker.likelihoods() == pytest.approx([np.log(0.9), np.log(0.8)])

    def test_likelihoods_are_the_models_without_temperature(self):
        for temperature in (0.1, 1.0, 9.0):
            picker = self.picker(1, method="top_k", top_k=1, temperature=temperature)
            picker.pick(torch.tensor([[0.25, 0.75]]).log())
            assert picker.likelihoods() == pytest.approx([np.log(0.75)])

    def test_each_step_has_its_number(self):
        numbers = torch.tensor([[0.01, 0.99]], dtype=torch.float64)
        picker = Picker(numbers, Sampling(top_p=1.0), end=9)
        assert [int(picker.pick(torch.tensor([[0.6, 0.4]]).log())) for _ in range(2)] == [0, 1]


@pytest.mark.parametrize(
    ("items", "size", "expected"),
    [
        ("", 3, []),
        ("a", 3, [("aaa", 1)]),
        ("abc", 3, [("abc", 3)]),
        ("abcd", 3, [("abc", 3), ("ddd", 1)]),
        ("ab", 1, [("a", 1), ("b", 1)]),
    ],
)
def test_goes_are_of_one_size(items, size, expected):
    assert [("".join(go), real) for go, real in padded_batches(items, size)] == expected
