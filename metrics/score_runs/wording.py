"""What the registry says of every comparison in the same words."""

P_AND_Q = (
    "p is two-sided, from the same resamples as the interval; q is p after Benjamini and Hochberg over all "
    "that is listed together"
)
OF_CONTRASTS = (
    "`region: REGION`, of a region; `side: itself` or `side: others`, alone or after a region, of either "
    "side; without a side, the difference"
)
BENJAMINI = "Benjamini & Hochberg (1995), doi:10.1111/j.2517-6161.1995.tb02031.x"
