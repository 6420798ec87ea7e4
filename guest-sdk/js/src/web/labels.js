// Which encoding a label names, of those that `TextDecoder` knows.

/** @type {Record<string, string>} */
const LABELS = {
  "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
  "utf-16le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
  "utf-16be": "unicodefffe utf-16be",
  "windows-1252":
    "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 " +
    "iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252",
};

/**
 * The name of the encoding.
 * @param {string} label
 */
export function encodingOf(label) {
  const wanted = label.replace(/^[\t\n\f\r ]+|[\t\n\f\r ]+$/g, "").toLowerCase();
  for (const [name, labels] of Object.entries(LABELS)) {
    if (labels.split(" ").includes(wanted)) return name;
  }
  const known = Object.keys(LABELS).join(", ");
  throw new RangeError(`TextDecoder: the encoding ${label} is not supported, only ${known}`);
}
