"""Figures of a comparison, one column of a paper wide. They need matplotlib, from Debian."""
