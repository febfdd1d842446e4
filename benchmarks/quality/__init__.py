"""Quality of translations."""
