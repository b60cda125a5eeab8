/** The whole story on a real hub, in the order in which a person meets it. */
import type { Page } from "playwright-core";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectNewestVersion } from "../support/app-clients.ts";
import { deliver, issueOpened } from "../support/deliver.ts";
import { startWorkerProcess } from "../support/worker-process.ts";
import {
  addNode,
  atRest,
  clickTile,
  connect,
  leavePanel,
  panel,
  port,
  publish,
  setCode,
  tile,
} from "./support/canvas.ts";
import { startOutside } from "./support/sample-desk.ts";
import { type Ui, useUi } from "./support/ui.ts";

/** The hub of the current test. */
let ui: Ui;
const FLOW = "Issue desk";

const send = (title: string) =>
  deliver(ui.url(), {
    body: JSON.stringify({ ...issueOpened, issue: { ...issueOpened.issue, title } }),
  });
const row = (page: Page, title: string) =>
  page.getByRole("region", { name: "Events" }).getByRole("link").filter({ hasText: title });
const runRows = (page: Page) => page.getByRole("region", { name: "Runs" }).getByRole("link");

/** As with `g i`: a page by the keyboard. */
async function go(page: Page, key: string, path: string): Promise<void> {
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
  // The panel may have its new name already.
  await page.keyboard.press("Enter");
  await panel(page, to).waitFor();
}

async function describeTool(page: Page, name: string, text: string, parameter: string) {
  const form = panel(page, name);
  await form.getByRole("textbox", { name: "Description", exact: false }).first().fill(text);
  await form.getByRole("button", { name: "Add a parameter" }).click();
  await form.getByRole("textbox", { name: "Name of parameter 1" }).fill(parameter);
}

async function setUrl(page: Page, flow: string, url: string): Promise<void> {
  await page.goto(flow);
  await clickTile(page, "Fetch the issue");
  await panel(page, "Fetch the issue").getByRole("textbox", { name: "Url" }).fill(url);
  const { pathname } = new URL(flow);
  await expect
    .poll(async () => {
      const { json } = await ui.call("GET", `/api${pathname}`);
      return json.nodes.find(({ name }: { name: string }) => name === "Fetch the issue").parameters
        .url;
    })
    .toBe(url);
}

const edges = async (page: Page): Promise<string[]> => {
  const { json } = await ui.call("GET", `/api${new URL(page.url()).pathname}`);
  const names = new Map(json.nodes.map(({ id, name }: { id: string; name: string }) => [id, name]));
  return json.edges
    .map((edge: { source: string; target: string }) =>
      [edge.source, edge.target].map((id) => names.get(id)).join(" → "),
    )
    .sort();
};

describe("on Node", () => {
  const own = useUi();
  it("leads from the printed link to a flow that agents and events start, and back from a failure", async () => {
    ui = own;
    const link = /^ *Sign in +(\S+)$/m.exec(ui.hub().output())?.[1];
    if (!link) throw new Error(`no link in:\n${ui.hub().output()}`);
    await tellStory(link);
  }, 600_000);
});

describe("on workerd", () => {
  // A Worker is public, and prints no link.
  const own = useUi({ SIGNALBOX_ALLOW_UNSIGNED: "" }, startWorkerProcess);
  it("leads from a link to a flow that agents and events start, and back from a failure", async () => {
    ui = own;
    await tellStory(await ui.link());
  }, 600_000);
});

