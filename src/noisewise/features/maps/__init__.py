"""Random feature maps estimated from noisy replicates (Algorithm 4)."""
