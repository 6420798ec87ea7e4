// What the page says when its host is away, and that it goes on by itself when the host is back.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browser, Tab } from "../src/browser.js";
import { Session } from "../src/session.js";

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

test("a page whose host is away says so, keeps what it shows, and goes on when it is back", async () => {
  const tab = await Tab.open(chromium, session.url);
  const { navigations } = tab;
  const shown = await tab.texts("tbody td:nth-child(-n + 4)");
  const { host } = new URL(session.url);
  await session.end();
  await tab.shows("the host does not answer");
  assert.deepEqual(await tab.texts("tbody td:nth-child(-n + 4)"), shown);
  await session.run(host);
  await tab.page.waitForFunction(
    () =>
      document.getElementById("state")?.textContent === "" && document.querySelector("td.running"),
  );
  assert.deepEqual(await tab.texts("tbody td:nth-child(-n + 4)"), shown);
  assert.equal(tab.navigations, navigations);
  // The browser itself notes each request without an answer, and nothing else is wrong.
  assert.deepEqual(
    tab.complaints.filter((complaint) => !complaint.includes("net::ERR_")),
    [],
  );
});
