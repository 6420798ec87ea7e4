// Makes `Headers` global, in a component only.

import { Headers } from "../web/headers.js";

Object.assign(globalThis, { Headers });
