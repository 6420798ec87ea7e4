// How fixtures are read: as sigs.k8s.io/yaml does, and so Kubernetes, kubectl and `windlass test`.

/** @typedef {import("yaml").ScalarTag} ScalarTag */

const INTEGER = /^[-+]?(?:0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0[bB][01]+)$/;
const DECIMAL = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;

/**
 * What a plain scalar is that could be a number: `0400` is 256, `1_000` is 1000, `1.2.3` is text.
 * @param {string} text
 */
function resolve(text) {
  const digits = text.replaceAll("_", "");
  if (INTEGER.test(digits)) {
    const value = Number(digits.replace(/^[-+]/, "").replace(/^0(?=[0-7])/, "0o"));
    return digits.startsWith("-") ? 0 - value : value;
  }
  const value = DECIMAL.test(digits) ? Number(digits) + 0 : NaN;
  return Number.isFinite(value) ? value : text;
}

/** @type {ScalarTag} */
const numbers = {
  identify: (value) => typeof value === "number",
  default: true,
  tag: "tag:yaml.org,2002:float",
  test: /^[-+.0-9][-+.0-9_a-fA-FxXoO]*$/,
  resolve,
};

/**
 * Options for the `yaml` package.
 * @type {import("yaml").ParseOptions & import("yaml").DocumentOptions & import("yaml").SchemaOptions}
 */
export const asKubernetes = {
  schema: "yaml-1.1",
  // Dates stay text, and 1:30 too.
  customTags: (tags) => {
    const others = tags.filter(
      (tag) => typeof tag === "string" || !/:(?:int|float|timestamp)$/.test(tag.tag),
    );
    return [...others, numbers];
  },
};
