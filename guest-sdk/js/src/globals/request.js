// Makes `Request` global, in a component only.

import { Request } from "../web/request.js";

Object.assign(globalThis, { Request });
