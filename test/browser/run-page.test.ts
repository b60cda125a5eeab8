import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { deliver } from "../support/deliver.ts";
import { intercept } from "./support/intercept.ts";
import {
  type SampleFlow,
  type SampleServers,
  setUpSampleFlows,
  startSampleServers,
} from "./support/sample-runs.ts";
import { findAccessibilityViolations, THEMES, useUi } from "./support/ui.ts";

const ui = useUi();
let servers: SampleServers;
let runs: Awaited<ReturnType<typeof setUpSampleFlows>>;

beforeAll(async () => {
  servers = await startSampleServers();
  runs = await setUpSampleFlows(ui, servers);
  return servers.stop;
});

const runToEnd = async (flow: SampleFlow, who?: string): Promise<string> => {
  const id = await runs.start(flow, who);
  await runs.waitUntilEnded(id);
  return id;
};
const tile = (page: Page, node: string) => page.locator(`.react-flow__node[data-id="${node}"]`);
const waitForState = (page: Page, node: string, name: string | RegExp) =>
  tile(page, node).getByRole("img", { name }).waitFor();
const steps = (page: Page) => page.getByRole("region", { name: "Steps over time" });
const row = (page: Page, name: string | RegExp) =>
  steps(page)
    .getByRole("listitem")
    .filter({ has: page.getByRole("button", { name, exact: true }) });
const selectStep = (page: Page, name: string | RegExp) =>
  row(page, name).getByRole("button").click();
const detail = (page: Page) => page.getByRole("complementary");
const selectTab = (page: Page, name: string | RegExp) => page.getByRole("tab", { name }).click();
const header = (page: Page) => page.locator("#main header");
const clickButton = (page: Page, name: string) =>
  page.getByRole("button", { name, exact: true }).click();

describe("a run that has ended", () => {
  it("shows the state of each node, the attempts and waits, and the input, output and log of every step", async () => {
    const page = await ui.open(`/runs/${await runToEnd("Triage")}`);
    await header(page)
      .getByText(/^done in/)
      .waitFor();
    await header(page)
      .getByText(/started through the API/)
      .waitFor();
    await waitForState(page, "labels", "done");
    await waitForState(page, "thanks", "skipped");
    await expect.poll(() => page.locator(".edge-track.done").count()).toBeGreaterThan(3);
    await expect.poll(() => page.locator(".edge-track.skip").count()).toBeGreaterThan(0);

    await row(page, "labels 1st").getByText(/502/).waitFor();
    await row(page, "labels 1st").getByRole("img", { name: "failed" }).waitFor();
    await row(page, "waits before attempt 2").locator("i.wait").waitFor();
    await row(page, "labels 2nd").locator("i.done").waitFor();
    await selectStep(page, "labels 1st");
    await detail(page).getByText("failed", { exact: true }).waitFor();
    await page.getByRole("tabpanel").getByText(/502/).first().waitFor();
    await selectTab(page, /Attempts.*2/);
    await page.getByRole("button", { name: /2nd attempt/ }).click();
    await page.waitForURL(/step=/);
    await selectTab(page, "Output");
    await page.getByRole("tree", { name: "Output" }).getByText("200", { exact: true }).waitFor();

    // A click on a node selects its step in the list too.
    await tile(page, "shape").click();
    await selectTab(page, "Log");
    await page.getByRole("tabpanel").getByText("looked at octocat").waitFor();
    await selectTab(page, "Input");
    await page.getByRole("tree", { name: "Input" }).waitFor();
    await tile(page, "thanks").click();
    await page.getByText("so this step was skipped").first().waitFor();
    await selectStep(page, "Run");
    await selectTab(page, "Output");
    await page.getByRole("tree", { name: "Output" }).getByText("bug").waitFor();
    await selectTab(page, "Input");
    await page.getByRole("tree", { name: "Input" }).getByText("octocat").waitFor();
  });

  it("lets a person select its steps with the keyboard", async () => {
    const page = await ui.open(`/runs/${await runToEnd("Billing")}`);
    await row(page, "send").waitFor();
    await page.keyboard.press("Escape");
    await detail(page).getByRole("heading", { name: "Run" }).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await detail(page).getByRole("heading", { name: "book" }).waitFor();
    await page.keyboard.press("k");
    await detail(page).getByRole("heading", { name: "Bill" }).waitFor();
    await tile(page, "send").focus();
    await page.keyboard.press("Enter");
    await detail(page).getByRole("heading", { name: "send" }).waitFor();
  });

  it("shows the event that started it, and replays that event", async () => {
    const { json: before } = await ui.call("GET", "/api/runs?cause=event");
    expect(before.items).toEqual([]);
    await deliver(ui.url());
    await expect
      .poll(async () => (await ui.call("GET", "/api/runs?cause=event")).json.items.length)
      .toBe(1);
    const [{ id }] = (await ui.call("GET", "/api/runs?cause=event")).json.items;
    const page = await ui.open(`/runs/${id}?step=0`);
    await header(page)
      .getByText(/started by an event/)
      .waitFor();
    await selectTab(page, "Input");
    await page.getByRole("tree", { name: "payload" }).getByText("action").waitFor();
    await clickButton(page, "Replay…");
    const dialog = page.getByRole("dialog", { name: "Replay" });
    await expect
      .poll(() => dialog.getByLabel("Input").inputValue())
      .toContain('"source": "github"');
    await dialog.getByRole("button", { name: "Replay", exact: true }).click();
    await expect.poll(() => page.url()).not.toContain(id);
    await header(page)
      .getByText(/replayed/)
      .waitFor();
  });
});

