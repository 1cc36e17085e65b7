"""The commands of `./heddle`: a module for each group of them, each a function of its words."""
