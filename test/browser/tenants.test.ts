import { expect, it } from "vitest";
import { useUi } from "./support/ui.ts";

const ui = useUi({ SIGNALBOX_TENANCY: "github" });

it("asks an operator for the tenant, and shows only its events", async () => {
  const page = await ui.open();
  await page.getByRole("heading", { name: "Choose a tenant" }).waitFor();
  await page.getByRole("textbox", { name: "Tenant" }).fill("42");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "The line is clear" }).waitFor();
  await page.getByText(/^42 · /).waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "The line is clear" }).waitFor();
  await page.getByRole("button", { name: "Theme and session" }).click();
  await page.getByRole("menuitem", { name: "Switch tenant" }).click();
  await page.getByRole("heading", { name: "Choose a tenant" }).waitFor();
  expect(page.url()).toContain("/inbox");
});
