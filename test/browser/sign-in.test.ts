import { expect, it } from "vitest";
import { intercept } from "./support/intercept.ts";
import { findAccessibilityViolations, THEMES, useUi } from "./support/ui.ts";

const ui = useUi();

it("signs in with a link, which is valid only once", async () => {
  const link = await ui.link();
  const page = await ui.open("/inbox", { link });
  await page.getByRole("heading", { name: "Inbox", level: 1 }).waitFor();
  expect(page.url()).not.toContain("code");
  // A used link does not end the session.
  await page.goto(`${ui.url()}/runs`);
  await page.goto(link);
  await page.getByRole("heading", { name: "Inbox", level: 1 }).waitFor();
  await page.context().clearCookies();
  await page.goto(`${ui.url()}/runs`);
  await page.goto(link);
  const alert = page.getByRole("alert");
  await alert.getByText("link", { exact: false }).waitFor();
  expect(await alert.locator("code").allTextContents()).toEqual(["npx signalbox open"]);
  await page.getByText("The hub prints a sign-in link").waitFor();
});

it("asks to sign in after signing out", async () => {
  const page = await ui.open();
  await page.getByRole("button", { name: "Theme and session" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.waitForURL("**/sign-in");
  await page.goto(`${ui.url()}/flows`);
  await page.getByText("npx signalbox open").waitFor();
});

it("signs in with a link that is pasted into the open page, also after the hub was unreachable for a moment", async () => {
  const page = await ui.open("/sign-in");
  await page.context().clearCookies();
  await page.getByText("npx signalbox open").waitFor();
  await intercept(page, "**/api/session", (route) =>
    route.request().method() === "POST" ? route.abort() : route.continue(),
  );
  // The URL differs only in its fragment, so the browser does not load the page again.
  await page.goto(await ui.link());
  await page.getByRole("alert").getByText("The hub does not respond").waitFor();
  expect(page.url()).not.toContain("code");
  await page.unroute("**/api/session");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.waitForURL("**/inbox");
  await page.getByRole("heading", { name: "Inbox", level: 1 }).waitFor();
});

it.each([
  ["/runs", "Runs"],
  ["/sign-in", "Inbox"],
])("%s continues automatically after the link was opened in another tab", async (path, heading) => {
  const page = await ui.open("/sign-in");
  await page.context().clearCookies();
  await page.goto(`${ui.url()}${path}`);
  await page.reload();
  await page.getByText("This page then continues automatically.").waitFor();
  const otherTab = await page.context().newPage();
  await otherTab.goto(await ui.link());
  await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
});

it("asks to sign in when the session is revoked elsewhere", async () => {
  const page = await ui.open();
  await page.getByText("Live", { exact: true }).waitFor();
  const { json } = await ui.call("GET", "/api/tokens?kind=session");
  for (const { id, revoked_at } of json.items)
    if (revoked_at === null) await ui.call("DELETE", `/api/tokens/${id}`);
  await page.getByText("npx signalbox open").waitFor();
});

it("keeps the selected theme after a reload", async () => {
  const page = await ui.open("/inbox", { colorScheme: "light" });
  const theme = () => page.locator("html").getAttribute("data-theme");
  expect(await theme()).toBe("light");
  await page.getByRole("button", { name: "Theme and session" }).click();
  await page.getByRole("menuitem", { name: "Dark" }).click();
  expect(await theme()).toBe("dark");
  await page.reload();
  expect(await theme()).toBe("dark");
});

it("opens every page with the keyboard, and finds pages in the command palette", async () => {
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
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
});

it("signs out from the command palette, and shows an error if that fails", async () => {
  const page = await ui.open();
  await intercept(page, "**/api/session", (route) =>
    route.request().method() === "DELETE" ? route.abort() : route.continue(),
  );
  const signOut = async () => {
    await page.keyboard.press("Control+k");
    await page.getByPlaceholder("Go to a page").fill("sign out");
    await page.getByRole("option", { name: "Sign out" }).waitFor();
    await page.keyboard.press("Enter");
  };
  await signOut();
  await page.getByText("The hub does not respond").waitFor();
  expect(page.url()).toContain("/inbox");
  await page.unroute("**/api/session");
  await signOut();
  await page.waitForURL("**/sign-in");
});

it.each(THEMES)(
  "has no serious accessibility violation at sign-in, in the palette and in the list of shortcuts in the %s theme",
  async (colorScheme) => {
    const page = await ui.open("/sign-in", { colorScheme, reducedMotion: "reduce" });
    await page.getByText("npx signalbox open").waitFor();
    expect(await findAccessibilityViolations(page)).toEqual([]);
    await page.goto(`${ui.url()}/nowhere`);
    await page.getByRole("heading", { name: "There is no such page" }).waitFor();
    expect(await findAccessibilityViolations(page), "a page that is missing").toEqual([]);
    await page.keyboard.press("Control+k");
    await page.getByRole("option", { name: "Connections" }).waitFor();
    expect(await findAccessibilityViolations(page), "palette").toEqual([]);
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    expect(await findAccessibilityViolations(page), "keys").toEqual([]);

    await page.context().clearCookies();
    await page.goto(`${ui.url()}/sign-in#code=unknown`);
    await page.getByRole("alert").waitFor();
    expect(await findAccessibilityViolations(page), "a link that does not work").toEqual([]);
  },
);
