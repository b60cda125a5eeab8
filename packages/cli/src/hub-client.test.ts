import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { readValues } from "@signalbox/rules/settings.ts";
import { describe, expect, it } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { connectToHub, findRunningHub, HubRequestFailed, locateHub } from "./hub-client.ts";
import { writeHubFile } from "./hub-file.ts";
import { clientSettings } from "./settings.ts";

const LOCAL = "http://127.0.0.1:4000";
const FILE = {
  pid: 1,
  url: LOCAL,
  public_url: "https://hub.example/box",
  tenancy: "single" as const,
  signed_sources: [],
  unsigned: true,
  started_at: "2026-01-01T00:00:00.000Z",
  version: "0.0.0",
  token: "sbx_local_token",
};

function settingsOf(env: Record<string, string>, flags: Record<string, string> = {}) {
  const { values, origins } = readValues(clientSettings, { flags, env, file: {} });
  return { ...values, origins };
}

const servers: Server[] = [];

async function closeServers(): Promise<void> {
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
}

async function listen(server: Server): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

function withFile(env: Record<string, string> = {}, flags: Record<string, string> = {}) {
  const data = tempFolder();
  writeHubFile(data, FILE);
  const { url, token, from } = locateHub(settingsOf({ SIGNALBOX_DATA: data, ...env }, flags));
  return { url, token, from };
}

