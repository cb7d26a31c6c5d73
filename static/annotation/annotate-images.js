/* The annotator's page of a study that shows images, among other things (docs/annotating.md). */

import { DepictionView } from "./annotate/depiction.js";
import { start } from "./annotate/start.js";

start({ image: DepictionView });
