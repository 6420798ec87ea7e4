// Where in the author's own files something was thrown.

/**
 * The first place of a stack trace that lies in the folder `root` and not in a package that was
 * installed there: `src/greeter.js:41`. Empty if there is none.
 *
 * Modules keep their names when they are made into a component, so traces of QuickJS show the
 * author's lines, as those of Node do.
 * @param {string} stack
 * @param {string} root the folder, with a slash at its end
 */
export function place(stack, root) {
  for (const line of stack.split("\n")) {
    const [, file, number] = /(\/[^():]*):(\d+)(?::\d+)?\)?$/.exec(line) ?? [];
    const path = file?.replace(/^\/\/(?=\/)/, "");
    if (path?.startsWith(root) && !path.slice(root.length).includes("node_modules/")) {
      return `${path.slice(root.length)}:${number}`;
    }
  }
  return "";
}
