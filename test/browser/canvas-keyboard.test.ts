/** A flow from nothing to a published version and back, without a mouse. */
import type { Locator } from "playwright-core";
import { beforeAll, expect, it } from "vitest";
import { deliver } from "../support/deliver.ts";
import { addNode, dock, intent, leavePanel, panel, tile, useCanvas } from "./support/canvas.ts";
import { retype, tabTo } from "./support/keyboard.ts";
import { useUi } from "./support/ui.ts";

const ui = useUi();
const { stored, graph, newFlow, open } = useCanvas(ui);

beforeAll(async () => {
  await ui.call("POST", "/api/apps", { slug: "desk", name: "Desk" });
});

it("builds, connects, moves, finds, copies, deletes, runs, publishes and rolls back", async () => {
  const page = await ui.open("/flows", { permissions: ["clipboard-read", "clipboard-write"] });
  const press = async (...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  const enter = async (locator: Parameters<typeof tabTo>[1]) => {
    await tabTo(page, locator);
    await press("Enter");
  };
  const dialog = (name: string) => page.getByRole("dialog", { name });

  // A new flow.
  await enter(page.getByRole("button", { name: "New flow" }).first());
  await tabTo(page, page.getByRole("textbox", { name: "Name of the flow" }));
  await page.keyboard.type("Without a mouse");
  await press("Enter");
  await page.waitForURL(/\/flows\/[0-9a-f-]{36}$/);
  const id = page.url().split("/").at(-1) ?? "";
  await page.getByRole("button", { name: "Add a node" }).waitFor();

  // A tool with a name of its own, and what follows it.
  await addNode(page, "MCP tool");
  await tabTo(page, tile(page, "MCP tool"));
  await press("e");
  await tabTo(page, panel(page, "MCP tool").getByRole("textbox", { name: "Name", exact: true }));
  await retype(page, "Greet someone");
  await press("Enter");
  await enter(panel(page, "Greet someone").getByRole("button", { name: "Add a parameter" }));
  await tabTo(page, page.getByRole("textbox", { name: "Name of parameter 1" }));
  await page.keyboard.type("who");
  await leavePanel(page, "Greet someone");
  await addNode(page, "Transform");
  await press("e");
  await tabTo(page, panel(page, "Transform").getByRole("textbox", { name: "Expression" }));
  await page.keyboard.type('"Hello, " & trigger.who');
  await leavePanel(page, "Transform");
  await addNode(page, "Return");
  await press("e");
  await tabTo(page, panel(page, "Return").getByRole("textbox", { name: /^Value/ }));
  await page.keyboard.type("{{ transform }}");
  await leavePanel(page, "Return");
  await expect
    .poll(async () => (await stored(id)).nodes.map(({ name }: { name: string }) => name))
    .toEqual(["Greet someone", "Transform", "Return"]);
  await expect.poll(async () => (await stored(id)).errors).toEqual([]);
  expect((await stored(id)).edges).toHaveLength(2);

  // A second tool, connected to a node that is there already.
  await press("Escape");
  await addNode(page, "MCP tool");
  await tabTo(page, tile(page, "MCP tool"));
  await press("c");
  await dialog("Connect MCP tool to").waitFor();
  await page.keyboard.type("Transf");
  await press("Enter");
  await expect.poll(async () => (await stored(id)).edges.length).toBe(3);

  // The route of a trigger lights as it gets the focus; arrows move it.
  await expect
    .poll(() => page.locator(".node-tile.lit .node-name b").allTextContents())
    .toEqual(["Transform", "Return", "MCP tool"]);
  const before = (await stored(id)).nodes[3].position;
  await tabTo(page, tile(page, "MCP tool"));
  await press("ArrowDown", "ArrowDown", "ArrowRight");
  await expect
    .poll(async () => (await stored(id)).nodes[3].position)
    .toEqual({ x: expect.any(Number), y: expect.any(Number) });
  await expect.poll(async () => (await stored(id)).nodes[3].position.y).toBeGreaterThan(before.y);

  // A track is deleted and comes back.
  await enter(page.getByRole("group", { name: "MCP tool to Transform", exact: true }));
  await press("Delete");
  await expect.poll(async () => (await stored(id)).edges.length).toBe(2);
  await press("Control+z");
  await expect.poll(async () => (await stored(id)).edges.length).toBe(3);

  // Find, copy, paste, delete.
  await press("Control+f");
  await dialog("Find a node").waitFor();
  await page.keyboard.type("Hello");
  await press("Enter");
  await panel(page, "Transform").waitFor();
  await dialog("Find a node").waitFor({ state: "detached" });
  const one = await graph(id);
  await press("Control+c", "Control+v");
  await expect.poll(async () => (await stored(id)).nodes.length).toBe(5);
  await press("Delete");
  await expect.poll(() => graph(id)).toEqual(one);

  // A run of the draft, and its steps.
  await press("r");
  await tabTo(page, dialog("Run the draft").getByRole("combobox", { name: "Trigger" }));
  await page.keyboard.type("Greet");
  await tabTo(page, dialog("Run the draft").getByRole("textbox", { name: "Input" }));
  await retype(page, '{ "who": "Ada" }');
  await enter(dialog("Run the draft").getByRole("button", { name: "Run" }));
  await dock(page).getByText("done", { exact: true }).first().waitFor();
  await enter(dock(page).getByRole("button", { name: /^Transform/ }));
  await dock(page).getByRole("tabpanel").getByText("Hello, Ada").waitFor();
  await enter(dock(page).getByRole("button", { name: "Close the run" }));

  // Publish with a note.
  await press("Escape", "p");
  await tabTo(page, dialog("Publish v1").getByRole("textbox", { name: "Note" }));
  await page.keyboard.type("All by keyboard");
  await enter(dialog("Publish v1").getByRole("button", { name: "Publish", exact: true }));
  await page.getByText("Published v1").waitFor();
  const { exposedTools } = await stored(id);
  expect(exposedTools.map(({ name }: { name: string }) => name).sort()).toEqual([
    "greet_someone",
    "mcp_tool",
  ]);
  expect((await stored(id)).nodes[0].parameters.toolDescription).toBe("Greet someone");

  // Another version, the comparison, and back.
  await tabTo(page, tile(page, "Return"));
  await press("Enter", "Delete");
  const changes = page.getByRole("button", { name: /changes since v1/ });
  await enter(changes);
  await expect.poll(() => page.locator(".edge-track.gone").count()).toBe(1);
  await tabTo(page, tile(page, "Transform"));
  await press("Escape", "p");
  await enter(dialog("Publish v2").getByRole("button", { name: "Publish", exact: true }));
  await page.getByText("Published v2").waitFor();
  await enter(page.getByRole("button", { name: "Versions" }));
  await enter(dialog("Versions").getByRole("button", { name: "Roll back" }));
  await page.getByText("Published v1 again, as v3").waitFor();
  await tile(page, "Return").waitFor();
  expect((await stored(id)).nodes).toHaveLength(4);
});

it("returns the focus to where it was when a dialog closes", async () => {
  const id = await newFlow("Focus", [intent("Ask")]);
  const page = await open(id);
  const dialogs = page.getByRole("dialog");
  const hasFocus = (button: Locator) =>
    expect
      .poll(() => button.evaluate((each) => each === document.activeElement), {
        message: `${button}`,
      })
      .toBe(true);
  const opensAndReturns = async (button: Locator, ...keys: string[]) => {
    await button.focus();
    for (const key of keys) await page.keyboard.press(key);
    await dialogs.waitFor();
    await page.keyboard.press("Escape");
    await dialogs.waitFor({ state: "detached" });
    await hasFocus(button);
  };
  const named = (name: RegExp) => page.getByRole("button", { name }).first();
  for (const name of [/^Description/, /^Versions/, /^Run/, /^Publish v1/, /^Add a node/, /^Find/])
    await opensAndReturns(named(name), "Enter");
  await opensAndReturns(tile(page, "Ask"), "n");
  await opensAndReturns(named(/^Versions/), "Control+k");

  await deliver(ui.url(), { type: "issues", body: '{"issue":{"title":"A lamp stays dark"}}' });
  await page.goto(`${ui.url()}/inbox`);
  await page.getByText("A lamp stays dark").first().waitFor();
  await opensAndReturns(named(/^Send test event/), "Enter");
  const anyTime = named(/^Any time/);
  await anyTime.focus();
  await page.keyboard.press("Control+k");
  await page.getByPlaceholder("Go to a page").fill("send test");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Send a test event" }).waitFor();
  await page.keyboard.press("Escape");
  await hasFocus(anyTime);

  await page.goto(`${ui.url()}/flows`);
  await opensAndReturns(named(/^New flow/), "Enter");
  const actions = named(/^Actions of Focus/);
  await actions.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("menuitem", { name: "Delete…" }).press("Enter");
  await dialogs.waitFor();
  await page.keyboard.press("Escape");
  await hasFocus(actions);
});
