/** The canvas: editing, saving, publishing and running a flow. */
import type { Locator, Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { deliver } from "../support/deliver.ts";
import {
  addNode,
  clickTile,
  connect,
  dock,
  drag,
  edge,
  intent,
  node,
  panel,
  port,
  publish,
  saveNow,
  setCode,
  tile,
  useCanvas,
  waitUntilSettled,
} from "./support/canvas.ts";
import { intercept } from "./support/intercept.ts";
import { setUpFlows, startExternalApi } from "./support/sample-hub.ts";
import { findAccessibilityViolations, THEMES, useUi } from "./support/ui.ts";

const ui = useUi();
const { getFlow, getGraph, createFlow, findFlowId, openFlow } = useCanvas(ui);
let externalUrl: string;

beforeAll(async () => {
  const server = await startExternalApi();
  externalUrl = server.url;
  await setUpFlows(ui.call, externalUrl);
  return server.stop;
});

/** A tool, an HTTP request and a Return node, connected in this order. */
const linearGraph = () => ({
  nodes: [
    intent("Ask"),
    node("fetch", "HttpRequest", "Fetch", 400, 100, { url: `${externalUrl}/issue` }),
    node("end", "Return", "End", 700, 100, { value: "{{ fetch.body.ok }}" }),
  ],
  edges: [edge("Ask", "fetch"), edge("fetch", "end")],
});
const createLinearFlow = (name: string) => {
  const { nodes, edges } = linearGraph();
  return createFlow(name, nodes, edges);
};
const publishOverApi = (id: string) => ui.call("POST", `/api/flows/${id}/publish`, { note: "" });
const describeEdges = async (id: string) =>
  (await getFlow(id)).edges.map(
    ({ source, sourceHandle, target }: Record<string, string>) =>
      `${source} ${sourceHandle} ${target}`,
  );
/** Returns the vertical distance between a tile and the label with this text. */
const distanceBelow = async (page: Page, name: string, text: string) => {
  const frame = await tile(page, name).locator(".node-tile").boundingBox();
  const plate = await tile(page, name).locator(".id-plate").getByText(text).boundingBox();
  return (plate?.y ?? 0) - ((frame?.y ?? 0) + (frame?.height ?? 0));
};

describe("the canvas", () => {
  it("shows a label below each trigger: the tool name, the event or the schedule", async () => {
    const id = await createFlow("Plates", [
      intent("Get Weather Data"),
      node("on", "Event", "On issue", 100, 300, { source: "github", type: "issues" }),
      node("at", "Schedule", "Each morning", 100, 500, { cron: "0 9 * * *" }),
    ]);
    const page = await openFlow(id);
    for (const [name, text] of [
      ["Get Weather Data", "get_weather_data"],
      ["On issue", "github · issues"],
      ["Each morning", "0 9 * * *"],
    ] as const)
      expect(await distanceBelow(page, name, text), text).toBeGreaterThanOrEqual(0);
    for (const text of ["get_weather_data", "github · issues"])
      await page.getByRole("main").locator("header").getByText(text).waitFor();
  });

  it("adds the next node with the + of a port, from a list of node types with a search", async () => {
    const id = await createFlow("Plus", [
      intent("Ask"),
      node("check", "Condition", "Is it a bug?", 400, 100, {
        conditions: [{ left: "{{ trigger.x }}", op: "eq", right: 1 }],
      }),
    ]);
    const page = await openFlow(id);
    await tile(page, "Is it a bug?").hover();
    await tile(page, "Is it a bug?")
      .getByRole("button", { name: "Add a node after false" })
      .click();
    const library = page.getByRole("dialog", { name: "Add a node after Is it a bug?" });
    await library.getByPlaceholder("Search the node types").fill("jsonata");
    await expect.poll(() => library.getByRole("option").count()).toBe(1);
    await library.getByRole("option", { name: /^Transform/ }).click();
    await tile(page, "Transform").waitFor();
    await expect.poll(async () => (await describeEdges(id))[0]).toMatch(/^check false /);
    await tile(page, "Is it a bug?").hover();
    await tile(page, "Is it a bug?")
      .getByRole("button", { name: "Add what happens on error" })
      .click();
    await library.getByRole("option", { name: /^Return/ }).click();
    await expect.poll(async () => (await describeEdges(id))[1]).toMatch(/^check error /);
  });

  it("connects two nodes with the mouse, and rejects an edge that would create a cycle", async () => {
    const id = await createFlow("Connect", [
      node("a", "Transform", "First", 100, 100, { expression: "1" }),
      node("b", "Transform", "Second", 500, 100, { expression: "2" }),
    ]);
    const page = await openFlow(id);
    const connectNodes = (from: string, to: string) =>
      connect(page, port(page, from, "output out"), port(page, to, "input in"));
    await connectNodes("First", "Second");
    await expect.poll(() => describeEdges(id)).toEqual(["a out b"]);
    await connectNodes("Second", "First");
    await page.keyboard.press("Escape");
    await clickTile(page, "First");
    await panel(page, "First").getByRole("textbox", { name: "Name", exact: true }).fill("Begin");
    await page.keyboard.press("Enter");
    await expect.poll(async () => (await getFlow(id)).nodes[0].name).toBe("Begin");
    expect(await describeEdges(id)).toEqual(["a out b"]);
  });

  it("undoes and redoes every kind of edit", async () => {
    const id = await createLinearFlow("Everything");
    const page = await openFlow(id, { permissions: ["clipboard-read", "clipboard-write"] });
    const edits: [string, () => Promise<unknown>][] = [
      ["add", () => addNode(page, "Transform")],
      [
        "connect",
        async () => {
          await waitUntilSettled(page);
          await connect(page, port(page, "Ask", "output out"), port(page, "Transform", "input in"));
        },
      ],
      [
        "move",
        async () => {
          // Closes the panel, which covers the tile.
          await page.keyboard.press("Escape");
          await waitUntilSettled(page);
          await drag(page, tile(page, "End"), { x: 40, y: 80 });
        },
      ],
      [
        "parameters",
        async () => {
          await clickTile(page, "Fetch");
          await panel(page, "Fetch")
            .getByRole("textbox", { name: /^Url/ })
            .fill(`${externalUrl}/two`);
        },
      ],
      [
        "rename",
        async () => {
          const name = panel(page, "Fetch").getByRole("textbox", { name: "Name", exact: true });
          await name.fill("Get it");
          await name.press("Enter");
        },
      ],
      [
        "name of the flow",
        async () => {
          const name = page.getByRole("textbox", { name: "Name of the flow" });
          await name.fill("Everything else");
          await name.press("Enter");
        },
      ],
      [
        "description of the flow",
        async () => {
          await page.getByRole("button", { name: "Description" }).click();
          const dialog = page.getByRole("dialog", { name: "Description of the flow" });
          await dialog.getByRole("textbox", { name: "Description" }).fill("Fetches an issue.");
          await dialog.getByRole("button", { name: "Apply" }).click();
        },
      ],
      [
        "paste",
        async () => {
          await clickTile(page, "Get it");
          await page.keyboard.press("Control+c");
          await page.keyboard.press("Control+v");
        },
      ],
      ["delete", () => page.keyboard.press("Delete")],
      ["tidy", () => page.getByRole("button", { name: "Tidy" }).click()],
    ];
    const states = [await getGraph(id)];
    const saveAndRead = async () => {
      await saveNow(page);
      return getGraph(id);
    };
    for (const [name, edit] of edits) {
      await edit();
      await expect.poll(saveAndRead, { message: name }).not.toEqual(states.at(-1));
      states.push(await getGraph(id));
    }
    // After a rename, references use the new name.
    expect(states[5]?.nodes[2].parameters.value).toBe("{{ get_it.body.ok }}");
    await page.keyboard.press("Escape");
    for (const [index, state] of [...states.entries()].reverse().slice(1)) {
      await page.keyboard.press("Control+z");
      await expect.poll(saveAndRead, { message: `undo ${edits[index]?.[0]}` }).toEqual(state);
    }
    expect(await page.getByRole("button", { name: "Undo" }).isDisabled()).toBe(true);
    for (const [index, state] of states.slice(1).entries()) {
      await page.keyboard.press(index % 2 === 0 ? "Control+Shift+z" : "Control+y");
      await expect.poll(saveAndRead, { message: `redo ${edits[index]?.[0]}` }).toEqual(state);
    }
  });

  it("copies nodes into another flow, with new ids and tool names, and with references to the copies", async () => {
    const from = await createLinearFlow("Copied from");
    const to = await createFlow("Copied to", [
      node("fetch", "HttpRequest", "Fetch", 100, 100, { url: "https://example.com" }),
    ]);
    const page = await openFlow(from, { permissions: ["clipboard-read", "clipboard-write"] });
    await page.keyboard.press("Control+a");
    await page.keyboard.press("Control+c");
    await page.goto(`${ui.url()}/flows/${to}`);
    await tile(page, "Fetch").waitFor();
    await page.keyboard.press("Control+v");
    await expect.poll(async () => (await getFlow(to)).nodes.length).toBe(4);
    const pasted = await getFlow(to);
    const [, ask, fetch, end] = pasted.nodes;
    expect(pasted.edges).toHaveLength(2);
    expect(fetch).toMatchObject({ name: "Fetch", slug: "fetch_2" });
    expect(fetch.id).not.toBe("fetch");
    expect(end.parameters.value).toBe("{{ fetch_2.body.ok }}");
    const original = (await getFlow(from)).nodes[0].parameters.toolName;
    await expect
      .poll(async () => (await getFlow(to)).nodes[1].parameters.toolName)
      .toMatch(/^ask_\d+$/);
    expect(ask.parameters.toolName).not.toBe(original);
    // A second paste puts the copies beside the first ones, not on top of them.
    await page.getByRole("button", { name: "Show the whole flow" }).click();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Paste" }).click();
    await expect.poll(async () => (await getFlow(to)).nodes.length).toBe(7);
    const positions = (await getFlow(to)).nodes.map(
      ({ position: { x, y } }: { position: { x: number; y: number } }) => `${x} ${y}`,
    );
    expect(new Set(positions).size).toBe(7);
  });

  it("deletes and cuts nodes and edges with keys", async () => {
    const id = await createLinearFlow("Delete");
    const page = await openFlow(id, { permissions: ["clipboard-read", "clipboard-write"] });
    const edgeElement = page.getByRole("group", { name: "Fetch to End", exact: true });
    await edgeElement.focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Delete");
    await expect.poll(() => describeEdges(id)).toEqual(["Ask out fetch"]);
    await clickTile(page, "Fetch");
    await page.keyboard.press("Backspace");
    await expect.poll(async () => (await getFlow(id)).nodes.length).toBe(2);
    expect(await describeEdges(id)).toEqual([]);
    await clickTile(page, "End");
    await page.keyboard.press("Control+x");
    await expect.poll(async () => (await getFlow(id)).nodes.length).toBe(1);
    await page.keyboard.press("Control+v");
    await expect.poll(async () => (await getFlow(id)).nodes.length).toBe(2);
  });

  it.each(THEMES)(
    "lists the node types that can follow a node, with visible icons, in the %s theme",
    async (colorScheme) => {
      const page = await openFlow(await createLinearFlow(`Library ${colorScheme}`), {
        colorScheme,
      });
      await page.getByRole("button", { name: "Add a node" }).click();
      const library = page.getByRole("dialog", { name: "Add a node" });
      const icon = library.getByRole("option", { name: /^MCP tool/ }).locator(".node-icon");
      const colors = await icon.evaluate((icon) =>
        [icon, icon.firstElementChild ?? icon].map((element) => getComputedStyle(element).color),
      );
      expect(colors[1]).toBe(colors[0]);
      const colorOf = (text: Locator) =>
        text.evaluate((element) => getComputedStyle(element).color);
      expect(await colorOf(library.getByText("MCP tool", { exact: true }))).toBe(
        await colorOf(library.getByRole("heading", { name: "Add a node" })),
      );
      await page.keyboard.press("Escape");

      await clickTile(page, "Fetch");
      await page.keyboard.press("n");
      const after = page.getByRole("dialog", { name: "Add a node after Fetch" });
      await after.getByText("A trigger cannot follow a node").waitFor();
      await after.getByPlaceholder("Search the node types").fill("mcp server");
      await after.getByText("Nothing matches “mcp server”.").waitFor();
    },
  );

  it("shows a map, and finds nodes by name and parameters", async () => {
    const id = await createLinearFlow("Find");
    const page = await openFlow(id);
    await page.getByRole("img", { name: "Map of the flow" }).waitFor();
    await expect.poll(() => page.locator(".react-flow__minimap-node").count()).toBe(3);
    await page.keyboard.press("Control+f");
    const find = page.getByRole("dialog", { name: "Find a node" });
    await find.getByPlaceholder("Names and parameters").fill("/issue");
    await expect.poll(() => find.getByRole("option").count()).toBe(1);
    await page.keyboard.press("Enter");
    await panel(page, "Fetch").waitFor();
    await page.keyboard.press("Control+f");
    await find.getByPlaceholder("Names and parameters").fill("no such thing");
    await find.getByText("Nothing matches “no such thing”.").waitFor();
  });

  it("lays out nodes without positions and does not save that layout, and tidies on demand", async () => {
    const id = await createFlow(
      "Heap",
      [
        { id: "a", type: "Schedule", name: "Daily", parameters: { cron: "0 9 * * *" } },
        { id: "b", type: "Return", name: "End" },
      ],
      [edge("a", "b")],
    );
    const page = await openFlow(id);
    const x = async (name: string) => (await tile(page, name).boundingBox())?.x ?? 0;
    await expect.poll(async () => (await x("Daily")) < (await x("End")) - 100).toBe(true);
    expect((await getFlow(id)).revision).toBe(1);
    await waitUntilSettled(page);
    await drag(page, tile(page, "End"), { x: 30, y: 160 });
    await expect.poll(async () => (await getFlow(id)).revision).toBe(2);
    const moved = await getGraph(id);
    await page.keyboard.press("Escape");
    await page.keyboard.press("t");
    await expect.poll(() => getGraph(id)).not.toEqual(moved);
  });

  it("shows its bars and its map without overlap, also beside the panel, which can be closed and opened again", async () => {
    const id = await createLinearFlow("Bars");
    const page = await openFlow(id);
    await clickTile(page, "Fetch");
    await panel(page, "Fetch").waitFor();
    for (const width of [1440, 1280, 1100]) {
      await page.setViewportSize({ width, height: 900 });
      await waitUntilSettled(page);
      const boxes = await page
        .locator(".float-bar, .react-flow__minimap")
        .evaluateAll((elements) =>
          elements.map((element) => element.getBoundingClientRect().toJSON()),
        );
      expect(boxes).toHaveLength(3);
      const overlapping = boxes.flatMap((box, index) =>
        boxes
          .slice(index + 1)
          .filter(
            (other) =>
              box.left < other.right &&
              other.left < box.right &&
              box.top < other.bottom &&
              other.top < box.bottom,
          ),
      );
      expect(overlapping, `${width} px`).toEqual([]);
    }
    await panel(page, "Fetch").getByRole("button", { name: "Close the panel" }).click();
    await expect.poll(() => panel(page, "Fetch").count()).toBe(0);
    await page.getByRole("button", { name: "Edit" }).click();
    await panel(page, "Fetch").waitFor();
  });

  it("highlights exactly the nodes and edges that a trigger reaches", async () => {
    const page = await openFlow(await findFlowId("Issue triage"));
    const highlighted = () => page.locator(".node-tile.lit .node-name b").allTextContents();
    await tile(page, "Triage issue").hover();
    await expect
      .poll(highlighted)
      .toEqual([
        "Triage issue",
        "Fetch the issue",
        "Is it a bug?",
        "Add the label",
        "Word a kind reply",
        "Answer",
      ]);
    await expect.poll(() => page.locator(".edge-track.route").count()).toBe(6);
    await tile(page, "Answer").hover();
    await expect.poll(highlighted).toEqual([]);
    await tile(page, "Issue opened").focus();
    await expect.poll(highlighted).toContain("Issue opened");
  });

  it("shows its warnings and the button that publishes on the screen of a phone", async () => {
    const id = await createFlow("On a phone");
    const page = await openFlow(id, { viewport: { width: 390, height: 844 } });
    const boxOf = async (locator: Locator) => {
      const { x = 0, y = 0, width = 0, height = 0 } = (await locator.boundingBox()) ?? {};
      return { left: x, right: x + width, top: y, bottom: y + height };
    };
    const name = await boxOf(page.getByLabel("Name of the flow"));
    const warning = await boxOf(page.getByRole("button", { name: "No triggers" }));
    expect(name.right <= warning.left || name.bottom <= warning.top).toBe(true);
    const publishButton = await boxOf(page.getByRole("button", { name: "Publish v1" }));
    expect(publishButton.right).toBeLessThanOrEqual(390);
  });

  it("explains how to start an empty flow, and warns that it has no trigger", async () => {
    const id = await createFlow("Empty");
    const page = await openFlow(id);
    await page.getByRole("heading", { name: "This flow has no nodes yet" }).waitFor();
    const warning = page.getByRole("button", { name: /^No triggers/ });
    await warning.focus();
    expect(await warning.locator("svg.lucide-triangle-alert").count()).toBe(1);
    await expect
      .poll(() => page.getByRole("tooltip").textContent())
      .toBe("This flow has no trigger nodes and cannot be executed via MCP.");
    await page.getByRole("main").getByRole("button", { name: "MCP tool" }).click();
    await tile(page, "MCP tool").getByText("mcp_tool").waitFor();
    await expect.poll(async () => (await getFlow(id)).nodes.length).toBe(1);
    await expect.poll(() => warning.count()).toBe(0);
  });

  it("shows errors and warnings at their nodes, and lists the errors before publishing", async () => {
    const id = await createFlow(
      "Problems",
      [
        intent("Nowhere"),
        intent("Start", 300),
        node("shape", "Transform", "Shape", 400, 300, { expression: "$sum(items.(1)" }),
        node("end", "Return", "End", 700, 300, { value: "{{ gone.x }}" }),
        node("orphan", "Return", "Orphan", 700, 500),
      ],
      [edge("Start", "shape"), edge("shape", "end")],
    );
    const page = await openFlow(id);
    const { errors, warnings } = await getFlow(id);
    for (const { nodeId, message } of [...errors, ...warnings] as Record<string, string>[]) {
      const note = page.locator(`.react-flow__node[data-id="${nodeId}"]`).getByRole("note");
      expect(await note.locator("[title]").getAttribute("title"), message).toContain(message);
    }
    for (const name of ["Nowhere", "Shape", "End", "Orphan"])
      await tile(page, name).getByRole("note").waitFor();
    await page.getByRole("button", { name: "Publish v1" }).click();
    const dialog = page.getByRole("dialog", { name: "Publish v1" });
    const errorList = dialog.getByRole("region", { name: "Must be fixed first" });
    await expect.poll(() => errorList.getByRole("listitem").count()).toBe(errors.length);
    expect(await dialog.getByRole("button", { name: "Publish", exact: true }).isDisabled()).toBe(
      true,
    );
    await errorList.getByRole("button", { name: /unknown node gone/ }).click();
    await panel(page, "End").waitFor();
  });
});

describe("autosave", () => {
  it("does not write before the flow has loaded, and shows why loading has failed", async () => {
    const id = await createLinearFlow("Slow load");
    const page = await ui.open("/flows");
    const writes: string[] = [];
    page.on("request", (request) => {
      if (request.method() === "PUT") writes.push(request.url());
    });
    await intercept(page, `**/api/flows/${id}`, (route) =>
      route.fulfill({
        status: 503,
        contentType: "application/problem+json",
        body: JSON.stringify({
          title: "Storage is unavailable",
          detail: "The database does not respond.",
          code: "storage_unavailable",
        }),
      }),
    );
    await page.goto(`${ui.url()}/flows/${id}`);
    await page.getByText("The database does not respond.").waitFor();
    for (const key of ["n", "Delete", "Control+z", "t"]) await page.keyboard.press(key);
    await page.unroute(`**/api/flows/${id}`);
    await page.getByRole("button", { name: "Try again" }).click();
    await tile(page, "Fetch").waitFor();
    await page.getByRole("link", { name: "Inbox" }).click();
    await page.waitForURL("**/inbox");
    expect(writes).toEqual([]);
    expect((await getFlow(id)).revision).toBe(1);
  });

  it("does not replace a flow by an empty one until the person confirms it", async () => {
    const id = await createFlow("Emptied", [node("end", "Return", "End", 100, 100)]);
    const page = await openFlow(id);
    await clickTile(page, "End");
    await page.keyboard.press("Delete");
    await page.getByText("The flow is empty now.").waitFor();
    expect((await getFlow(id)).nodes).toHaveLength(1);
    await page.getByRole("alert").getByRole("button", { name: "Undo" }).click();
    await clickTile(page, "End");
    await page.keyboard.press("Delete");
    await page.getByRole("button", { name: "Save it empty" }).click();
    await expect.poll(async () => (await getFlow(id)).nodes).toEqual([]);
    await page.keyboard.press("Control+z");
    await expect.poll(async () => (await getFlow(id)).nodes.length).toBe(1);
  });

  it("tries again while the hub is unreachable, and shows the message of the hub if it rejects an edit", async () => {
    const id = await createLinearFlow("Outage");
    const page = await openFlow(id);
    const target = `**/api/flows/${id}`;
    await intercept(page, target, (route) =>
      route.request().method() === "PUT" ? route.abort() : route.continue(),
    );
    const name = page.getByRole("textbox", { name: "Name of the flow" });
    await name.fill("Through the outage");
    await name.press("Enter");
    await page.getByText("Not saved yet, trying again").waitFor();
    await page.keyboard.press("p");
    await page.getByRole("dialog").getByRole("button", { name: "Publish", exact: true }).click();
    await page.getByText("The draft is not saved").waitFor();
    await page.keyboard.press("Escape");
    await page.unroute(target);
    await expect.poll(async () => (await getFlow(id)).name).toBe("Through the outage");
    expect((await getFlow(id)).version).toBeNull();
    await page.getByText(/^Saved /).waitFor();

    await intercept(page, target, (route) =>
      route.request().method() === "PUT"
        ? route.fulfill({
            status: 400,
            contentType: "application/problem+json",
            body: JSON.stringify({
              title: "Invalid request",
              detail: "name: is odd",
              code: "invalid",
            }),
          })
        : route.continue(),
    );
    await name.fill("Odd");
    await name.press("Enter");
    await page.getByRole("alert").getByText("name: is odd").waitFor();
    await page.unroute(target);
    await name.fill("Fine");
    await name.press("Enter");
    await expect.poll(async () => (await getFlow(id)).name).toBe("Fine");
  });
});

describe("versions", () => {
  it("compares the draft with the published version, and shows added, changed and removed nodes", async () => {
    const id = await createLinearFlow("Compared");
    await publishOverApi(id);
    const page = await openFlow(id);
    await clickTile(page, "Fetch");
    await panel(page, "Fetch").getByRole("textbox", { name: /^Url/ }).fill("https://example.com/2");
    await page.getByRole("button", { name: "1 change since v1" }).waitFor();
    await clickTile(page, "End");
    await page.keyboard.press("Delete");
    await page.keyboard.press("Escape");
    await addNode(page, "Merge");
    await page.getByRole("button", { name: "4 changes since v1" }).click();
    await tile(page, "Fetch").getByText("changed", { exact: true }).waitFor();
    await tile(page, "Merge").getByText("added", { exact: true }).waitFor();
    await tile(page, "End").getByText("removed", { exact: true }).waitFor();
    await expect.poll(() => page.locator(".edge-track.gone").count()).toBe(1);
    await page.getByRole("button", { name: "Publish v2" }).click();
    const changes = page.getByRole("dialog").getByRole("region", { name: "Changes" });
    const texts = (await changes.getByRole("listitem").allInnerTexts()).map((text) =>
      text.replaceAll(/\s+/g, " ").trim(),
    );
    expect(texts).toEqual([
      "changed Fetch url",
      "added Merge",
      "removed End",
      "removed Fetch → End",
    ]);
  });

  it("publishes with a note, and rolls back to a version, which Undo reverts in the draft", async () => {
    const id = await createLinearFlow("Versions");
    const page = await openFlow(id);
    await publish(page, 1, "First of all");
    await clickTile(page, "Fetch");
    const url = panel(page, "Fetch").getByRole("textbox", { name: /^Url/ });
    await url.fill("https://example.com/draft");
    await page.getByRole("button", { name: "1 change since v1" }).waitFor();
    await publish(page, 2);
    await page.getByRole("button", { name: "Versions" }).click();
    const versions = page.getByRole("dialog", { name: "Versions" });
    const first = versions.getByRole("listitem").filter({ hasText: "First of all" });
    await versions.getByText("published", { exact: true }).waitFor();
    await first.getByRole("button", { name: "Edit from here" }).click();
    await expect.poll(() => url.inputValue()).toBe(`${externalUrl}/issue`);
    await expect.poll(async () => (await getFlow(id)).draft).toBe("changed");
    expect((await getFlow(id)).version).toBe(2);
    await page.getByRole("button", { name: "Undo" }).click();
    await expect.poll(() => url.inputValue()).toBe("https://example.com/draft");
    await page.getByRole("button", { name: "Versions" }).click();
    await first.getByRole("button", { name: "Roll back" }).click();
    await page.getByText("Published v1 again, as v3").waitFor();
    expect((await getFlow(id)).version).toBe(3);
    await expect.poll(() => url.inputValue()).toBe(`${externalUrl}/issue`);
    await page.getByRole("button", { name: "Undo" }).click();
    await expect.poll(() => url.inputValue()).toBe("https://example.com/draft");
    await page.getByRole("button", { name: "1 change since v3" }).waitFor();

    // A draft without a change cannot be published.
    await page.getByRole("button", { name: "Redo" }).click();
    await page.getByRole("button", { name: "Publish v4" }).click();
    await page.getByRole("dialog").getByText("Nothing has changed.").waitFor();
    const publishButton = page
      .getByRole("dialog")
      .getByRole("button", { name: "Publish", exact: true });
    expect(await publishButton.isDisabled()).toBe(true);
  });
});

describe("a run of the draft", () => {
  it("shows each step live, and can use the input of a past run", async () => {
    const id = await createFlow(
      "Run it",
      [
        intent("Ask", 100, { parameters: [{ name: "who", type: "string" }] }),
        node("fetch", "HttpRequest", "Fetch", 400, 100, { url: `${externalUrl}/issue` }),
        node("slow", "HttpRequest", "Slow", 700, 100, {
          url: `${externalUrl}/slow`,
          timeoutMs: 300_000,
        }),
        node("end", "Return", "End", 1000, 100, { value: "{{ trigger.who }}" }),
      ],
      [edge("Ask", "fetch"), edge("fetch", "slow"), edge("slow", "end")],
    );
    const page = await openFlow(id);
    await page.keyboard.press("r");
    const dialog = page.getByRole("dialog", { name: "Run the draft" });
    const input = dialog.getByRole("textbox", { name: "Input" });
    expect(JSON.parse(await input.inputValue())).toEqual({ who: "" });
    await input.fill('{ "who": ');
    await dialog.getByRole("alert").waitFor();
    await input.fill('{ "who": "Ada" }');
    await dialog.getByRole("button", { name: "Run" }).click();
    await tile(page, "Fetch").getByRole("img", { name: "done" }).waitFor();
    await tile(page, "Slow").getByRole("img", { name: "under way" }).waitFor();
    await expect.poll(() => page.locator(".edge-track.done").count()).toBe(1);
    await expect.poll(() => page.locator(".edge-track.run").count()).toBe(1);
    await dock(page)
      .getByRole("button", { name: /^Fetch/ })
      .click();
    await dock(page).getByRole("tab", { name: "Output" }).click();
    await dock(page).getByRole("tree", { name: "Output" }).getByText("labels").waitFor();
    // The focus is in the run, so Delete does not delete the selected node.
    await page.keyboard.press("Delete");
    expect(await page.locator(".react-flow__node").count()).toBe(4);
    await dock(page).getByRole("button", { name: "Cancel" }).click();
    await dock(page).getByText("cancelled").first().waitFor();

    await page.keyboard.press("r");
    await input.waitFor();
    await input.fill("{}");
    const past = dialog.getByRole("combobox", { name: "Past run" });
    await past.selectOption({ index: 1 });
    await expect.poll(async () => JSON.parse(await input.inputValue())).toEqual({ who: "Ada" });
  });

  it("uses a sample event that the trigger matches, or an event that has arrived", async () => {
    await deliver(ui.url());
    const eventParameters = (action: string) => ({
      source: "github",
      type: "issues",
      params: { action },
    });
    const id = await createFlow(
      "Events",
      [
        node("opened", "Event", "Opened", 100, 100, eventParameters("opened")),
        node("closed", "Event", "Closed", 100, 300, eventParameters("closed")),
        node("end", "Return", "End", 400, 100, { value: "{{ trigger.data.action }}" }),
      ],
      [edge("opened", "end"), edge("closed", "end")],
    );
    const page = await openFlow(id);
    const dialog = page.getByRole("dialog", { name: "Run the draft" });
    const trigger = dialog.getByRole("combobox", { name: "Trigger" });
    const event = dialog.getByRole("combobox", { name: "Event" });
    const input = dialog.getByRole("textbox", { name: "Input" });
    const runFrom = async (name: string, choose?: () => Promise<unknown>) => {
      await page.keyboard.press("r");
      await trigger.selectOption({ label: name });
      await choose?.();
      await dialog.getByRole("button", { name: "Run" }).click();
      await dock(page).getByText(`Run started by “${name}”`).waitFor();
      await dock(page).getByText("done", { exact: true }).first().waitFor();
    };
    const output = () => dock(page).getByRole("tabpanel").textContent();
    await runFrom("Closed", async () =>
      expect(JSON.parse(await input.inputValue())).toEqual({
        source: "github",
        type: "issues",
        data: { action: "closed" },
      }),
    );
    await clickTile(page, "End");
    await dock(page).getByRole("tab", { name: "Output" }).click();
    await expect.poll(output).toContain("closed");
    await runFrom("Opened", () => event.selectOption({ index: 1 }));
    await expect.poll(output).toContain("opened");
    // The dialog does not suggest an event that another trigger matches.
    await page.keyboard.press("r");
    await trigger.selectOption({ label: "Opened" });
    await expect.poll(() => event.inputValue()).not.toBe("");
    await trigger.selectOption({ label: "Closed" });
    await expect.poll(() => event.inputValue()).toBe("");
  });

  it("shows why a step failed, and the wait before its next attempt", async () => {
    const id = await createFlow(
      "Fails",
      [
        intent("Ask"),
        node("call", "HttpRequest", "Call", 400, 100, {
          url: `${externalUrl}/broken`,
          settings: { retries: { attempts: 2, backoffMs: 2_000 } },
        }),
      ],
      [edge("Ask", "call")],
    );
    const page = await openFlow(id);
    await page.keyboard.press("r");
    await page.getByRole("dialog").getByRole("button", { name: "Run" }).click();
    await dock(page).getByText("waits before attempt 2").waitFor();
    await tile(page, "Call").getByRole("img", { name: "failed" }).waitFor();
    await dock(page).getByText("failed", { exact: true }).first().waitFor();
    await clickTile(page, "Call");
    await dock(page).getByRole("tab", { name: "Error" }).click();
    await dock(page).getByRole("tabpanel").getByText(/502/).first().waitFor();
    await dock(page)
      .getByRole("tab", { name: /^Attempts/ })
      .click();
    await dock(page).getByRole("tabpanel").getByText("2nd attempt").waitFor();
  });

  it("tests one step, and uses pinned data instead of executing a node", async () => {
    const id = await createFlow(
      "Pins",
      [
        intent("Ask"),
        node("call", "HttpRequest", "Call", 400, 100, { url: `${externalUrl}/broken` }),
        node("end", "Return", "End", 700, 100, { value: "{{ call.body.answer }}" }),
      ],
      [edge("Ask", "call"), edge("call", "end")],
    );
    const page = await openFlow(id);
    await clickTile(page, "End");
    await panel(page, "End").getByRole("button", { name: "Test this step" }).click();
    // The message of the hub: there is no output of the previous node.
    await page.getByText(/give the output of Call/).waitFor();
    await page.getByRole("button", { name: "Dismiss" }).click();

    await clickTile(page, "Call");
    await panel(page, "Call").getByRole("button", { name: "Pin data" }).click();
    const pinned = panel(page, "Call").getByRole("textbox", { name: "Pinned output" });
    await setCode(page, pinned, '{ "body": { "answer": ');
    await panel(page, "Call")
      .getByText(/^Not pinned yet/)
      .waitFor();
    await setCode(page, pinned, '{ "body": { "answer": 42 } }');
    await tile(page, "Call").getByLabel("its output is pinned").waitFor();
    await page.keyboard.press("Escape");
    await clickTile(page, "End");
    await panel(page, "End").getByRole("button", { name: "Test this step" }).click();
    await dock(page).getByRole("tab", { name: "Output" }).click();
    await dock(page).getByRole("tabpanel").getByText("42").first().waitFor();

    await page.reload();
    await tile(page, "Call").getByLabel("its output is pinned").waitFor();
    await page.keyboard.press("r");
    await page.getByRole("dialog").getByRole("button", { name: "Run" }).click();
    await dock(page).getByText("done", { exact: true }).first().waitFor();
    await clickTile(page, "Call");
    await pinned.and(page.locator(".cm-content")).waitFor();
    await panel(page, "Call").getByRole("button", { name: "Unpin" }).click();
    await expect.poll(() => tile(page, "Call").getByLabel("its output is pinned").count()).toBe(0);
    await dock(page).getByRole("button", { name: "Run again" }).click();
    await dock(page).getByText("failed", { exact: true }).first().waitFor();
  });
});

describe.each(THEMES)("in the %s theme", (colorScheme) => {
  it("has no serious accessibility violation on the canvas, in the panel, the comparison, the dialogs and a run", async () => {
    const id = await createLinearFlow(`Accessible ${colorScheme}`);
    await publishOverApi(id);
    const page = await openFlow(id, { colorScheme, reducedMotion: "reduce" });
    const background = await page
      .locator(".desk")
      .evaluate((canvas) => getComputedStyle(canvas).backgroundColor);
    const [red = 255] = background.match(/[\d.]+/g)?.map(Number) ?? [];
    expect(red < 100, background).toBe(colorScheme === "dark");
    expect(await findAccessibilityViolations(page), "the canvas").toEqual([]);
    await clickTile(page, "Fetch");
    await panel(page, "Fetch").getByRole("textbox", { name: /^Url/ }).fill("{{ gone }}");
    await page.getByRole("button", { name: "1 change since v1" }).click();
    await tile(page, "Fetch").getByRole("note").waitFor();
    expect(await findAccessibilityViolations(page), "the panel and the comparison").toEqual([]);
    for (const [key, name] of [
      ["n", "Add a node after Fetch"],
      ["Control+f", "Find a node"],
      ["c", "Connect Fetch to"],
      ["r", "Run the draft"],
      ["p", "Publish v2"],
    ] as const) {
      await tile(page, "Fetch").focus();
      await page.keyboard.press(key);
      await page.getByRole("dialog", { name }).waitFor();
      expect(await findAccessibilityViolations(page), name).toEqual([]);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
    await page.keyboard.press("Control+z");
    await page.keyboard.press("r");
    await page.getByRole("dialog").getByRole("button", { name: "Run" }).click();
    await dock(page).getByText("done", { exact: true }).first().waitFor();
    expect(await findAccessibilityViolations(page), "a run").toEqual([]);
  });
});
