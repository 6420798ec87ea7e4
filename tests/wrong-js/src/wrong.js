// A guest with the bugs that operators have, one at a time. Its configuration chooses the bug: `{"bug": "keeps-the-lock"}`.
// Without one, everything is right.

import { tables } from "./table.js";
import { visits } from "./visit.js";

export const plugin = [visits, tables];
