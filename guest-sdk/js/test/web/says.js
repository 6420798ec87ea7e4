// What an expression of the tables says: as text, so that two engines can be compared.

/**
 * The source of a function from globals to what each expression says, for any engine.
 * @param {string[]} expressions
 * @param {string} names of the globals, as parameters
 */
export function saying(expressions, names, word = "") {
  const says = expressions.map(
    (expression) => `${word ? "await " : ""}say(${word} () => ${expression})`,
  );
  const show = `
    const show = (value) => value === undefined ? "undefined" : JSON.stringify(value, (key, part) =>
      typeof part === "bigint" ? part + "n" : part);
    const wrong = (error) => "throws " + (error?.name ?? error);
  `;
  const say = word
    ? "const say = async (run) => { try { return show(await run()) } catch (e) { return wrong(e) } };"
    : "const say = (run) => { try { return show(run()) } catch (e) { return wrong(e) } };";
  return `(${word} (${names}) => { ${show} ${say} return [${says.join(",\n")}]; })`;
}
