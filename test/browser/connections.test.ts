import { expect, it } from "vitest";
import { serveSdk2 } from "../support/mcp-servers.ts";
import { findBarriers, THEMES, useUi } from "./support/ui.ts";

const ui = useUi();

it("adds a server with an immediate check, and calls one of its tools", async () => {
  const server = await serveSdk2(
    { forecast: ({ city }) => ({ city, sky: "clear" }) },
    { described: [{ name: "forecast", description: "The weather of a city." }] },
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
    .getByText("1 tool")
    .waitFor();
  await detail.getByRole("button", { name: "Call forecast" }).click();
  await page.getByRole("textbox", { name: "Arguments" }).fill('{ "city": ');
  await page.getByRole("alert").waitFor();
  await page.getByRole("textbox", { name: "Arguments" }).fill('{ "city": "Bern" }');
  await page.getByRole("dialog").getByRole("button", { name: "Call" }).click();
  const result = page.getByRole("tree", { name: "result" });
  await result.getByText("structuredContent").waitFor();
  await page.getByRole("button", { name: "Close" }).first().click();

  await server.close();
  await detail.getByRole("button", { name: "Check now" }).click();
  await detail.getByRole("alert").waitFor();
  await detail.getByRole("img", { name: "does not respond" }).waitFor();
  await detail.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("“weather” was deleted").waitFor();
  await page.getByRole("heading", { name: "No MCP server yet" }).waitFor();
});

it.each(THEMES)("has no barrier (%s)", async (colorScheme) => {
  const server = await serveSdk2({ forecast: () => ({}) });
  const { json } = await ui.call("POST", "/api/connections", {
    name: colorScheme,
    url: server.url,
  });
  const page = await ui.open(`/connections/${json.id}`, { colorScheme, reducedMotion: "reduce" });
  await page.getByRole("complementary", { name: "Connection" }).getByText("forecast").waitFor();
  expect(await findBarriers(page)).toEqual([]);
});