describe("an active run", () => {
  it("shows its progress live, from the queue to its end", async () => {
    servers.closeGate();
    const first = await runs.start("Deploy", "first");
    const second = await runs.start("Deploy", "second");
    const page = await ui.open(`/runs/${second}`);
    await header(page).getByText("held until others end").waitFor();
    await page.getByText("The run waits until other runs of its trigger end.").waitFor();
    const firstPage = await ui.open(`/runs/${first}`);
    await waitForState(firstPage, "gate", "under way");
    await row(firstPage, "gate").locator("i.running").waitFor();

    servers.openGate();
    await header(firstPage)
      .getByText(/^done in/)
      .waitFor();
    await header(page)
      .getByText(/^done in/)
      .waitFor();
    await waitForState(page, "end", "done");
    await row(page, "queued").locator("i.wait").waitFor();
    // The bar of a Wait node looks like the bar of a wait before an attempt.
    await row(page, "nap").locator("i.wait").waitFor();
  });

  it("is cancelled with a button, and continues after a retry", async () => {
    servers.closeGate();
    const page = await ui.open(`/runs/${await runs.start("Deploy")}`);
    await waitForState(page, "gate", "under way");
    await clickButton(page, "Cancel");
    await header(page)
      .getByText(/^cancelled/)
      .waitFor();
    await row(page, "gate")
      .getByText(/cancelled/)
      .waitFor();
    servers.openGate();
    await clickButton(page, "Retry");
    await header(page)
      .getByText(/^done in/)
      .waitFor();
    await row(page, "gate 2nd").locator("i.done").waitFor();
  });
});

it("shows an item of a loop that is attempted again as active, not as failed", async () => {
  const page = await ui.open(`/runs/${await runs.start("Patient")}`);
  await tile(page, "body").getByText("item 2 · attempt 2").waitFor();
  await waitForState(page, "body", "under way, 1 item done");
  await row(page, "body 1st · item 2").getByText(/503/).waitFor();
  await row(page, "waits before attempt 2").locator("i.wait").waitFor();
  await clickButton(page, "Cancel");
  await tile(page, "body").getByText("1 of 2 failed").waitFor();
});

