"""Networks that learn from noisy labels: corrected losses for any torch module, and a small trainer. Extra ``torch``.

`NoisyCrossEntropy` takes the place of `torch.nn.CrossEntropyLoss` in a training loop of any kind (plain torch, skorch,
Hugging Face's Trainer); `CrowdCrossEntropy` does where several annotators labelled each row. `NetworkClassifier` trains
a network whole: it estimates the noise from out-of-fold probabilities, which the audit can read, corrects the loss for
it and stops early on the corrected likelihood of held-out rows.
"""

try:
    import torch  # noqa: F401
except ImportError:
    raise ImportError("noisewise.torch needs PyTorch: pip install 'noisewise[torch]'") from None

from noisewise.torch.crowd import CrowdCrossEntropy
from noisewise.torch.network import NetworkClassifier
from noisewise.torch.noisy import NoisyCrossEntropy

__all__ = ["CrowdCrossEntropy", "NetworkClassifier", "NoisyCrossEntropy"]
