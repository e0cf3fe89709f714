"""
Attenuated coefficients, and their correction
=============================================

Eight sensors measure the features of a price, and each adds noise as large as its signal. Least squares on such rows
halves most coefficients (attenuation bias), and attributes effects of one column to correlated ones. With the noise
covariance, or with two noisy copies (replicates) of every row, `NoisyFeatureRegressor` estimates the coefficients of
the clean columns.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression

from noisewise import GaussianNoise
from noisewise.datasets import make_california_like
from noisewise.features import NoisyFeatureRegressor

X, y = make_california_like(10_000, random_state=0)
X_test, y_test, X, y = X[5000:], y[5000:], X[:5000], y[:5000]
noise = GaussianNoise(1.0)
copies = noise.copies(X, 2, rng=1)

# %%
# One noisy copy and the noise covariance; or two copies, and nothing else.
models = {
    "clean rows": LinearRegression().fit(X, y),
    "noisy rows, least squares": LinearRegression().fit(copies[:, 0], y),
    "noisy rows, known noise": NoisyFeatureRegressor(noise).fit(copies[:, 0], y),
    "two noisy copies, mean, least squares": LinearRegression().fit(
        copies.mean(axis=1), y
    ),
    "two noisy copies": NoisyFeatureRegressor().fit(copies[:, 0], y, copies=copies),
}
for name, model in models.items():
    print(f"{name:40} R2 on clean rows {model.score(X_test, y_test):.3f}")

# %%
# The model reports the attenuation: the fraction of each column's variance that is signal (reliability), the limit of
# least squares on rows with this noise, and its size as a fraction of that of the coefficients.
model = models["noisy rows, known noise"]
print("reliability of the columns", model.reliability_.round(2))
print("coefficients              ", model.coef_.round(2))
print("attenuated coefficients   ", model.attenuated_coef_.round(2))
print(f"attenuation {model.attenuation_:.0%}")

# %%
# The coefficients of all columns.
figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
columns = np.arange(X.shape[1])
for shift, (name, model) in enumerate(models.items()):
    axes.bar(columns + (shift - 2) * 0.16, model.coef_, width=0.16, label=name)
axes.axhline(0, color="black", linewidth=0.8)
axes.set(xlabel="column", ylabel="coefficient", xticks=columns)
axes.legend(fontsize="small")
plt.show()
