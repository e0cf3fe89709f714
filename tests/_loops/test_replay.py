"""The same stream gives the same bits, whatever the code was compiled for, and also uncompiled."""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

from noisewise import FlipMatrix
from noisewise.online import recipes

NOISE = FlipMatrix.binary(0.1, 0.2)


def digest_of_stream():
    """A short stream through every kind of learner, dense and sparse, in both precisions; a digest of all weights."""
    import scipy.sparse as sp

    rng = np.random.default_rng(2)
    y = rng.integers(5, size=60)
    X = np.eye(5, 21)[y] + rng.normal(scale=0.5, size=(60, 21))
    X[rng.random(X.shape) < 0.5] = 0
    digest = hashlib.sha256()
    learners = [
        lambda: recipes.rcnbf(5, noise=NOISE, random_state=1),
        lambda: recipes.corrected_ucwl(5, noise=NOISE, random_state=1),
        lambda: recipes.linucb(5, random_state=1),
        lambda: recipes.confidit(5, random_state=1),
        lambda: recipes.soba(5, random_state=1),
        lambda: recipes.soba(5, covariance="full", random_state=1),
        lambda: recipes.soba(5, variant="recursive", random_state=1),
        lambda: recipes.bandit_pa(5, C=0.1, random_state=1),
    ]
    for dtype in (np.float64, np.float32):
        for make in learners:
            for rows in (X.astype(dtype), sp.csr_array(X.astype(dtype))):
                learner = make()
                learner.play(rows, y, noise=NOISE, rng=3)
                for part in (learner.table_, learner.sigma_, learner.rng_state_):
                    digest.update(np.ascontiguousarray(part).tobytes())
        for make in (recipes.perceptron, recipes.mscw, recipes.arow, recipes.nherd):
            digest.update(make().fit(X.astype(dtype), y).table_.tobytes())
    return digest.hexdigest()


def digest_of_stream_elsewhere(tmp_path, **variables):
    here = os.path.dirname(__file__)
    script = f"import sys; sys.path.insert(0, {here!r}); import test_replay; print(test_replay.digest_of_stream())"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), **variables}
    ran = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, env=environment)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def test_uncompiled_code_gives_the_same_bits(tmp_path):
    assert digest_of_stream_elsewhere(tmp_path, NUMBA_DISABLE_JIT="1") == digest_of_stream()


@pytest.mark.slow
@pytest.mark.parametrize("cpu", ["x86-64-v3", "x86-64"])
def test_code_for_another_cpu_gives_the_same_bits(cpu, tmp_path):
    features = "" if cpu == "x86-64" else "+avx2"
    assert digest_of_stream_elsewhere(tmp_path, NUMBA_CPU_NAME=cpu, NUMBA_CPU_FEATURES=features) == digest_of_stream()
