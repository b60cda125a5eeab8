/** Builds, runs, publishes and rolls back a flow without a mouse. */
import type { Locator } from "playwright-core";
import { beforeAll, expect, it } from "vitest";
import { deliver } from "../support/deliver.ts";
import { addNode, dock, intent, leavePanel, panel, tile, useCanvas } from "./support/canvas.ts";
import { retype, tabTo } from "./support/keyboard.ts";
import { useUi } from "./support/ui.ts";

const ui = useUi();
const { getFlow, getGraph, createFlow, openFlow } = useCanvas(ui);

beforeAll(async () => {
  await ui.call("POST", "/api/apps", { slug: "desk", name: "Desk" });
});

it("builds, connects, moves, finds, copies, deletes, runs, publishes and rolls back with the keyboard", async () => {
  const page = await ui.open("/flows", { permissions: ["clipboard-read", "clipboard-write"] });
  const press = async (...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  const tabToAndEnter = async (locator: Parameters<typeof tabTo>[1]) => {
    await tabTo(page, locator);
    await press("Enter");
  };
  const dialog = (name: string) => page.getByRole("dialog", { name });

  // Create a flow.
  await tabToAndEnter(page.getByRole("button", { name: "New flow" }).first());
  await tabTo(page, page.getByRole("textbox", { name: "Name of the flow" }));
  await page.keyboard.type("Without a mouse");
  await press("Enter");
  await page.waitForURL(/\/flows\/[0-9a-f-]{36}$/);
  const id = page.url().split("/").at(-1) ?? "";
  await page.getByRole("button", { name: "Add a node" }).waitFor();

  // Add a tool, name it, and add the nodes that follow it.
  await addNode(page, "MCP tool");
  await tabTo(page, tile(page, "MCP tool"));
  await press("e");
  await tabTo(page, panel(page, "MCP tool").getByRole("textbox", { name: "Name", exact: true }));
  await retype(page, "Greet someone");
  await press("Enter");
  await tabToAndEnter(
    panel(page, "Greet someone").getByRole("button", { name: "Add a parameter" }),
  );
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
    .poll(async () => (await getFlow(id)).nodes.map(({ name }: { name: string }) => name))
    .toEqual(["Greet someone", "Transform", "Return"]);
  await expect.poll(async () => (await getFlow(id)).errors).toEqual([]);
  expect((await getFlow(id)).edges).toHaveLength(2);

  // Add a second tool, and connect it to an existing node.
  await press("Escape");
  await addNode(page, "MCP tool");
  await tabTo(page, tile(page, "MCP tool"));
  await press("c");
  await dialog("Connect MCP tool to").waitFor();
  await page.keyboard.type("Transf");
  await press("Enter");
  await expect.poll(async () => (await getFlow(id)).edges.length).toBe(3);

  // A trigger with the focus highlights the nodes that it reaches. Arrow keys move it.
  await expect
    .poll(() => page.locator(".node-tile.lit .node-name b").allTextContents())
    .toEqual(["Transform", "Return", "MCP tool"]);
  const positionBefore = (await getFlow(id)).nodes[3].position;
  await tabTo(page, tile(page, "MCP tool"));
  await press("ArrowDown", "ArrowDown", "ArrowRight");
  await expect
    .poll(async () => (await getFlow(id)).nodes[3].position)
    .toEqual({ x: expect.any(Number), y: expect.any(Number) });
  await expect
    .poll(async () => (await getFlow(id)).nodes[3].position.y)
    .toBeGreaterThan(positionBefore.y);

  // Delete an edge, and restore it.
  await tabToAndEnter(page.getByRole("group", { name: "MCP tool to Transform", exact: true }));
  await press("Delete");
  await expect.poll(async () => (await getFlow(id)).edges.length).toBe(2);
  await press("Control+z");
  await expect.poll(async () => (await getFlow(id)).edges.length).toBe(3);

  // Find, copy, paste, delete.
  await press("Control+f");
  await dialog("Find a node").waitFor();
  await page.keyboard.type("Hello");
  await press("Enter");
  await panel(page, "Transform").waitFor();
  await dialog("Find a node").waitFor({ state: "detached" });
  const graphBefore = await getGraph(id);
  await press("Control+c", "Control+v");
  await expect.poll(async () => (await getFlow(id)).nodes.length).toBe(5);
  await press("Delete");
  await expect.poll(() => getGraph(id)).toEqual(graphBefore);

  // Run the draft, and open a step.
  await press("r");
  await tabTo(page, dialog("Run the draft").getByRole("combobox", { name: "Trigger" }));
  await page.keyboard.type("Greet");
  await tabTo(page, dialog("Run the draft").getByRole("textbox", { name: "Input" }));
  await retype(page, '{ "who": "Ada" }');
  await tabToAndEnter(dialog("Run the draft").getByRole("button", { name: "Run" }));
  await dock(page).getByText("done", { exact: true }).first().waitFor();
  await tabToAndEnter(dock(page).getByRole("button", { name: /^Transform/ }));
  await dock(page).getByRole("tabpanel").getByText("Hello, Ada").waitFor();
  await tabToAndEnter(dock(page).getByRole("button", { name: "Close the run" }));

  // Publish with a note.
  await press("Escape", "p");
  await tabTo(page, dialog("Publish v1").getByRole("textbox", { name: "Note" }));
  await page.keyboard.type("All by keyboard");
  await tabToAndEnter(dialog("Publish v1").getByRole("button", { name: "Publish", exact: true }));
  await page.getByText("Published v1").waitFor();
  const { exposedTools } = await getFlow(id);
  expect(exposedTools.map(({ name }: { name: string }) => name).sort()).toEqual([
    "greet_someone",
    "mcp_tool",
  ]);
  expect((await getFlow(id)).nodes[0].parameters.toolDescription).toBe("Greet someone");

  // Publish a second version, compare, and roll back.
  await tabTo(page, tile(page, "Return"));
  await press("Enter", "Delete");
  const changes = page.getByRole("button", { name: /changes since v1/ });
  await tabToAndEnter(changes);
  await expect.poll(() => page.locator(".edge-track.gone").count()).toBe(1);
  await tabTo(page, tile(page, "Transform"));
  await press("Escape", "p");
  await tabToAndEnter(dialog("Publish v2").getByRole("button", { name: "Publish", exact: true }));
  await page.getByText("Published v2").waitFor();
  await tabToAndEnter(page.getByRole("button", { name: "Versions" }));
  await tabToAndEnter(dialog("Versions").getByRole("button", { name: "Roll back" }));
  await page.getByText("Published v1 again, as v3").waitFor();
  await tile(page, "Return").waitFor();
  expect((await getFlow(id)).nodes).toHaveLength(4);
});

it("returns the focus to the element that opened a dialog when the dialog closes", async () => {
  const id = await createFlow("Focus", [intent("Ask")]);
  const page = await openFlow(id);
  const dialogs = page.getByRole("dialog");
  const expectFocus = (button: Locator) =>
    expect
      .poll(() => button.evaluate((element) => element === document.activeElement), {
        message: `${button}`,
      })
      .toBe(true);
  const expectFocusReturns = async (button: Locator, ...keys: string[]) => {
    await button.focus();
    for (const key of keys) await page.keyboard.press(key);
    await dialogs.waitFor();
    await page.keyboard.press("Escape");
    await dialogs.waitFor({ state: "detached" });
    await expectFocus(button);
  };
  const findButton = (name: RegExp) => page.getByRole("button", { name }).first();
  for (const name of [/^Description/, /^Versions/, /^Run/, /^Publish v1/, /^Add a node/, /^Find/])
    await expectFocusReturns(findButton(name), "Enter");
  await expectFocusReturns(tile(page, "Ask"), "n");
  await expectFocusReturns(findButton(/^Versions/), "Control+k");

  await deliver(ui.url(), { type: "issues", body: '{"issue":{"title":"A lamp stays dark"}}' });
  await page.goto(`${ui.url()}/inbox`);
  await page.getByText("A lamp stays dark").first().waitFor();
  await expectFocusReturns(findButton(/^Send test event/), "Enter");
  const anyTime = findButton(/^Any time/);
  await anyTime.focus();
  await page.keyboard.press("Control+k");
  await page.getByPlaceholder("Go to a page").fill("send test");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Send a test event" }).waitFor();
  await page.keyboard.press("Escape");
  await expectFocus(anyTime);

  await page.goto(`${ui.url()}/flows`);
  await expectFocusReturns(findButton(/^New flow/), "Enter");
  const actions = findButton(/^Actions of Focus/);
  await actions.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("menuitem", { name: "Delete…" }).press("Enter");
  await dialogs.waitFor();
  await page.keyboard.press("Escape");
  await expectFocus(actions);
});
