/** A person's way from the first sign-in to a flow that runs, fails and is repaired, on each host. */
import type { Page } from "playwright-core";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectNewestVersion } from "../support/app-clients.ts";
import { deliver, issueOpened } from "../support/deliver.ts";
import { startWorkerProcess } from "../support/worker-process.ts";
import {
  addNode,
  clickTile,
  connect,
  leavePanel,
  panel,
  port,
  publish,
  setCode,
  tile,
  waitUntilSettled,
} from "./support/canvas.ts";
import { startExternalApi } from "./support/sample-hub.ts";
import { type Ui, useUi } from "./support/ui.ts";

/** The hub of the current test. */
let ui: Ui;
const FLOW = "Issue desk";

const send = (title: string) =>
  deliver(ui.url(), {
    body: JSON.stringify({ ...issueOpened, issue: { ...issueOpened.issue, title } }),
  });
const eventRow = (page: Page, title: string) =>
  page.getByRole("region", { name: "Events" }).getByRole("link").filter({ hasText: title });
const runRows = (page: Page) => page.getByRole("region", { name: "Runs" }).getByRole("link");

/** Goes to a page with the keys `g` and `key`. */
async function goTo(page: Page, key: string, path: string): Promise<void> {
  await page.keyboard.press("g");
  await page.keyboard.press(key);
  await page.waitForURL(`**${path}`);
}

async function addByKeyboard(page: Page, type: string): Promise<void> {
  await addNode(page, type);
  await tile(page, type).waitFor();
}

async function rename(page: Page, from: string, to: string): Promise<void> {
  const name = panel(page, from).getByRole("textbox", { name: "Name", exact: true });
  await name.fill(to);
  // Press the key on the page, because the panel may already have its new name.
  await page.keyboard.press("Enter");
  await panel(page, to).waitFor();
}

async function describeTool(page: Page, name: string, text: string, parameter: string) {
  const form = panel(page, name);
  await form.getByRole("textbox", { name: "Description", exact: false }).first().fill(text);
  await form.getByRole("button", { name: "Add a parameter" }).click();
  await form.getByRole("textbox", { name: "Name of parameter 1" }).fill(parameter);
}

async function setUrl(page: Page, flowUrl: string, url: string): Promise<void> {
  await page.goto(flowUrl);
  await clickTile(page, "Fetch the issue");
  await panel(page, "Fetch the issue").getByRole("textbox", { name: "Url" }).fill(url);
  const { pathname } = new URL(flowUrl);
  await expect
    .poll(async () => {
      const { json } = await ui.call("GET", `/api${pathname}`);
      return json.nodes.find(({ name }: { name: string }) => name === "Fetch the issue").parameters
        .url;
    })
    .toBe(url);
}

const describeEdges = async (page: Page): Promise<string[]> => {
  const { json } = await ui.call("GET", `/api${new URL(page.url()).pathname}`);
  const names = new Map(json.nodes.map(({ id, name }: { id: string; name: string }) => [id, name]));
  return json.edges
    .map((edge: { source: string; target: string }) =>
      [edge.source, edge.target].map((id) => names.get(id)).join(" → "),
    )
    .sort();
};

describe("on Node", () => {
  const hostUi = useUi();
  it("a person signs in with the printed link, builds a flow that agents and events start, and repairs a failure", async () => {
    ui = hostUi;
    const link = /^ *Sign in +(\S+)$/m.exec(ui.hub().output())?.[1];
    if (!link) throw new Error(`the hub printed no sign-in link:\n${ui.hub().output()}`);
    await runStory(link);
  }, 600_000);
});

describe("on workerd", () => {
  // A Worker is public, so unsigned webhooks are not allowed. It prints no link.
  const hostUi = useUi({ SIGNALBOX_ALLOW_UNSIGNED: "" }, startWorkerProcess);
  it("a person signs in with a link, builds a flow that agents and events start, and repairs a failure", async () => {
    ui = hostUi;
    await runStory(await ui.link());
  }, 600_000);
});

