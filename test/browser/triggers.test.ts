import type { Locator, Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { deliver } from "../support/deliver.ts";
import { serveSdk2, type Tools } from "../support/mcp-servers.ts";
import { intercept } from "./support/intercept.ts";
import { sendEvents } from "./support/sample-hub.ts";
import { findAccessibilityViolations, THEMES, useUi } from "./support/ui.ts";

const ui = useUi();

beforeAll(async () => {
  await ui.call("POST", "/api/apps", { slug: "desk", name: "Desk" });
  await sendEvents(ui.url());
});

const TRIGGERS = [
  {
    type: "issue.opened",
    description: "Fires when an issue is opened.",
    paramsSchema: {
      repo: { type: "string", description: "Only issues of this repository.", required: true },
      priority: { type: "string", enum: ["low", "high"], description: "How urgent it is." },
      number: { type: "integer", description: "Only this issue." },
    },
    sample: { repo: "acme/other", priority: "low", title: "A lamp stays dark" },
  },
  { type: "issue.closed", description: "Fires when an issue is closed.", paramsSchema: {} },
  {
    type: "page.edited",
    description: "Fires when a page is edited.",
    paramsSchema: { area: { type: "string", enum: ["ui", "api"], default: "ui" } },
  },
];

/** The arguments of a call of TRIGGER_CONFIGURE. */
type Configuration = {
  type: string;
  params: Record<string, string>;
  enabled: boolean;
  callbackUrl?: string;
  callbackToken?: string;
};

/** Starts an MCP server with triggers, and adds a connection to it. */
async function connectTracker(name: string) {
  const configurations: Configuration[] = [];
  const configureResult = { current: { success: true } as object };
  const tools: Tools = {
    TRIGGER_LIST: () => ({ triggers: TRIGGERS }),
    TRIGGER_CONFIGURE: (args) => {
      configurations.push(args as Configuration);
      return configureResult.current;
    },
  };
  const server = await serveSdk2(tools);
  const { json } = await ui.call("POST", "/api/connections", { name, url: server.url });
  const notify = async (type: string, data: object) => {
    const { callbackUrl = "", callbackToken = "" } =
      configurations.findLast(({ callbackToken }) => callbackToken) ?? {};
    const response = await fetch(callbackUrl, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${callbackToken}` },
      body: JSON.stringify({ type, data }),
    });
    expect(response.status).toBe(202);
  };
  return { id: json.id as string, server, configurations, configureResult, notify };
}

async function createFlow(name: string, type: string, parameters: object, publish = false) {
  const { json } = await ui.call("POST", "/api/apps/desk/flows", {
    name,
    nodes: [
      { id: "start", type, name: "Start", position: { x: 0, y: 0 }, parameters },
      {
        id: "end",
        type: "Return",
        name: "End",
        position: { x: 300, y: 0 },
        parameters: { value: "{{ trigger }}" },
      },
    ],
    edges: [{ source: "start", target: "end" }],
  });
  if (publish) await ui.call("POST", `/api/flows/${json.id}/publish`, {});
  return json.id as string;
}

const parametersOf = async (flow: string) => {
  const { json } = await ui.call("GET", `/api/flows/${flow}`);
  return json.nodes.find(({ id }: { id: string }) => id === "start").parameters;
};

const findPanel = (page: Page) => page.getByRole("complementary", { name: "Node Start" });
async function openTrigger(flow: string, options: Parameters<typeof ui.open>[1] = {}) {
  const page = await ui.open(`/flows/${flow}`, options);
  await page.locator(".react-flow__node", { hasText: "Start" }).click();
  await findPanel(page).waitFor();
  return { page, panel: findPanel(page) };
}

const findPreview = (panel: Locator) => panel.getByRole("region", { name: "Preview" });

describe("the form of an event trigger", () => {
  it("offers only connections with triggers and shows their status, unless a tool is polled", async () => {
    const tracker = await connectTracker("tracker");
    const gone = await connectTracker("gone");
    const weather = await serveSdk2({ forecast: () => ({}) });
    await ui.call("POST", "/api/connections", { name: "weather", url: weather.url });
    await gone.server.close();
    await ui.call("POST", `/api/connections/${gone.id}/check`);
    const flow = await createFlow("Pick a connection", "Event", {});
    const { panel } = await openTrigger(flow);
    const select = panel.getByLabel("Connection");
    const options = await select.locator("option").allTextContents();
    expect(options).toContain("tracker · responds");
    expect(options).toContain("gone · does not respond");
    expect(options.join()).not.toContain("weather");
    await select.selectOption({ label: "tracker · responds" });
    await panel.getByRole("img", { name: "responds", exact: true }).waitFor();
    await expect.poll(() => parametersOf(flow)).toMatchObject({ source: tracker.id });
    // A trigger that polls a tool can use any server.
    await panel.getByRole("radio", { name: "Poll a tool" }).click();
    await select.selectOption({ label: "weather · responds" });
    await panel.getByRole("group", { name: "Poll" }).getByLabel("Tool").fill("forecast");
    await expect.poll(() => parametersOf(flow)).toMatchObject({ poll: { tool: "forecast" } });
  });

  it("shows the event types with descriptions, and selects one with the mouse or the keyboard", async () => {
    const { id } = await connectTracker("types");
    const flow = await createFlow("Pick a type", "Event", { source: id });
    const { page, panel } = await openTrigger(flow);
    const opened = panel.getByRole("radio", {
      name: /issue\.opened Fires when an issue is opened/,
    });
    await opened.click();
    await expect.poll(() => parametersOf(flow)).toMatchObject({ type: "issue.opened" });
    await opened.waitFor({ state: "detached" });
    await panel.getByText("Fires when an issue is opened.").waitFor();

    await panel.getByRole("button", { name: "Change" }).press("Enter");
    await opened.focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await panel.getByText("Fires when an issue is closed.").waitFor();
    await expect.poll(() => parametersOf(flow)).toMatchObject({ type: "issue.closed" });
  });

  it("shows a field for each param of the schema: marks required ones, offers enums as lists, and shows errors at the field", async () => {
    const { id } = await connectTracker("params");
    const flow = await createFlow("Fill in params", "Event", { source: id, type: "issue.opened" });
    const { panel } = await openTrigger(flow);
    const repo = panel.getByLabel("repo", { exact: false }).and(panel.locator("input"));
    expect(await repo.getAttribute("aria-required")).toBe("true");
    await panel.getByText("Only issues of this repository.").waitFor();
    await panel.getByText("the trigger issue.opened of params requires it").waitFor();
    await repo.fill("acme/desk");
    await panel
      .getByText("the trigger issue.opened of params requires it")
      .waitFor({ state: "detached" });

    const priority = panel.getByLabel("priority", { exact: true });
    expect(await priority.locator("option").allTextContents()).toEqual([
      "any value",
      "low",
      "high",
    ]);
    await priority.selectOption("high");
    await expect
      .poll(() => parametersOf(flow))
      .toMatchObject({ params: { repo: "acme/desk", priority: "high" } });

    await panel.getByLabel("Operator of priority").selectOption("in");
    await panel.getByLabel("priority", { exact: true }).fill("high, urgent");
    await panel.getByText('"urgent" is not one of "low", "high"').waitFor();
    await expect
      .poll(() => parametersOf(flow))
      .toMatchObject({ params: { priority: { op: "in", value: ["high", "urgent"] } } });

    await panel.getByRole("button", { name: "Add a condition" }).click();
    await panel.getByLabel("Path of condition 1").fill("issue..title");
    await panel.getByText("is not a path such as issue.title").waitFor();
    await panel.getByLabel("Path of condition 1").fill("label");
    await panel.getByText("has no such param").waitFor();
    await panel.getByRole("button", { name: "Remove label" }).click();
    await expect
      .poll(async () => Object.keys((await parametersOf(flow)).params))
      .not.toContain("label");
  });

  it("reports a value that does not match the schema, and types that need params", async () => {
    const { id } = await connectTracker("checked");
    const flow = await createFlow("Check params", "Event", { source: id });
    const { page, panel } = await openTrigger(flow);
    await panel
      .getByText(
        "without a type, the trigger subscribes to every type, but checked requires params for issue.opened (repo)",
      )
      .waitFor();
    await panel.getByRole("radio", { name: /issue\.opened/ }).click();
    await panel.getByLabel("repo", { exact: false }).and(panel.locator("input")).fill("acme/desk");
    await panel.getByLabel("number", { exact: true }).fill("abc");
    await panel.getByText('"abc" is invalid: must be an integer, but is a string').waitFor();
    await page.getByText("1 error").waitFor();
    await panel.getByLabel("number", { exact: true }).fill("7");
    await page.getByText("1 error").waitFor({ state: "detached" });
  });

  it("prefills the params with the defaults of the server, and warns if one is not sent", async () => {
    const { id } = await connectTracker("defaults");
    const flow = await createFlow("Defaults", "Event", { source: id });
    const { panel } = await openTrigger(flow);
    await panel.getByRole("radio", { name: /page\.edited/ }).click();
    await expect.poll(() => parametersOf(flow)).toMatchObject({ params: { area: "ui" } });
    const area = panel.getByLabel("area", { exact: true });
    expect(await area.inputValue()).toBe("ui");
    await area.selectOption("");
    await panel.getByText('the server may assume "ui"').waitFor();

    // Another type does not get the defaults of the former one, but keeps the other values.
    const choose = async (type: RegExp) => {
      await panel.getByRole("button", { name: "Change" }).click();
      await panel.getByRole("radio", { name: type }).click();
    };
    await choose(/issue\.closed/);
    await choose(/page\.edited/);
    await expect.poll(() => parametersOf(flow)).toMatchObject({ params: { area: "ui" } });
    await choose(/issue\.closed/);
    await expect.poll(() => parametersOf(flow)).toEqual({ source: id, type: "issue.closed" });
    await choose(/page\.edited/);
    await area.selectOption("api");
    await choose(/issue\.closed/);
    await expect
      .poll(() => parametersOf(flow))
      .toMatchObject({ type: "issue.closed", params: { area: "api" } });
  });

  it("shows live how many of the last events would have matched, and which nearly matched", async () => {
    const flow = await createFlow("Preview", "Event", { source: "github", type: "issues" });
    const { page, panel } = await openTrigger(flow);
    const preview = findPreview(panel);
    const waitForCount = (matched: number, total: number) =>
      preview.getByText(`${matched} of your last ${total} events would have matched`).waitFor();
    await waitForCount(2, 2);
    await preview.getByText("The newest events from github of type issues.").waitFor();

    // A new condition gets the focus, and is saved when it has a path.
    const { revision } = (await ui.call("GET", `/api/flows/${flow}`)).json;
    await panel.getByRole("button", { name: "Add a condition" }).press("Enter");
    await page.keyboard.type("a");
    await expect.poll(() => parametersOf(flow)).toMatchObject({ params: { a: "" } });
    expect((await ui.call("GET", `/api/flows/${flow}`)).json.revision).toBe(revision + 1);
    await panel.getByLabel("Path of condition 1").fill("action");
    await panel.getByLabel("Value of action").fill("opened");
    await waitForCount(1, 2);
    const miss = preview
      .getByRole("list", { name: "1 near miss" })
      .getByText('action is "labeled", wanted "opened"');
    await miss.waitFor();
    const amber = await page.evaluate(() => {
      const probe = document.createElement("i");
      probe.className = "text-amber";
      document.body.append(probe);
      return getComputedStyle(probe).color;
    });
    expect(await miss.evaluate((element) => getComputedStyle(element).color)).toBe(amber);

    // Add a condition with a value of a stored event.
    await panel.getByRole("button", { name: "Pick from an event" }).click();
    const tree = page.getByRole("tree", { name: "payload" });
    const number = tree.getByRole("treeitem").filter({ hasText: /^number\s*7/ });
    await number.hover();
    await number.getByRole("button", { name: "Insert" }).click();
    await expect.poll(() => parametersOf(flow)).toMatchObject({ params: { "issue.number": "7" } });
    await waitForCount(1, 2);
    await panel.getByRole("button", { name: "Remove issue.number" }).click();

    // The preview includes new events.
    await deliver(ui.url(), {
      type: "issues",
      body: JSON.stringify({ action: "opened", issue: { number: 70, title: "A new one" } }),
    });
    await waitForCount(2, 3);
    await preview.getByRole("link", { name: /A new one/ }).waitFor();
  });

  it("marks a syntax error of the filter at its position", async () => {
    const flow = await createFlow("Filter", "Event", { source: "github", type: "push" });
    const { page, panel } = await openTrigger(flow);
    const preview = findPreview(panel);
    await preview.getByText("2 of your last 2 events would have matched").waitFor();
    const editor = panel.getByRole("textbox", { name: "Filter" });
    await editor.click();
    await page.keyboard.type('data.ref = "refs/heads/none"');
    await preview.getByText("0 of your last 2 events would have matched").waitFor();
    await preview.getByText("the filter is not true").first().waitFor();
    await editor.press("ControlOrMeta+a");
    await page.keyboard.type("data.ref = ");
    await panel.locator(".cm-lintRange-error, .cm-lint-marker-error").first().waitFor();
    // The hub reports the same error for the draft.
    await panel.getByRole("alert").filter({ hasText: "end of expression" }).waitFor();
  });

  it("sends a test event that starts a run, and shows the verdicts of the published trigger and of the draft", async () => {
    const { id } = await connectTracker("sender");
    const flow = await createFlow(
      "Test event",
      "Event",
      { source: id, type: "issue.opened", params: { repo: "acme/desk" } },
      true,
    );
    const { page, panel } = await openTrigger(flow);
    await findPreview(panel).getByText("There are no events to compare with yet").waitFor();
    await findPreview(panel).getByText("No recent event is from sender.").waitFor();
    await panel.getByRole("button", { name: "Send test event" }).click();
    const dialog = page.getByRole("dialog", { name: "Send a test event" });
    // The sample of the server, changed so that the trigger matches it.
    const data = dialog.getByLabel("Data");
    expect(JSON.parse(await data.inputValue())).toEqual({
      ...TRIGGERS[0]?.sample,
      repo: "acme/desk",
    });
    await dialog.getByRole("button", { name: "Send" }).click();
    await dialog.getByText("The published trigger matched").waitFor();
    await dialog.getByRole("link", { name: "run done" }).waitFor();
    await dialog.getByText("The draft matched").waitFor();

    await dialog.getByRole("button", { name: "Send another" }).click();
    await data.fill('{ "repo": "acme/none" }');
    await dialog.getByRole("button", { name: "Send" }).click();
    await dialog.getByText("The published trigger did not match").waitFor();
    await dialog.getByText('repo is "acme/none", wanted "acme/desk"').first().waitFor();
    await dialog.getByRole("button", { name: "Done" }).click();
    await findPreview(panel).getByText("1 of your last 2 events would have matched").waitFor();
    const { json } = await ui.call("GET", `/api/runs?flow=${flow}`);
    expect(json.items).toHaveLength(1);
  });

  it("sends a sample webhook, and says that the published flow has no such trigger", async () => {
    const flow = await createFlow("Webhook test", "Event", {
      source: "github",
      type: "pull_request",
      params: { action: "closed" },
    });
    const { page, panel } = await openTrigger(flow);
    await panel.getByRole("button", { name: "Send test event" }).click();
    const dialog = page.getByRole("dialog", { name: "Send a test event" });
    expect(await dialog.getByLabel("Action").inputValue()).toBe("closed");
    await dialog.getByRole("button", { name: "Send" }).click();
    await dialog.getByText("The published flow has no such trigger").waitFor();
    await dialog.getByText("The draft matched").waitFor();
    await dialog.getByRole("link", { name: "Open in the inbox" }).click();
    await page.waitForURL("**/inbox/*");
  });

  it("shows the message of the hub if the preview fails", async () => {
    const flow = await createFlow("Errors", "Event", { source: "github", type: "issues" });
    const page = await ui.open(`/flows/${flow}`);
    await intercept(page, "**/api/triggers/preview*", (route) =>
      route.fulfill({
        status: 503,
        contentType: "application/problem+json",
        body: JSON.stringify({
          title: "Storage is unavailable",
          detail: "The database does not respond. Check DATABASE_URL.",
          code: "storage_unavailable",
        }),
      }),
    );
    await page.locator(".react-flow__node", { hasText: "Start" }).click();
    await findPreview(findPanel(page))
      .getByText("The database does not respond. Check DATABASE_URL.")
      .waitFor();
  });
});

describe("the list of triggers", () => {
  const openCards = async (flow: string) => {
    const page = await ui.open(`/flows/${flow}`);
    await page.getByRole("button", { name: "Triggers", exact: true }).click();
    const cards = page.getByRole("complementary", { name: "Triggers" });
    return { page, cards };
  };

  it("shows type, connection, params, state and the time when the trigger last fired", async () => {
    const { id, notify } = await connectTracker("cards");
    const flow = await createFlow(
      "Cards",
      "Event",
      { source: id, type: "issue.opened", params: { repo: "acme/desk" } },
      true,
    );
    const { page, cards } = await openCards(flow);
    const card = cards.getByRole("region", { name: "Trigger issue.opened · cards" });
    await card.getByRole("heading", { name: "issue.opened · cards" }).waitFor();
    await card.getByText("repo = acme/desk").waitFor();
    await card.getByRole("img", { name: "active" }).waitFor();
    await card.getByText("has not fired yet").waitFor();
    // The label on the canvas also contains the name of the connection.
    await page.locator(".id-plate").getByText("cards · issue.opened").waitFor();
    await notify("issue.opened", { repo: "acme/desk" });
    await card.getByText("last fired just now").waitFor();
  });

  it("shows the message of the server if it rejects a trigger, until it accepts it", async () => {
    const tracker = await connectTracker("refusing");
    tracker.configureResult.current = {
      isError: true,
      content: [{ type: "text", text: "The quota of webhooks is used up." }],
    };
    const flow = await createFlow(
      "Refused",
      "Event",
      { source: tracker.id, type: "issue.opened", params: { repo: "acme/desk" } },
      true,
    );
    const { page, cards } = await openCards(flow);
    await cards.getByRole("alert").getByText("The quota of webhooks is used up.").waitFor();
    await cards.getByRole("img", { name: "failed" }).waitFor();
    // The warning appears without a reload, also in the header and in the list of flows.
    const warning = page.getByRole("button", { name: /^1 warning: Start: the subscription has/ });
    await warning.waitFor();
    const list = await ui.open("/flows");
    await list.getByText("Needs attention").click();
    const card = list.getByRole("listitem").filter({ hasText: "Refused" });
    await card.getByRole("img", { name: "a subscription has failed" }).waitFor();
    await card.getByRole("button", { name: /The quota of webhooks is used up/ }).waitFor();

    tracker.configureResult.current = { success: true };
    await cards.getByRole("img", { name: "active" }).waitFor();
    expect(await cards.getByRole("alert").count()).toBe(0);
    await warning.waitFor({ state: "detached" });
    await card.waitFor({ state: "detached" });
  });

  it("edits, pauses and resumes a trigger, which takes effect when the flow is published", async () => {
    const { id, configurations } = await connectTracker("edited");
    const flow = await createFlow(
      "Edit in place",
      "Event",
      { source: id, type: "issue.opened", params: { repo: "acme/desk" } },
      true,
    );
    const { page, cards } = await openCards(flow);
    await cards.getByRole("img", { name: "active" }).waitFor();
    await cards.getByRole("button", { name: "Edit issue.opened · edited" }).click();
    await cards.getByLabel("priority", { exact: true }).selectOption("high");
    await cards.getByText("priority = high").waitFor();
    const edited = cards.getByText("Edited in the draft: publish the flow to change the trigger.");
    await edited.waitFor();
    const publish = async () => {
      await page.getByRole("button", { name: /^Publish v/ }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Publish" }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
    };
    await publish();
    await edited.waitFor({ state: "detached" });
    await expect
      .poll(() => configurations.at(-1))
      .toMatchObject({ enabled: true, params: { repo: "acme/desk", priority: "high" } });

    await cards.getByRole("switch", { name: /^Active/ }).click();
    await cards.getByText("Paused in the draft: publish the flow to pause it.").waitFor();
    await publish();
    await cards.getByRole("img", { name: "paused" }).waitFor();
    await expect.poll(() => configurations.at(-1)).toMatchObject({ enabled: false });

    await cards.getByRole("switch", { name: /^Active/ }).click();
    await cards.getByText("Active in the draft: publish the flow to resume it.").waitFor();
    await publish();
    await cards.getByRole("img", { name: "active" }).waitFor();
    await expect.poll(() => configurations.at(-1)).toMatchObject({ enabled: true });
  });

  it("offers to add a node if no event or schedule starts the flow", async () => {
    const flow = await createFlow("Only intents", "UserIntent", { toolDescription: "Answers." });
    const { page, cards } = await openCards(flow);
    await cards.getByRole("heading", { name: "No Event or Schedule starts this flow" }).waitFor();
    await cards.getByRole("button", { name: "Add a node" }).click();
    await page.getByRole("dialog", { name: "Add a node" }).waitFor();
  });
});

describe("a schedule", () => {
  it("shows the next five times at which the hub will fire it, in its time zone", async () => {
    const flow = await createFlow("Weekdays", "Schedule", {});
    const { page, panel } = await openTrigger(flow, { timezoneId: "America/New_York" });
    const times = panel.getByRole("region", { name: "Next times" });
    await panel.getByRole("button", { name: "Examples" }).click();
    await page.getByRole("menuitem", { name: /Monday to Friday at 9:00/ }).click();
    await panel.getByLabel("Time zone").fill("Asia/Tokyo");
    const items = times.getByRole("listitem");
    await expect.poll(() => items.count()).toBe(5);
    for (const text of await items.allTextContents())
      expect(text).toMatch(
        /^(Mon|Tue|Wed|Thu|Fri) .+, 09:00 GMT\+9.*(19|20):00 GMT-[45] local time$/,
      );
    const firstTime = () => items.first().locator("time").getAttribute("datetime");
    await expect
      .poll(() => parametersOf(flow))
      .toMatchObject({ cron: "0 9 * * 1-5", timeZone: "Asia/Tokyo" });
    await ui.call("POST", `/api/flows/${flow}/publish`, {});
    const { json } = await ui.call("GET", `/api/flows/${flow}/triggers`);
    expect(await firstTime()).toBe(json.items[0].next_fire_at);
    const card = panel.getByRole("region", { name: "Trigger 0 9 * * 1-5 · Asia/Tokyo" });
    await card.getByText(/active · has not fired yet · next .+, 09:00 GMT\+9/).waitFor();
  });

  it("shows errors at the field", async () => {
    const flow = await createFlow("Wrong times", "Schedule", { cron: "0 9 * * *" });
    const { panel } = await openTrigger(flow);
    await panel.getByRole("region", { name: "Next times" }).waitFor();
    await panel.getByLabel("Cron expression").fill("*/10 * * * * *");
    await panel.getByRole("alert").getByText("fires more than once a minute").waitFor();
    expect(await panel.getByRole("region", { name: "Next times" }).count()).toBe(0);
    await panel.getByLabel("Cron expression").fill("0 9 * * *");
    await panel.getByLabel("Time zone").fill("Europe/Nowhere");
    await panel.getByRole("alert").getByText("must be the IANA name of a time zone").waitFor();
  });
});

describe.each(THEMES)("in the %s theme", (colorScheme) => {
  const options = { colorScheme, reducedMotion: "reduce" } as const;

  it("has no serious accessibility violation in the form of an event trigger", async () => {
    const { id } = await connectTracker(`axe-${colorScheme}`);
    const flow = await createFlow("Axe", "Event", {
      source: id,
      type: "issue.opened",
      params: { title: "x" },
    });
    await ui.call("POST", "/api/events/test", { source: id, type: "issue.opened" });
    const { page, panel } = await openTrigger(flow, options);
    await findPreview(panel).getByText("0 of your last 1 event would have matched").waitFor();
    expect(await findAccessibilityViolations(page)).toEqual([]);
    await panel.getByRole("button", { name: "Send test event" }).click();
    await page.getByRole("dialog", { name: "Send a test event" }).waitFor();
    expect(await findAccessibilityViolations(page)).toEqual([]);
  });

  it("has no serious accessibility violation in the list of triggers and in the form of a schedule", async () => {
    const flow = await createFlow("Axe times", "Schedule", { cron: "0 9 * * *" }, true);
    const page = await ui.open(`/flows/${flow}`, options);
    await page.getByRole("button", { name: "Triggers", exact: true }).click();
    const cards = page.getByRole("complementary", { name: "Triggers" });
    await cards.getByRole("button", { name: /^Edit/ }).click();
    await cards.getByRole("region", { name: "Next times" }).waitFor();
    expect(await findAccessibilityViolations(page)).toEqual([]);
  });
});
