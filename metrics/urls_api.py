"""URLs of the API of scores, figures and progress, below /api/v1/."""

from django.urls import path

from metrics.agreement import api as agreement
from metrics.associations.api import pairs as associations
from metrics.associations.api import planning as association_plans
from metrics.associations.api import results as association_results
from metrics.brightness import api as brightness
from metrics.candidates import api as candidates
from metrics.dashboards import api as dashboards
from metrics.depiction import api as depiction
from metrics.embedding_tests import api as embedding_tests
from metrics.inference import api as inference
from metrics.league import api as league
from metrics.machine_judges.api import items as judge_items
from metrics.machine_judges.api import judges as machine_judges
from metrics.machine_judges.api import results as judge_results
from metrics.marking import api as marking
from metrics.planning import api as planning
from metrics.quality import api as quality
from metrics.report import api as report
from metrics.score_runs import api as score_runs
from metrics.visual_questions import api as visual_questions
from metrics.votes import api as votes

_RUNS = "studies/<slug:name>/score-runs"
_ASSOCIATIONS = "association-runs/<int:number>"
_CANDIDATES = "candidate-runs/<int:number>"
_EMBEDDING_TESTS = "embedding-test-files/<int:number>"
_JUDGE = "studies/<slug:name>/judges/<int:number>"
_FIGURE = "studies/<slug:name>/figures/<slug:figure>"