describe("a run that failed", () => {
  it("opens at the failed step, and can be replayed with another input, replayed from the list, and retried", async () => {
    const id = await runToEnd("Billing", "acme");
    const page = await ui.open(`/runs/${id}`);
    await detail(page).getByRole("heading", { name: "send" }).waitFor();
    await page.getByRole("tabpanel").getByText(/500/).first().waitFor();
    await waitForState(page, "send", "failed");

    await clickButton(page, "Replay…");
    const input = page.getByRole("dialog").getByLabel("Input");
    await expect.poll(() => input.inputValue()).toContain("acme");
    await input.fill('{ "who": ');
    await page.getByRole("dialog").getByRole("alert").waitFor();
    expect(await page.getByRole("button", { name: "Replay with this input" }).isDisabled()).toBe(
      true,
    );
    await input.fill('{ "who": "umbrella" }');
    await clickButton(page, "Replay with this input");
    await expect.poll(() => page.url()).not.toContain(id);
    await selectStep(page, "Run");
    await selectTab(page, "Input");
    await page.getByRole("tree", { name: "Input" }).getByText("umbrella").waitFor();
    await header(page)
      .getByText(/^failed/)
      .waitFor();
    const replayedId = new URL(page.url()).pathname.split("/").at(-1) ?? "";

    await page.goto(`${ui.url()}/runs?view=failed&flow=${runs.flow("Billing")}`);
    await page.getByText("Billing").first().waitFor();
    const { json } = await ui.call("GET", `/api/runs?flow=${runs.flow("Billing")}`);
    const count = json.items.length;
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await clickButton(page, `Select all ${count}`);
    servers.repair();
    await clickButton(page, "Replay");
    await page.getByText(`${count} runs started`).waitFor();
    await expect
      .poll(async () => {
        const path = `/api/runs?flow=${runs.flow("Billing")}&status=succeeded`;
        return (await ui.call("GET", path)).json.items.length;
      })
      .toBe(count);
    // A retried run disappears from the list of failed runs.
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await clickButton(page, "Retry");
    await page.getByText("1 run retried").waitFor();
    const rows = page.getByRole("region", { name: "Runs" }).getByRole("link");
    await expect.poll(() => rows.count()).toBe(count - 1);

    // A retry continues at the failed step, and does not repeat the completed ones.
    await page.goto(`${ui.url()}/runs/${replayedId}`);
    await clickButton(page, "Retry");
    await header(page)
      .getByText(/^done in/)
      .waitFor();
    await row(page, "send 2nd").waitFor();
    expect(await row(page, /^book/).count()).toBe(1);
  });

  it("opens in the editor with its outputs pinned, and with its input for the next run", async () => {
    const page = await ui.open(`/runs/${await runToEnd("Triage", "hubot")}`);
    await tile(page, "fetch").waitFor();
    await clickButton(page, "Open in the editor");
    await page.waitForURL(`**/flows/${runs.flow("Triage")}`);
    await page.getByText("2 outputs of the run pinned").waitFor();
    await tile(page, "fetch").getByLabel("its output is pinned").waitFor();
    await tile(page, "labels").getByLabel("its output is pinned").waitFor();
    expect(await tile(page, "shape").getByLabel("its output is pinned").count()).toBe(0);
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Run the draft" });
    await expect
      .poll(() => dialog.getByLabel("Input", { exact: true }).inputValue())
      .toContain("hubot");
    await dialog.getByRole("button", { name: "Run", exact: true }).click();
    const dock = page.getByRole("region", { name: "Run of the draft" });
    await dock.getByText("done").first().waitFor();
    await waitForState(page, "answer", "done");
  });
});

it("restores the pins that the outputs of a run have replaced, with Undo", async () => {
  const page = await ui.open(`/runs/${await runToEnd("Triage")}`);
  await tile(page, "fetch").waitFor();
  const key = `signalbox.pins.${runs.flow("Triage")}`;
  await page.evaluate((key) => localStorage.setItem(key, '{"shape":{"output":1}}'), key);
  await clickButton(page, "Open in the editor");
  const pin = (node: string) => tile(page, node).getByLabel("its output is pinned");
  await pin("fetch").waitFor();
  expect(await pin("shape").count()).toBe(0);
  const messages = page.getByRole("region", { name: "Messages" });
  await messages.getByRole("button", { name: "Undo" }).click();
  await pin("shape").waitFor();
  expect(await pin("fetch").count()).toBe(0);
});

describe("the data of a step", () => {
  it("is shown as a conversation for an Agent node", async () => {
    const page = await ui.open(`/runs/${await runToEnd("Helper")}`);
    await selectStep(page, /^agent/);
    const conversation = page.getByRole("list", { name: "Conversation" });
    await conversation.getByText("Look after the inbox.").waitFor();
    await conversation.getByText("Let me look into the inbox.").waitFor();
    await conversation.getByText("inbox__get_pending_status").first().waitFor();
    await conversation.getByText("Result").waitFor();
    await conversation.getByText("<b>All is well.</b>").waitFor();
    await conversation
      .getByText(/tokens in/)
      .first()
      .waitFor();
    await row(page, "turn 1").locator("i.done").waitFor();
    await selectStep(page, "tool 1.1");
    await detail(page).getByRole("heading", { name: "agent tool 1.1" }).waitFor();
  });

  it("is loaded in parts if it is large", async () => {
    const page = await ui.open(`/runs/${await runToEnd("Report")}`);
    await selectStep(page, "rows");
    await selectTab(page, "Output");
    await page.getByText(/^The first \d+ B of \d+\.\d KB, as text$/).waitFor();
    await clickButton(page, "Load more");
    await page.getByText(/^The first 65\.5 KB of/).waitFor();
    await clickButton(page, "Load more");
    await page
      .getByText(/^The first 131\.1 KB of/)
      .or(page.getByRole("tree"))
      .first()
      .waitFor();
    await selectStep(page, /^end/);
    await page.getByRole("button", { name: /^Load all/ }).click();
    await page.getByRole("searchbox", { name: "Search in Output" }).fill("row 3999");
    await page.getByText("1 of 1").waitFor();
    const itemCount = await page.evaluate(
      (url) => fetch(url).then(async (response) => (await response.json()).length),
      `${new URL(page.url()).pathname.replace("/runs", "/api/runs")}/output`,
    );
    expect(itemCount).toBe(4_000);
  });

  it("is shown as text, also if it contains markup", async () => {
    const hostile = `<img src=x onerror=alert(1)> ${"a".repeat(10_000)} \u202Eשלום`;
    const page = await ui.open(`/runs/${await runToEnd("Triage", hostile)}?step=0`);
    await selectTab(page, "Input");
    await page.getByText("<img src=x onerror=alert(1)>").first().waitFor();
    expect(await page.locator("#main img[src]").count()).toBe(0);
    expect(
      await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth),
    ).toBe(true);
  });
});

