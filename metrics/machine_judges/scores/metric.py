"""What the metrics of machine judges share: whose answers they read, and when these have changed."""

from collections.abc import Mapping

from annotation.models import Study, Task
from generation.models import Answer, Run, RunState
from metrics.core.answers import counted_responses
from metrics.core.fingerprints import fingerprint
from metrics.machine_judges.data import Judge, answers_stamp, judge_runs, judged_task, read_judge
from metrics.machine_judges.design import Design
from metrics.score_runs.metric import NothingToCompute, Parameter

SOURCE = "machine judge"
"""`Metric.source` of what is computed from a judge's answers, beside people's."""
SECTION = "§16"
JUDGE = Parameter("judge", "", "name of the run of the machine judge")

_CURES = {
    RunState.PLANNED: "Start its run.",
    RunState.RUNNING: "Wait: its run has started.",
    RunState.PAUSED: "Its run is paused: resume it.",
    RunState.DONE: "Its run has ended without one: see there why its questions failed, and try them again.",
    RunState.CANCELLED: "Its run was cancelled: plan the judge again.",
}


def run_of(study: Study, parameters: Mapping[str, str]) -> Run:
    """The run that `parameters` name. Raises NothingToCompute without one, or before it has an answer."""
    name = parameters["judge"]
    run = judge_runs(study).filter(name=name).first()
    if run is None:
        known = ", ".join(judge_runs(study).order_by("name").values_list("name", flat=True))
        raise NothingToCompute(
            f"There is no machine judge '{name}' of the study '{study.name}'. Name one with judge=NAME: "
            f"{known or 'none yet; plan one with manage.py judges plan'}."
        )
    if not Answer.objects.filter(run=run).exists():
        raise NothingToCompute(f"The machine judge '{name}' has no answer. {_CURES[RunState(run.state)]}")
    return run


def judge_of(study: Study, parameters: Mapping[str, str]) -> Judge:
    """The judge that `parameters` name, with its answers. Raises NothingToCompute."""
    run = run_of(study, parameters)
    task_of(study, parameters)  # that it still exists
    return read_judge(run, study)


def task_of(study: Study, parameters: Mapping[str, str]) -> Task:
    """The task that the judge was asked about. Raises NothingToCompute."""
    run = run_of(study, parameters)
    try:
        return judged_task(Design.from_json(run.recipe["design"]), study)
    except Task.DoesNotExist as gone:
        raise NothingToCompute(f"The task that '{run.name}' was asked about no longer exists.") from gone


def check_inputs(study: Study, parameters: Mapping[str, str]) -> None:
    """Raise NothingToCompute if there is no such judge, or it has no answer."""
    run_of(study, parameters)


def judge_fingerprint(study: Study, parameters: Mapping[str, str]) -> list[object]:
    """Changes with the judge's answers and with people's to the same kind of task."""
    run = judge_runs(study).filter(name=parameters["judge"]).first()
    if run is None:
        return []
    return [*answers_stamp(run), fingerprint(counted_responses(study, run.recipe["design"]["task"]))]


def describe_judge(study: Study, parameters: Mapping[str, str]) -> str:
    """The `rule` of a judge's metrics: which model answered what, and how."""
    run = judge_runs(study).filter(name=parameters["judge"]).first()
    if run is None:
        return "no machine judge"
    design, recipe = run.recipe["design"], run.recipe
    revision = f" at {recipe['revision']}" if recipe.get("revision") else ""
    return (
        f"answers of the machine judge {run.name}: {run.model}{revision}, task {design['task']}, prompt "
        f"version {design['prompt_version']}, temperature {recipe.get('temperature', 0):g}, "
        f"{recipe.get('times', 1)} of each item"
    )
