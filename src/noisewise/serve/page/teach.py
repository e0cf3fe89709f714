"""Sample digits for the page on which a visitor teaches a model."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query
from pydantic import BaseModel

router = APIRouter(tags=["teach"])


class Digits(BaseModel):
    """Pictures of 8 x 8 numbers from 0 to 16, row by row, and the digit that each shows."""

    images: list[list[float]]
    truth: list[int]


@router.get("/teach/digits", response_model=Digits)
async def sample_digits(count: Annotated[int, Query(ge=1, le=1000, description="How many.")] = 200) -> Any:
    """Some of scikit-learn's handwritten digits, drawn at random."""
    images, truth = await asyncio.to_thread(_digits)
    rows = np.random.default_rng().choice(len(truth), count, replace=False)
    return {"images": images[rows].tolist(), "truth": truth[rows].tolist()}


@cache
def _digits() -> tuple[Any, Any]:
    from sklearn.datasets import load_digits

    images, truth = load_digits(return_X_y=True)
    return images, truth
