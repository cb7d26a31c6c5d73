/* The annotator's page of a study that shows images, among other things (docs/annotating.md). */

import { DepictionView } from "./desk/depiction.js";
import { start } from "./desk/start.js";

start({ image: DepictionView });
