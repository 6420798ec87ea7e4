// Takes the pictures of the status page that the documentation shows, from a session made for them.

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { browser, Tab } from "./browser.js";
import { BLANK, Session } from "./session.js";

const PICTURES = fileURLToPath(new URL("../../../docs/pictures", import.meta.url));
const WIDTH = 1200;

/**
 * Takes a picture of the whole page.
 * @param {Tab} tab
 * @param {string} name
 */
async function take(tab, name) {
  await tab.page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
}

/** @param {Tab} tab */
async function overview(tab) {
  // Passes are summed up every five seconds: a line of a few such steps.
  const summed = (/** @type {number} */ steps) =>
    (document.querySelector("polyline")?.points.length ?? 0) >= steps;
  for (let steps = 2; steps <= 8; steps += 1) {
    session.greet("linus", "again ".repeat(steps % 3) + "Linus");
    await tab.page.waitForFunction(summed, {}, steps);
  }
  // Whose machine it was says nothing.
  await tab.page.$eval("main b", (host) => host.replaceChildren("windlass-0"));
  await take(tab, "status-page");
}

/** @param {Tab} tab */
async function object(tab) {
  await tab.follow("greeter");
  await tab.follow("default/ada");
  session.greet("ada", "Grace");
  const changed = () =>
    [...document.querySelectorAll("details")].some((details) => {
      details.open = details.textContent.includes("Hello, Grace!");
      return details.open;
    });
  await tab.page.waitForFunction(changed);
  await take(tab, "status-object");
}

const [session, chromium] = await Promise.all([
  Session.start({ bob: BLANK, linus: "Linus" }),
  browser(),
]);
try {
  const tab = await Tab.open(chromium, session.url);
  await tab.page.setViewport({ width: WIDTH, height: 100 });
  await overview(tab);
  await object(tab);
} finally {
  await chromium.close();
  await session.close();
}
