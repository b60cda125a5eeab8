import type { Page } from "playwright-core";
import { afterAll, expect, it } from "vitest";
import { startFakeGithub } from "../support/fake-github.ts";
import { findBarriers, useUi } from "./support/ui.ts";

const github = await startFakeGithub();
afterAll(() => github.close());
for (const login of ["ada", "bob"]) github.addUser(login);
const acme = github.addOrganization("acme");
github.setMember("acme", "ada", { role: "admin" });
github.install("acme");

const ui = useUi({
  ...github.env,
  // Another site than the hub: SameSite counts.
  GITHUB_URL: github.url.replace("127.0.0.1", "localhost"),
  SIGNALBOX_TENANCY: "github",
  SIGNALBOX_MEMBERSHIP_RECHECK: "1",
});

/** Signs in from a page, and returns to it. */
async function signIn(page: Page, login: string, path: string) {
  github.setBrowserUser(login);
  await page.context().clearCookies();
  await page.goto(`${ui.url()}${path}`);
  const button = page.getByRole("link", { name: "Sign in with GitHub" });
  await button.waitFor();
  expect(await findBarriers(page)).toEqual([]);
  await button.click();
  await page.waitForURL(`**${path}`);
}

// One test: the Chromium of the npm package runs as one process, and ends when a page is closed that has
// left the hub.
it("signs in with GitHub, and shows what the role of the person includes", async () => {
  const page = await ui.open("/sign-in", { colorScheme: "dark" });
  const account = page.getByRole("button", { name: "Theme and session" });

  // A member sees the inbox and runs.
  github.setMember("acme", "bob");
  await signIn(page, "bob", "/runs?view=failed");
  await page.getByRole("heading", { name: "Runs", level: 1 }).waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  const pages = page.getByRole("navigation", { name: "Main" }).getByRole("link");
  expect(await pages.allInnerTexts()).toEqual([
    "Signalbox",
    expect.stringContaining("Inbox"),
    "Runs",
    "Connect an agent",
  ]);
  await account.click();
  await page.getByRole("menuitem", { name: "bob member" }).waitFor();
  await page.keyboard.press("Escape");
  await page.goto(`${ui.url()}/flows`);
  await page.getByRole("heading", { name: "This page is for admins" }).waitFor();
  expect(await findBarriers(page)).toEqual([]);
  await page.goto(`${ui.url()}/connect`);
  await page.getByText("claude mcp add").waitFor();

  // The membership ends.
  github.removeMember("acme", "bob");
  await page.getByRole("heading", { name: "No inbox yet" }).waitFor();
  const install = page.getByRole("link", { name: "Install the App" });
  expect(await install.getAttribute("href")).toMatch(/\/apps\/signalbox-test\/installations\/new$/);
  expect(await findBarriers(page)).toEqual([]);
  // After a change at GitHub, the person need not wait for the next check.
  github.setMember("acme", "bob");
  await page.getByRole("link", { name: "Check again" }).click();
  await page.getByRole("heading", { name: "Inbox", level: 1 }).waitFor();

  // An admin sees every page.
  await signIn(page, "ada", "/flows");
  await page.getByRole("heading", { name: "Flows", level: 1 }).waitFor();
  await account.click();
  await page.getByRole("menuitem", { name: "ada admin" }).waitFor();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.waitForURL("**/sign-in");
  github.setBrowserUser(undefined);
  await page.getByRole("link", { name: "Sign in with GitHub" }).click();
  await page.getByRole("alert").getByText("the request was denied").waitFor();

  // A person of several tenants switches between them.
  const own = github.install("ada").account;
  await signIn(page, "ada", "/inbox");
  await page.getByRole("heading", { name: "Choose a tenant" }).waitFor();
  await page.getByRole("button", { name: String(acme.id) }).click();
  await page.getByText(new RegExp(`^${acme.id} · `)).waitFor();
  await account.click();
  await page.getByRole("menuitem", { name: "Switch tenant" }).click();
  await page.getByRole("button", { name: String(own.id) }).click();
  await page.getByText(new RegExp(`^${own.id} · `)).waitFor();
});
