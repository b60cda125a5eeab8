/** What the pages of runs show while runs wait. */
import type { Page } from "playwright-core";
import { beforeAll, expect, it } from "vitest";
import { edge, intent, node } from "../support/flow-samples.ts";
import { startExternalApi } from "./support/sample-hub.ts";
import { findAccessibilityViolations, THEMES, useUi } from "./support/ui.ts";

const ui = useUi();
let host: string;
let run: string;

beforeAll(async () => {
  const externalApi = await startExternalApi();
  host = new URL(externalApi.url).host;
  await ui.call("POST", "/api/apps", { slug: "shop", name: "Shop" });
  const { json } = await ui.call("POST", "/api/apps/shop/flows", {
    name: "Fetch prices",
    nodes: [
      intent("Start"),
      node("fetch", "HttpRequest", { url: `${externalApi.url}/slow`, timeoutMs: 300_000 }),
      node("end", "Return", {}),
    ],
    edges: [edge("intent Start", "fetch"), edge("fetch", "end")],
  });
  await ui.call("POST", `/api/flows/${json.id}/publish`);
  const start = () => ui.call("POST", `/api/flows/${json.id}/runs`, { trigger: "start" });
  run = (await start()).json.id;
  await start();
  return externalApi.stop;
});

const strip = (page: Page) => page.getByRole("region", { name: "Waiting runs" });
const summary = () => `2 runs of Fetch prices wait for a response of ${host}`;

it("shows above the list of runs which runs wait, and for what, by flow", async () => {
  const page = await ui.open("/runs");
  await strip(page).getByText(summary()).waitFor();
  await strip(page)
    .getByText(/\d of 64 slots busy/)
    .waitFor();
  await strip(page).getByRole("button").press("Enter");
  const row = strip(page).getByRole("row").filter({ hasText: "shop" });
  await row.getByText(`2 runs: a response of ${host}`).waitFor();
  await row.getByRole("link", { name: "Fetch prices" }).click();
  await page.getByRole("heading", { name: "Fetch prices" }).waitFor();
});

it("shows on the page of a run what it waits for", async () => {
  const page = await ui.open(`/runs/${run}`);
  await page.getByText(`Waits for a response of ${host}`).waitFor();
});

it("says that more runs wait than the hub has counted", async () => {
  const page = await ui.open("/runs", {
    prepare: (page) =>
      page.route("**/api/queue", async (route) => {
        const queue = await (await route.fetch()).json();
        const oldest_queued_since = new Date(Date.now() - 125_000).toISOString();
        const capped = { queued: 1_000, queued_more: true, oldest_queued_since };
        await route.fulfill({ json: { ...queue, ...capped } });
      }),
  });
  await strip(page)
    .getByText(/more than 1,000 queued, oldest 2 min/)
    .waitFor();
});

it.each(THEMES)("is accessible and fits a narrow page in the theme %s", async (colorScheme) => {
  for (const width of [390, 1440]) {
    const page = await ui.open("/runs", { colorScheme, viewport: { width, height: 900 } });
    await strip(page).getByText(summary()).waitFor();
    await strip(page).getByRole("button").click();
    await strip(page).getByRole("table").waitFor();
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    expect(overflow).toBeLessThanOrEqual(0);
    expect(await findAccessibilityViolations(page)).toEqual([]);
  }
});
