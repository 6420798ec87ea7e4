// What the linter refuses in JavaScript; types are tsc's, and layout is prettier's.

import js from "@eslint/js";

export default [
  { ignores: ["**/node_modules/", "target/", "**/*.d.ts"] },
  js.configs.recommended,
  {
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      // tsc knows better what is there.
      "no-undef": "off",
      "no-unused-vars": ["error", { ignoreRestSiblings: true }],
      eqeqeq: "error",
      "no-var": "error",
      "prefer-const": "error",
      "object-shorthand": "error",
    },
  },
];
