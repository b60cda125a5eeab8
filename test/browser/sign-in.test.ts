import { expect, it } from "vitest";
import { findBarriers, THEMES, useUi } from "./support/ui.ts";

const ui = useUi();

it("signs in with the link that the hub prints, once", async () => {
  const link = await ui.link();
  const page = await ui.open("/inbox", { link });
  await page.getByRole("heading", { name: "Inbox", level: 1 }).waitFor();
  expect(page.url()).not.toContain("code");
  await page.goto(link);
  await page.getByRole("alert").getByText("link", { exact: false }).waitFor();
  await page.getByText("npx signalbox open", { exact: true }).waitFor();
});

it("asks to sign in without a session, and after signing out", async () => {
  const page = await ui.open();
  await page.getByRole("button", { name: "Theme and session" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.waitForURL("**/sign-in");
  await page.goto(`${ui.url()}/flows`);
  await page.getByText("npx signalbox open").waitFor();
});

it("keeps the choice of the theme", async () => {
  const page = await ui.open("/inbox", { colorScheme: "light" });
  const theme = () => page.locator("html").getAttribute("data-theme");
  expect(await theme()).toBe("light");
  await page.getByRole("button", { name: "Theme and session" }).click();
  await page.getByRole("menuitem", { name: "Dark" }).click();
  expect(await theme()).toBe("dark");
  await page.reload();
  expect(await theme()).toBe("dark");
});

it("goes to every page by keyboard, and finds pages in the palette", async () => {
  const page = await ui.open();
  await page.getByRole("heading", { name: "Inbox", level: 1 }).waitFor();
  for (const [key, path] of Object.entries({
    f: "flows",
    r: "runs",
    c: "connections",
    s: "sources",
    t: "settings",
    a: "connect",
    i: "inbox",
  })) {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await page.waitForURL(`**/${path}`);
  }
  await page.keyboard.press("Control+k");
  await page.getByPlaceholder("Go to a page").fill("conne");
  await page.getByRole("option", { name: "Connections" }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL("**/connections");
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
});

it.each(THEMES)("has no barrier on the sign-in page (%s)", async (colorScheme) => {
  const page = await ui.open("/sign-in", { colorScheme });
  await page.getByText("npx signalbox open").waitFor();
  expect(await findBarriers(page)).toEqual([]);
});
