"""The first seconds of a user: first decision and first audit, cold and warm, with one thread of BLAS and with all.

python benchmarks/first_seconds.py            each in a process of its own; cold is without any compiled loop
python benchmarks/first_seconds.py --busy 4   the same again beside four processes that compute without a pause
python benchmarks/first_seconds.py --before old/src   beside an earlier version: `git worktree add old COMMIT`
python benchmarks/first_seconds.py --json     the same as one JSON object

Times begin with the process. CPU seconds count all threads up to the result, so that they hold on a busy machine too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager

STEPS = {
    "first decision, linucb": """
import numpy as np
from noisewise.online.recipes import linucb
linucb(n_classes=10).decide(np.ones(64))
""",
    "first decision learnt, linucb": """
import numpy as np
from noisewise.online.recipes import linucb
learner = linucb(n_classes=10)
learner.learn(learner.decide(np.ones(64)), feedback=1)
""",
    "first audit, 1,797 digits": """
from sklearn.datasets import load_digits
from noisewise import FlipMatrix, audit_labels
X, y = load_digits(return_X_y=True)
audit_labels(X, FlipMatrix.symmetric(0.1, n_classes=10).corrupt(y, rng=0))
""",
    "audit, 30,000 rows": """
from sklearn.datasets import make_classification
from noisewise import FlipMatrix, audit_labels
X, y = make_classification(30_000, 50, n_informative=20, n_classes=5, random_state=0)
audit_labels(X, FlipMatrix.symmetric(0.1, n_classes=5).corrupt(y, rng=0))
""",
    "RobustVotingClassifier, 600 digits": """
from sklearn.datasets import load_digits
from noisewise.labels import RobustVotingClassifier
X, y = load_digits(return_X_y=True)
RobustVotingClassifier().fit(X[:600], y[:600] == 5)
""",
}
COMPILED = ("first decision, linucb", "first decision learnt, linucb")
TIMES = "\nimport os, time; print(time.time(), sum(os.times()[:2]), flush=True)"


def seconds(code, cache, source, n_threads=None):
    """Wall and CPU seconds from the start of a process to the end of the code; what the process does later is not."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    if source is not None:
        environment["PYTHONPATH"] = source
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        environment.pop(name, None)
        if n_threads is not None:
            environment[name] = str(n_threads)
    start = time.time()
    run = subprocess.run([sys.executable, "-c", code + TIMES], env=environment, check=True, stdout=subprocess.PIPE)
    clock, cpu = map(float, run.stdout.split())
    return clock - start, cpu


def measured(steps, source=None):
    """Wall and CPU seconds by step and circumstances, of the version in a folder, or of the installed one."""
    table = {}
    with tempfile.TemporaryDirectory() as warm:
        for name, code in ((name, STEPS[name]) for name in steps):
            if name in COMPILED:
                with tempfile.TemporaryDirectory() as cold:
                    table[f"{name}, cold"] = seconds(code, cold, source)
                seconds(code, warm, source)
                table[f"{name}, warm"] = seconds(code, warm, source)
            else:
                table[f"{name}, one thread"] = seconds(code, warm, source, 1)
                table[f"{name}, all threads"] = seconds(code, warm, source)
    return table


@contextmanager
def busy(n):
    """Beside n processes that compute without a pause."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def printed(table):
    """The table, two columns for each circumstance of the machine."""
    heads = [f"{what}: wall s | CPU s" for what in table]
    lines = [f"| | {' | '.join(heads)} |", f"|{'---|' * (1 + 2 * len(table))}"]
    for name in next(iter(table.values())):
        times = (f"{seconds:.1f}" for column in table.values() for seconds in column[name])
        lines.append(f"| {name} | {' | '.join(times)} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--busy", type=int, default=0, help="processes that compute beside, in a second run")
    parser.add_argument("--only", nargs="+", choices=list(STEPS), default=list(STEPS))
    parser.add_argument("--before", help="src folder of an earlier version, measured beside this one")
    arguments = parser.parse_args()
    versions = {"before, ": arguments.before, "now, ": None} if arguments.before else {"": None}
    table = {}
    for n in (0, arguments.busy) if arguments.busy else (0,):
        with busy(n):
            what = f"beside {n}" if n else f"load {os.getloadavg()[0]:.0f}"
            table |= {f"{version}{what}": measured(arguments.only, source) for version, source in versions.items()}
    print(json.dumps(table, indent=1) if arguments.json else f"{os.cpu_count()} processors\n\n{printed(table)}")


if __name__ == "__main__":
    main()
