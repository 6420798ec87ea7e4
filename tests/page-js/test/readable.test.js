// Every page can be read on a small screen, and in light and dark.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browser, Tab } from "../src/browser.js";
import { contrasts } from "../src/contrast.js";
import { BLANK, Session } from "../src/session.js";

/** The least that WCAG 2 asks for at level AA. */
const CONTRAST = 4.5;

/** @type {Session} */
let session;
/** @type {import("puppeteer-core").Browser} */
let chromium;
/** @type {string[]} */
let pages;

before(async () => {
  [session, chromium] = await Promise.all([Session.start({ bob: BLANK }), browser()]);
  const objects = ["ada", "bob"].map((name) => `why?kind=Greeting&name=${name}`);
  pages = ["", "plugins/greeter", ...objects].map((path) => session.url + path);
});
after(async () => {
  await chromium?.close();
  await session?.close();
});

test("a screen of 360 px is enough", async () => {
  for (const url of pages) {
    const tab = await Tab.open(chromium, url);
    await tab.page.setViewport({ width: 360, height: 640 });
    const { width, text } = await tab.page.evaluate(() => {
      const root = document.documentElement;
      // Tables are wider, and scroll in their own box.
      const rest = [...document.querySelectorAll("main :not(table, table *)")];
      const width = root.scrollWidth;
      const text = Math.max(...rest.map((element) => element.getBoundingClientRect().right));
      return { width, text };
    });
    assert.equal(width, 360, url);
    assert.ok(text <= 360, `${url}: text ends at ${text} px`);
  }
});

for (const scheme of ["light", "dark"]) {
  test(`all text can be told from its background when it is ${scheme}`, async () => {
    for (const url of pages) {
      const tab = await Tab.open(chromium, url);
      await tab.page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      const found = await tab.page.evaluate(contrasts);
      assert.equal(found.isDark, scheme === "dark", url);
      assert.ok(found.texts.length > 5, url);
      const faint = found.texts.filter(({ contrast }) => contrast < CONTRAST);
      assert.deepEqual(faint, [], url);
    }
  });
}
