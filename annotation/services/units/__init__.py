"""Making the units of a task: what will be shown, in which order, and for whom (DESIGN §3, §4).

A plan says what the units will be (planned.py; attributes.py, associations.py, depiction.py and checks.py
make one for each kind), write.py turns it into rows, and compare.py says whether rows are as planned.
"""

from annotation.services.units.associations import plan_associations
from annotation.services.units.attributes import make_attribute_units, plan_attributes, shuffled
from annotation.services.units.checks import with_checks
from annotation.services.units.compare import has_units, stored_units
from annotation.services.units.depiction import Rule, plan_pages
from annotation.services.units.planned import Plan, PlannedUnit, StudyRefused, found, listed, source_named
from annotation.services.units.write import make_units, remove_units

__all__ = [
    "Plan",
    "PlannedUnit",
    "Rule",
    "StudyRefused",
    "found",
    "has_units",
    "listed",
    "make_attribute_units",
    "make_units",
    "plan_associations",
    "plan_attributes",
    "plan_pages",
    "remove_units",
    "shuffled",
    "source_named",
    "stored_units",
    "with_checks",
]
