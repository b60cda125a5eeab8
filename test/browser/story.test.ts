/** The whole story on a real hub, in the order in which a person meets it. */
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { newest } from "../support/app-clients.ts";
import { deliver, issueOpened } from "../support/deliver.ts";
import { startOutside } from "./support/sample-desk.ts";
import { useUi } from "./support/ui.ts";

const ui = useUi();
const FLOW = "Issue desk";

const send = (title: string) =>
  deliver(ui.url(), {
    body: JSON.stringify({ ...issueOpened, issue: { ...issueOpened.issue, title } }),
  });
const row = (page: Page, title: string) =>
  page.getByRole("region", { name: "Events" }).getByRole("link").filter({ hasText: title });
const runRows = (page: Page) => page.getByRole("region", { name: "Runs" }).getByRole("link");
const tile = (page: Page, name: string) => page.getByRole("group", { name: `${name},` });
const panel = (page: Page, name: string) =>
  page.getByRole("complementary", { name: `Node ${name}` });

/** As with `g i`: a page by the keyboard. */
async function go(page: Page, key: string, path: string): Promise<void> {
  await page.keyboard.press("g");
  await page.keyboard.press(key);
  await page.waitForURL(`**${path}`);
}

/** From the library, after the node that is selected. */
async function addByKeyboard(page: Page, type: string): Promise<void> {
  await page.keyboard.press("n");
  await page.getByPlaceholder("Search the library").waitFor();
  await page.keyboard.type(type);
  await page.keyboard.press("Enter");
  await tile(page, type).waitFor();
}

async function rename(page: Page, from: string, to: string): Promise<void> {
  const name = panel(page, from).getByRole("textbox", { name: "Name", exact: true });
  await name.fill(to);
  await name.press("Enter");
  // Only a tool that was saved already has a name that agents may know.
  const asks = page.getByRole("dialog", { name: "Rename the tool?" });
  await asks.or(tile(page, to)).first().waitFor();
  if (await asks.isVisible())
    await asks.getByRole("button", { name: "Rename", exact: true }).click();
  await panel(page, to).waitFor();
}

/** Back to the tile by keyboard. An editor with a list of completions takes the first Escape. */
async function leavePanel(page: Page, name: string): Promise<void> {
  const isLeft = () => tile(page, name).evaluate((element) => element === document.activeElement);
  await expect
    .poll(
      async () => {
        if (await isLeft()) return true;
        await page.keyboard.press("Escape");
        return false;
      },
      { interval: 300 },
    )
    .toBe(true);
}

async function describeTool(page: Page, name: string, text: string, parameter: string) {
  const form = panel(page, name);
  await form.getByRole("textbox", { name: "Description", exact: false }).first().fill(text);
  await form.getByRole("button", { name: "Add a parameter" }).click();
  await form.getByRole("textbox", { name: "Name of parameter 1" }).fill(parameter);
}

/** All tiles are measured, and none moves any more. */
async function atRest(page: Page): Promise<void> {
  let before = "";
  await expect
    .poll(
      async () => {
        const now = await page.locator(".react-flow__node").evaluateAll((tiles) =>
          tiles
            .map((each) => {
              const { x, y } = each.getBoundingClientRect();
              return `${x} ${y} ${getComputedStyle(each).visibility}`;
            })
            .join(),
        );
        const rests = now === before && !now.includes("hidden");
        before = now;
        return rests;
      },
      { interval: 150 },
    )
    .toBe(true);
}

async function connectByMouse(page: Page, from: string, to: string): Promise<void> {
  const start = await tile(page, from).locator(".react-flow__handle.source").first().boundingBox();
  const end = await tile(page, to).locator(".react-flow__handle.target").first().boundingBox();
  if (!start || !end) throw new Error(`no port of ${from} or ${to} is visible`);
  await page.mouse.move(start.x + start.width / 2, start.y + start.height / 2);
  await page.mouse.down();
  await page.mouse.move(end.x + end.width / 2, end.y + end.height / 2, { steps: 12 });
  await page.mouse.up();
}

async function publish(page: Page, version: number, note: string): Promise<void> {
  await page
    .getByRole("status")
    .getByText(/^Saved/)
    .waitFor();
  await page.getByRole("button", { name: `Publish v${version}` }).click();
  const dialog = page.getByRole("dialog", { name: `Publish v${version}` });
  await dialog.getByRole("textbox", { name: "Note" }).fill(note);
  await dialog.getByRole("button", { name: "Publish", exact: true }).click();
  await page.getByText(`Published v${version}`).waitFor();
}

async function setUrl(page: Page, flow: string, url: string): Promise<void> {
  await page.goto(flow);
  await tile(page, "Fetch the issue").click();
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

it("leads from the printed link to a flow that agents and events start, and back from a failure", async () => {
  const outside = await startOutside();

  // Sign in by the link that the hub has printed.
  const link = /^ *Sign in +(\S+)$/m.exec(ui.hub().output())?.[1];
  if (!link) throw new Error(`no link in:\n${ui.hub().output()}`);
  const page = await ui.open("/inbox", { link });
  await page.getByRole("heading", { name: "The line is clear" }).waitFor();
  await page.getByText("Live", { exact: true }).waitFor();

  // A webhook arrives, and is shown by itself.
  expect((await send("The first lamp")).status).toBe(202);
  await row(page, "The first lamp").getByText("no trigger matched").waitFor();

  // The event becomes the first trigger of a flow.
  await row(page, "The first lamp").click();
  await page.getByRole("button", { name: "Make a flow from this" }).click();
  await page.getByRole("textbox", { name: "Name of the flow" }).fill(FLOW);
  await page.getByRole("button", { name: "Create the flow" }).click();
  await page.waitForURL("**/flows/*");
  const flow = page.url();
  await tile(page, "Issues opened").click();
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
  await connectByMouse(page, "Label issue", "Fetch the issue");
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
  await code.click();
  await page.keyboard.type('"Hello " & trigger.who');
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
  const agent = await newest(url, headers.Authorization.replace("Bearer ", ""));
  expect((await agent.tools()).map(({ name }) => name).sort()).toEqual(["greet", "label_issue"]);
  const labelled = await agent.call("label_issue", { number: "7" });
  expect(labelled.structuredContent).toMatchObject({ status: 200, body: { ok: true } });
  const greeted = await agent.call("greet", { who: "Ada" });
  expect(greeted.content[0]?.text).toContain("Hello Ada");
  await page.getByText("It called just now.").waitFor();

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
  outside.stop();
}, 600_000);
