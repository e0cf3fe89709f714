"""Cesa-Bianchi, Shalev-Shwartz and Shamir: online learning of noisy data."""
