import { expect, it } from "vitest";
import { listen, serveSdk2 } from "../support/mcp-servers.ts";
import { serveOAuthMcp } from "../support/oauth-server.ts";
import { findAccessibilityViolations, THEMES, useUi } from "./support/ui.ts";

const ui = useUi({ SIGNALBOX_ALLOW_COMMANDS: "on" });

const FORECAST = {
  name: "forecast",
  description: "The weather of a city.",
  inputSchema: {
    type: "object",
    properties: {
      city: { type: "string", description: "Its name, in any language." },
      days: { anyOf: [{ type: "integer", maximum: 10 }, { type: "null" }], default: null },
      unit: { $ref: "#/$defs/Unit" },
      hourly: { type: "boolean" },
    },
    required: ["city", "hourly"],
    $defs: { Unit: { type: "string", enum: ["metric", "imperial"] } },
  },
};

it("adds a server and checks it at once, and calls a tool with a form from its schema", async () => {
  const server = await serveSdk2(
    {
      forecast: (args) => ({ ...args, sky: "clear" }),
      fail: () => ({ isError: true, content: [{ type: "text", text: "No such city: Atlantis" }] }),
    },
    { definitions: [FORECAST] },
  );
  const page = await ui.open("/connections");
  await page.getByRole("heading", { name: "No MCP server yet" }).waitFor();
  await page.getByRole("button", { name: "Add a connection" }).first().click();
  await page.getByRole("textbox", { name: "Name" }).fill("weather");
  await page.getByRole("textbox", { name: "URL of the MCP server" }).fill(server.url);
  await page.getByRole("button", { name: "Add and check" }).click();
  const detail = page.getByRole("complementary", { name: "Connection" });
  await detail.getByText("The weather of a city.").waitFor();
  await page
    .getByRole("link", { name: /responds.*weather/ })
    .getByText("2 tools")
    .waitFor();

  await detail.getByRole("button", { name: "Call forecast" }).click();
  const dialog = page.getByRole("dialog", { name: "Call forecast" });
  const call = dialog.getByRole("button", { name: "Call", exact: true });
  await dialog.getByText("Its name, in any language.").waitFor();
  await call.click();
  await dialog.getByRole("alert").getByText("is required").waitFor();
  await dialog.getByRole("textbox", { name: "City" }).fill("Bern");
  await dialog.getByRole("textbox", { name: "Days" }).fill("12");
  await dialog.getByRole("alert").getByText("must be at most 10, but is 12").waitFor();
  await dialog.getByRole("textbox", { name: "Days" }).fill("3");
  await dialog.getByRole("combobox", { name: "Unit" }).selectOption("metric");
  await dialog.getByRole("switch", { name: "Hourly" }).click();
  await call.click();
  const result = dialog.getByRole("tree", { name: "result" });
  await result.getByText("structuredContent").waitFor();
  for (const text of ["Bern", "metric", "clear"]) await result.getByText(text).last().waitFor();
  await dialog.getByRole("radio", { name: "JSON" }).click();
  const json = dialog.getByRole("textbox", { name: "Arguments" });
  expect(JSON.parse(await json.inputValue())).toEqual({
    city: "Bern",
    days: 3,
    unit: "metric",
    hourly: true,
  });
  await json.fill('{ "city": ');
  await dialog.getByRole("alert").waitFor();
  expect(await call.isDisabled()).toBe(true);
  await dialog.getByRole("button", { name: "Close" }).last().click();

  await detail.getByRole("button", { name: "Call fail" }).click();
  const failing = page.getByRole("dialog", { name: "Call fail" });
  await failing.getByRole("button", { name: "Call", exact: true }).click();
  await failing.getByRole("alert").getByText("No such city: Atlantis").waitFor();
  await page.keyboard.press("Escape");

  await server.close();
  await detail.getByRole("button", { name: "Check now" }).click();
  await detail.getByRole("alert").waitFor();
  await detail.getByRole("img", { name: "does not respond" }).waitFor();
  await detail.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("“weather” was deleted").waitFor();
  await page.getByRole("heading", { name: "No MCP server yet" }).waitFor();
});

