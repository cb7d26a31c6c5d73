"""The feasibility of a study, as lines for a command's output."""

from annotation.studies.services.feasibility import Report


def feasibility_lines(report: Report) -> list[str]:
    """How full each stratum is and how many people match it, then shortages and warnings."""
    enrolled = "1 person is enrolled." if report.people == 1 else f"{report.people:,} people are enrolled."
    lines = [enrolled]
    for rate in report.rates:
        lines.append(
            f"  {rate.task.get_kind_display()}, {rate.stratum}: {rate.filled:,} of {rate.wanted:,} answers "
            f"given; {rate.people:,} of those enrolled match"
        )
    if report.people == 0 and report.shortages:
        # Every stratum has the same shortage.
        lines.append("Not enough people yet: nobody is enrolled.")
    else:
        lines += [f"Not enough people yet: {shortage}." for shortage in report.shortages]
    return lines + [f"Warning: {warning}" for warning in report.warnings]
