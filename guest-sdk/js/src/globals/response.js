// Makes `Response` global, in a component only.

import { Response } from "../web/response.js";

Object.assign(globalThis, { Response });
