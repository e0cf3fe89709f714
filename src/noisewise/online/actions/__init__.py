"""Contextual bandits whose actions have features, and come and go."""
