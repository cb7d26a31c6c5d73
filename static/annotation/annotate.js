/* The annotator's page of a study that asks for ratings (docs/annotating.md). Without it the page is a plain
   form, and works all the same. */

import { start } from "./annotate/start.js";

start();
