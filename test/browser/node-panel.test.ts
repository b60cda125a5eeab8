/** The panel of a node: its form, the section of the MCP tool, references to data of past runs, and code editors. */
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { serveSdk2 } from "../support/mcp-servers.ts";
import {
  clickTile,
  dock,
  edge,
  intent,
  node,
  panel,
  setCode,
  tile,
  useCanvas,
} from "./support/canvas.ts";
import { startExternalApi } from "./support/sample-hub.ts";
import { findAccessibilityViolations, useUi } from "./support/ui.ts";

const ui = useUi();
const { getFlow, createFlow, openFlow } = useCanvas(ui);
let externalUrl: string;

beforeAll(async () => {
  const server = await startExternalApi();
  externalUrl = server.url;
  await ui.call("POST", "/api/apps", { slug: "desk", name: "Desk" });
  return server.stop;
});

const parametersOf = async (id: string, index = 0) => (await getFlow(id)).nodes[index].parameters;
const openNode = async (id: string, name: string): Promise<Page> => {
  const page = await openFlow(id);
  await clickTile(page, name);
  await panel(page, name).waitFor();
  return page;
};

describe("the section MCP Tool", () => {
  it("derives the tool name from the name of the node, and checks it while the person types", async () => {
    await createFlow("Taken", [intent("Triage issue")]);
    const id = await createFlow(
      "Named",
      [intent("Ask"), node("end", "Return", "End", 400, 100, { value: "{{ trigger }}" })],
      [edge("Ask", "end")],
    );
    await ui.call("POST", `/api/flows/${id}/publish`, { note: "" });
    const page = await openNode(id, "Ask");
    const section = panel(page, "Ask").getByRole("region", { name: "MCP Tool" });
    await section.getByText("ask", { exact: true }).waitFor();
    await section.getByText("Derived from the name of the node.").waitFor();
    const name = panel(page, "Ask").getByRole("textbox", { name: "Name", exact: true });
    await name.fill("Triage issue");
    await section.getByText("'triage_issue' already exists in this app.").waitFor();
    await section.getByText("triage_issue_2", { exact: true }).waitFor();
    await section.getByText(/Agents can call ask for another week/).waitFor();
    await name.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Rename the tool?" });
    await dialog.getByText("triage_issue_2", { exact: true }).waitFor();
    await dialog.getByRole("button", { name: "Keep the name" }).click();
    await expect.poll(() => name.inputValue()).toBe("Ask");
    await name.fill("Triage issue");
    // Leaving the panel opens the dialog too, and keeps the new name.
    await page.locator(".react-flow__pane").click({ position: { x: 30, y: 30 } });
    await dialog.getByRole("button", { name: "Rename", exact: true }).click();
    await expect.poll(async () => (await parametersOf(id)).toolName).toBe("triage_issue_2");
    await tile(page, "Triage issue").getByText("triage_issue_2").waitFor();
  });

  it("renames a tool that was never published without asking", async () => {
    const id = await createFlow("Unpublished", [intent("First name"), intent("Neighbour", 300)]);
    const page = await openNode(id, "First name");
    const name = panel(page, "First name").getByRole("textbox", { name: "Name", exact: true });
    // The name of another tool of the same draft is not available.
    await name.fill("Neighbour");
    await panel(page, "First name").getByText("neighbour_2", { exact: true }).waitFor();
    await name.fill("Second name");
    await name.press("Enter");
    await expect.poll(async () => (await parametersOf(id)).toolName).toBe("second_name");
  });

  it("shows why parameters that an import has kept are invalid", async () => {
    const place = { name: "city", type: { type: "place" } };
    const id = await createFlow("Kept", [
      intent("List", 100, { parameters: "city" }),
      intent("Type", 300, { parameters: [place] }),
    ]);
    const page = await openNode(id, "List");
    await panel(page, "List").getByText("must be an array, but is a string").waitFor();
    await clickTile(page, "Type");
    await panel(page, "Type").getByText('must be one of "string"').waitFor();
  });

  it("edits the description, the parameters, the active state and when to use the tool", async () => {
    const id = await createFlow("Tool", [intent("Weather")]);
    const page = await openNode(id, "Weather");
    const section = panel(page, "Weather").getByRole("region", { name: "MCP Tool" });
    const field = (name: string) => section.getByRole("textbox", { name, exact: true });
    const description = section.getByRole("textbox", { name: /^Description/ }).first();
    await description.fill("");
    await section.getByText("must not be empty: agents choose a tool by its description").waitFor();
    await description.fill("The weather of a city.");
    await field("When to use").fill("Before a trip.");
    await field("When not to use").fill("For history.");
    const add = section.getByRole("button", { name: "Add a parameter" });
    await add.click();
    await field("Name of parameter 1").fill("city");
    await field("Description of city").fill("Such as Bern");
    await add.click();
    await field("Name of parameter 2").fill("unit");
    await section.getByRole("combobox", { name: "Type of unit" }).selectOption("enum");
    await field("Values of unit").fill("celsius, kelvin");
    await section.getByRole("checkbox", { name: "unit is optional" }).click();
    await add.click();
    await field("Name of parameter 3").fill("when");
    await section.getByRole("combobox", { name: "Format of when" }).selectOption("date");
    await add.click();
    await field("Name of parameter 4").fill("tags");
    await section.getByRole("combobox", { name: "Type of tags" }).selectOption("array");
    await section.getByRole("combobox", { name: "Items of tags" }).selectOption("string");
    await section.getByRole("switch", { name: "Active" }).click();
    await expect
      .poll(() => parametersOf(id))
      .toMatchObject({
        toolDescription: "The weather of a city.",
        whenToUse: "Before a trip.",
        whenNotToUse: "For history.",
        isActive: false,
        parameters: [
          { name: "city", type: "string", description: "Such as Bern" },
          { name: "unit", type: "enum", enum: ["celsius", "kelvin"], optional: true },
          { name: "when", type: "string", format: "date" },
          { name: "tags", type: "array", items: "string" },
        ],
      });
    await page.getByRole("button", { name: /^No active triggers/ }).waitFor();
    await field("Name of parameter 2").fill("city");
    await section.getByText("duplicate parameter city").waitFor();
    await section.getByRole("button", { name: "Remove city" }).last().click();
    await expect.poll(async () => (await parametersOf(id)).parameters.length).toBe(3);
    expect(await findAccessibilityViolations(page)).toEqual([]);
  });
});