async function tellStory(link: string): Promise<void> {
  const outside = await startOutside();
  onTestFinished(outside.stop);

  // Sign in by the link.
  const page = await ui.open("/inbox", { link });
  await page.getByRole("heading", { name: "No event is waiting" }).waitFor();
  await page.getByText("Live", { exact: true }).waitFor();

  // A webhook arrives, and is shown by itself.
  expect((await send("The first lamp")).status).toBe(202);
  await row(page, "The first lamp").getByText("no trigger matched").waitFor();

  // The event becomes the first trigger of a flow.
  await row(page, "The first lamp").click();
  await page.getByRole("button", { name: "Make a flow from this event" }).click();
  await page.getByRole("textbox", { name: "Name of the flow" }).fill(FLOW);
  await page.getByRole("button", { name: "Create the flow" }).click();
  await page.waitForURL("**/flows/*");
  const flow = page.url();
  await clickTile(page, "Issues opened");
  await panel(page, "Issues opened")
    .getByRole("region", { name: "Preview" })
    .getByText(/^1 of /)
    .waitFor();

  // What follows the trigger, by keyboard.
  await addByKeyboard(page, "HTTP request");
  await rename(page, "HTTP request", "Fetch the issue");
  await panel(page, "Fetch the issue")
    .getByRole("textbox", { name: "Url" })
    .fill(`${outside.url}/issue`);
  await leavePanel(page, "Fetch the issue");
  await addByKeyboard(page, "Return");
  await rename(page, "Return", "Answer");

  // The first intent, by mouse.
  await page.getByRole("button", { name: /^Add a node( N)?$/ }).click();
  await page.getByRole("option", { name: /^MCP tool/ }).click();
  await tile(page, "MCP tool").waitFor();
  await rename(page, "MCP tool", "Label issue");
  await describeTool(page, "Label issue", "Labels an issue.", "number");
  const overlapping = await tile(page, "Label issue").boundingBox();
  await page.getByRole("button", { name: "Tidy" }).click();
  await expect.poll(() => tile(page, "Label issue").boundingBox()).not.toEqual(overlapping);
  await atRest(page);
  await connect(
    page,
    port(page, "Label issue", "output out"),
    port(page, "Fetch the issue", "input in"),
  );
  await expect.poll(() => edges(page)).toContain("Label issue → Fetch the issue");

  // The second intent, by keyboard, connection included.
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
    .poll(() => edges(page))
    .toEqual([
      "Fetch the issue → Answer",
      "Greet → Word a greeting",
      "Issues opened → Fetch the issue",
      "Label issue → Fetch the issue",
      "Word a greeting → Answer",
    ]);
  await publish(page, 1, "Two tools and one event");

  // An agent calls both tools, with what the page gave it.
  await go(page, "a", "/connect");
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

  // The event trigger fires too, and the runs are there.
  await go(page, "i", "/inbox");
  await row(page, "The first lamp").waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  await send("The second lamp");
  await page.getByRole("button", { name: "1 new event" }).click();
  await row(page, "The second lamp").getByText(FLOW).waitFor();
  await go(page, "r", "/runs");
  await expect.poll(() => runRows(page).count()).toBe(3);
  await expect.poll(() => runRows(page).filter({ hasText: "done" }).count()).toBe(3);

  // A step breaks.
  await setUrl(page, flow, `${outside.url}/broken`);
  await publish(page, 2, "Breaks it");
  await go(page, "i", "/inbox");
  await row(page, "The second lamp").waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  await send("The broken lamp");
  await page.getByRole("button", { name: "1 new event" }).click();
  await row(page, "The broken lamp").getByText(`${FLOW} · HTTP 502`).waitFor();

  // Why: the run opens at the step that failed, with the words of the server.
  await row(page, "The broken lamp").click();
  await page.getByRole("tab", { name: "Runs" }).click();
  await page.getByRole("tabpanel").getByRole("link", { name: FLOW }).click();
  await page.waitForURL("**/runs/*");
  const failed = page.url();
  await page.getByRole("complementary").getByText("Fetch the issue").first().waitFor();
  await page.getByRole("tabpanel").getByText(/502/).first().waitFor();
  await tile(page, "Fetch the issue").getByRole("img", { name: "failed" }).waitFor();

  // Fixed, and the same event once more.
  await setUrl(page, flow, `${outside.url}/issue`);
  await publish(page, 3, "Repairs it");
  await page.goto(failed);
  await page.getByRole("button", { name: "Replay…" }).click();
  await page
    .getByRole("dialog", { name: "Replay" })
    .getByRole("button", { name: "Replay", exact: true })
    .click();
  await expect.poll(() => page.url()).not.toContain(new URL(failed).pathname);
  await page
    .locator("#main header")
    .getByText(/^done in/)
    .waitFor();
  await go(page, "i", "/inbox");
  // Both runs: the one that failed, and the one that took some milliseconds.
  await row(page, "The broken lamp")
    .getByText(/^Issue desk · [\d.]+ m?s$/)
    .waitFor();
  await row(page, "The broken lamp").getByText(`${FLOW} · HTTP 502`).waitFor();
  await go(page, "r", "/runs");
  await expect.poll(() => runRows(page).filter({ hasText: "done" }).count()).toBe(4);
  await expect.poll(() => runRows(page).filter({ hasText: "failed" }).count()).toBe(1);
}
