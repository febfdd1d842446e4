"""Constituency parsing (paper 6.3): a trained model's scores, baselines, and drawn trees."""
