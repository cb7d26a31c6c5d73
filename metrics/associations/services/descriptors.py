"""Store the identity groups that descriptors name, so that a planned run can start."""

from collections.abc import Sequence
from dataclasses import replace

from annotation.models import IdentityGroup
from generation.plans.plan import Plan
from metrics.associations.askings import Descriptor
from metrics.associations.descriptors import DescriptorList
from metrics.associations.groups import find_groups, key
from metrics.associations.planning import WordAskings


def ensure_groups(descriptors: Sequence[Descriptor]) -> list[int]:
    """The id of each descriptor's group. Groups that the catalogue lacks are added, on the axis of the
    dimension; a name on two dimensions is two groups. Groups that exist keep what they have."""
    found = find_groups(descriptors)
    missing = {
        (one.dimension, key(one.singular)): IdentityGroup(
            name=one.singular,
            axis=one.dimension,
            demonym=one.singular,
            singular=one.singular,
            plural=one.plural,
            article=one.article,
        )
        for one, group in reversed(list(zip(descriptors, found, strict=True)))
        if group is None
    }
    if missing:
        # somebody may have added one just now
        IdentityGroup.objects.bulk_create(reversed(missing.values()), ignore_conflicts=True)
        found = find_groups(descriptors)
    return [group for group in found if group is not None]


def with_groups(plan: Plan, listed: DescriptorList | None) -> Plan:
    """The plan with the groups of its descriptors, which are added where the catalogue lacks them. `listed`:
    None for a plan about images, which have their groups."""
    if listed is None:
        return plan
    groups = ensure_groups(listed.descriptors)
    if isinstance(plan.askings, WordAskings):
        return replace(plan, askings=replace(plan.askings, groups=groups))
    prompts = (
        replace(each, group_id=groups[-each.group_id - 1]) if each.group_id < 0 else each
        for each in plan.prompts
    )
    return replace(plan, prompts=tuple(prompts))
