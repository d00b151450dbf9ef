"""Pure graphs over names."""
