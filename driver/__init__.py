"""The driver behind `./heddle`: Python standard library only, state only in build directories."""
