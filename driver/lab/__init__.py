"""The lab: campaigns of interleaved rounds, their drivers and their records."""
