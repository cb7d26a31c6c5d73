"""The units of a task: what is shown, in which order, and to whom (DESIGN §3, §4)."""
