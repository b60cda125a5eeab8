import { afterAll, expect, it } from "vitest";
import { startFakeGithub } from "../support/fake-github.ts";
import { findAccessibilityViolations, useUi } from "./support/ui.ts";

const github = await startFakeGithub();
afterAll(() => github.close());
for (const login of ["ada", "bob", "cyd"]) github.addUser(login);
const acme = github.addOrganization("acme");
github.setMember("acme", "ada", { role: "admin" });
const acmeApp = github.install("acme");

const ui = useUi({
  ...github.env,
  // `localhost` is another site than the hub on 127.0.0.1, so the `SameSite` attribute of cookies has an effect.
  GITHUB_URL: github.url.replace("127.0.0.1", "localhost"),
  SIGNALBOX_TENANCY: "github",
  SIGNALBOX_MEMBERSHIP_RECHECK: "1",
});

/** Opens a page without a session, and signs in with GitHub from there. */
async function signIn(login: string, path: string, colorScheme: "light" | "dark" = "light") {
  const page = await ui.open("/sign-in", { colorScheme });
  await page.context().clearCookies();
  await page.goto(`${ui.url()}${path}`);
  const button = page.getByRole("link", { name: "Sign in with GitHub" });
  await button.waitFor();
  // Only the operator can use the command, on the machine of the hub.
  expect(await page.getByText("npx signalbox open").isVisible()).toBe(false);
  expect(await findAccessibilityViolations(page)).toEqual([]);
  github.setBrowserUser(login);
  await button.click();
  await page.waitForURL(`**${path}`);
  return { page, account: page.getByRole("button", { name: "Theme and session" }) };
}

it("shows a member only the inbox, the runs and how to connect an agent, until the membership ends", async () => {
  github.setMember("acme", "bob");
  const { page, account } = await signIn("bob", "/runs?view=failed", "dark");
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
  expect(await findAccessibilityViolations(page)).toEqual([]);
  await page.goto(`${ui.url()}/connect`);
  await page.getByText("claude mcp add").waitFor();

  github.removeMember("acme", "bob");
  await page.getByRole("heading", { name: "No inbox yet" }).waitFor();
  const install = page.getByRole("link", { name: "Install the App" });
  expect(await install.getAttribute("href")).toMatch(/\/apps\/signalbox-test\/installations\/new$/);
  expect(await findAccessibilityViolations(page)).toEqual([]);
  // A person can request a check of the membership, instead of waiting for the next one.
  github.setMember("acme", "bob");
  await page.getByRole("link", { name: "Check again" }).click();
  await page.getByRole("heading", { name: "Inbox", level: 1 }).waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  expect(await page.getByText("Send test event").count()).toBe(0);
});

it("shows an admin the pages for admins, signs out, and shows that GitHub denied the sign-in", async () => {
  const { page, account } = await signIn("ada", "/flows");
  await page.getByRole("heading", { name: "Flows", level: 1 }).waitFor();
  await page.goto(ui.url());
  await page.getByText("Send test event").first().waitFor();
  await account.click();
  await page.getByRole("menuitem", { name: "ada admin" }).waitFor();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.waitForURL("**/sign-in");
  github.setBrowserUser(undefined);
  await page.getByRole("link", { name: "Sign in with GitHub" }).click();
  await page.getByRole("alert").getByText("the request was denied").waitFor();
  await page.getByText("Sign in as the operator").click();
  await page.getByText("npx signalbox open").waitFor();
  expect(await findAccessibilityViolations(page)).toEqual([]);
});

it("lets a member of several tenants switch between them", async () => {
  const own = github.install("ada").account;
  const { page, account } = await signIn("ada", "/inbox");
  await page.getByRole("heading", { name: "Choose a tenant" }).waitFor();
  await page.getByRole("button", { name: String(acme.id) }).click();
  await page.getByText(new RegExp(`^${acme.id} · `)).waitFor();
  await account.click();
  await page.getByRole("menuitem", { name: "Switch tenant" }).click();
  await page.getByRole("button", { name: String(own.id) }).click();
  await page.getByText(new RegExp(`^${own.id} · `)).waitFor();
});

it("leaves a tenant when the membership ends, and shows none of its data in the next tenant", async () => {
  const beta = github.addOrganization("beta");
  const installations = [acmeApp, github.install("beta")];
  github.setMember("acme", "cyd");
  github.setMember("beta", "cyd", { role: "admin" });
  github.webhook.url = `${ui.url()}/webhooks/github`;
  for (const { id, account } of installations) {
    const attempt = await github.sendWebhook("issues", {
      action: "opened",
      issue: { number: 1, title: `An issue of ${account.login}` },
      installation: { id },
      repository: { full_name: `${account.login}/web`, owner: account },
      sender: { login: "ada" },
    });
    expect(attempt).toMatchObject({ statusCode: 202 });
  }
  const { page } = await signIn("cyd", "/inbox");
  await page.getByRole("button", { name: "acme" }).click();
  await page.getByText("An issue of acme").waitFor();
  await page.getByText(/^acme · /).waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  const streams: string[] = [];
  page.on("request", (request) => {
    if (request.url().includes("/api/live")) streams.push(request.url());
  });

  github.removeMember("acme", "cyd");
  await page.getByText("You no longer have access to acme.").waitFor();
  await page.getByText("An issue of acme").waitFor({ state: "detached" });
  expect(await findAccessibilityViolations(page)).toEqual([]);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByText("An issue of beta").waitFor();
  await page.getByText(/^beta · /).waitFor();
  await page.getByRole("link", { name: "Flows" }).waitFor();
  expect(await page.getByText("An issue of acme").count()).toBe(0);
  const tenants = streams.map((url) => new URL(url).searchParams.get("tenant"));
  expect(tenants).not.toContain(null);
  // The stream of the next tenant does not continue after the cursor of the former tenant.
  const firstBetaStream = streams[tenants.indexOf(String(beta.id))] ?? "";
  expect(new URL(firstBetaStream).searchParams.get("after")).toBeNull();
});
