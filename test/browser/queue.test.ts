/** What the pages of runs show while runs wait. */
import type { Page } from "playwright-core";
import { beforeAll, expect, it } from "vitest";
import { edge, intent, node } from "../support/flow-samples.ts";
import { startExternalApi } from "./support/sample-hub.ts";
import { findAccessibilityViolations, THEMES, useUi } from "./support/ui.ts";

const ui = useUi();
let host: string;
let run: string;
let stockFlow: string;

beforeAll(async () => {
  const externalApi = await startExternalApi();
  host = new URL(externalApi.url).host;
  const publish = async (app: string, name: string, trigger: ReturnType<typeof intent>) => {
    await ui.call("POST", "/api/apps", { slug: app, name: app });
    const { json } = await ui.call("POST", `/api/apps/${app}/flows`, {
      name,
      nodes: [
        trigger,
        node("fetch", "HttpRequest", { url: `${externalApi.url}/slow`, timeoutMs: 300_000 }),
        node("end", "Return", {}),
      ],
      edges: [edge("intent Start", "fetch"), edge("fetch", "end")],
    });
    await ui.call("POST", `/api/flows/${json.id}/publish`);
    return json.id as string;
  };
  const start = async (flow: string) =>
    (await ui.call("POST", `/api/flows/${flow}/runs`, { trigger: "start" })).json.id;
  const prices = await publish("shop", "Fetch prices", intent("Start"));
  run = await start(prices);
  await start(prices);
  const limited = intent("Start", { concurrency: { most: 1, whenFull: "queue" } });
  stockFlow = await publish("stock", "Count stock", limited);
  for (let at = 0; at < 3; at += 1) await start(stockFlow);
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

it.each(THEMES)(
  "shows on the card of a flow its queued and held runs in the theme %s",
  async (colorScheme) => {
    for (const width of [390, 1440]) {
      const page = await ui.open("/flows", {
        colorScheme,
        viewport: { width, height: 900 },
        prepare: (page) =>
          page.route("**/api/queue", async (route) => {
            const queue = await (await route.fetch()).json();
            for (const flow of queue.flows)
              if (flow.flow_id === stockFlow)
                Object.assign(flow, { queued: 1_000, queued_more: true });
            await route.fulfill({ json: queue });
          }),
      });
      const card = (name: string) =>
        page.getByRole("listitem").filter({ has: page.getByRole("link", { name, exact: true }) });
      for (const text of ["more than 1,000 queued", "2 held"]) {
        const chip = card("Count stock").getByText(text, { exact: true });
        await chip.waitFor();
        const { x = 0, width: chipWidth = 0 } = (await chip.boundingBox()) ?? {};
        expect(x + chipWidth).toBeLessThanOrEqual(width);
      }
      expect(
        await card("Fetch prices")
          .getByText(/ (queued|held)$/)
          .count(),
      ).toBe(0);
      expect(await findAccessibilityViolations(page)).toEqual([]);
    }
  },
);

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