urlpatterns = [
    path("metrics", score_runs.Metrics.as_view(), name="metrics"),
    path("metrics/<slug:metric>", score_runs.OneMetric.as_view(), name="metric"),
    path("inference-runs", inference.InferenceRuns.as_view(), name="inference_runs"),
    path("inference-runs/<int:number>", inference.InferenceResults.as_view(), name="inference_run"),
    path("inference-runs/<int:number>/pairs", inference.EntailedPairs.as_view(), name="inference_pairs"),
    path(
        "inference-runs/<int:number>/figure/<slug:file_format>",
        inference.InferenceFigure.as_view(),
        name="inference_figure",
    ),
    path("embedding-test-files", embedding_tests.EmbeddingTestFiles.as_view(), name="embedding_test_files"),
    path(_EMBEDDING_TESTS, embedding_tests.OneEmbeddingTestFile.as_view(), name="embedding_test_file"),
    path(
        f"{_EMBEDDING_TESTS}/results",
        embedding_tests.EmbeddingTestResults.as_view(),
        name="embedding_test_results",
    ),
    path(
        f"{_EMBEDDING_TESTS}/encoders",
        embedding_tests.EmbeddingTestEncoders.as_view(),
        name="embedding_test_encoders",
    ),
    path(
        f"{_EMBEDDING_TESTS}/ranking",
        embedding_tests.EmbeddingTestRanking.as_view(),
        name="embedding_test_ranking",
    ),
    path(
        f"{_EMBEDDING_TESTS}/texts", embedding_tests.EmbeddingTestTexts.as_view(), name="embedding_test_texts"
    ),
    path(
        f"{_EMBEDDING_TESTS}/figures/<slug:figure>/<slug:file_format>",
        embedding_tests.EmbeddingTestFigure.as_view(),
        name="embedding_test_figure",
    ),
    path("visual-question-runs", visual_questions.VisualQuestionRuns.as_view(), name="visual_question_runs"),
    path(
        "visual-question-runs/<int:number>",
        visual_questions.VisualQuestionResults.as_view(),
        name="visual_question_run",
    ),
    path(
        "visual-question-runs/<int:number>/figure/<slug:file_format>",
        visual_questions.VisualQuestionFigure.as_view(),
        name="visual_question_figure",
    ),
    path("marking/<slug:name>", marking.Marking.as_view(), name="marking"),
    path(
        "marking/<slug:name>/figure/<slug:file_format>",
        marking.MarkingFigure.as_view(),
        name="marking_figure",
    ),
    path("studies/<slug:name>/scores", score_runs.Scores.as_view(), name="scores"),
    path(_RUNS, score_runs.ScoreRuns.as_view(), name="score_runs"),
    path(f"{_RUNS}/<int:number>", score_runs.OneScoreRun.as_view(), name="score_run"),
    path(f"{_RUNS}/<int:number>/scores", score_runs.RunScores.as_view(), name="score_run_scores"),
    path(f"{_RUNS}/<int:number>/retry", score_runs.RetryScoreRun.as_view(), name="score_run_retry"),
    path("association-runs", association_plans.AssociationRuns.as_view(), name="association_runs"),
    path(_ASSOCIATIONS, associations.OneAssociationList.as_view(), name="association_list"),
    path(f"{_ASSOCIATIONS}/study", associations.AssociationStudy.as_view(), name="associations_study"),
    path(f"{_ASSOCIATIONS}/pairs", associations.Associations.as_view(), name="model_associations"),
    path(
        f"{_ASSOCIATIONS}/pairs/<int:pair>", associations.OneAssociation.as_view(), name="model_association"
    ),
    path("brightness-runs", brightness.BrightnessRuns.as_view(), name="brightness_runs"),
    path("brightness-runs/<int:number>", brightness.BrightnessResults.as_view(), name="brightness_run"),
    path(
        "brightness-runs/<int:number>/figure/<slug:file_format>",
        brightness.BrightnessFigure.as_view(),
        name="brightness_figure",
    ),
    path("candidate-runs", candidates.CandidateRuns.as_view(), name="candidate_runs"),
    path(_CANDIDATES, candidates.OneCandidateList.as_view(), name="candidate_list"),
    path(f"{_CANDIDATES}/study", candidates.CandidatesStudy.as_view(), name="candidates_study"),
    path(f"{_CANDIDATES}/candidates", candidates.Candidates.as_view(), name="candidates"),
    path(f"{_CANDIDATES}/candidates/<int:candidate>", candidates.OneCandidate.as_view(), name="candidate"),
    path(f"{_CANDIDATES}/candidates/<int:candidate>/struck", candidates.Struck.as_view(), name="struck"),
    path(
        "association-runs/comparison",
        association_results.AssociationComparison.as_view(),
        name="association_comparison",
    ),
    path(
        f"{_ASSOCIATIONS}/results",
        association_results.AssociationResults.as_view(),
        name="association_results",
    ),
    path(
        f"{_ASSOCIATIONS}/figures/<slug:figure>/<slug:file_format>",
        association_results.AssociationFigure.as_view(),
        name="association_figure",
    ),
    path(
        f"{_ASSOCIATIONS}/judgements/level",
        association_results.AssociationLevels.as_view(),
        name="association_levels",
    ),
    path(
        f"{_ASSOCIATIONS}/judgements/<slug:what>",
        association_results.AssociationJudgements.as_view(),
        name="association_judgements",
    ),
    path("studies/<slug:name>/votes-source", votes.VotesSource.as_view(), name="votes_source"),
    path("studies/<slug:name>/agreement", agreement.Agreement.as_view(), name="agreement"),
    path("studies/<slug:name>/identities", depiction.Identities.as_view(), name="identities"),
    path("studies/<slug:name>/progress", dashboards.Progress.as_view(), name="progress"),
    path("studies/<slug:name>/league", league.OneLeague.as_view(), name="league"),
    path("studies/<slug:name>/quality", quality.Quality.as_view(), name="quality"),
    path("studies/<slug:name>/judges", machine_judges.Judges.as_view(), name="judges"),
    path(f"{_JUDGE}/items", judge_items.JudgeItems.as_view(), name="judge_items"),
    path(f"{_JUDGE}/answers", judge_items.JudgeAnswers.as_view(), name="judge_answers"),
    path("studies/<slug:name>/plan", planning.Plan.as_view(), name="plan"),
    path(
        "studies/<slug:name>/plan/figure/<slug:file_format>",
        planning.PlanFigure.as_view(),
        name="plan_figure",
    ),
    path("studies/<slug:name>/judges/<int:number>", judge_results.JudgeResults.as_view(), name="judge"),
    path("studies/<slug:name>/report", report.Report.as_view(), name="report"),
    path("studies/<slug:name>/gallery", depiction.Gallery.as_view(), name="gallery"),
    path("studies/<slug:name>/figures", dashboards.Figures.as_view(), name="figures"),
    path(_FIGURE, dashboards.OneFigure.as_view(), name="figure"),
    path(f"{_FIGURE}/<slug:file_format>", dashboards.FigureFile.as_view(), name="figure_file"),
]
