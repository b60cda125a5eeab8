/**
 * Tests the consent page in a browser, because only a browser implements `SameSite`, `Origin` and
 * `form-action`.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { findAccessibilityViolations, THEMES, useUi } from "./support/ui.ts";

const ui = useUi();
const VERIFIER = "v".repeat(43);

/** Starts a web app on another site than the hub: `localhost` instead of `127.0.0.1`. */
async function startApp(redirect: string, hub = ui.url()) {
  const registered = await fetch(`${hub}/oauth/register`, {
    method: "POST",
    body: JSON.stringify({ client_name: "Web app", redirect_uris: [redirect] }),
  });
  const { client_id } = (await registered.json()) as { client_id: string };
  let html = "";
  const server = createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end(html);
  }).listen(0, "localhost");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const app = `http://localhost:${(server.address() as AddressInfo).port}`;
  const query = new URLSearchParams({
    client_id,
    response_type: "code",
    redirect_uri: redirect.replace("http://localhost", app),
    state: "s1",
    code_challenge: createHash("sha256").update(VERIFIER).digest("base64url"),
    code_challenge_method: "S256",
  });
  const link = `${hub}/oauth/authorize?${query}`;
  html = `<main><a href="${link.replaceAll("&", "&amp;")}">Connect</a></main>`;
  return { app, client_id, link };
}

it("a page that needs a sign-in continues after a sign-in with a link in another tab", async () => {
  const page = await ui.open("/oauth/device");
  await page.context().clearCookies();
  await page.goto(`${ui.url()}/oauth/device`);
  await page.getByText("npx signalbox open").waitFor();
  const otherTab = await page.context().newPage();
  await otherTab.goto(await ui.link());
  await page.getByRole("heading", { name: "Connect a device" }).waitFor();
});

it("fits the OAuth pages on the screen of a phone", async () => {
  const { link } = await startApp("http://localhost/callback");
  const page = await ui.open("/oauth/device", { viewport: { width: 390, height: 844 } });
  const expectToFit = async (title: string) => {
    await page.getByRole("heading", { name: title }).waitFor();
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(width, title).toBeLessThanOrEqual(390);
  };
  await expectToFit("Connect a device");
  await page.goto(link);
  await expectToFit("Allow Web app to use this hub?");
  await page.goto(`${ui.url()}/oauth/authorize?client_id=${"unknown".repeat(20)}`);
  await expectToFit("The request cannot be answered");
});

it("another site gets a code after consent, and loses access when it is disconnected in the settings", async () => {
  const { app, client_id } = await startApp("http://localhost/callback");
  const page = await ui.open("/oauth/device");
  const expectAccessible = async () => {
    for (const colorScheme of THEMES) {
      await page.emulateMedia({ colorScheme });
      expect(await findAccessibilityViolations(page)).toEqual([]);
    }
  };
  await expectAccessible();
  await page.goto(app);
  await page.getByRole("link", { name: "Connect" }).click();
  await page.getByRole("heading", { name: "Allow Web app to use this hub?" }).waitFor();
  await expectAccessible();
  await page.getByRole("button", { name: "Allow" }).click();
  await page.waitForURL(`${app}/callback?code=*`);
  const { searchParams } = new URL(page.url());
  expect([searchParams.get("state"), searchParams.get("iss")]).toEqual(["s1", ui.url()]);

  const code = searchParams.get("code") ?? "";
  const form = { grant_type: "authorization_code", client_id, code, code_verifier: VERIFIER };
  const issued = await fetch(`${ui.url()}/oauth/token`, {
    method: "POST",
    body: new URLSearchParams(form),
  });
  const { access_token } = (await issued.json()) as { access_token: string };
  const fetchStatus = async () =>
    (
      await fetch(`${ui.url()}/pending-status`, {
        headers: { authorization: `Bearer ${access_token}` },
      })
    ).status;
  expect(await fetchStatus()).toBe(200);
  await page.goto(`${ui.url()}/settings/apps`);
  await page.getByRole("button", { name: "Disconnect Web app" }).click();
  expect(await findAccessibilityViolations(page)).toEqual([]);
  await page.getByRole("dialog").getByRole("button", { name: "Disconnect" }).click();
  await page.getByRole("heading", { name: "No app is connected" }).waitFor();
  await expect.poll(fetchStatus).toBe(401);
});

it("a client that uses the hub as localhost gets a token after a sign-in with a link to 127.0.0.1", async () => {
  const hub = ui.url().replace("127.0.0.1", "localhost");
  const { app, client_id, link } = await startApp("http://localhost/callback", hub);
  const page = await ui.open("/sign-in");
  await page.context().clearCookies();
  await page.goto(link);
  await page.getByText("npx signalbox open").waitFor();
  const otherTab = await page.context().newPage();
  await otherTab.goto(await ui.link());
  await page.getByRole("button", { name: "Allow" }).click();
  await page.waitForURL(`${app}/callback?code=*`);
  const { searchParams } = new URL(page.url());
  expect(searchParams.get("iss")).toBe(hub);
  const code = searchParams.get("code") ?? "";
  const form = { grant_type: "authorization_code", client_id, code, code_verifier: VERIFIER };
  const issued = await fetch(`${hub}/oauth/token`, {
    method: "POST",
    body: new URLSearchParams({ ...form, resource: hub }),
  });
  const { access_token } = (await issued.json()) as { access_token: string };
  const headers = { authorization: `Bearer ${access_token}` };
  expect((await fetch(`${hub}/pending-status`, { headers })).status).toBe(200);
});
