import { expect, it } from "vitest";
import { findAccessibilityViolations, THEMES, useUi } from "./support/ui.ts";

const ui = useUi({ SIGNALBOX_TENANCY: "github" });

it("asks an operator to choose a tenant, and shows the inbox of that tenant", async () => {
  const page = await ui.open();
  await page.getByRole("heading", { name: "Choose a tenant" }).waitFor();
  await page.getByText("There are no tenants yet.", { exact: false }).waitFor();
  await page.getByRole("textbox", { name: "Tenant" }).fill("42");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "No event is waiting" }).waitFor();
  await page.getByText(/^42 · /).waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "No event is waiting" }).waitFor();
  await page.getByRole("button", { name: "Theme and session" }).click();
  await page.getByRole("menuitem", { name: "Switch tenant" }).click();
  await page.getByRole("heading", { name: "Choose a tenant" }).waitFor();
  expect(page.url()).toContain("/inbox");
});

it("asks for the tenant again after the next sign-in", async () => {
  const page = await ui.open();
  await page.getByRole("textbox", { name: "Tenant" }).fill("42");
  await page.keyboard.press("Enter");
  await page.getByText(/^42 · /).waitFor();
  await page.goto(await ui.link());
  await page.getByRole("heading", { name: "Choose a tenant" }).waitFor();
});

it.each(THEMES)(
  "lists the tenants, shows the message of the hub if that fails, and is accessible in the %s theme",
  async (colorScheme) => {
    const octo = { id: "42", name: "octo", pending: 3, created_at: "2026-11-15T12:00:00.000Z" };
    const responses = [
      {
        status: 409,
        contentType: "application/problem+json",
        json: { title: "Not now", detail: "The registry is being moved.", code: "moved" },
      },
      {
        json: {
          items: [octo],
          next_cursor: "more",
        },
      },
      {
        json: {
          items: [{ id: "43", name: null, pending: 1, created_at: "2026-11-15T12:00:00.000Z" }],
          next_cursor: null,
        },
      },
      { json: { items: [octo], next_cursor: null } },
    ];
    const released = Promise.withResolvers<void>();
    const page = await ui.open("/inbox", {
      colorScheme,
      reducedMotion: "reduce",
      prepare: (page) =>
        page.route("**/api/tenants?**", async (route) => {
          await released.promise;
          await route.fulfill(responses.shift());
        }),
    });
    await page.getByRole("status", { name: "Loading" }).waitFor();
    released.resolve();
    await page.getByText("The registry is being moved.").waitFor();
    expect(await findAccessibilityViolations(page), "failed").toEqual([]);
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("button", { name: "octo 3 waiting events" }).waitFor();
    await page.getByRole("button", { name: "Load more" }).click();
    await page.getByRole("button", { name: "43 1 waiting event" }).waitFor();
    expect(await findAccessibilityViolations(page)).toEqual([]);
    await page.getByRole("button", { name: "octo 3 waiting events" }).click();
    await page.getByText(/^octo · /).waitFor();
  },
);