it("authorizes a connection by a sign-in at the server, and signs it out", async () => {
  const server = await serveOAuthMcp({ tools: { forecast: () => ({ sky: "clear" }) } });
  const page = await ui.open("/connections");
  await page.getByRole("button", { name: "Add a connection" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox", { name: "Name" }).fill("mine");
  await dialog.getByRole("textbox", { name: "URL of the MCP server" }).fill(server.url);
  await dialog.getByRole("combobox", { name: "Credentials" }).selectOption("authorization_code");
  await dialog.getByRole("button", { name: "Add and check" }).click();

  const detail = page.getByRole("complementary", { name: "Connection" });
  await detail.getByRole("img", { name: "needs authorization" }).waitFor();
  server.control.deny = true;
  await detail.getByRole("button", { name: "Authorize", exact: true }).click();
  await page.getByText("access_denied", { exact: false }).waitFor();
  server.control.deny = false;
  await page.getByRole("link", { name: "Back to the connection" }).click();
  await detail.getByRole("button", { name: "Authorize", exact: true }).click();
  await page.getByText("The hub is authorized at “mine”").waitFor();
  await detail.getByRole("img", { name: "responds", exact: true }).waitFor();
  expect(new URL(page.url()).search).toBe("");
  await detail.getByRole("button", { name: "Call forecast" }).waitFor();
  await detail.getByRole("button", { name: "Sign out" }).click();
  await detail.getByRole("button", { name: "Authorize", exact: true }).waitFor();
  expect(server.revoked).toHaveLength(1);
  await detail.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("“mine” was deleted").waitFor();
});

/** Starts an OAuth token endpoint for one client. */
const serveTokens = () =>
  listen((request, response) => {
    const isClient = request.headers.authorization === `Basic ${btoa("the-hub:the-client-secret")}`;
    response.writeHead(isClient ? 200 : 401, { "content-type": "application/json" });
    response.end(
      JSON.stringify(isClient ? { access_token: "granted" } : { error: "invalid_client" }),
    );
  });

it("connects as an OAuth client, and keeps, replaces and removes stored credentials and headers", async () => {
  const server = await serveSdk2({ forecast: () => ({ sky: "clear" }) });
  const tokens = await serveTokens();
  const page = await ui.open("/connections");
  await page.getByRole("button", { name: "Add a connection" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox", { name: "Name" }).fill("guarded");
  await dialog.getByRole("textbox", { name: "URL of the MCP server" }).fill(server.url);
  await dialog.getByRole("combobox", { name: "Credentials" }).selectOption("client_credentials");
  const submit = dialog.getByRole("button", { name: "Add and check" });
  expect(await submit.isDisabled()).toBe(true);
  await dialog.getByRole("textbox", { name: "Client id" }).fill("the-hub");
  await dialog.getByLabel("Client secret").fill("wrong");
  await dialog.getByRole("textbox", { name: "Token endpoint" }).fill("no URL");
  await submit.click();
  await dialog.getByRole("alert").getByText("must be an http(s) URL").waitFor();
  await dialog.getByRole("textbox", { name: "Token endpoint" }).fill(tokens.url);
  await dialog.getByRole("button", { name: "Add a header" }).click();
  await dialog.getByRole("textbox", { name: "Name of header 1" }).fill("X-Region");
  await dialog.getByLabel("Value of X-Region").fill("eu-central");
  await submit.click();

  const detail = page.getByRole("complementary", { name: "Connection" });
  await detail.getByText("Credentials: OAuth client the-hub, X-Region").waitFor();
  await detail.getByRole("alert").getByText("invalid_client", { exact: false }).waitFor();

  await detail.getByRole("button", { name: "Edit" }).click();
  const credentials = dialog.getByRole("combobox", { name: "Credentials" });
  expect(await credentials.inputValue()).toBe("keep");
  await credentials.selectOption("client_credentials");
  expect(await dialog.getByRole("textbox", { name: "Client id" }).inputValue()).toBe("the-hub");
  await dialog.getByLabel("Client secret").fill("the-client-secret");
  await dialog.getByRole("button", { name: "Save and check" }).click();
  await detail.getByRole("img", { name: "responds", exact: true }).waitFor();
  const lastHeaders = () => server.requests.at(-1)?.headers;
  expect(lastHeaders()?.get("authorization")).toBe("Bearer granted");
  expect(lastHeaders()?.get("x-region")).toBe("eu-central");

  await detail.getByRole("button", { name: "Edit" }).click();
  await credentials.selectOption("none");
  await dialog.getByRole("button", { name: "Replace" }).click();
  await dialog.getByRole("alert").getByText("enter the value of X-Region again").waitFor();
  expect(await dialog.getByRole("button", { name: "Save and check" }).isDisabled()).toBe(true);
  await dialog.getByRole("button", { name: "Remove X-Region" }).click();
  await dialog.getByRole("button", { name: "Save and check" }).click();
  await dialog.waitFor({ state: "detached" });
  await expect.poll(() => detail.getByText("Credentials: OAuth client").count()).toBe(0);
  // The connection is checked a moment later.
  await expect.poll(() => lastHeaders()?.get("authorization")).toBeNull();
  expect(lastHeaders()?.get("x-region")).toBeNull();
  await detail.getByRole("tab", { name: "Triggers" }).click();
  await page.getByRole("tabpanel").getByText("The server offers no triggers.").waitFor();
});

it("adds a server that the hub starts as a process, and shows that its command cannot be run", async () => {
  const page = await ui.open("/connections");
  await page.getByRole("button", { name: "Add a connection" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox", { name: "Name" }).fill("local");
  await dialog.getByRole("radio", { name: "On the hub’s machine" }).click();
  await dialog.getByRole("textbox", { name: "Command" }).fill("/nowhere/no-such-program");
  await dialog.getByRole("textbox", { name: "Arguments" }).fill("--one\n--two");
  await dialog.getByRole("button", { name: "Add a variable" }).click();
  await dialog.getByRole("textbox", { name: "Name of variable 1" }).fill("LEVEL");
  await dialog.getByLabel("Value of LEVEL").fill("debug");
  await dialog.getByRole("button", { name: "Add and check" }).click();
  const detail = page.getByRole("complementary", { name: "Connection" });
  await detail
    .getByRole("alert")
    .getByText("The command cannot be run", { exact: false })
    .waitFor();
  const id = page.url().split("/").at(-1);
  const { json } = await ui.call("GET", `/api/connections/${id}`);
  expect(json).toMatchObject({
    args: ["--one", "--two"],
    credentials: { env: ["LEVEL"] },
    status: "failed",
  });
});

it("lists the flows that subscribe to triggers of a server, and sends the server a new callback token", async () => {
  const tokens: unknown[] = [];
  const server = await serveSdk2({
    TRIGGER_LIST: () => ({
      triggers: [{ type: "rain", description: "It rains.", paramsSchema: {} }],
    }),
    TRIGGER_CONFIGURE: ({ callbackToken }) => {
      if (callbackToken) tokens.push(callbackToken);
      return { success: true };
    },
  });
  const { json: added } = await ui.call("POST", "/api/connections", {
    name: "rain",
    url: server.url,
  });
  await ui.call("POST", "/api/apps", { slug: "weather", name: "Weather" });
  const { json: flow } = await ui.call("POST", "/api/apps/weather/flows", {
    name: "Umbrella",
    nodes: [
      {
        id: "start",
        type: "Event",
        name: "Start",
        parameters: { source: added.id, type: "rain" },
      },
      { id: "end", type: "Return", name: "End" },
    ],
    edges: [{ source: "start", target: "end" }],
  });
  await ui.call("POST", `/api/flows/${flow.id}/publish`, {});
  const page = await ui.open(`/connections/${added.id}`);
  await page.getByRole("tab", { name: "Triggers" }).click();
  await page.getByRole("tabpanel").getByText("It rains.").waitFor();
  await page.getByRole("tab", { name: "Used by" }).click();
  const item = page.getByRole("tabpanel").getByRole("listitem").filter({ hasText: "Umbrella" });
  await item.getByRole("img", { name: "active" }).waitFor();
  await item.getByText("has not fired yet").waitFor();
  expect(tokens).toHaveLength(1);
  await item.getByRole("button", { name: "New callback token for Umbrella" }).click();
  const dialog = page.getByRole("dialog", { name: "New callback token for “Umbrella”" });
  await dialog.getByRole("button", { name: "Send a new token" }).click();
  await page.getByText("The previous token stays valid for a day", { exact: false }).waitFor();
  await expect.poll(() => new Set(tokens).size).toBe(2);
  const send = async (token: unknown) => {
    const response = await fetch(`${ui.url()}/api/trigger-callback`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ type: "rain" }),
    });
    return response.status;
  };
  expect(await send(tokens[0])).toBe(202);
  await item.getByRole("button", { name: "New callback token for Umbrella" }).click();
  await dialog.getByRole("radio", { name: "Revoke the previous token now" }).check();
  await dialog.getByText("deliveries fail until the server has the new token").waitFor();
  expect(await findAccessibilityViolations(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Revoke and send a new token" }).click();
  await page.getByText("The previous callback token is revoked", { exact: false }).waitFor();
  await expect.poll(() => new Set(tokens).size).toBe(3);
  for (const former of [...new Set(tokens)].slice(0, 2)) expect(await send(former)).toBe(401);
  expect(await send(tokens.at(-1))).toBe(202);
  await item.getByRole("link", { name: "Umbrella" }).click();
  await page.waitForURL(`**/flows/${flow.id}**`);
});

it.each(THEMES)("has no serious accessibility violation in the %s theme", async (colorScheme) => {
  const server = await serveSdk2({ forecast: () => ({}) }, { definitions: [FORECAST] });
  const { json } = await ui.call("POST", "/api/connections", {
    name: colorScheme,
    url: server.url,
  });
  const page = await ui.open(`/connections/${json.id}`, { colorScheme, reducedMotion: "reduce" });
  const detail = page.getByRole("complementary", { name: "Connection" });
  await detail.getByText("forecast").waitFor();
  expect(await findAccessibilityViolations(page)).toEqual([]);
  await detail.getByRole("button", { name: "Call forecast" }).click();
  await page.getByRole("textbox", { name: "City" }).waitFor();
  expect(await findAccessibilityViolations(page), "call a tool").toEqual([]);
  await page.keyboard.press("Escape");
  await detail.getByRole("button", { name: "Edit" }).click();
  await page.getByRole("combobox", { name: "Credentials" }).selectOption("client_credentials");
  expect(await findAccessibilityViolations(page), "edit").toEqual([]);
});
