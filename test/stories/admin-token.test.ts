/** The admin token is revoked or lost, and replaced by a command on the machine of the hub. */
import { join } from "node:path";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { SECRET } from "../support/deliver.ts";
import { commandSettings, hosts, startOn } from "../support/hosts.ts";
import {
  createTokenByCli,
  type HubProcess,
  runCli,
  startHubProcess,
} from "../support/hub-process.ts";
import { createDatabase } from "../support/postgres.ts";
import { tempFolder } from "../support/temp-folder.ts";

const CREATE = ["token", "create", "operator", "--scope", "admin", "--tenant", "*"];
const BANNER = "! No admin token for all tenants";
const LOG = "no admin token for all tenants is active. This command creates one: npx signalbox";

async function startHub(env: Record<string, string>): Promise<HubProcess> {
  const hub = await startHubProcess({ data: env.SIGNALBOX_DATA ?? "", env });
  onTestFinished(async () => void (await hub.stop()));
  return hub;
}

/** Signs in to the web UI with the token, and returns the response to a request for operators. */
async function readSettingsAsOperator(url: string, token: string): Promise<Response> {
  const link = await runCli(["open"], { env: { SIGNALBOX_URL: url, SIGNALBOX_TOKEN: token } });
  const code = link.stdout.trim().split("#code=")[1];
  const session = await fetch(`${url}/api/session`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: url },
    body: JSON.stringify({ code }),
  });
  const cookie = session.headers.getSetCookie()[0]?.split(";")[0] ?? "";
  return fetch(`${url}/api/settings`, { headers: { cookie } });
}

describe.each(["SQLite", "PostgreSQL"])("on %s", (backend) => {
  const setUp = async (): Promise<Record<string, string>> => ({
    SIGNALBOX_DATA: tempFolder(),
    ...(backend === "PostgreSQL" && { DATABASE_URL: await createDatabase(inject("postgresUrl")) }),
  });

  it("a hub whose admin token was revoked shows the command that creates another one", async () => {
    const env = await setUp();
    const first = await startHub(env);
    expect(first.output()).not.toContain(BANNER);
    const leaked = /Token +(sbx_[\w-]+)/.exec(first.output())?.[1] ?? "";
    expect((await readSettingsAsOperator(first.url, leaked)).status).toBe(200);
    expect((await runCli(["token", "revoke", "admin"], { env })).code).toBe(0);
    await createTokenByCli(env, "--scope", "admin");
    await first.stop();

    const second = await startHub(env);
    await expect.poll(second.output).toContain(LOG);
    expect(second.output()).toContain(BANNER);
    expect(second.output()).toContain(`signalbox ${CREATE.slice(0, -1).join(" ")} '*' --data `);
    const created = await runCli([...CREATE, "--json"], { env });
    const { token } = JSON.parse(created.stdout);
    expect((await readSettingsAsOperator(second.url, token)).status).toBe(200);
    expect((await readSettingsAsOperator(second.url, leaked)).status).toBe(401);
    await second.stop();

    const third = await startHub(env);
    await third.stop();
    expect(third.output()).not.toMatch(/no admin token/i);
  });

  it("the command works while no hub runs", async () => {
    const env = await setUp();
    await (await startHub(env)).stop();
    await runCli(["token", "revoke", "admin"], { env });
    const { stdout } = await runCli(CREATE, { env });
    expect(stdout).toMatch(/ operator \(admin\) for all tenants; shown only once\./);
    const hub = await startHub(env);
    const token = /sbx_[\w-]+/.exec(stdout)?.[0] ?? "";
    expect((await readSettingsAsOperator(hub.url, token)).status).toBe(200);
    await hub.stop();
    expect(hub.output()).not.toMatch(/no admin token/i);
  });
});

it("the command names the database that it creates if no hub runs, and DATABASE_URL is not set", async () => {
  const data = tempFolder();
  const created = `has created the database ${join(data, "signalbox.db")}. For a hub with another database, set DATABASE_URL`;
  const first = await runCli([...CREATE, "--data", data]);
  expect(first).toMatchObject({ code: 0, stderr: expect.stringContaining(created) });
  const second = await runCli([...CREATE, "--data", data]);
  expect(second).toMatchObject({ code: 0, stderr: "" });
});

it("an admin token of one tenant cannot create an admin token for all", async () => {
  const env = { SIGNALBOX_DATA: tempFolder() };
  const hub = await startHub(env);
  const { token } = await createTokenByCli(env, "--scope", "admin");
  const denied = await runCli(CREATE, {
    env: { SIGNALBOX_URL: hub.url, SIGNALBOX_TOKEN: token },
  });
  expect([denied.code, denied.stderr]).toEqual([
    1,
    expect.stringContaining("The token is not valid for all tenants (*)."),
  ]);
  const config = await runCli(["config"], {
    env: { SIGNALBOX_URL: hub.url, SIGNALBOX_TOKEN: token },
  });
  expect(config.stdout).toContain(
    "token: must be valid for all tenants (*). These are the settings of this terminal.",
  );
});

it.each(hosts)(
  "a token of the environment is rotated by a change of SIGNALBOX_TOKEN, and only by that, on %s",
  async (host) => {
    const data = tempFolder();
    const start = async (token: string) => {
      const hub = await startOn(host, {
        data,
        env: { SIGNALBOX_TOKEN: token, GITHUB_WEBHOOK_SECRET: SECRET },
      });
      onTestFinished(async () => void (await hub.stop()));
      return hub;
    };
    const former = "the-former-token-of-the-environment";
    const next = "the-next-token-of-the-environment";
    const first = await start(former);
    expect((await readSettingsAsOperator(first.url, former)).status).toBe(200);
    const env = commandSettings(host, first, { data, token: former });
    const [{ id }] = JSON.parse((await runCli(["token", "list", "--json"], { env })).stdout);
    const revoked = await runCli(["token", "revoke", id], { env });
    expect(revoked.stdout).toMatch(
      /SIGNALBOX_TOKEN, and a start with the same value makes it valid/,
    );
    await first.stop();

    const again = await start(former);
    expect((await readSettingsAsOperator(again.url, former)).status).toBe(200);
    await again.stop();

    const second = await start(next);
    expect((await readSettingsAsOperator(second.url, next)).status).toBe(200);
    expect((await readSettingsAsOperator(second.url, former)).status).toBe(401);
    await second.stop();
    expect(second.output()).not.toMatch(/no admin token/i);
  },
);
