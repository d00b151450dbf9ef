"""Measurements of the claims we make: ratios against the alternative, both sides in one run."""