describe("the hub of a command", () => {
  it("is the one in --url, then in SIGNALBOX_URL, then the one that runs on the data folder", () => {
    const SIGNALBOX_TOKEN = "sbx_given_token_1";
    const REMOTE = "https://remote.example";
    expect(withFile({ SIGNALBOX_URL: `${REMOTE}/`, SIGNALBOX_TOKEN })).toEqual({
      url: REMOTE,
      token: SIGNALBOX_TOKEN,
      from: "settings",
    });
    expect(withFile({ SIGNALBOX_URL: REMOTE }, { url: "http://flag.example" }).url).toBe(
      "http://flag.example",
    );
    // SIGNALBOX_TOKEN is also the admin token of the local hub. If it was changed, the running hub rejects
    // the new one until it restarts, but accepts the token in its file.
    expect(withFile({ SIGNALBOX_TOKEN })).toEqual({
      url: LOCAL,
      token: FILE.token,
      from: "file",
    });
    expect(withFile({}, { port: "5000" }).url).toBe("http://127.0.0.1:5000");
    expect(withFile({ PORT: "5000" }).url).toBe(LOCAL);
    const none = locateHub(settingsOf({ SIGNALBOX_DATA: tempFolder(), PORT: "5000", HOST: "::" }));
    expect(none).toMatchObject({ url: "http://127.0.0.1:5000", token: undefined });
  });

  it("cannot be located if its file is damaged or unreadable, unless its address is given", async () => {
    const data = tempFolder();
    const file = join(data, "hub.json");
    const settings = settingsOf({ SIGNALBOX_DATA: data });
    for (const content of ["{", '{"pid":1}']) {
      writeFileSync(file, content);
      expect(() => locateHub(settings)).toThrow(
        `${file}, which describes the running hub, is damaged`,
      );
      await expect(findRunningHub(settings)).rejects.toThrow(/Restart the hub, or delete the file/);
    }
    const given = settingsOf({ SIGNALBOX_DATA: data, SIGNALBOX_URL: "http://remote.example" });
    expect(locateHub(given).url).toBe("http://remote.example");
    rmSync(file);
    // A folder cannot be read as a file, not even by root.
    mkdirSync(file);
    expect(() => locateHub(settings)).toThrow(/cannot be read \(EISDIR.*user of the hub/);
  });

  it("gets the token of the local hub only if it is that hub", () => {
    for (const url of [LOCAL, `${LOCAL}/`, FILE.public_url])
      expect(withFile({ SIGNALBOX_URL: url }).token).toBe(FILE.token);
    for (const url of ["http://127.0.0.1:4001", "http://evil.example", "https://hub.example"])
      expect(withFile({ SIGNALBOX_URL: url }).token).toBeUndefined();
    expect(withFile({}, { port: "4000" }).token).toBe(FILE.token);
    expect(withFile({}, { port: "4001" }).token).toBeUndefined();
  });
});

async function respondWith(status: number, body: string, headers: Record<string, string> = {}) {
  const port = await listen(
    createServer((_, response) => {
      response.writeHead(status, { connection: "close", ...headers }).end(body);
    }),
  );
  return `http://127.0.0.1:${port}`;
}

describe("a request to the hub", () => {
  it("fails with the hub's message, or reports that the address is not a hub's", async () => {
    const cases: [number, string, RegExp][] = [
      [400, '{"code":"invalid","detail":"name: must not be empty"}', /^name: must not be empty$/],
      [502, "<html>", /responded with status 502/],
      [404, "<html>", /does not respond like a Signalbox hub/],
      [200, "<html>", /does not respond like a Signalbox hub/],
    ];
    for (const [status, body, message] of cases) {
      const url = await respondWith(status, body);
      const hub = connectToHub(settingsOf({ SIGNALBOX_URL: url, SIGNALBOX_DATA: tempFolder() }));
      const error = await hub.get("/api/apps").catch((error: unknown) => error);
      expect(error).toBeInstanceOf(HubRequestFailed);
      expect(error).toMatchObject({ status, message: expect.stringMatching(message) });
    }
    await closeServers();
  });

  it("fails with the command that creates the missing token, or that starts the hub", async () => {
    const failure = async (url: string, flags = {}) => {
      const env = { SIGNALBOX_URL: url, SIGNALBOX_TOKEN: "sbx_given_token_1" };
      const hub = connectToHub(settingsOf(url ? env : { PORT: "1" }, flags));
      return String(await hub.get("/api/apps").catch((error: unknown) => error));
    };
    const unknown = '{"status":401,"code":"token_unknown","detail":"The token is unknown."}';
    expect(await failure(await respondWith(401, unknown))).toContain(
      "SIGNALBOX_TOKEN: The token is unknown. `npx signalbox token create NAME` on the hub's machine creates one.",
    );
    const expired =
      '{"status":401,"code":"token_expired","detail":"The token has expired. Create another one."}';
    expect(await failure(await respondWith(401, expired))).toMatch(/Create another one\.$/);
    const denied =
      '{"status":403,"code":"insufficient_scope","detail":"The token lacks the scope admin."}';
    const headers = { "www-authenticate": 'Bearer error="insufficient_scope", scope="admin"' };
    expect(await failure(await respondWith(403, denied, headers))).toContain(
      "lacks the scope admin. `npx signalbox token create NAME --scope admin` on the hub's machine",
    );
    const noTenant = { status: 403, code: "no_tenant", detail: "No tenant of the hub." };
    expect(await failure(await respondWith(403, JSON.stringify(noTenant)))).toMatch(
      /denies the request: No tenant of the hub\.$/,
    );
    const errors = [{ path: "tenant", message: "is missing" }];
    expect(await failure(await respondWith(403, JSON.stringify({ ...noTenant, errors })))).toMatch(
      /has several tenants: name one with --tenant ID\.$/,
    );
    await closeServers();
    expect(await failure("", { data: "/tmp/no such folder" })).toContain(
      "`npx signalbox serve --data '/tmp/no such folder'`",
    );
  });

  it("finds no running hub if another program uses its port", async () => {
    const data = tempFolder();
    const settings = settingsOf({ SIGNALBOX_DATA: data });
    expect(await findRunningHub(settings)).toBeUndefined();
    for (const [status, body] of [
      [200, "<html>"],
      [404, "<html>"],
      [401, '{"code":"token_unknown","detail":"The token is unknown to this hub."}'],
    ] as const) {
      writeHubFile(data, { ...FILE, url: await respondWith(status, body) });
      expect(await findRunningHub(settings)).toBeUndefined();
    }
    writeHubFile(data, { ...FILE, url: await respondWith(200, "{}") });
    expect(await findRunningHub(settings)).toMatchObject({ token: FILE.token, tenancy: "single" });
    await closeServers();
  });
});
