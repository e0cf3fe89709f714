"""Corrected losses against plain numpy, exact expectations over the noise, and a matrix that is learnt."""

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp

torch = pytest.importorskip("torch", reason="needs the extra torch")

from noisewise import FlipMatrix  # noqa: E402
from noisewise.torch import CrowdCrossEntropy, NoisyCrossEntropy  # noqa: E402

T = FlipMatrix([[0.7, 0.2, 0.1], [0.0, 0.9, 0.1], [0.3, 0.1, 0.6]])


def plain_forward(logits, labels, matrix):
    """-log of the probability of each observed label, row by row."""
    p = np.exp(log_softmax(logits, axis=1))
    return np.array([-np.log(p[i] @ matrix[:, label]) for i, label in enumerate(labels)])


@pytest.fixture
def rows(rng):
    return rng.normal(size=(7, 3)), rng.integers(3, size=7)


def test_the_forward_correction_is_minus_the_log_likelihood_of_the_observed_label(rows):
    logits, labels = rows
    given = torch.tensor(logits), torch.tensor(labels)
    expected = plain_forward(logits, labels, T.matrix)
    np.testing.assert_allclose(NoisyCrossEntropy(T, reduction="none")(*given), expected, rtol=1e-5)
    assert float(NoisyCrossEntropy(T)(*given)) == pytest.approx(expected.mean(), rel=1e-5)
    assert float(NoisyCrossEntropy(T, reduction="sum")(*given)) == pytest.approx(expected.sum(), rel=1e-5)


def test_without_noise_both_corrections_are_cross_entropy(rows):
    given = torch.tensor(rows[0]), torch.tensor(rows[1])
    plain = float(torch.nn.CrossEntropyLoss()(*given))
    for correction in ("forward", "backward"):
        assert float(NoisyCrossEntropy(FlipMatrix.none(3), correction)(*given)) == pytest.approx(plain, rel=1e-5)


def test_the_backward_correction_is_unbiased(rows):
    """Over all labels that can be observed of a true one, weighted by the flip matrix, it is the loss of that one."""
    logits = torch.tensor(rows[0])
    backward = NoisyCrossEntropy(T, "backward", reduction="none")
    of_observed = np.stack([backward(logits, torch.full((7,), label)) for label in range(3)], axis=1)
    np.testing.assert_allclose(of_observed @ T.matrix.T, -log_softmax(rows[0], axis=1), rtol=1e-4)


def test_the_forward_correction_is_least_at_the_distribution_of_the_true_label(rng):
    truth = rng.dirichlet(np.ones(3))
    observed = torch.tensor((truth @ T.matrix)[None], dtype=torch.float64)
    logits = torch.zeros((1, 3), dtype=torch.float64, requires_grad=True)
    criterion = NoisyCrossEntropy(T)
    optimizer = torch.optim.LBFGS([logits], max_iter=200, tolerance_grad=1e-10, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = criterion(logits, observed)  # weights of the labels: the expectation
        loss.backward()
        return loss

    for _ in range(5):
        optimizer.step(closure)
    np.testing.assert_allclose(torch.softmax(logits, 1).detach()[0], truth, atol=1e-3)


def test_a_learnt_matrix_is_found_where_the_network_knows_the_truth(rng):
    true = rng.integers(3, size=6000)
    labels = torch.tensor(T.corrupt(true, rng))
    logits = torch.tensor(20.0 * np.eye(3, dtype=np.float32)[true])
    criterion = NoisyCrossEntropy(3)
    assert 0.85 < criterion.noise.matrix[0, 0] < 0.95  # before
    optimizer = torch.optim.Adam(criterion.parameters(), lr=0.05)
    for _ in range(400):
        optimizer.zero_grad()
        criterion(logits, labels).backward()
        optimizer.step()
    np.testing.assert_allclose(criterion.noise.matrix, T.matrix, atol=5 * 0.5 / np.sqrt(2000) + 0.01)


@pytest.mark.parametrize("regularizer", ["volume", "trace"])
def test_regularisers_pull_towards_noise(regularizer):
    """Their gradient lowers the diagonal; its size is that of a difference quotient."""
    criterion = NoisyCrossEntropy(3, regularizer=regularizer, strength=1.0)
    penalty = criterion.transition.penalty()
    penalty.backward()
    assert (criterion.transition.logits.grad.diagonal() > 0).all()
    with torch.no_grad():
        criterion.transition.logits[0, 0] += 1e-2
    slope = float(criterion.transition.penalty().detach() - penalty.detach()) / 1e-2
    assert slope == pytest.approx(float(criterion.transition.logits.grad[0, 0]), rel=0.05)
    assert float(NoisyCrossEntropy(3, regularizer=None).transition.penalty()) == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((T, "sideways"), "correction is 'sideways'"),
        (("forward",), "noise is a str"),
        ((True,), "noise is a bool"),
        ((1,), "n_classes is 1; two or more"),
        ((3, "backward"), "needs a FlipMatrix that is known"),
        ((3, "forward", False, "size"), "regularizer is 'size'"),
        ((T, "forward", False, None, None, "median"), "reduction is 'median'"),
    ],
)
def test_what_cannot_be_is_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        NoisyCrossEntropy(*arguments)


