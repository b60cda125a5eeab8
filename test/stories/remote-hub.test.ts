/** Commands on another machine than the hub: SIGNALBOX_URL and SIGNALBOX_TOKEN, and no data folder. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { SECRET } from "../support/deliver.ts";
import { greeting } from "../support/flow-samples.ts";
import { createTokenByCli, runCli, startHubProcess } from "../support/hub-process.ts";
import { tempFolder } from "../support/temp-folder.ts";

const TOKEN = "sbx_admin_of_the_remote_hub";
const PUBLIC_URL = "http://hub.example";

async function startRemote() {
  const data = tempFolder();
  const hub = await startHubProcess({
    data,
    env: {
      GITHUB_WEBHOOK_SECRET: SECRET,
      SIGNALBOX_TOKEN: TOKEN,
      SIGNALBOX_PUBLIC_URL: PUBLIC_URL,
    },
  });
  onTestFinished(async () => void (await hub.stop()));
  const { url } = JSON.parse(readFileSync(join(data, "hub.json"), "utf8"));
  const cwd = tempFolder();
  const env = { SIGNALBOX_URL: url, SIGNALBOX_TOKEN: TOKEN };
  const run = (...args: string[]) => runCli(args, { cwd, env });
  return { data, url, cwd, env, run };
}

it("sends a sample that the hub signs, also to a public hub", async () => {
  const { run, cwd } = await startRemote();
  const { code, stdout } = await run("send", "github", "issues", "--action", "opened");
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^✓ 202 stored {2}event/)]);
  expect(stdout).not.toContain("Not signed");
  const json = JSON.parse((await run("send", "github", "--id", "one", "--json")).stdout);
  expect(json).toMatchObject({ status: 202, outcome: "stored", delivery: "one", signed: true });
  expect((await run("send", "github", "--id", "one")).stdout).toMatch(/200 duplicate/);
  const events = await run("events", "--type", "issues", "--json");
  expect(JSON.parse(events.stdout.split("\n")[0] ?? "")).toMatchObject({ type: "issues" });
  expect(readdirSync(cwd)).toEqual([]);
});

it("pushes, publishes and pulls flows, and imports a file", async () => {
  const { run, cwd, url, env } = await startRemote();
  mkdirSync(join(cwd, "flows", "desk"), { recursive: true });
  writeFileSync(join(cwd, "flows", "desk", "greeting.json"), JSON.stringify(greeting));
  const pushed = await run("flows", "push", "flows", "--publish");
  expect([pushed.code, pushed.stdout]).toEqual([
    0,
    expect.stringMatching(/desk \/ Greeting: created, published as version 1/),
  ]);
  const pulled = await run("flows", "pull", "copy");
  expect([pulled.code, pulled.stdout]).toEqual([0, expect.stringContaining("greeting.json")]);
  expect(
    JSON.parse(readFileSync(join(cwd, "copy", "desk", "greeting.json"), "utf8")),
  ).toMatchObject({ app: "desk", name: "Greeting" });
  writeFileSync(join(cwd, "more.json"), JSON.stringify({ ...greeting, name: "More" }));
  const imported = await run("import-flows", "more.json", "--app", "shop");
  expect([imported.code, imported.stdout]).toEqual([
    0,
    expect.stringMatching(/shop \/ More: created/),
  ]);
  const apps = await fetch(`${url}/api/apps`, {
    headers: { authorization: `Bearer ${env.SIGNALBOX_TOKEN}` },
  });
  expect(await apps.json()).toMatchObject({ items: [{ slug: "desk" }, { slug: "shop" }] });
  expect(readdirSync(cwd).toSorted()).toEqual(["copy", "flows", "more.json"]);
});

it("manages tokens and endpoints", async () => {
  const { run } = await startRemote();
  const token = JSON.parse((await run("token", "create", "laptop", "--json")).stdout);
  expect((await run("token", "list")).stdout).toMatch(
    /laptop +inbox:read,inbox:write,flows:call +local/,
  );
  expect((await run("token", "revoke", token.id)).code).toBe(0);
  const source = JSON.parse((await run("source", "add", "stripe", "--json")).stdout);
  expect(source.url).toContain(`${PUBLIC_URL}/webhooks/stripe/`);
  const rotated = JSON.parse((await run("source", "rotate", source.id, "--json")).stdout);
  expect(rotated.oldUntil).toBeGreaterThan(Date.now());
  expect((await run("send", "stripe", "--endpoint", source.id)).stdout).toMatch(/202 stored/);
});

it("checks with `doctor` only what another machine can check", async () => {
  const { data, url, cwd, env } = await startRemote();
  const doctor = async (SIGNALBOX_TOKEN: string | undefined) => {
    const args = ["doctor", "--github-api-url", url, "--json"];
    const token = SIGNALBOX_TOKEN === undefined ? {} : { SIGNALBOX_TOKEN };
    const { code, stdout } = await runCli(args, { cwd, env: { SIGNALBOX_URL: url, ...token } });
    expect(code).toBe(0);
    return JSON.parse(stdout).findings as { check: string; says: string }[];
  };
  const findings = await doctor(TOKEN);
  const checks = ["settings", "node", "scope", "hub", "redelivery", "clock"];
  expect(findings.map(({ check }) => check)).toEqual(checks);
  expect(findings[2]?.says).toContain(`the secrets of ${env.SIGNALBOX_URL} are not checked`);
  expect(findings[4]).toMatchObject({ state: "ok", says: expect.stringMatching(/^off: /) });

  const limited = await createTokenByCli({ SIGNALBOX_DATA: data }, "--scope", "admin");
  for (const [token, reason] of [
    [undefined, /requires a token/],
    ["sbx_of_another_hub", /rejects the token/],
    [limited.token, /must be valid for all tenants/],
  ] as const)
    expect((await doctor(token))[4]).toMatchObject({
      check: "redelivery",
      state: "warning",
      says: expect.stringMatching(reason),
      fix: expect.stringMatching(/SIGNALBOX_TOKEN.*all tenants/),
    });
});

it("reports a missing, an unknown and a limited token, and a wrong address", async () => {
  const { url, data } = await startRemote();
  const cwd = tempFolder();
  const limited = await createTokenByCli({ SIGNALBOX_DATA: data });
  const reported = async (env: Record<string, string>, ...args: string[]) => {
    const { code, stderr } = await runCli(args, { cwd, env: { SIGNALBOX_URL: url, ...env } });
    return { code, stderr };
  };
  const pull = ["flows", "pull", "flows"];
  expect(await reported({}, ...pull)).toEqual({
    code: 1,
    stderr: expect.stringMatching(/requires a token: set SIGNALBOX_TOKEN/),
  });
  expect(await reported({ SIGNALBOX_TOKEN: "sbx_of_another_hub" }, ...pull)).toEqual({
    code: 1,
    stderr: expect.stringMatching(/rejects the token in SIGNALBOX_TOKEN: .*unknown to this hub/),
  });
  expect(await reported({ SIGNALBOX_TOKEN: "sbx_typo" }, ...pull)).toEqual({
    code: 1,
    stderr: expect.stringMatching(/rejects the token in SIGNALBOX_TOKEN: .*token create NAME/),
  });
  for (const args of [pull, ["send", "github"]])
    expect(await reported({ SIGNALBOX_TOKEN: limited.token }, ...args)).toEqual({
      code: 1,
      stderr: expect.stringMatching(/denies the request: The token lacks the scope admin/),
    });
  expect(await reported({ SIGNALBOX_URL: "http://127.0.0.1:1" }, ...pull)).toEqual({
    code: 1,
    stderr: expect.stringMatching(/No response from http:\/\/127\.0\.0\.1:1 .*SIGNALBOX_URL/),
  });
  expect(await reported({ SIGNALBOX_URL: "hub.example" }, ...pull)).toEqual({
    code: 2,
    stderr: expect.stringMatching(/SIGNALBOX_URL must be an http\(s\) URL/),
  });
});
