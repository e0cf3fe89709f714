"""Names in model files of earlier versions and what they are called now; fields that came since."""

from __future__ import annotations

from typing import Any

# Old public name of a class or function -> its name now.
RENAMED_CLASSES: dict[str, str] = {
    **{
        f"noisewise.features.{name}": f"noisewise.noise.{name}"
        for name in ("LaplaceNoise", "MaskingNoise", "SymmetricNoise")
    },
    **{
        f"noisewise.datasets.{name}": f"noisewise.tables.{name}"
        for name in ("CategoryColumn", "NumberColumn", "TableEncoder", "TextColumn")
    },
    "noisewise.serve._progress.Progress": "noisewise.serve.models.progress.Progress",
    "noisewise.labels.LeftOut": "noisewise.labels.DuplicateRows",
    "noisewise.noise.Account": "noisewise.noise.NoiseModel",
    "noisewise.noise.Curve": "noisewise.noise.CalibrationMap",
    "noisewise.online.AnswerTable": "noisewise.online.FeedbackTable",
}

# Public name of a class now -> {stored parameter, attribute, field or key of its state: its name now}.
RENAMED_FIELDS: dict[str, dict[str, str]] = {
    "noisewise.features.NoisyFeatureClassifier": {"bent_coef_": "attenuated_coef_"},
    "noisewise.features.NoisyFeatureRegressor": {"bent_coef_": "attenuated_coef_"},
    "noisewise.labels.Discriminants": {"shares": "weights"},
    "noisewise.labels.NormalClasses": {"slopes": "coefficients"},
    **{
        f"noisewise.online.{name}": {"reals_": "parameters_", "integers_": "counters_", "chance_": "rng_state_"}
        for name in ("BanditClassifier", "OnlineClassifier")
    },
    "noisewise.labels.DuplicateRows": {"prints": "hashes", "counts": "weights", "tallies": "label_weights"},
    "noisewise.labels.SoftLogisticRegression": {"columns_": "parameters_", "evened_": "preconditioner_"},
    "noisewise.labels.PooledRidge": {"shares": "class_proportions", "left_out": "duplicates"},
    "noisewise.noise.Calibration": {"accounts": "candidates"},
    "noisewise.noise.CalibrationMap": {"slope": "scale", "doubt": "outlier_weight"},
    "noisewise.noise.NoiseModel": {"curve": "calibration_map"},
    "noisewise.tables.CategoryColumn": {"spread": "one_hot"},
    "noisewise.serve.models.progress.Progress": {
        "decisions": "n_decisions",
        "answers": "n_feedback",
        "right": "n_right",
        "missing": "n_missing",
        "defaults": "n_defaults",
        "refused": "n_refused",
        "played": "decisions_by_action",
        "answered": "feedback_by_action",
        "praised": "right_by_action",
        "curve": "learning_curve",
        "bucket": "feedback_per_point",
        "watched": "tracks_rates",
        "rows": "block_rows",
        "rounds": "block_rounds",
        "waiting": "n_in_block",
    },
    "noisewise.online.NREst": {"played": "actions", "seen": "feedback"},
    "noisewise.online.PeopleTracker": {"usual_lead": "median_margin", "evidence": "log_likelihood"},
    "noisewise.online.RoundLog": {"answers": "feedback", "groups": "annotators"},
}

# Public name of a class -> {field that earlier files do not have: its value there}.
ADDED_FIELDS: dict[str, dict[str, Any]] = {
    "noisewise.online.Adaptive": {"variant": "drop"},
    "noisewise.online.SecondOrderPerceptron": {"variant": "recursive"},
    "noisewise.labels.RobustLogisticRegression": {"noise_prior": True},
    "noisewise.labels.RobustKernelLogisticRegression": {"noise_prior": True},
    "noisewise.labels.RobustMultiKernelLogisticRegression": {"noise_prior": True},
    "noisewise.labels.RobustTreesClassifier": {"weighting": "posterior"},
}


def current_class(name: str) -> str:
    """The name that a stored class or function has now.

    >>> current_class("noisewise.features.LaplaceNoise"), current_class("noisewise.noise.FlipMatrix")
    ('noisewise.noise.LaplaceNoise', 'noisewise.noise.FlipMatrix')
    """
    return RENAMED_CLASSES.get(name, name)


def current_fields(class_name: str, stored: dict[str, Any]) -> dict[str, Any]:
    """The stored fields of an object, under the names they have now, and those that came since."""
    known = current_class(class_name)
    renamed = RENAMED_FIELDS.get(known, {})
    return ADDED_FIELDS.get(known, {}) | {renamed.get(name, name): value for name, value in stored.items()}