def test_the_crowd_loss_is_a_plain_sum_over_the_labels_there_are(rng):
    logits = rng.normal(size=(5, 3))
    labels = rng.integers(-1, 3, size=(5, 4))
    criterion = CrowdCrossEntropy(4, 3, strength=0.0)
    with torch.no_grad():
        criterion.transition.logits += torch.tensor(rng.normal(size=(4, 3, 3)), dtype=torch.float32)
    matrices = [noise.matrix for noise in criterion.noises]
    log_p = log_softmax(logits, axis=1)
    expected = np.zeros(5)
    for row in range(5):
        for who in range(4):
            if labels[row, who] >= 0:
                expected[row] -= logsumexp(log_p[row] + np.log(matrices[who][:, labels[row, who]]))
    given = torch.tensor(logits, dtype=torch.float32), torch.tensor(labels)
    assert float(criterion(*given).detach()) == pytest.approx(expected.sum() / (labels >= 0).sum(), rel=1e-4)
    criterion.reduction = "none"
    np.testing.assert_allclose(criterion(*given).detach(), expected, rtol=1e-4, atol=1e-6)
    with pytest.raises(ValueError, match=r"labels have shape \(5, 3\)"):
        criterion(given[0], given[1][:, :3])
    with pytest.raises(ValueError, match="n_annotators is 0"):
        CrowdCrossEntropy(0, 3)


def test_the_crowd_loss_finds_who_is_careless(rng):
    true = rng.integers(3, size=1500)
    X = np.eye(3)[true] + rng.normal(scale=0.3, size=(1500, 3))
    rates = (0.02, 0.5)
    labels = np.stack([FlipMatrix.symmetric(rate, 3).corrupt(true, rng) for rate in rates], axis=1)
    labels[rng.random(labels.shape) < 0.2] = -1
    torch.manual_seed(0)
    network, criterion = torch.nn.Linear(3, 3), CrowdCrossEntropy(2, 3)
    optimizer = torch.optim.Adam([*network.parameters(), *criterion.parameters()], lr=0.03)
    rows, given = torch.tensor(X, dtype=torch.float32), torch.tensor(labels)
    for _ in range(400):
        optimizer.zero_grad()
        criterion(network(rows), given).backward()
        optimizer.step()
    kept = [noise.matrix.diagonal().mean() for noise in criterion.noises]
    np.testing.assert_allclose(kept, [0.98, 0.5], atol=0.06)
    assert np.mean(network(rows).argmax(1).numpy() == true) > 0.95
