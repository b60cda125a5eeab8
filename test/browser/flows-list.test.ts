import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { intercept } from "./support/intercept.ts";
import { setUpFlows, startExternalApi } from "./support/sample-hub.ts";
import { findAccessibilityViolations, THEMES, useUi } from "./support/ui.ts";

const ui = useUi();

beforeAll(async () => {
  const externalApi = await startExternalApi();
  await setUpFlows(ui.call, externalApi.url);
  return externalApi.stop;
});

const card = (page: Page, name: string) =>
  page.getByRole("listitem").filter({ has: page.getByRole("link", { name, exact: true }) });

describe("the cards of flows", () => {
  it("are listed by app, with their tools, events and the state of the draft", async () => {
    const page = await ui.open("/flows");
    const desk = page.getByRole("region", { name: "Desk" });
    await desk.getByText("/mcp/desk").waitFor();
    await card(page, "Issue triage").getByText("triage_issue").waitFor();
    await card(page, "Issue triage").getByText("github · issues").waitFor();
    await card(page, "Issue triage").getByText("published v1").waitFor();
    await card(page, "Digest").getByText("draft differs from v1").waitFor();
    await card(page, "Greet customer").getByText("never published").waitFor();
  });

  it("warn about a flow without triggers", async () => {
    const page = await ui.open("/flows");
    const warning = card(page, "Greet customer").getByRole("button", { name: "No triggers" });
    await warning.waitFor();
    expect(await warning.locator("svg.lucide-triangle-alert").count()).toBe(1);
    await warning.focus();
    const tooltip = page.getByRole("tooltip");
    await tooltip.waitFor();
    expect(await tooltip.textContent()).toBe(
      "This flow has no trigger nodes and cannot be executed via MCP.",
    );
  });

  it("show the last run", async () => {
    const { json } = await ui.call("GET", "/api/flows?limit=100");
    const digest = json.items.find(({ name }: { name: string }) => name === "Digest");
    const page = await ui.open("/flows");
    await card(page, "Digest").getByText("has never run").waitFor();
    await ui.call("POST", `/api/flows/${digest.id}/runs?wait=1`, {
      trigger: "weekly_digest",
      input: { since: "monday" },
    });
    await card(page, "Digest").getByRole("img", { name: "last run: done" }).waitFor();
    await card(page, "Digest").getByText("ran just now").waitFor();
  });

  it("and the addresses of their servers fit on the screen of a phone", async () => {
    const { json: app } = await ui.call("POST", "/api/apps", { name: "Automations of everybody" });
    const { json: flow } = await ui.call("POST", `/api/apps/${app.slug}/flows`, { name: "Narrow" });
    const page = await ui.open("/flows", { viewport: { width: 390, height: 844 } });
    const copy = page.getByRole("button", {
      name: /^Copy the address .* Automations of everybody/,
    });
    for (const element of [copy, card(page, "Narrow")]) {
      const { x = 0, width = 0 } = (await element.boundingBox()) ?? {};
      expect(x + width).toBeLessThanOrEqual(390);
      expect(width).toBeGreaterThan(0);
    }
    await ui.call("DELETE", `/api/flows/${flow.id}`);
  });

  it("are filtered by text and by state", async () => {
    const page = await ui.open("/flows");
    await card(page, "Digest").waitFor();
    const names = () => page.getByRole("main").locator("li a").allTextContents();
    await page.getByRole("searchbox", { name: "Search flows" }).fill("weekly_");
    await expect.poll(names).toEqual(["Digest"]);
    await page.getByRole("searchbox", { name: "Search flows" }).fill("");
    await page.getByRole("radio", { name: "Needs attention" }).click();
    await expect.poll(names).toContain("Greet customer");
    await page.getByRole("searchbox", { name: "Search flows" }).fill("no such flow");
    await page.getByRole("button", { name: "Show all flows" }).click();
    await expect.poll(names).toHaveLength(7);
  });

  it("can be duplicated and deleted, and a copy has new tool names and valid references", async () => {
    await ui.call("POST", "/api/apps/desk/flows", {
      name: "Copied",
      nodes: [
        { id: "ask", type: "UserIntent", name: "Ask", parameters: { toolDescription: "Asks." } },
        {
          id: "shape",
          type: "Transform",
          name: "Shape it",
          slug: "another_slug",
          parameters: { expression: "1" },
        },
        {
          id: "end",
          type: "Return",
          name: "End",
          parameters: { value: "{{ another_slug }}" },
        },
      ],
      edges: [
        { source: "ask", target: "shape" },
        { source: "shape", target: "end" },
      ],
    });
    const page = await ui.open("/flows");
    await page.getByRole("button", { name: "Actions of Copied" }).click();
    await page.getByRole("menuitem", { name: "Duplicate" }).click();
    await card(page, "Copied (copy)").getByText("ask_2").waitFor();
    expect(await card(page, "Copied (copy)").getByRole("button", { name: /error/ }).count()).toBe(
      0,
    );
    await page.getByRole("button", { name: "Actions of Thank you" }).click();
    await page.getByRole("menuitem", { name: "Duplicate" }).click();
    await card(page, "Thank you (copy)").getByText("never published").waitFor();
    await page.getByRole("button", { name: "Actions of Thank you (copy)" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("“Thank you (copy)” was deleted").waitFor();
    await expect.poll(() => card(page, "Thank you (copy)").count()).toBe(0);
  });
});

it("shows the message of the hub if loading fails, and explains what to do if there is no flow", async () => {
  const page = await ui.open();
  const respondWith = (status: number, body: unknown) =>
    intercept(page, "**/api/flows?**", (route) =>
      route.fulfill({ status, contentType: "application/json", body: JSON.stringify(body) }),
    );
  await respondWith(403, {
    title: "Forbidden",
    detail: "The token lacks the scope admin.",
    code: "forbidden",
  });
  await page.goto(`${ui.url()}/flows`);
  await page.getByText("The token lacks the scope admin.").waitFor();
  await page.unroute("**/api/flows?**");
  await respondWith(200, { items: [], next_cursor: null });
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("heading", { name: "No flow yet" }).waitFor();
  await page.getByText("npx signalbox flows push DIR", { exact: true }).waitFor();
});

it("creates a flow in an existing app, also if the apps load slowly", async () => {
  const countApps = async () => (await ui.call("GET", "/api/apps?limit=100")).json.items.length;
  const before = await countApps();
  const page = await ui.open();
  const released = Promise.withResolvers<void>();
  await intercept(page, "**/api/apps?**", async (route) => {
    await released.promise;
    await route.continue();
  });
  await page.goto(`${ui.url()}/flows`);
  await page.getByRole("button", { name: "New flow" }).first().click();
  await page.getByRole("textbox", { name: "Name of the flow" }).fill("Without haste");
  const create = page.getByRole("button", { name: "Create the flow" });
  expect(await create.isDisabled()).toBe(true);
  released.resolve();
  await create.click();
  await page.waitForURL(/\/flows\/[0-9a-f-]{36}$/);
  expect(await countApps()).toBe(before);
});

it.each(THEMES)("has no serious accessibility violation in the %s theme", async (colorScheme) => {
  const page = await ui.open("/flows", { colorScheme, reducedMotion: "reduce" });
  await card(page, "Greet customer").waitFor();
  expect(await findAccessibilityViolations(page)).toEqual([]);
});