async function runStory(link: string): Promise<void> {
  const externalApi = await startExternalApi();
  onTestFinished(externalApi.stop);

  // Sign in with the link.
  const page = await ui.open("/inbox", { link });
  await page.getByRole("heading", { name: "No event is waiting" }).waitFor();
  await page.getByText("Live", { exact: true }).waitFor();

  // A webhook arrives, and the page shows it without a reload.
  expect((await send("The first lamp")).status).toBe(202);
  await eventRow(page, "The first lamp").getByText("no trigger matched").waitFor();

  // The event becomes the first trigger of a flow.
  await eventRow(page, "The first lamp").click();
  await page.getByRole("button", { name: "Make a flow from this event" }).click();
  await page.getByRole("textbox", { name: "Name of the flow" }).fill(FLOW);
  await page.getByRole("button", { name: "Create the flow" }).click();
  await page.waitForURL("**/flows/*");
  const flowUrl = page.url();
  await clickTile(page, "Issues opened");
  await panel(page, "Issues opened")
    .getByRole("region", { name: "Preview" })
    .getByText(/^1 of /)
    .waitFor();

  // Add the nodes after the trigger with the keyboard.
  await addByKeyboard(page, "HTTP request");
  await rename(page, "HTTP request", "Fetch the issue");
  await panel(page, "Fetch the issue")
    .getByRole("textbox", { name: "Url" })
    .fill(`${externalApi.url}/issue`);
  await leavePanel(page, "Fetch the issue");
  await addByKeyboard(page, "Return");
  await rename(page, "Return", "Answer");

  // Add the first tool with the mouse.
  await page.getByRole("button", { name: /^Add a node( N)?$/ }).click();
  await page.getByRole("option", { name: /^MCP tool/ }).click();
  await tile(page, "MCP tool").waitFor();
  await rename(page, "MCP tool", "Label issue");
  await describeTool(page, "Label issue", "Labels an issue.", "number");
  const boxBefore = await tile(page, "Label issue").boundingBox();
  await page.getByRole("button", { name: "Tidy" }).click();
  await expect.poll(() => tile(page, "Label issue").boundingBox()).not.toEqual(boxBefore);
  await waitUntilSettled(page);
  await connect(
    page,
    port(page, "Label issue", "output out"),
    port(page, "Fetch the issue", "input in"),
  );
  await expect.poll(() => describeEdges(page)).toContain("Label issue → Fetch the issue");

  // Add and connect the second tool with the keyboard.
  await tile(page, "Label issue").focus();
  await page.keyboard.press("Escape");
  await expect.poll(() => page.getByRole("complementary").count()).toBe(0);
  await addByKeyboard(page, "MCP tool");
  await rename(page, "MCP tool", "Greet");
  await describeTool(page, "Greet", "Greets a person.", "who");
  await leavePanel(page, "Greet");
  await addByKeyboard(page, "Transform");
  await rename(page, "Transform", "Word a greeting");
  const code = panel(page, "Word a greeting").getByRole("textbox", { name: "Expression" });
  await setCode(page, code, '"Hello " & trigger.who');
  await leavePanel(page, "Word a greeting");
  await page.keyboard.press("c");
  await page.getByPlaceholder("Search the nodes").waitFor();
  await page.keyboard.type("Answer");
  await page.keyboard.press("Enter");
  await expect
    .poll(() => describeEdges(page))
    .toEqual([
      "Fetch the issue → Answer",
      "Greet → Word a greeting",
      "Issues opened → Fetch the issue",
      "Label issue → Fetch the issue",
      "Word a greeting → Answer",
    ]);
  await publish(page, 1, "Two tools and one event");

  // An agent calls both tools with the configuration from the page.
  await goTo(page, "a", "/connect");
  await page.getByRole("combobox", { name: "What the agent gets" }).selectOption("desk");
  await page.getByRole("button", { name: "Create a token" }).click();
  await page.getByRole("tab", { name: "Cursor" }).click();
  await page.getByText("Waiting for the first call with the new token…").waitFor();
  const { mcpServers } = JSON.parse((await page.locator("pre").textContent()) ?? "");
  const { url, headers } = mcpServers.desk;
  const agent = await connectNewestVersion(url, headers.Authorization.replace("Bearer ", ""));
  expect((await agent.tools()).map(({ name }) => name).sort()).toEqual(["greet", "label_issue"]);
  const labelled = await agent.call("label_issue", { number: "7" });
  expect(labelled.structuredContent).toMatchObject({ status: 200, body: { ok: true } });
  const greeted = await agent.call("greet", { who: "Ada" });
  expect(greeted.content[0]?.text).toContain("Hello Ada");
  await page.getByText("The agent called just now.").waitFor();

  // The event trigger fires too, and the page lists all runs.
  await goTo(page, "i", "/inbox");
  await eventRow(page, "The first lamp").waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  await send("The second lamp");
  await page.getByRole("button", { name: "1 new event" }).click();
  await eventRow(page, "The second lamp").getByText(FLOW).waitFor();
  await goTo(page, "r", "/runs");
  await expect.poll(() => runRows(page).count()).toBe(3);
  await expect.poll(() => runRows(page).filter({ hasText: "done" }).count()).toBe(3);

  // Publish a version whose first step fails.
  await setUrl(page, flowUrl, `${externalApi.url}/broken`);
  await publish(page, 2, "Breaks it");
  await goTo(page, "i", "/inbox");
  await eventRow(page, "The second lamp").waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  await send("The broken lamp");
  await page.getByRole("button", { name: "1 new event" }).click();
  await eventRow(page, "The broken lamp").getByText(`${FLOW} · HTTP 502`).waitFor();

  // The run opens at the failed step, with the error of the server.
  await eventRow(page, "The broken lamp").click();
  await page.getByRole("tab", { name: "Runs" }).click();
  await page.getByRole("tabpanel").getByRole("link", { name: FLOW }).click();
  await page.waitForURL("**/runs/*");
  const failedRunUrl = page.url();
  await page.getByRole("complementary").getByText("Fetch the issue").first().waitFor();
  await page.getByRole("tabpanel").getByText(/502/).first().waitFor();
  await tile(page, "Fetch the issue").getByRole("img", { name: "failed" }).waitFor();

  // Repair the flow, and replay the event.
  await setUrl(page, flowUrl, `${externalApi.url}/issue`);
  await publish(page, 3, "Repairs it");
  await page.goto(failedRunUrl);
  await page.getByRole("button", { name: "Replay…" }).click();
  await page
    .getByRole("dialog", { name: "Replay" })
    .getByRole("button", { name: "Replay", exact: true })
    .click();
  await expect.poll(() => page.url()).not.toContain(new URL(failedRunUrl).pathname);
  await page
    .locator("#main header")
    .getByText(/^done in/)
    .waitFor();
  await goTo(page, "i", "/inbox");
  // The event shows both runs: the failed one, and the successful one with its duration.
  await eventRow(page, "The broken lamp")
    .getByText(/^Issue desk · [\d.]+ m?s$/)
    .waitFor();
  await eventRow(page, "The broken lamp").getByText(`${FLOW} · HTTP 502`).waitFor();
  await goTo(page, "r", "/runs");
  await expect.poll(() => runRows(page).filter({ hasText: "done" }).count()).toBe(4);
  await expect.poll(() => runRows(page).filter({ hasText: "failed" }).count()).toBe(1);
}
