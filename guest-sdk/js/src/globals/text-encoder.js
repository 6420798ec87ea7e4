// Makes `TextEncoder` global, in a component only.

import { TextEncoder } from "../web/text-encoder.js";

Object.assign(globalThis, { TextEncoder });
