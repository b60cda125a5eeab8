/** `npm run screenshots` writes docs/images/*.png: every page in both themes, on a hub with sample data. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { SECRET } from "../support/deliver.ts";
import { startHubProcess } from "../support/hub-process.ts";
import { launchChromium } from "./support/chromium.ts";
import { sendEvents, setUpFlows, startExternalApi } from "./support/sample-hub.ts";

const FOLDER = fileURLToPath(new URL("../../docs/images", import.meta.url));
const ADMIN = "the-admin-of-these-images";
/** The time after which animations and requests have ended. */
const SETTLE_MS = 1_000;

interface Screenshot {
  name: string;
  path: string;
  /** Brings the page into the state of the screenshot. */
  prepare?: (page: Page) => Promise<unknown>;
}

/** The names of the screenshots to write; all if empty. */
const selectedNames = process.argv.slice(2);
const data = mkdtempSync(join(tmpdir(), "signalbox-images-"));
const externalApi = await startExternalApi();
const hub = await startHubProcess({
  data,
  env: {
    GITHUB_WEBHOOK_SECRET: SECRET,
    SIGNALBOX_TOKEN: ADMIN,
    SIGNALBOX_ALLOW_UNSIGNED: "true",
    SIGNALBOX_ALLOW_PRIVATE: "on",
  },
});
const browser = await launchChromium();

async function call(method: string, path: string, body?: unknown) {
  const response = await fetch(`${hub.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${ADMIN}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return { json: text === "" ? undefined : JSON.parse(text) };
}

/** Adds connections to the hub's own inbox and to a server that fails, and endpoints for two senders. */
async function addConnectionsAndSources() {
  await call("POST", "/api/connections", {
    name: "inbox of this hub",
    url: `${hub.url}/mcp`,
    auth: { type: "bearer", token: ADMIN },
  });
  await call("POST", "/api/connections", { name: "weather", url: `${externalApi.url}/mcp` });
  await call("POST", "/api/sources", { kind: "github", name: "octocat/hello-world" });
  await call("POST", "/api/sources", {
    kind: "generic",
    name: "Relay room",
    config: { mode: "hmac", header: "X-Relay-Signature", typeField: "event.kind" },
  });
}

/** Returns a function that finds a flow by its name. */
async function loadFlows(): Promise<(name: string) => { id: string }> {
  const { items } = (await call("GET", "/api/flows?limit=100")).json;
  return (flowName) => items.find(({ name }: { name: string }) => name === flowName);
}

/** Starts runs that have no event: runs of a published flow, a run of a draft, and a cancelled run. */
async function startRuns() {
  const findFlow = await loadFlows();
  const digestPath = `/api/flows/${findFlow("Digest").id}/runs?wait=1`;
  const digestInput = (since: string) => ({ trigger: "weekly_digest", input: { since } });
  await call("POST", digestPath, digestInput("October"));
  await call("POST", `${digestPath}&draft=1`, digestInput("Monday"));
  await call("POST", digestPath, digestInput("Monday"));
  const triage = { trigger: "triage_issue", input: { repo: "octocat/signals", number: "41" } };
  const path = `/api/flows/${findFlow("Issue triage").id}/runs`;
  const { json: run } = await call("POST", path, triage);
  await call("POST", `/api/runs/${run.id}/cancel`);
}

async function describeScreenshots(): Promise<Screenshot[]> {
  const findFlow = await loadFlows();
  const [flow, hotline] = [findFlow("Issue triage"), findFlow("Bug hotline")];
  const runs = (await call("GET", `/api/runs?flow=${flow.id}`)).json.items;
  const connections = (await call("GET", "/api/connections")).json.items;
  const inbox = connections.find(({ status }: { status: string }) => status === "ok");
  const failed = (await call("GET", "/api/runs?status=failed")).json.items;
  return [
    {
      name: "inbox",
      path: "/inbox",
      prepare: async (page) => {
        await page.getByText("The lamp stays red").first().click();
        await page.getByRole("tab", { name: "Why" }).click();
      },
    },
    { name: "flows", path: "/flows" },
    {
      name: "canvas",
      path: `/flows/${flow.id}`,
      prepare: async (page) => {
        await page.getByRole("button", { name: "Run", exact: true }).click();
        const dialog = page.getByRole("dialog", { name: "Run the draft" });
        await dialog.getByRole("combobox", { name: "Event" }).selectOption({ index: 1 });
        await dialog.getByRole("button", { name: "Run", exact: true }).click();
        const dock = page.getByRole("region", { name: "Run of the draft" });
        await dock.getByRole("button", { name: "Fetch the issue" }).click();
        await page.getByRole("button", { name: "Close the panel" }).click();
        await page.getByRole("button", { name: "Show the whole flow" }).click();
      },
    },
    {
      name: "trigger",
      path: `/flows/${hotline.id}`,
      prepare: async (page) => {
        await page.locator(".react-flow__node", { hasText: "New bug" }).click();
        await page.getByRole("list", { name: /near miss/ }).scrollIntoViewIfNeeded();
      },
    },
    { name: "runs", path: "/runs" },
    {
      name: "run",
      path: `/runs/${runs[0].id}`,
      prepare: (page) => page.getByRole("button", { name: /^Add the label 1st/ }).click(),
    },
    { name: "run-failed", path: `/runs/${failed[0].id}` },
    { name: "connections", path: `/connections/${inbox.id}` },
    {
      name: "call-tool",
      path: `/connections/${inbox.id}`,
      prepare: (page) => page.getByRole("button", { name: "Call list_pending_events" }).click(),
    },
    { name: "sources", path: "/sources" },
    { name: "settings", path: "/settings" },
    { name: "connect", path: "/connect" },
    { name: "sign-in", path: "/sign-in" },
  ];
}

try {
  mkdirSync(FOLDER, { recursive: true });
  await setUpFlows(call, externalApi.url);
  await startRuns();
  await sendEvents(hub.url);
  await addConnectionsAndSources();
  const screenshots = (await describeScreenshots()).filter(
    ({ name }) => selectedNames.length === 0 || selectedNames.includes(name),
  );
  for (const colorScheme of ["light", "dark"] as const) {
    const context = await browser.newContext({
      viewport: { width: 1440, height: 900 },
      colorScheme,
      reducedMotion: "reduce",
    });
    const page = await context.newPage();
    await page.goto((await call("POST", "/api/session/links", {})).json.url);
    await page.waitForURL("**/inbox");
    await page.evaluate(() => localStorage.setItem("signalbox.path-hidden", "1"));
    for (const { name, path, prepare } of screenshots) {
      await page.goto(`${hub.url}${path}`);
      await page.waitForTimeout(SETTLE_MS);
      await prepare?.(page);
      await page.waitForTimeout(SETTLE_MS);
      await page.screenshot({ path: join(FOLDER, `${name}-${colorScheme}.png`) });
    }
    await context.close();
  }
} finally {
  await browser.close();
  await hub.stop("SIGKILL");
  externalApi.stop();
  rmSync(data, { recursive: true, force: true });
}
