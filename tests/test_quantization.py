"""Vectors in a byte a number: no bound is ever exceeded, and nothing that could be among the nearest is left out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from retrieval.resident.product import GREATEST_FACTOR, integer_product
from retrieval.resident.quantization import Quantized

# What summing in float64 can differ by.
ROUNDING = 1e-12


def vectors(seed: int, *, count: int, dims: int) -> NDArray[np.float32]:
    """Unit vectors of every kind: dense, of one number, nearly equal ones, exact duplicates, one of zeros."""
    chance = np.random.default_rng(seed)
    dense = chance.standard_normal((count, dims))
    dense[::5] *= chance.random((len(dense[::5]), dims)) < 0.1
    dense[1::5] = np.eye(dims)[chance.integers(0, dims, len(dense[1::5]))]
    dense[2::5] = dense[:1].sum(axis=0) + 1e-6 * chance.standard_normal((len(dense[2::5]), dims))
    dense[3::10] = dense[:1].sum(axis=0)
    lengths = np.linalg.norm(dense, axis=1, keepdims=True)
    return (dense / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def direction(seed: int, dims: int) -> NDArray[np.float64]:
    """A unit vector, sparse for some seeds."""
    chance = np.random.default_rng(seed)
    query = chance.standard_normal(dims)
    if seed % 3 == 0:
        query[: dims // 2] = 0.0
    return query / np.linalg.norm(query)


@pytest.mark.parametrize("dims", [1, 2, 7, 64, 384, 4096])
def test_products_of_extremes_are_exact(dims: int) -> None:
    """Kernels that add pairs in 16 bits would cut them off if a factor could be larger."""
    codes = np.full((33, dims), 255, dtype=np.uint8)
    codes[1::2] = np.random.default_rng(dims).integers(0, 256, (16, dims))
    factors = np.stack((np.full(dims, GREATEST_FACTOR), np.full(dims, -GREATEST_FACTOR)), axis=1).astype(np.int8)

    product = integer_product(codes, factors)

    assert product.dtype == np.int32
    assert np.array_equal(product, codes.astype(np.int64) @ factors.astype(np.int64))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 1000), count=st.integers(1, 1500), dims=st.sampled_from((1, 2, 8, 33, 384)), some=st.booleans()
)
def test_no_product_lies_outside_of_its_bound(seed: int, count: int, dims: int, some: bool) -> None:
    matrix, unit = vectors(seed, count=count, dims=dims), direction(seed + 1, dims)
    chosen = np.flatnonzero(np.random.default_rng(seed).random(count) < 0.3) if some else None
    estimates = Quantized.of(matrix).estimates(unit, margin=ROUNDING, vectors=chosen)
    exact = (matrix if chosen is None else matrix[chosen]).astype(np.float64) @ unit
    everything = np.arange(len(exact))

    assert (np.abs(exact - estimates.values) <= estimates.bounds(everything)).all()


def test_bounds_are_narrow_enough_to_be_of_use() -> None:
    """Of random vectors, the hardest case, few hundreds of a hundred thousand are looked at; of embeddings fewer."""
    chance = np.random.default_rng(3)
    matrix = chance.standard_normal((100_000, 384)).astype(np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    estimates = Quantized.of(matrix).estimates(direction(4, 384), margin=2e-4)

    assert estimates.bounds(np.arange(len(matrix))).max() < 0.015
    assert 100 <= len(estimates.possible(100)) < 500


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 1000), count=st.integers(0, 1500), limit=st.integers(1, 200))
def test_whatever_could_be_among_the_nearest_is_kept(seed: int, count: int, limit: int) -> None:
    """All that tie with the last of them included."""
    matrix, unit = vectors(seed, count=count, dims=16), direction(seed, 16)
    exact = matrix.astype(np.float64) @ unit
    possible = Quantized.of(matrix).estimates(unit, margin=ROUNDING).possible(limit)
    least = np.sort(exact)[-limit] if count >= limit else -np.inf

    assert np.array_equal(possible, np.unique(possible))
    assert set(np.flatnonzero(exact >= least).tolist()) <= set(possible.tolist())


def test_what_is_not_allowed_is_never_possible() -> None:
    matrix = vectors(1, count=300, dims=16)
    estimates = Quantized.of(matrix).estimates(direction(1, 16), margin=ROUNDING)
    estimates.values[10:] = -np.inf

    assert np.array_equal(estimates.possible(100), np.arange(10))


def test_a_vector_takes_a_byte_a_number_and_eight_more() -> None:
    assert Quantized.of(vectors(1, count=100, dims=16)).nbytes == 100 * (16 + 8)
