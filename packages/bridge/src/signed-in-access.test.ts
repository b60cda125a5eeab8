/** Sign-in against a real authorization server, with the files of the user. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { type OAuthServerOptions, serveOAuthMcp } from "../../../test/support/oauth-server.ts";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { sendWithAccess } from "./access.ts";
import { createSignIn } from "./sign-in.ts";
import { createSignedInAccess } from "./signed-in-access.ts";
import { createTokenFile } from "./token-file.ts";

/** The test's HTTP server replaces the global `Response`, and the SDK accepts only that one. */
const fetchHere: typeof fetch = async (...args) => {
  const { body, status, headers } = await fetch(...args);
  return new Response(body, { status, headers });
};

async function open(given: OAuthServerOptions = {}, hasBrowser = true) {
  const server = await serveOAuthMcp(given);
  const url = new URL(server.url).origin;
  const folder = tempFolder();
  const file = createTokenFile(folder, url);
  const warnings: string[] = [];
  const { signal } = new AbortController();
  let now = Date.now();
  const access = createSignedInAccess({
    url,
    file,
    fetch: fetchHere,
    beginSignIn: createSignIn({ url, fetch: fetchHere, hasBrowser, signal, now: () => now }),
    warn: (message) => void warnings.push(message),
    now: () => now,
  });
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
  const call = async () => {
    const response = await sendWithAccess(access, (authorization) =>
      fetch(server.url, {
        method: "POST",
        headers: {
          ...authorization,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        },
        body: JSON.stringify(ping),
      }),
    );
    return response.status;
  };
  /** What the user does: opens the link of the error message. */
  const signIn = async () => {
    expect(await call()).toBe(401);
    const [link = ""] = /http:\S+\//.exec(access.advice().split("open ")[1] ?? "") ?? [];
    const page = await fetch(link);
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining("signed in")]);
    await expect.poll(file.read).toBeDefined();
  };
  return {
    server,
    url,
    folder,
    file,
    access,
    warnings,
    call,
    signIn,
    advance: (ms: number) => {
      now += ms;
    },
  };
}

it("signs in by the link of the error message, and saves the tokens for the user only", async () => {
  const { server, url, file, access, warnings, call, signIn } = await open();
  await signIn();
  expect(await call()).not.toBe(401);
  expect(statSync(file.path).mode & 0o777).toBe(0o600);
  expect(access.isPending()).toBe(false);
  expect(warnings).toEqual([
    expect.stringContaining(`Sign in to the hub at ${url}: open http://127.0.0.1:`),
    `signed in to the hub at ${url}.`,
  ]);
  expect(server.tokenRequests.map((form) => form.get("resource"))).toEqual([url]);
  expect([...server.clients.values()]).toMatchObject([
    { client_name: "Signalbox bridge", redirect_uris: [expect.stringMatching(/\/callback$/)] },
  ]);
});

it("ignores a redirect with another state", async () => {
  const { file, access, call } = await open();
  expect(await call()).toBe(401);
  const [link = ""] = /http:\S+\//.exec(access.advice().split("open ")[1] ?? "") ?? [];
  const foreign = await fetch(`${link}callback?code=theirs&state=theirs`);
  expect(foreign.status).toBe(400);
  expect([file.read(), access.isPending()]).toEqual([undefined, true]);
});

it("refreshes before the token expires, and signs in again when the hub has ended it", async () => {
  const { server, file, access, call, signIn, advance } = await open();
  await signIn();
  advance(3_600_000 - 30_000);
  expect(await call()).not.toBe(401);
  expect(server.tokenRequests.map((form) => form.get("grant_type"))).toEqual([
    "authorization_code",
    "refresh_token",
  ]);
  server.control.failWith = { error: "slow_down" };
  advance(3_600_000);
  await expect(call()).rejects.toMatchObject({ code: "unreachable" });
  expect(file.read()).toBeDefined();
  server.control.failWith = { error: "invalid_grant" };
  expect(await call()).toBe(401);
  expect(file.read()).toBeUndefined();
  expect(access.advice()).toContain("Sign in");
});

it("uses a code where there is no browser", async () => {
  const { url, file, access, call } = await open({ device: { approveAfter: 2 } }, false);
  expect(await call()).toBe(401);
  expect(access.advice()).toMatch(
    new RegExp(
      `Sign in to the hub at ${url}: open http\\S+/enter .* code WDJB-MJHT. Then try again`,
    ),
  );
  await expect.poll(file.read).toBeDefined();
  expect(await call()).not.toBe(401);
});

it("refreshes once for several processes, also if one of them died with the lock", async () => {
  const { server, url, folder, file, call, signIn } = await open();
  await signIn();
  const rejected = file.read()?.access ?? "";
  server.accessTokens.clear();
  writeFileSync(`${file.path}.lock`, "of a dead process");
  utimesSync(`${file.path}.lock`, 0, 0);
  const script = `
    import { createSignedInAccess } from "${import.meta.dirname}/signed-in-access.ts";
    import { createTokenFile } from "${import.meta.dirname}/token-file.ts";
    const file = createTokenFile(process.env.FOLDER, process.env.URL_OF_HUB);
    const access = createSignedInAccess({ url: process.env.URL_OF_HUB, file, fetch, warn() {},
      beginSignIn: () => Promise.reject(new Error("signs in")) });
    process.stdout.write("ready ");
    await new Promise((resolve) => process.stdin.once("data", resolve));
    process.stdin.destroy();
    if (await access.renew(process.env.REJECTED)) process.stdout.write(await access.token());`;
  const env = { ...process.env, FOLDER: folder, URL_OF_HUB: url, REJECTED: rejected };
  const processes = [1, 2, 3].map(() =>
    spawn(process.execPath, ["--input-type=module", "-e", script], {
      env,
      stdio: ["pipe", "pipe", "inherit"],
    }),
  );
  await Promise.all(processes.map(({ stdout }) => once(stdout, "readable")));
  // Gives another process the time to send the same refresh token, if there were no lock.
  server.control.beforeToken = () => sleep(500);
  for (const { stdin } of processes) stdin.write("go");
  const outputs = await Promise.all(processes.map(({ stdout }) => text(stdout)));
  server.control.beforeToken = async () => {};
  const tokens = new Set(outputs.map((output) => output.replace("ready ", "")));
  expect([...tokens]).toEqual([JSON.parse(readFileSync(file.path, "utf8")).tokens.access]);
  expect(server.tokenRequests.map((form) => form.get("grant_type"))).toEqual([
    "authorization_code",
    "refresh_token",
  ]);
  expect(await call()).not.toBe(401);
});
