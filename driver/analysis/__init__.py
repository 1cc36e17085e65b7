"""What results mean: records, estimates, verdicts, tables, figures and the report.

`terminal` and all that it uses need the standard library only; `driver.analysis.report` is a
program of its own, since it needs matplotlib and jinja2.
"""
from driver.analysis.render import terminal

__all__ = ["terminal"]
