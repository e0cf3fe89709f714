"""Quick runs that need no data folder come out as verified."""

import pytest

from noisewise.experiments import Comparison, RowStore, find_paper, keyed, parts_of, printed_numbers, run


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("paper", "name"), [("cesa_bianchi", "p1"), ("cesa_bianchi", "p2"), ("agarwal", "floor"), ("beyond", "actions")]
)
def test_what_can_be_compared_is_as_verified(paper, name, tmp_path):
    declared, store = find_paper(paper), RowStore(tmp_path)
    ran = run(keyed(declared, name), store, quick=True)
    assert ran.failed == {}
    ((_, blocks),) = parts_of(declared, declared.find(name), store, printed_numbers(paper), quick=True)
    entries = [entry for block in blocks if isinstance(block, Comparison) for entry in block.entries]
    checked = {entry.labels: entry.is_verified for entry in entries if entry.is_verified is not None}
    assert checked
    assert [labels for labels, verified in checked.items() if not verified] == []
