"""Addresses of the API of image sets and runs, below /api/v1/."""

from django.urls import path

from generation.image_sets import api as sets
from generation.runs import api
from generation.uploads import api as uploads

urlpatterns = [
    path("image-sets", sets.ImageSets.as_view(), name="image_sets"),
    path("image-sets/<slug:name>", sets.OneImageSet.as_view(), name="image_set"),
    path("image-sets/<slug:name>/images", sets.Images.as_view(), name="images"),
    path("image-sets/<slug:name>/bundle", uploads.Bundle.as_view(), name="bundle"),
    path("images/<int:number>", sets.OneImage.as_view(), name="image"),
    path("images/<int:number>/file", sets.ImageFile.as_view(), name="image_file"),
    path("images/<int:number>/captions", sets.Captions.as_view(), name="captions"),
    path("runs", api.Runs.as_view(), name="runs"),
    path("runs/<int:number>", api.OneRun.as_view(), name="run"),
    path("runs/<int:number>/<slug:action>", api.RunAction.as_view(), name="run_action"),
]
