// Where in the author's own files something was thrown.

/** The files of a stack trace, and their lines. @param {string} stack */
function* frames(stack) {
  for (const line of stack.split("\n")) {
    const [, file, number] = /(\/[^():]*):(\d+)(?::\d+)?\)?$/.exec(line) ?? [];
    const path = file?.replace(/^\/\/(?=\/)/, "");
    if (path !== undefined) yield { path, number };
  }
}

/** The folder of the SDK's modules, as the engine names it. */
const SDK = sdk(new Error().stack ?? "");

/** @param {string} stack of this module */
function sdk(stack) {
  for (const { path } of frames(stack)) return path.replace(/place\.js$/, "");
  return undefined;
}

/**
 * The first place of a stack trace that lies in the folder `root`, and not in the SDK or in a package that was
 * installed there: `src/greeter.js:41`. Empty if there is none. What the SDK throws is the mistake of the line that called it.
 *
 * Modules keep their names when they are made into a component, so traces of QuickJS show the
 * author's lines, as those of Node do.
 * @param {string} stack
 * @param {string} root the folder, with a slash at its end
 */
export function place(stack, root) {
  for (const { path, number } of frames(stack)) {
    const isSdk = SDK !== undefined && path.startsWith(SDK);
    if (!isSdk && path.startsWith(root) && !path.slice(root.length).includes("node_modules/")) {
      return `${path.slice(root.length)}:${number}`;
    }
  }
  return "";
}
