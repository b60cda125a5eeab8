import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { connectClient, createOAuthBrowser } from "../support/oauth-browser.ts";
import { setUpFlows } from "./support/sample-hub.ts";
import { findAccessibilityViolations, THEMES, useUi } from "./support/ui.ts";

const ui = useUi();

it("shows a configuration that works when pasted, and when the agent has called", async () => {
  await setUpFlows(ui.call, "http://127.0.0.1:9");
  const page = await ui.open("/connect", { prepare: (page) => page.clock.install() });
  await page
    .getByText("No agent has called yet.")
    .or(page.getByText(/called .* ago|just now/))
    .first()
    .waitFor();
  await page.getByRole("combobox", { name: "What the agent gets" }).selectOption("desk");
  await page.getByRole("button", { name: "Create a token" }).click();
  await page.getByText("Waiting for the first call with the new token…").waitFor();
  await page.getByRole("tab", { name: "Cursor" }).click();
  const cursor = JSON.parse((await page.locator("pre").textContent()) ?? "");
  expect(cursor.mcpServers.desk.url).toBe(`${ui.url()}/mcp/desk`);
  await page.getByRole("tab", { name: "Plain HTTP" }).click();
  const command = (await page.locator("pre").textContent()) ?? "";
  expect(execFileSync("sh", ["-c", command]).toString()).toContain("weekly_digest");
  await page.getByText(/^The agent called (just now|\d+ s ago)\.$/).waitFor();
  await page.clock.fastForward("05:00");
  await page.getByText("The agent called 5 min ago.").waitFor();
});

it("shows clients that sign in without a token first, and when such a client has called", async () => {
  const page = await ui.open("/connect");
  expect(await page.locator("pre").textContent()).toBe(
    `claude mcp add --transport http signalbox ${ui.url()}/mcp`,
  );
  await page.getByText("Then enter /mcp in Claude Code and sign in.").waitFor();
  await page.getByRole("tab", { name: "Plain HTTP" }).click();
  await page.getByText("This client needs a token: create one below").waitFor();
  const [cookie] = await page.context().cookies();
  const browser = createOAuthBrowser(ui.url(), `${cookie?.name}=${cookie?.value}`);
  await connectClient(ui.url(), browser, "Claude Code");
  await page.getByText(/^The agent called (just now|\d+ s ago)\.$/).waitFor();
});

it("shows the message of the hub if the apps cannot be loaded", async () => {
  const page = await ui.open("/connect", {
    prepare: (page) =>
      page.route("**/api/apps?**", (route) =>
        route.fulfill({
          status: 403,
          contentType: "application/problem+json",
          body: JSON.stringify({ title: "Forbidden", detail: "The token lacks the scope admin." }),
        }),
      ),
  });
  await page.getByRole("alert").getByText("The token lacks the scope admin.").waitFor();
});

it.each(THEMES)("has no serious accessibility violation in the %s theme", async (colorScheme) => {
  const page = await ui.open("/connect", { colorScheme, reducedMotion: "reduce" });
  await page.getByRole("tab", { name: "Claude Code" }).waitFor();
  expect(await findAccessibilityViolations(page)).toEqual([]);
  await page.getByRole("button", { name: "Create a token" }).click();
  await page.getByText("Waiting for the first call with the new token…").waitFor();
  expect(await findAccessibilityViolations(page), "with a token").toEqual([]);
});
