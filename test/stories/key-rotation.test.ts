/** The key that encrypts stored secrets is replaced. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, it, onTestFinished } from "vitest";
import { deliver } from "../support/deliver.ts";
import { type HubProcess, runCli, startHubProcess } from "../support/hub-process.ts";
import { createDatabase } from "../support/postgres.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { startWorkerProcess } from "../support/worker-process.ts";

const SECRET = "a secret of the endpoint";
const newKey = (byte: number) => Buffer.alloc(32, byte).toString("base64");

async function startHub(env: Record<string, string>): Promise<HubProcess> {
  const hub = await startHubProcess({ data: env.SIGNALBOX_DATA ?? "", env });
  onTestFinished(async () => void (await hub.stop()));
  return hub;
}

/** Adds an endpoint, and returns a function that sends it a signed webhook and returns the status. */
async function addEndpoint(env: Record<string, string>) {
  const added = await runCli(["source", "add", "github", "--json"], {
    env: { ...env, SIGNALBOX_SOURCE_SECRET: SECRET },
  });
  const { pathname } = new URL(JSON.parse(added.stdout).url);
  return async (hub: HubProcess) =>
    (await deliver(hub.url, { path: pathname, secret: SECRET })).status;
}

it("`key rotate` replaces the key file of a stopped hub, and continues after an interruption", async () => {
  const env = { SIGNALBOX_DATA: tempFolder() };
  const file = join(env.SIGNALBOX_DATA, "key");
  const rotate = () => runCli(["key", "rotate"], { env });
  const hub = await startHub(env);
  const send = await addEndpoint(env);
  expect(await send(hub)).toBe(202);
  const former = readFileSync(file, "utf8");
  const rejected = await rotate();
  expect([rejected.code, rejected.stderr]).toEqual([
    1,
    expect.stringMatching(/is running with the former key\. Stop it/),
  ]);
  await hub.stop();

  const rotated = await rotate();
  expect([rotated.code, rotated.stdout]).toEqual([
    0,
    expect.stringContaining("✓ 1 stored secret "),
  ]);
  const next = readFileSync(file, "utf8");
  expect(next).not.toContain(former.trim());
  const again = await startHub(env);
  expect(await send(again)).toBe(202);
  await again.stop();
  expect(again.output()).not.toContain("key rotate");
  const withFormer = await runCli(["serve"], { env: { ...env, SIGNALBOX_KEY: former.trim() } });
  expect([withFormer.code, withFormer.stderr]).toEqual([
    2,
    expect.stringContaining("does not decrypt"),
  ]);

  // As if the command had been killed after it wrote the new key.
  writeFileSync(file, `${newKey(7)}\n${next}`);
  const interrupted = await startHub(env);
  expect(await send(interrupted)).toBe(202);
  await interrupted.stop();
  expect(interrupted.output()).toContain("finish the rotation with `npx signalbox key rotate`");
  expect((await rotate()).code).toBe(0);
  expect(readFileSync(file, "utf8")).toBe(`${newKey(7)}\n`);
  expect(await send(await startHub(env))).toBe(202);
});

it("with SIGNALBOX_KEY, `key rotate` encrypts the secrets again while replicas run on PostgreSQL", async () => {
  const env = {
    SIGNALBOX_DATA: tempFolder(),
    DATABASE_URL: await createDatabase(inject("postgresUrl")),
    SIGNALBOX_KEY: newKey(1),
  };
  const hub = await startHub(env);
  const send = await addEndpoint(env);
  const oneKey = await runCli(["key", "rotate"], { env });
  expect([oneKey.code, oneKey.stderr]).toEqual([
    2,
    expect.stringContaining("SIGNALBOX_KEY=NEW,FORMER"),
  ]);
  await hub.stop();

  const both = { ...env, SIGNALBOX_KEY: `${newKey(2)},${newKey(1)}` };
  const replica = await startHub(both);
  expect(await send(replica)).toBe(202);
  const rotated = await runCli(["key", "rotate"], { env: both });
  expect([rotated.code, rotated.stdout]).toEqual([
    0,
    expect.stringContaining("✓ 1 stored secret "),
  ]);
  expect(await send(replica)).toBe(202);
  await replica.stop();

  const last = await startHub({ ...env, SIGNALBOX_KEY: newKey(2) });
  expect(await send(last)).toBe(202);
  await last.stop();
  expect(last.output()).not.toMatch(/decrypt|key rotate/);
});

it("a Worker with a new and a former key uses what the former key has encrypted", async () => {
  const data = tempFolder();
  const token = "the-token-of-the-operator";
  const start = async (key: string) => {
    const settings = { SIGNALBOX_TOKEN: token, GITHUB_WEBHOOK_SECRET: "another secret" };
    const env = { ...settings, SIGNALBOX_KEY: key };
    const worker = await startWorkerProcess({ data, env });
    onTestFinished(async () => void (await worker.stop()));
    return worker;
  };
  const first = await start(newKey(1));
  const send = await addEndpoint({ SIGNALBOX_URL: first.url, SIGNALBOX_TOKEN: token });
  expect(await send(first)).toBe(202);
  await first.stop();
  expect(await send(await start(`${newKey(2)},${newKey(1)}`))).toBe(202);
});
