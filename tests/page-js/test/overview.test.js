// What the overview shows in a browser, what it costs, and that it keeps itself new.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browser, Tab } from "../src/browser.js";
import { BLANK, Session } from "../src/session.js";

/** @type {Session} */
let session;
/** @type {import("puppeteer-core").Browser} */
let chromium;

before(async () => {
  [session, chromium] = await Promise.all([Session.start(), browser()]);
});
after(async () => {
  await chromium?.close();
  await session?.close();
});

/** The plugin's row, by column. @param {Tab} tab */
async function row(tab) {
  const [head, cells] = await Promise.all([tab.texts("thead th"), tab.texts("tbody td")]);
  assert.equal(cells.length, head.length, "one plugin");
  return Object.fromEntries(head.map((name, index) => [name, cells[index]]));
}

test("the overview has a row for the plugin", async () => {
  const tab = await Tab.open(chromium, session.url);
  const { Name, State, Kind, Version, Failed } = await row(tab);
  assert.deepEqual(
    { Name, State, Kind, Version, Failed },
    { Name: "greeter", State: "running", Kind: "Greeting", Version: "0.1.0", Failed: "0" },
  );
  assert.match(await tab.page.title(), / - windlass$/);
  assert.deepEqual(tab.complaints, []);
});

test("all of it comes from the host, in less than 60 KB", async () => {
  const tab = await Tab.open(chromium, session.url);
  const others = tab.requests.filter((url) => !url.startsWith(session.url));
  // The icon, which is empty, so that none is asked for.
  assert.deepEqual(
    others.filter((url) => url !== "data:,"),
    [],
  );
  assert.ok(tab.requests.length >= 3, `page, style and script: ${tab.requests}`);
  assert.deepEqual(tab.complaints, []);
  assert.ok(tab.bytes > 1_000 && tab.bytes < 60_000, `${tab.bytes} bytes`);
});

test("numbers change without a navigation", async () => {
  const tab = await Tab.open(chromium, session.url);
  assert.equal((await row(tab)).Failed, "0");
  const { navigations } = tab;
  session.greet("bob", BLANK);
  await tab.page.waitForSelector("td.failed");
  assert.notEqual((await row(tab)).Failed, "0");
  assert.equal(tab.navigations, navigations);
  assert.deepEqual(tab.complaints, []);
});

test("paused objects are counted, here and on the plugin's own page", async () => {
  const tab = await Tab.open(chromium, session.url);
  assert.equal((await row(tab)).Paused, "0");
  /** @param {string} value */
  const shows = (value) =>
    tab.page.waitForFunction(
      (want) => {
        const head = [...document.querySelectorAll("thead th")];
        const at = head.findIndex((cell) => cell.textContent === "Paused");
        return document.querySelectorAll("tbody td")[at]?.textContent?.trim() === want;
      },
      {},
      value,
    );
  session.greet("cara", "Cara", { "windlass.dev/paused": "true" });
  await shows("1");
  const own = await Tab.open(chromium, `${session.url}plugins/greeter`);
  const told = (await own.texts("dd")).filter((text) => text.includes("1 are paused"));
  assert.equal(told.length, 1);
  // A tab that nobody looks at asks for nothing.
  await tab.page.bringToFront();
  session.greet("cara", "Cara", { "windlass.dev/paused": "false" });
  await shows("0");
  assert.deepEqual(tab.complaints, []);
});

test("the keyboard stays where it is when the page refreshes itself", async () => {
  session.greet("bob", BLANK);
  const tab = await Tab.open(chromium, `${session.url}plugins/greeter`);
  await tab.page.waitForSelector("table ~ table");
  await tab.page.focus("table ~ table tr:last-child a");
  await tab.refreshed();
  const kept = () => document.activeElement?.matches("table ~ table tr:last-child a");
  assert.ok(await tab.page.evaluate(kept));
});

test("a tab that nobody looks at asks for nothing", async () => {
  const hidden = await Tab.open(chromium, session.url);
  const shown = await Tab.open(chromium, session.url);
  await hidden.page.waitForFunction(() => document.hidden, { polling: 100 });
  const before = hidden.requests.length;
  await shown.page.bringToFront();
  await shown.refreshed();
  await shown.refreshed();
  assert.equal(hidden.requests.length, before);
});
