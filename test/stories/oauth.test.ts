/** OAuth clients get access to the hub: the client of the MCP SDK, and the official conformance suite. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { SECRET } from "../support/deliver.ts";
import { fixedPort } from "../support/fixed-port.ts";
import { type HubProcess, startHubProcess } from "../support/hub-process.ts";
import { type OAuthBrowser, signInBrowser } from "../support/oauth-browser.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { WAIT } from "../support/timeouts.ts";
import { startWorkerProcess } from "../support/worker-process.ts";

const TOKEN = "sbx_oauth_story_0123";
const REDIRECT = "http://127.0.0.1:7777/callback";

let hub: HubProcess;
let browser: OAuthBrowser;

type Saved<Name extends "clientInformation" | "tokens" | "discoveryState"> = Awaited<
  ReturnType<NonNullable<OAuthClientProvider[Name]>>
>;

/** Creates a provider that keeps in memory what the SDK saves, and the URLs that the SDK opens. */
function createProvider() {
  const saved = {
    client: undefined as Saved<"clientInformation">,
    tokens: undefined as Saved<"tokens">,
    discovery: undefined as Saved<"discoveryState">,
    verifier: "",
    openedUrls: [] as URL[],
  };
  const provider: OAuthClientProvider = {
    redirectUrl: REDIRECT,
    clientMetadata: { client_name: "Story", redirect_uris: [REDIRECT] },
    state: () => "state-of-the-sdk",
    clientInformation: () => saved.client,
    saveClientInformation(client) {
      saved.client = client;
    },
    tokens: () => saved.tokens,
    saveTokens(tokens) {
      saved.tokens = tokens;
    },
    saveCodeVerifier(verifier) {
      saved.verifier = verifier;
    },
    codeVerifier: () => saved.verifier,
    // The SDK needs the state to check that the callback comes from the server of the request.
    saveDiscoveryState(state) {
      saved.discovery = state;
    },
    discoveryState: () => saved.discovery,
    redirectToAuthorization: (url) => void saved.openedUrls.push(url),
  };
  return { provider, saved };
}

const connect = async (authProvider: OAuthClientProvider) => {
  const transport = new StreamableHTTPClientTransport(new URL("/mcp", hub.url), { authProvider });
  const client = new Client({ name: "story", version: "1" });
  return { transport, client, connected: client.connect(transport) };
};

const statusOf = async (token: string | undefined, path: string) =>
  (await fetch(new URL(path, hub.url), { headers: { authorization: `Bearer ${token}` } })).status;

const SUITE = fileURLToPath(import.meta.resolve("@modelcontextprotocol/conformance/dist/index.js"));

describe.each([
  ["Node", startHubProcess],
  ["workerd", startWorkerProcess],
] as const)("on %s", (_, start) => {
  const data = mkdtempSync(join(tmpdir(), "signalbox-"));
  beforeAll(async () => {
    const env = { SIGNALBOX_TOKEN: TOKEN, GITHUB_WEBHOOK_SECRET: SECRET };
    hub = await start({ data, env });
    browser = await signInBrowser(hub.url, TOKEN);
  });
  afterAll(async () => {
    await hub?.stop();
    rmSync(data, { recursive: true, force: true });
  });

  it("the SDK's client registers, asks for consent, connects, and refreshes its tokens", async () => {
    const { provider, saved } = createProvider();
    const { transport, connected } = await connect(provider);
    await expect(connected).rejects.toThrow(UnauthorizedError);
    expect(saved.openedUrls[0]?.searchParams.get("resource")).toBe(
      `${new URL(hub.url).origin}/mcp`,
    );
    const redirect = await browser.decide(saved.openedUrls[0] ?? "");
    const { searchParams } = new URL(redirect.headers.get("location") ?? "");
    expect(searchParams.get("state")).toBe("state-of-the-sdk");
    await transport.finishAuth(searchParams);

    const secondConnection = await connect(provider);
    await secondConnection.connected;
    const { tools } = await secondConnection.client.listTools();
    expect(tools.map(({ name }) => name)).toContain("get_pending_status");
    await secondConnection.client.close();

    // After the access token is revoked, the SDK refreshes it without the browser.
    const oldTokens = saved.tokens;
    const client_id = saved.client?.client_id ?? "";
    const revoked = await fetch(`${hub.url}/oauth/revoke`, {
      method: "POST",
      body: new URLSearchParams({ token: oldTokens?.access_token ?? "", client_id }),
    });
    expect(revoked.status).toBe(200);
    await expect.poll(() => statusOf(oldTokens?.access_token, "/mcp")).toBe(401);
    const thirdConnection = await connect(provider);
    await thirdConnection.connected;
    await thirdConnection.client.close();
    expect(saved.tokens?.refresh_token).not.toBe(oldTokens?.refresh_token);
    expect(saved.openedUrls).toHaveLength(1);

    // The access token is valid for /mcp only; the token of the operator is valid for all routes.
    expect(await statusOf(saved.tokens?.access_token, "/pending-status")).toBe(401);
    expect(await statusOf(TOKEN, "/pending-status")).toBe(200);
  });

  it("the hub does not fetch the metadata document of a client from a private address", async () => {
    const query = new URLSearchParams({
      client_id: "https://127.0.0.1:1/client.json",
      redirect_uri: REDIRECT,
      response_type: "code",
    });
    const response = await browser.get(`/oauth/authorize?${query}`);
    expect([response.status, response.headers.get("location")]).toEqual([400, null]);
    expect(await response.text()).toContain("which the hub does not call");
  });

  it("the hub passes the authorization scenarios of the conformance suite", async () => {
    const port = await fixedPort();
    const registered = await fetch(`${hub.url}/oauth/register`, {
      method: "POST",
      body: JSON.stringify({ redirect_uris: ["http://127.0.0.1/callback"] }),
    });
    const { client_id } = (await registered.json()) as { client_id: string };
    const folder = tempFolder();
    const { origin } = new URL(hub.url);
    const args = ["authorization", "--url", origin, "--client-id", client_id, "-o", folder];
    const suite = spawn(
      process.execPath,
      [SUITE, ...args, "--resource", `${origin}/mcp`, "--port", port],
      { cwd: folder, stdio: ["ignore", "pipe", "inherit"] },
    );
    const ended = once(suite, "exit");
    let output = "";
    for await (const line of createInterface(suite.stdout)) {
      output += `${line}\n`;
      if (!line.startsWith(`${origin}/oauth/authorize?`)) continue;
      const redirect = await browser.decide(line);
      // The suite prints the address before it listens for the redirect.
      await vi.waitFor(() => fetch(redirect.headers.get("location") ?? ""), WAIT);
    }
    await ended;
    const checks = readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith("checks.json"))
      .flatMap(
        (file) =>
          JSON.parse(readFileSync(join(folder, file), "utf8")) as { id: string; status: string }[],
      );
    expect(checks.map(({ id, status }) => `${id}: ${status}`).toSorted(), output).toEqual([
      "authorization-code-grant: SUCCESS",
      "authorization-server-metadata-cimd: SUCCESS",
      "authorization-server-metadata: SUCCESS",
    ]);
  });
});
