"""The feasibility of a study as the lines of a command's output."""

from annotation.studies.services.feasibility import Report


def feasibility_lines(report: Report) -> list[str]:
    """What each stratum wants and who there is for it, then what cannot be filled or runs out."""
    enrolled = "1 person is enrolled." if report.people == 1 else f"{report.people:,} people are enrolled."
    lines = [enrolled]
    for rate in report.rates:
        lines.append(
            f"  {rate.task.get_kind_display()}, {rate.stratum}: {rate.filled:,} of {rate.wanted:,} answers "
            f"given; {rate.people:,} of those enrolled match"
        )
    if report.people == 0 and report.shortages:
        # every stratum lacks everybody: saying so once is enough
        lines.append("Not enough people yet: nobody is enrolled.")
    else:
        lines += [f"Not enough people yet: {shortage}." for shortage in report.shortages]
    return lines + [f"Warning: {warning}" for warning in report.warnings]
