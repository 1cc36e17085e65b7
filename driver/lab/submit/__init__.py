"""Many machines: a plan cut into blocks, which an engine that exists hands to machines."""
from driver.lab.submit.command import command_submit

__all__ = ["command_submit"]
