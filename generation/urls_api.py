"""API URLs of image sets and runs, below /api/v1/."""

from django.urls import path

from generation.answers import api as answers
from generation.image_sets import api as image_sets
from generation.runs import api as runs
from generation.uploads import api as uploads

urlpatterns = [
    path("image-sets", image_sets.ImageSets.as_view(), name="image_sets"),
    path("image-sets/<slug:name>", image_sets.OneImageSet.as_view(), name="image_set"),
    path("image-sets/<slug:name>/images", image_sets.Images.as_view(), name="images"),
    path("image-sets/<slug:name>/bundle", uploads.Bundle.as_view(), name="bundle"),
    path("images/<int:number>", image_sets.OneImage.as_view(), name="image"),
    path("images/<int:number>/file", image_sets.ImageFile.as_view(), name="image_file"),
    path("images/<int:number>/captions", image_sets.Captions.as_view(), name="captions"),
    path("runs", runs.Runs.as_view(), name="runs"),
    path("runs/<int:number>", runs.OneRun.as_view(), name="run"),
    path("runs/<int:number>/limits", runs.RunLimits.as_view(), name="run_limits"),
    path("runs/<int:number>/answers", answers.Answers.as_view(), name="run_answers"),
    path("runs/<int:number>/answers/<int:job>", answers.OneAnswer.as_view(), name="run_answer"),
    path("runs/<int:number>/<slug:action>", runs.RunAction.as_view(), name="run_action"),
]
