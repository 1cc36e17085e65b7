"""What shows that the lab can be believed: it is silent without a cause and speaks with one."""
