// Makes `structuredClone` global, in a component only.

import { structuredClone } from "../web/structured-clone.js";

Object.assign(globalThis, { structuredClone });