describe("the parameters of a tool", () => {
  it("keep their values when an earlier parameter is removed", async () => {
    const [size, color] = [
      { name: "size", type: "enum", enum: ["small", "large"] },
      { name: "color", type: "enum", enum: ["red", "blue"] },
    ];
    const id = await createFlow("Enums", [intent("Pick", 100, { parameters: [size, color] })]);
    const page = await openNode(id, "Pick");
    const form = panel(page, "Pick");
    await form.getByRole("button", { name: "Remove size" }).click();
    const values = form.getByRole("textbox", { name: "Values of color" });
    expect(await values.inputValue()).toBe("red, blue");
    await values.fill("red, blue, green,");
    await values.blur();
    expect(await values.inputValue()).toBe("red, blue, green");
    await expect
      .poll(async () => (await parametersOf(id)).parameters)
      .toEqual([{ ...color, enum: ["red", "blue", "green"] }]);
  });
});

describe("the form", () => {
  it("keeps a section of rarely used settings closed until a setting is used", async () => {
    const id = await createFlow("Advanced", [
      intent("Ask"),
      intent("Limited", 300, { concurrency: { most: 2 } }),
    ]);
    const page = await openNode(id, "Ask");
    const limitField = (name: string) => panel(page, name).getByRole("textbox", { name: /^Most/ });
    const summary = panel(page, "Ask").getByText("Concurrency", { exact: true });
    await summary.waitFor();
    expect(await limitField("Ask").count()).toBe(0);
    await summary.click();
    await limitField("Ask").fill("3");
    await expect.poll(async () => (await parametersOf(id)).concurrency).toEqual({ most: 3 });
    await limitField("Ask").fill("");
    await expect.poll(async () => (await parametersOf(id)).concurrency).toBeUndefined();
    expect(await limitField("Ask").isVisible()).toBe(true);
    await clickTile(page, "Limited");
    await limitField("Limited").waitFor();
  });

  it("has a field for each property of the schema, and shows errors at the field", async () => {
    const id = await createFlow(
      "Form",
      [intent("Ask"), node("call", "HttpRequest", "Call", 400, 100, { url: `${externalUrl}/x` })],
      [edge("Ask", "call")],
    );
    const page = await openNode(id, "Call");
    const form = panel(page, "Call");
    await form.getByRole("combobox", { name: "Method" }).selectOption("POST");
    const headers = form.getByRole("group", { name: "Headers" });
    await headers.getByRole("button", { name: "Add" }).click();
    await headers.getByRole("textbox", { name: "Name 1" }).fill("accept");
    await headers.getByRole("textbox", { name: "Value of accept" }).fill("text/plain");
    await form.getByText("Retries, time limit, errors").click();
    await form.getByRole("switch", { name: "Continue on error" }).click();
    await expect
      .poll(() => parametersOf(id, 1))
      .toMatchObject({
        method: "POST",
        headers: { accept: "text/plain" },
        settings: { continueOnError: true },
      });
    await form.getByRole("textbox", { name: /^Url/ }).fill("{{ gone.x }}");
    await form
      .getByRole("alert")
      .getByText(/unknown node gone/)
      .waitFor();
  });

  it("inserts references to the data of past runs, also into code", async () => {
    const id = await createFlow(
      "References",
      [
        intent("Ask"),
        node("fetch", "HttpRequest", "Fetch", 400, 100, { url: `${externalUrl}/issue` }),
        node("shape", "Transform", "Shape", 700, 100, { expression: "1" }),
        node("end", "Return", "End", 1000, 100, { value: "Answer: " }),
      ],
      [edge("Ask", "fetch"), edge("fetch", "shape"), edge("shape", "end")],
    );
    await ui.call("POST", `/api/flows/${id}/runs?draft=1&wait=1`, { trigger: "ask" });
    const page = await openNode(id, "End");
    const dialog = page.getByRole("dialog", { name: "Insert a reference" });
    await panel(page, "End").getByRole("button", { name: "Insert a reference" }).first().click();
    expect(await dialog.getByRole("combobox", { name: "Run" }).textContent()).toContain(
      "succeeded",
    );
    await dialog.getByRole("button", { name: /^Fetch/ }).click();
    await dialog.getByRole("searchbox", { name: "Search in Data of Fetch" }).fill("bug");
    await dialog.getByText("1 of 1").waitFor();
    const matchingItem = dialog.getByRole("treeitem").filter({ hasText: "bug" });
    await matchingItem.hover();
    await matchingItem.getByRole("button", { name: "Insert" }).click();
    await expect
      .poll(async () => (await parametersOf(id, 3)).value)
      .toBe("Answer: {{ fetch.body.labels[0] }}");
    expect((await getFlow(id)).errors).toEqual([]);

    await clickTile(page, "Shape");
    const code = panel(page, "Shape").getByRole("textbox", { name: "Expression" });
    await setCode(page, code, "$count()");
    await page.keyboard.press("ArrowLeft");
    await panel(page, "Shape").getByRole("button", { name: "Insert a reference" }).click();
    await dialog.getByRole("button", { name: /^Fetch/ }).click();
    const tree = dialog.getByRole("tree");
    // Enter inserts the active row of the tree.
    await tree.focus();
    await tree.getByText("labels").waitFor();
    const rows = await tree.getByRole("treeitem").allInnerTexts();
    for (let step = 0; step < rows.findIndex((row) => row.includes("labels")); step += 1)
      await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await expect
      .poll(async () => (await parametersOf(id, 2)).expression)
      .toBe("$count(nodes.fetch.body.labels)");
  });

  it("offers secrets only where they stay secret", async () => {
    await ui.call("PUT", "/api/secrets/API_KEY", { value: "a-secret-value" });
    const id = await createFlow(
      "Secrets",
      [
        intent("Ask"),
        node("call", "HttpRequest", "Call", 400, 100, {
          url: externalUrl,
          headers: { authorization: "Bearer " },
        }),
      ],
      [edge("Ask", "call")],
    );
    const page = await openNode(id, "Call");
    const dialog = page.getByRole("dialog", { name: "Insert a reference" });
    const headers = panel(page, "Call").getByRole("group", { name: "Headers" });
    await headers.getByRole("button", { name: "Insert a reference" }).click();
    await dialog.getByRole("button", { name: /^Secrets/ }).click();
    await dialog.getByRole("button", { name: "API_KEY" }).click();
    await expect
      .poll(async () => (await parametersOf(id, 1)).headers)
      .toEqual({ authorization: "Bearer {{ secrets.API_KEY }}" });
    await panel(page, "Call").getByRole("button", { name: "Insert a reference" }).first().click();
    await dialog.waitFor();
    expect(await dialog.getByRole("button", { name: /^Secrets/ }).count()).toBe(0);
  });

  it("marks errors of JSONata, JavaScript and JSON at their position", async () => {
    const id = await createFlow(
      "Code",
      [
        intent("Ask"),
        node("shape", "Transform", "Shape", 400, 100, { expression: "1" }),
        node("code", "Code", "Script", 700, 100, { code: "return 1" }),
      ],
      [edge("Ask", "shape"), edge("shape", "code")],
    );
    const page = await openNode(id, "Shape");
    const error = page.locator(".cm-lint-marker-error");
    await setCode(
      page,
      panel(page, "Shape").getByRole("textbox", { name: "Expression" }),
      "$sum(items.(1)",
    );
    await error.waitFor();
    await tile(page, "Shape").getByRole("note").waitFor();
    await page.keyboard.press("Escape");
    await clickTile(page, "Script");
    const script = panel(page, "Script").getByRole("textbox", { name: "Code", exact: true });
    await setCode(page, script, "return (1");
    await error.waitFor();
    await setCode(page, script, "return input");
    await expect.poll(() => error.count()).toBe(0);
    await panel(page, "Script").getByRole("button", { name: "Pin data" }).click();
    await setCode(
      page,
      panel(page, "Script").getByRole("textbox", { name: "Pinned output" }),
      "{ 1 }",
    );
    await error.waitFor();
  });

  it("lists the tools of a connection, with a form from the schema of the selected tool", async () => {
    const server = await serveSdk2(
      { forecast: ({ city }) => ({ city, sky: "clear" }), alert: () => ({}) },
      {
        definitions: [
          {
            name: "alert",
            inputSchema: {
              type: "object",
              properties: { city: { type: "string" }, level: { type: "integer" } },
            },
          },
          {
            name: "forecast",
            description: "The weather of a city.",
            inputSchema: {
              type: "object",
              properties: { city: { type: "string" }, days: { type: "integer" } },
              required: ["city"],
            },
          },
        ],
      },
    );
    const { json } = await ui.call("POST", "/api/connections", {
      name: "weather",
      url: server.url,
    });
    const id = await createFlow(
      "Tools",
      [intent("Ask"), node("call", "CallTool", "Call", 400, 100)],
      [edge("Ask", "call")],
    );
    const page = await openNode(id, "Call");
    const form = panel(page, "Call");
    await form.getByRole("combobox", { name: "Connection" }).selectOption({ label: "weather" });
    await form.getByRole("combobox", { name: "Tool" }).selectOption("forecast");
    await form.getByText("The weather of a city.").waitFor();
    await form.getByRole("textbox", { name: "City" }).fill("Bern");
    await form.getByRole("textbox", { name: "Days" }).fill("3");
    await expect
      .poll(() => parametersOf(id, 1))
      .toEqual({
        connection: json.id,
        tool: "forecast",
        arguments: { city: "Bern", days: 3 },
      });
    // The form removes arguments that the new tool does not have, because it could not show them.
    await form.getByRole("combobox", { name: "Tool" }).selectOption("alert");
    await form.getByRole("textbox", { name: "Level" }).waitFor();
    await expect
      .poll(() => parametersOf(id, 1))
      .toEqual({ connection: json.id, tool: "alert", arguments: { city: "Bern" } });
    await form.getByRole("combobox", { name: "Tool" }).selectOption("forecast");
    await page.keyboard.press("Escape");
    await page.keyboard.press("r");
    await page.getByRole("dialog").getByRole("button", { name: "Run" }).click();
    await dock(page).getByText("done", { exact: true }).first().waitFor();
    await server.close();
  });

  it("lists flows and their triggers, with fields for the input of the selected trigger", async () => {
    const calledFlow = await createFlow(
      "Called",
      [
        intent("Greet", 100, { parameters: [{ name: "who", type: "string" }] }),
        node("end", "Return", "End", 400, 100, { value: "{{ trigger.who }}" }),
      ],
      [edge("Greet", "end")],
    );
    await ui.call("POST", `/api/flows/${calledFlow}/publish`, { note: "" });
    const id = await createFlow(
      "Caller",
      [intent("Start"), node("call", "CallFlow", "Call", 400, 100)],
      [edge("Start", "call")],
    );
    const page = await openNode(id, "Call");
    const form = panel(page, "Call");
    await form.getByRole("combobox", { name: "Flow" }).selectOption({ label: "desk / Called" });
    await form.getByRole("combobox", { name: "Trigger" }).selectOption({ label: "Greet" });
    await form.getByRole("textbox", { name: "Who" }).fill("Ada");
    await expect
      .poll(() => parametersOf(id, 1))
      .toEqual({ flow: calledFlow, trigger: "greet", input: { who: "Ada" } });
  });
});