it("loads many steps in pages, and renders only the visible ones", async () => {
  const id = await runToEnd("Loop");
  const page = await ui.open();
  const nextPage = page.waitForResponse((response) =>
    response.url().includes(`/${id}/steps?cursor=`),
  );
  await page.goto(`${ui.url()}/runs/${id}`);
  expect((await nextPage).status()).toBe(200);
  await tile(page, "double").getByText("700 ×").waitFor();
  await row(page, "double item 1").waitFor();
  expect(await steps(page).getByRole("listitem").count()).toBeLessThan(100);
  await selectStep(page, "Run");
  await tile(page, "end").click();
  await row(page, /^end/).waitFor();
  await row(page, "double item 700").waitFor();
  // The URL contains the selected step, which is shown as soon as it has loaded.
  await page.reload();
  await row(page, /^end/).waitFor();
});

describe("the page of a run", () => {
  it("shows the message of the hub for an unknown run", async () => {
    const page = await ui.open("/runs/nothing");
    await page.getByRole("alert").getByText("There is no run nothing.").first().waitFor();
    await page.getByRole("link", { name: "Show all runs" }).click();
    await page.getByRole("heading", { name: "Runs" }).waitFor();
  });

  it("shows that a run is loading, and the error if loading fails", async () => {
    const id = await runToEnd("Billing");
    const page = await ui.open();
    let isFailing = true;
    const released = Promise.withResolvers<void>();
    await intercept(page, `**/api/runs/${id}`, async (route) => {
      await released.promise;
      if (!isFailing) return route.continue();
      await route.fulfill({
        status: 400,
        contentType: "application/problem+json",
        body: JSON.stringify({ title: "Not now", detail: "The log cannot be read." }),
      });
    });
    await page.goto(`${ui.url()}/runs/${id}`);
    await page.getByRole("status", { name: "Loading" }).waitFor();
    released.resolve();
    await page.getByRole("alert").getByText("The log cannot be read.").waitFor();
    isFailing = false;
    await clickButton(page, "Try again");
    await row(page, "send").waitFor();
  });

  it("shows the steps of a run whose flow was deleted, without the actions that need the flow", async () => {
    const { json } = await ui.call("POST", "/api/apps/samples/flows", {
      name: "Gone",
      nodes: [
        { id: "ask", type: "UserIntent", name: "ask", parameters: { toolDescription: "Asks." } },
        { id: "end", type: "Return", name: "end", parameters: { value: 1 } },
      ],
      edges: [{ source: "ask", target: "end" }],
    });
    await ui.call("POST", `/api/flows/${json.id}/publish`, {});
    const started = await ui.call("POST", `/api/flows/${json.id}/runs?wait=1`, { trigger: "ask" });
    await ui.call("DELETE", `/api/flows/${json.id}`);
    const page = await ui.open(`/runs/${started.json.id}`);
    await page.getByRole("heading", { name: "The flow of this run is not available" }).waitFor();
    await row(page, /^end/).waitFor();
    for (const name of ["Open in the editor", "Replay…"])
      expect(await page.getByRole("button", { name }).count()).toBe(0);
  });
});

it.each(THEMES)("has no serious accessibility violation in the %s theme", async (colorScheme) => {
  const options = { colorScheme, reducedMotion: "reduce" } as const;
  const page = await ui.open(`/runs/${await runToEnd("Triage")}`, options);
  await selectStep(page, "labels 1st");
  await waitForState(page, "labels", "done");
  expect(await findAccessibilityViolations(page)).toEqual([]);
  await page.goto(`${ui.url()}/runs/${await runToEnd("Helper")}`);
  await selectStep(page, /^agent/);
  await page.getByText("Let me look into the inbox.").waitFor();
  expect(await findAccessibilityViolations(page)).toEqual([]);
  await page.goto(`${ui.url()}/runs/${await runToEnd("Report")}`);
  await selectStep(page, "rows");
  await page.getByRole("button", { name: "Load more" }).waitFor();
  expect(await findAccessibilityViolations(page)).toEqual([]);
  await clickButton(page, "Replay…");
  await page.getByRole("dialog").getByLabel("Input").waitFor();
  expect(await findAccessibilityViolations(page)).toEqual([]);
});
