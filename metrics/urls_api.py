"""Addresses of the API of scores, figures and progress, below /api/v1/."""

from django.urls import path

from metrics.api import figures, gallery, scores, standing

_RUNS = "studies/<slug:name>/score-runs"
_FIGURE = "studies/<slug:name>/figures/<slug:figure>"

urlpatterns = [
    path("metrics", scores.Metrics.as_view(), name="metrics"),
    path("metrics/<slug:metric>", scores.OneMetric.as_view(), name="metric"),
    path("studies/<slug:name>/scores", scores.Scores.as_view(), name="scores"),
    path(_RUNS, scores.ScoreRuns.as_view(), name="score_runs"),
    path(f"{_RUNS}/<int:number>", scores.OneScoreRun.as_view(), name="score_run"),
    path(f"{_RUNS}/<int:number>/scores", scores.RunScores.as_view(), name="score_run_scores"),
    path(f"{_RUNS}/<int:number>/retry", scores.RetryScoreRun.as_view(), name="score_run_retry"),
    path("studies/<slug:name>/agreement", scores.Agreement.as_view(), name="agreement"),
    path("studies/<slug:name>/identities", standing.Identities.as_view(), name="identities"),
    path("studies/<slug:name>/progress", standing.Progress.as_view(), name="progress"),
    path("studies/<slug:name>/quality", standing.Quality.as_view(), name="quality"),
    path("studies/<slug:name>/gallery", gallery.Gallery.as_view(), name="gallery"),
    path("studies/<slug:name>/figures", figures.Figures.as_view(), name="figures"),
    path(_FIGURE, figures.OneFigure.as_view(), name="figure"),
    path(f"{_FIGURE}/<slug:file_format>", figures.FigureFile.as_view(), name="figure_file"),
]
