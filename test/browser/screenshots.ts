/** `npm run screenshots`: every page in both themes, on a hub with sample data, as docs/images/*.png. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { SECRET } from "../support/deliver.ts";
import { startHubProcess } from "../support/hub-process.ts";
import { launchChromium } from "./support/chromium.ts";
import { sendEvents, setUpFlows, startOutside } from "./support/sample-desk.ts";

const FOLDER = fileURLToPath(new URL("../../docs/images", import.meta.url));
const ADMIN = "the-admin-of-these-images";
/** Animations and requests have ended. */
const SETTLE_MS = 1_000;

interface Shot {
  name: string;
  path: string;
  act?: (page: Page) => Promise<unknown>;
}

const only = process.argv.slice(2);
const data = mkdtempSync(join(tmpdir(), "signalbox-images-"));
const outside = await startOutside();
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

/** Connections and endpoints: the hub's own inbox as an MCP server, one that is down, two senders. */
async function setUpPeers() {
  await call("POST", "/api/connections", {
    name: "inbox of this hub",
    url: `${hub.url}/mcp`,
    auth: { type: "bearer", token: ADMIN },
  });
  await call("POST", "/api/connections", { name: "weather", url: `${outside.url}/mcp` });
  await call("POST", "/api/sources", { kind: "github", name: "octocat/hello-world" });
  await call("POST", "/api/sources", {
    kind: "generic",
    name: "Relay room",
    config: { mode: "hmac", header: "X-Relay-Signature", typeField: "event.kind" },
  });
}

async function findFlows(): Promise<(name: string) => { id: string }> {
  const { items } = (await call("GET", "/api/flows?limit=100")).json;
  return (wanted) => items.find(({ name }: { name: string }) => name === wanted);
}

/** Runs that no event has started: calls of tools, runs of a draft, one that was cancelled. */
async function startRuns() {
  const flowOf = await findFlows();
  const digest = `/api/flows/${flowOf("Digest").id}/runs?wait=1`;
  const weekly = (since: string) => ({ trigger: "weekly_digest", input: { since } });
  await call("POST", digest, weekly("October"));
  await call("POST", `${digest}&draft=1`, weekly("Monday"));
  await call("POST", digest, weekly("Monday"));
  const triage = { trigger: "triage_issue", input: { repo: "octocat/signals", number: "41" } };
  const path = `/api/flows/${flowOf("Issue triage").id}/runs`;
  const { json: run } = await call("POST", path, triage);
  await call("POST", `/api/runs/${run.id}/cancel`);
}

async function findShots(): Promise<Shot[]> {
  const flowOf = await findFlows();
  const [flow, hotline] = [flowOf("Issue triage"), flowOf("Bug hotline")];
  const runs = (await call("GET", `/api/runs?flow=${flow.id}`)).json.items;
  const connections = (await call("GET", "/api/connections")).json.items;
  const inbox = connections.find(({ status }: { status: string }) => status === "ok");
  const failed = (await call("GET", "/api/runs?status=failed")).json.items;
  return [
    {
      name: "inbox",
      path: "/inbox",
      act: async (page) => {
        await page.getByText("The lamp stays red").first().click();
        await page.getByRole("tab", { name: "Why" }).click();
      },
    },
    { name: "flows", path: "/flows" },
    {
      name: "canvas",
      path: `/flows/${flow.id}`,
      act: async (page) => {
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
      act: async (page) => {
        await page.locator(".react-flow__node", { hasText: "New bug" }).click();
        await page.getByRole("list", { name: /near miss/ }).scrollIntoViewIfNeeded();
      },
    },
    { name: "runs", path: "/runs" },
    {
      name: "run",
      path: `/runs/${runs[0].id}`,
      act: (page) => page.getByRole("button", { name: /^Add the label 1st/ }).click(),
    },
    { name: "run-failed", path: `/runs/${failed[0].id}` },
    { name: "connections", path: `/connections/${inbox.id}` },
    {
      name: "call-tool",
      path: `/connections/${inbox.id}`,
      act: (page) => page.getByRole("button", { name: "Call list_pending_events" }).click(),
    },
    { name: "sources", path: "/sources" },
    { name: "settings", path: "/settings" },
    { name: "connect", path: "/connect" },
    { name: "sign-in", path: "/sign-in" },
  ];
}

try {
  mkdirSync(FOLDER, { recursive: true });
  await setUpFlows(call, outside.url);
  await startRuns();
  await sendEvents(hub.url);
  await setUpPeers();
  const shots = (await findShots()).filter(({ name }) => only.length === 0 || only.includes(name));
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
    for (const { name, path, act } of shots) {
      await page.goto(`${hub.url}${path}`);
      await page.waitForTimeout(SETTLE_MS);
      await act?.(page);
      await page.waitForTimeout(SETTLE_MS);
      await page.screenshot({ path: join(FOLDER, `${name}-${colorScheme}.png`) });
    }
    await context.close();
  }
} finally {
  await browser.close();
  await hub.stop("SIGKILL");
  outside.stop();
  rmSync(data, { recursive: true, force: true });
}
