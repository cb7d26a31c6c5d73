"""The units of a task: what is shown, in which order, and to whom (DESIGN §3, §4).

A plan describes the units (planned.py). attributes.py, associations.py, depiction.py and checks.py make the
plans for each kind of task, write.py writes their rows, and compare.py compares existing rows with a plan.
"""
