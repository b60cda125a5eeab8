import { expect, it } from "vitest";
import { intercept } from "./support/intercept.ts";
import { findAccessibilityViolations, THEMES, useUi } from "./support/ui.ts";

const ui = useUi();

it("creates a token that works, shows its last use, and revokes it", async () => {
  const page = await ui.open("/settings", { prepare: (page) => page.clock.install() });
  await page.getByRole("button", { name: "Create a token" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("laptop");
  await page.getByRole("checkbox", { name: "inbox:write" }).click();
  await page.getByRole("button", { name: "Create", exact: true }).click();
  const token = (await page.getByRole("dialog").locator("pre").textContent()) ?? "";
  // A click beside the dialog must not hide a token that is shown once.
  await page.mouse.click(5, 5);
  await page.getByRole("button", { name: "Done" }).click();
  const row = page.getByRole("listitem").filter({ hasText: "laptop" });
  await row.getByText("never used").waitFor();
  const fetchEvents = () =>
    fetch(`${ui.url()}/api/events`, { headers: { authorization: `Bearer ${token}` } });
  expect((await fetchEvents()).status).toBe(200);
  // The page reloads the tokens every ten seconds.
  await page.clock.fastForward(10_000);
  await row.getByText(/^used (just now|\d+ s ago)$/).waitFor();
  await row.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText("“laptop” was revoked").waitFor();
  await expect.poll(async () => (await fetchEvents()).status).toBe(401);
});

it("shows which tokens have expired", async () => {
  await ui.call("POST", "/api/tokens", { name: "short-lived", days: 1e-8 });
  const page = await ui.open("/settings");
  const row = page.getByRole("listitem").filter({ hasText: "short-lived" });
  await row.getByText("expired just now").waitFor();
});

it("loads older tokens on request", async () => {
  await ui.call("POST", "/api/tokens", { name: "the older one" });
  for (let index = 0; index < 100; index += 1)
    await ui.call("POST", "/api/tokens", { name: `token ${index}` });
  const page = await ui.open("/settings");
  await page.getByText("token 99", { exact: true }).waitFor();
  const older = page.getByText("the older one", { exact: true });
  expect(await older.count()).toBe(0);
  await page.getByRole("button", { name: "Load more tokens" }).click();
  await older.waitFor();
});

it("stores, replaces and deletes a secret, and shows why a value is rejected", async () => {
  const page = await ui.open("/settings/secrets");
  await page.getByRole("button", { name: "Add a secret" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("api_key");
  await page.getByLabel("Value").fill("short");
  await page.getByRole("button", { name: "Store" }).click();
  await page.getByText("must have at least 8 characters", { exact: false }).first().waitFor();
  await page.getByLabel("Value").fill("long enough to keep");
  await page.getByRole("button", { name: "Store" }).click();
  await page.getByText("API_KEY is stored").waitFor();
  const row = page.getByRole("listitem").filter({ hasText: "API_KEY" });
  await row.getByRole("button", { name: "Replace API_KEY" }).click();
  await page.keyboard.type("another long value");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  await row.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByRole("heading", { name: "No secret yet" }).waitFor();
});

it("shows the effective settings and their origin", async () => {
  const page = await ui.open("/settings/settings");
  await page.getByRole("searchbox", { name: "Search settings" }).fill("SIGNALBOX_DATA");
  const row = page.getByRole("listitem").filter({ hasText: "SIGNALBOX_DATA" });
  await row.getByText("environment").waitFor();
});

it("shows the amount of stored data and the retention, and the message of the hub if these cannot be loaded", async () => {
  const page = await ui.open("/settings/storage");
  await page.getByText("Events ever received").waitFor();
  await page
    .getByText(
      /^events [\d.]+ K?M?B, runs [\d.]+ K?M?B, other data [\d.]+ [KM]B, free [\d.]+ K?M?B$/,
    )
    .waitFor();
  await page
    .getByText(/^[\d.]+ [KM]B, of it [\d.]+ K?M?B in the write-ahead log \(WAL\)$/)
    .waitFor();
  await page.getByText("SIGNALBOX_KEEP_PROCESSED").first().waitFor();
  await intercept(page, "**/api/settings", (route) =>
    route.fulfill({
      status: 403,
      contentType: "application/problem+json",
      body: JSON.stringify({ title: "Forbidden", detail: "It needs a token for all tenants." }),
    }),
  );
  await page.reload();
  await page.getByRole("alert").getByText("It needs a token for all tenants.").waitFor();
  await page.getByText("Events ever received").waitFor();
});

it("changes the retention of the tenant's events", async () => {
  const page = await ui.open("/settings/storage");
  const limits = page.getByRole("region", { name: "Limits of this tenant" });
  await limits.getByText("3 days (the hub’s setting)").waitFor();
  await limits.getByRole("button", { name: "Change the limits" }).click();
  const dialog = page.getByRole("dialog");
  const days = dialog.getByRole("textbox", { name: "Days to keep processed events" });
  await days.fill("4");
  await dialog.getByRole("button", { name: "Store" }).click();
  await dialog.getByText("must be at most 3").first().waitFor();
  await days.fill("2");
  await page.keyboard.press("Enter");
  await limits.getByText("2 days", { exact: true }).waitFor();
});

it.each(THEMES)("has no serious accessibility violation in the %s theme", async (colorScheme) => {
  const page = await ui.open("/settings", { colorScheme, reducedMotion: "reduce" });
  for (const name of ["Tokens", "Secrets of flows", "Storage", "Settings in force"]) {
    await page.getByRole("tab", { name }).click();
    await page.getByRole("tabpanel").waitFor();
    expect(await findAccessibilityViolations(page), name).toEqual([]);
  }
  await page.getByRole("tab", { name: "Tokens" }).click();
  await page.getByRole("button", { name: "Create a token" }).click();
  await page.getByRole("dialog").waitFor();
  expect(await findAccessibilityViolations(page), "create a token").toEqual([]);
});
