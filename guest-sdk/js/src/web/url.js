// `URL` and `URLSearchParams`.

export { URL, URLSearchParams } from "whatwg-url-minimum";
