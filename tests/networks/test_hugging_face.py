import subprocess
import sys
from importlib.util import find_spec

import pytest

# In a process of its own: the folder `datasets` of the tests would hide the package of that name, which it imports.
TRAINING = """
import numpy as np
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed
from noisewise import FlipMatrix
from noisewise.torch import NoisyCrossEntropy

set_seed(0)
rng = np.random.default_rng(0)
truth = rng.integers(2, size=400)
words = rng.integers(5, 50, size=(400, 12))
words[:, 3] = np.where(truth, 50, 51)  # one word tells the class
noise = FlipMatrix.binary(0.1, 0.4)
rows = [{"input_ids": one, "labels": int(label)} for one, label in zip(words, noise.corrupt(truth, rng=0))]
sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
model = BertForSequenceClassification(BertConfig(vocab_size=60, num_labels=2, **sizes))
corrected = NoisyCrossEntropy(noise)
settings = {"num_train_epochs": 8, "per_device_train_batch_size": 32, "learning_rate": 3e-3, "use_cpu": True}
quiet = {"report_to": [], "logging_strategy": "no", "save_strategy": "no", "disable_tqdm": True}
trainer = Trainer(
    model,
    TrainingArguments("out", **settings, **quiet),
    train_dataset=rows,
    compute_loss_func=lambda outputs, labels, num_items_in_batch=None: corrected(outputs.logits, labels),
)
trainer.train()
right = np.mean(trainer.predict(rows).predictions.argmax(axis=1) == truth)
assert right > 0.9, right  # of the labels 0.75
"""


@pytest.mark.slow
@pytest.mark.skipif(not all(map(find_spec, ("torch", "transformers", "accelerate"))), reason="needs transformers")
def test_hugging_faces_trainer_takes_the_corrected_loss(tmp_path):
    done = subprocess.run([sys.executable, "-c", TRAINING], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
