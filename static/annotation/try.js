/* The annotation page of somebody who tries a study that they lead (docs/annotating.md). Nothing is stored, neither on
   the server nor in the browser. */

import { DepictionView } from "./annotate/depiction.js";
import { start } from "./annotate/start.js";
import { TryApi } from "./try/api.js";

start({ image: DepictionView }, { makeApi: (options) => new TryApi(options), journalName: null });
