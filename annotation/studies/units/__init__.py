"""The units of a task: what is shown, in which order, and for whom (DESIGN §3, §4).

A plan says what the units will be (planned.py; attributes.py, associations.py, depiction.py and checks.py
make one for each kind of task), write.py turns it into rows, and compare.py says whether rows are as planned.
"""
