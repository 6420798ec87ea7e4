// Makes `URL` and `URLSearchParams` global, in a component only.

import { URL, URLSearchParams } from "../web/url.js";

Object.assign(globalThis, { URL, URLSearchParams });
