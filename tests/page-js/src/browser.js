// A headless Chromium, and tabs that note everything that must not happen in them.

import { launch } from "puppeteer-core";
import { DEADLINE } from "./session.js";

/** Where Debian puts it. */
const CHROMIUM = "/usr/bin/chromium";

/** @typedef {import("puppeteer-core").Page} Page */

/** Starts the browser. Its own sandbox does not work for root. */
export function browser() {
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return launch({ executablePath: CHROMIUM, args });
}

/** A tab, and what was noted of it. */
export class Tab {
  /** Errors, warnings, dialogs: what a page that is well has none of. */
  complaints = /** @type {string[]} */ ([]);
  /** The address of each request. */
  requests = /** @type {string[]} */ ([]);
  /** How often it has gone to another page. */
  navigations = 0;
  /** How many bytes have come over the wire. */
  bytes = 0;

  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    page.setDefaultTimeout(DEADLINE);
    page.on("console", (message) => {
      const type = message.type();
      if (type === "error" || type === "warn") this.complaints.push(message.text());
    });
    page.on("pageerror", (error) => this.complaints.push(String(error)));
    page.on("dialog", (dialog) => {
      this.complaints.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("request", (request) => this.requests.push(request.url()));
    page.on("framenavigated", () => (this.navigations += 1));
  }

  /**
   * Opens a tab at `url`, with everything that the page is made of.
   * @param {import("puppeteer-core").Browser} browser
   * @param {string} url
   */
  static async open(browser, url) {
    const tab = new Tab(await browser.newPage());
    const wire = await tab.page.createCDPSession();
    wire.on("Network.loadingFinished", ({ encodedDataLength }) => {
      tab.bytes += encodedDataLength;
    });
    await wire.send("Network.enable");
    await tab.page.goto(url, { waitUntil: "networkidle0" });
    return tab;
  }

  /**
   * Follows the link with such a text.
   * @param {string} text
   */
  async follow(text) {
    const link = this.page.locator(`main a::-p-text(${text})`);
    await Promise.all([this.page.waitForNavigation(), link.click()]);
  }

  /**
   * Waits until the page shows such a text.
   * @param {string} text
   */
  async shows(text) {
    const shown = (/** @type {string} */ text) => document.body.innerText.includes(text);
    await this.page.waitForFunction(shown, {}, text);
  }

  /** Waits until the page has refreshed itself. */
  async refreshed() {
    await this.page.evaluate(() => {
      document.querySelector("main")?.firstElementChild?.setAttribute("data-old", "");
    });
    await this.page.waitForFunction(() => !document.querySelector("[data-old]"));
  }

  /** The text of all elements that `selector` finds. @param {string} selector */
  texts(selector) {
    return this.page.$$eval(selector, (found) => found.map((one) => one.textContent.trim()));
  }
}
