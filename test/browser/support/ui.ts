/** Starts a hub and a browser for the tests of one file, and opens pages that are signed in. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import axe from "axe-core";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished } from "vitest";
import { SECRET } from "../../support/deliver.ts";
import { type HubProcess, startHubProcess } from "../../support/hub-process.ts";
import { MAX_WAIT_MS } from "../../support/timeouts.ts";
import { launchChromium } from "./chromium.ts";

const ADMIN = "the-admin-of-this-browser";

export type Theme = "light" | "dark";
export const THEMES: readonly Theme[] = ["light", "dark"];

export interface Ui {
  url(): string;
  hub(): HubProcess;
  /** Starts the stopped hub again, at the same address. */
  restart(): Promise<void>;
  /** Calls the API as admin. Throws if the status is not 2xx. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
  call(method: string, path: string, body?: unknown): Promise<{ json: any }>;
  /** Creates a sign-in link, which is valid once. */
  link(): Promise<string>;
  /** Opens a page that is signed in, with `link` if it is set. The test fails if the page logs an error. */
  open(path?: string, options?: OpenOptions): Promise<Page>;
}

interface OpenOptions extends BrowserContextOptions {
  link?: string;
  /** Called before the page loads. */
  prepare?: (page: Page) => Promise<unknown>;
}

/** Call this at the top level of a test file, because it registers the hooks of the file. */
export function useUi(env: Record<string, string> = {}, startProcess = startHubProcess): Ui {
  const data = mkdtempSync(join(tmpdir(), "signalbox-ui-"));
  let hub: HubProcess;
  let browser: Browser;
  const start = async (extraEnv: Record<string, string> = {}) => {
    hub = await startProcess({
      data,
      env: {
        GITHUB_WEBHOOK_SECRET: SECRET,
        SIGNALBOX_TOKEN: ADMIN,
        SIGNALBOX_ALLOW_UNSIGNED: "true",
        SIGNALBOX_ALLOW_PRIVATE: "on",
        ...env,
        ...extraEnv,
      },
    });
  };
  beforeAll(async () => {
    browser = await launchChromium();
    await start();
  });
  afterAll(async () => {
    await browser?.close();
    await hub?.stop("SIGKILL");
    rmSync(data, { recursive: true, force: true });
  });

  const call: Ui["call"] = async (method, path, body) => {
    const response = await fetch(`${hub.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${ADMIN}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return { json: text === "" ? undefined : JSON.parse(text) };
  };
  const link = async () => (await call("POST", "/api/session/links", {})).json.url as string;
  /** Signs in as the sign-in page does, without loading that page. */
  const signIn = async (context: BrowserContext) => {
    const code = new URL(await link()).hash.replace("#code=", "");
    const response = await context.request.post(`${hub.url}/api/session`, {
      data: { code },
      headers: { origin: hub.url },
    });
    if (!response.ok()) throw new Error(`sign-in: ${response.status()} ${await response.text()}`);
  };

  return {
    url: () => hub.url,
    hub: () => hub,
    call,
    link,
    restart: () => start({ PORT: new URL(hub.url).port }),
    async open(path = "/inbox", { link: signInLink, prepare, ...options } = {}) {
      const context = await browser.newContext({
        viewport: { width: 1440, height: 900 },
        // Animations would use CPU time. states.test.ts tests pages with and without them.
        reducedMotion: "reduce",
        ...options,
      });
      const page = await context.newPage();
      page.setDefaultTimeout(MAX_WAIT_MS);
      const problems: string[] = [];
      page.on("pageerror", ({ message }) => problems.push(message));
      page.on("console", (message) => {
        // Some tests cause responses with an error status, which the page shows.
        if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
          problems.push(message.text());
      });
      onTestFinished(async () => {
        // A handler can wait for a response when the test ends; its request fails when the context is closed.
        await context.unrouteAll({ behavior: "ignoreErrors" });
        await page.unrouteAll({ behavior: "ignoreErrors" });
        await context.close();
        expect(problems, "errors in the console of the page").toEqual([]);
      });
      if (signInLink === undefined) await signIn(context);
      else {
        await page.goto(signInLink);
        await page.waitForURL("**/inbox");
      }
      await prepare?.(page);
      if (signInLink === undefined || path !== "/inbox") await page.goto(`${hub.url}${path}`);
      await page.getByRole("main").waitFor();
      return page;
    },
  };
}

/**
 * Returns the serious and critical accessibility violations of the page. By default, it waits until the page
 * has loaded, because placeholders can make the page scrollable without an element that can have the focus.
 */
export async function findAccessibilityViolations(
  page: Page,
  { isLoading = false } = {},
): Promise<string[]> {
  const loading = page.getByRole("status", { name: "Loading" });
  if (!isLoading) await expect.poll(() => loading.count()).toBe(0);
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const { axe } = window as unknown as {
      axe: { run(options: object): Promise<{ violations: AxeViolation[] }> };
    };
    interface AxeViolation {
      id: string;
      impact: string;
      nodes: { html: string; failureSummary: string }[];
    }
    const { violations } = await axe.run({ resultTypes: ["violations"] });
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
      );
  });
}
