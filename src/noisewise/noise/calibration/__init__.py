"""Which observed labels are wrong, from out-of-fold scores: robust calibration averaged over candidate noise models."""
