/** The cookies of a hub behind a proxy that terminates TLS, and beside other sites of its domain. */
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { makeCertificate } from "../../packages/hub/src/hosts/node/test-certificate.ts";
import { SECRET } from "../support/deliver.ts";
import { startHubProcess } from "../support/hub-process.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { MAX_WAIT_MS } from "../support/timeouts.ts";
import { launchChromium } from "./support/chromium.ts";

const TOKEN = "the-admin-of-this-browser";
// Chromium resolves all names below `localhost` to the loopback address.
const HOST = "hub.site.localhost";
const SIBLING = "other.site.localhost";

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser?.close());

/** Terminates TLS for the hub at `target()`. */
async function startTlsProxy(target: () => string): Promise<string> {
  const server = createServer(makeCertificate({ names: [HOST] }), (incoming, outgoing) => {
    const { method = "GET", url, headers } = incoming;
    const upstream = request(`${target()}${url}`, { method, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing);
    });
    upstream.on("error", () => outgoing.destroy());
    outgoing.on("close", () => upstream.destroy());
    incoming.pipe(upstream);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `https://${HOST}:${(server.address() as AddressInfo).port}`;
}

async function startHub(env: Record<string, string>) {
  const data = tempFolder();
  const hub = await startHubProcess({
    data,
    env: { SIGNALBOX_TOKEN: TOKEN, GITHUB_WEBHOOK_SECRET: SECRET, ...env },
  });
  onTestFinished(async () => void (await hub.stop("SIGKILL")));
  const local: string = JSON.parse(readFileSync(join(data, "hub.json"), "utf8")).url;
  /** Returns the path of a sign-in link. */
  const link = async () => {
    const response = await fetch(`${local}/api/session/links`, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    const { pathname, hash } = new URL(((await response.json()) as { url: string }).url);
    return pathname + hash;
  };
  return { local, link };
}

/** Opens a browser with a page of another site of the domain, which can set cookies for the domain. */
async function openBrowser() {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  onTestFinished(() => context.close());
  await context.route(`**://${SIBLING}/**`, (route) =>
    route.fulfill({ contentType: "text/html", body: "<title>another site</title>" }),
  );
  const page = await context.newPage();
  page.setDefaultTimeout(MAX_WAIT_MS);
  return {
    context,
    page,
    async setFromSibling(scheme: string, cookies: string[]) {
      await page.goto(`${scheme}://${SIBLING}/`);
      for (const cookie of cookies)
        await page.evaluate((text) => {
          // biome-ignore lint/suspicious/noDocumentCookie: as the page of an attacker does
          document.cookie = text;
        }, cookie);
    },
  };
}

const waitForInbox = (page: Page) =>
  page.getByRole("heading", { name: "Inbox", level: 1 }).waitFor();

it("sets cookies on https that no other site of the domain can replace", async () => {
  let local = "";
  const url = await startTlsProxy(() => local);
  const hub = await startHub({ SIGNALBOX_PUBLIC_URL: url });
  local = hub.local;
  const { context, page, setFromSibling } = await openBrowser();
  const name = `__Host-signalbox_session_${new URL(url).port}`;
  await page.goto(`${url}${await hub.link()}`);
  await waitForInbox(page);
  expect(await context.cookies()).toMatchObject([
    { name, domain: HOST, path: "/", secure: true, httpOnly: true, sameSite: "Strict" },
  ]);
  await setFromSibling("https", [
    `${name}=planted; Domain=site.localhost; Path=/api; Secure`,
    `${name.replace("__Host-", "")}=planted; Domain=site.localhost; Path=/api; Secure`,
  ]);
  await page.goto(`${url}/inbox`);
  await waitForInbox(page);

  // Browsers accept such cookies over http only from loopback addresses.
  await page.goto(`${local}${await hub.link()}`);
  await waitForInbox(page);
});

it("refuses a session cookie beside that of another site over http, until the next sign-in", async () => {
  const { local, link } = await startHub({ SIGNALBOX_HOSTS: HOST });
  const { port } = new URL(local);
  const url = `http://${HOST}:${port}`;
  const { context, page, setFromSibling } = await openBrowser();
  await page.goto(`${url}${await link()}`);
  await waitForInbox(page);
  await setFromSibling("http", [
    `signalbox_session_${port}=planted; Domain=site.localhost; Path=/api`,
  ]);
  await page.goto(`${url}/inbox`);
  await page.getByText("npx signalbox open").waitFor();
  const denied = await page.evaluate(async () => (await fetch("/api/session")).json());
  expect(denied).toMatchObject({ status: 401, code: "session_ambiguous" });
  await page.goto(`${url}${await link()}`);
  await waitForInbox(page);
  await page.reload();
  await waitForInbox(page);
  expect(await context.cookies(`${url}/api/session`)).toMatchObject([
    { name: `signalbox_session_${port}`, domain: HOST, path: "/", secure: false },
  ]);
});
