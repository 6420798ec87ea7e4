// Makes `TextDecoder` global, in a component only.

import { TextDecoder } from "../web/text-decoder.js";

Object.assign(globalThis, { TextDecoder });
