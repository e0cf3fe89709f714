import numpy as np
import scipy.sparse as sp

from noisewise._numerics.row_hash import row_hashes


def test_row_hashes_tell_rows_apart():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3, (20_000, 6)).astype(np.float32)
    assert len(np.unique(row_hashes(rows))) == len(np.unique(rows, axis=0))
    np.testing.assert_array_equal(row_hashes(rows), row_hashes(sp.csr_array(rows)))
