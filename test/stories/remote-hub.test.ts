/** Commands on another machine use SIGNALBOX_URL and SIGNALBOX_TOKEN, without a data folder. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { SECRET } from "../support/deliver.ts";
import { greeting } from "../support/flow-samples.ts";
import { createTokenByCli, runCli, startHubProcess } from "../support/hub-process.ts";
import { tempFolder } from "../support/temp-folder.ts";

const TOKEN = "sbx_admin_of_the_remote_hub";
const PUBLIC_URL = "http://hub.example";

/** Starts a hub with a public URL. `runRemotely` runs a command with only its address and a token. */
async function startRemoteHub() {
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
  const runRemotely = (...args: string[]) => runCli(args, { cwd, env });
  return { data, url, cwd, env, runRemotely };
}

it("`send` sends a sample that a public hub signs, and writes no files", async () => {
  const { runRemotely, cwd } = await startRemoteHub();
  const { code, stdout } = await runRemotely("send", "github", "issues", "--action", "opened");
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^✓ 202 stored {2}event/)]);
  expect(stdout).not.toContain("Not signed");
  const json = JSON.parse((await runRemotely("send", "github", "--id", "one", "--json")).stdout);
  expect(json).toMatchObject({ status: 202, outcome: "stored", delivery: "one", signed: true });
  expect((await runRemotely("send", "github", "--id", "one")).stdout).toMatch(/200 duplicate/);
  const events = await runRemotely("events", "--type", "issues", "--json");
  expect(JSON.parse(events.stdout.split("\n")[0] ?? "")).toMatchObject({ type: "issues" });
  expect(readdirSync(cwd)).toEqual([]);
});

it("`flows` and `import-flows` push, publish, pull and import flows", async () => {
  const { runRemotely, cwd, url, env } = await startRemoteHub();
  mkdirSync(join(cwd, "flows", "desk"), { recursive: true });
  writeFileSync(join(cwd, "flows", "desk", "greeting.json"), JSON.stringify(greeting));
  const pushed = await runRemotely("flows", "push", "flows", "--publish");
  expect([pushed.code, pushed.stdout]).toEqual([
    0,
    expect.stringMatching(/desk \/ Greeting: created, published as version 1/),
  ]);
  const pulled = await runRemotely("flows", "pull", "copy");
  expect([pulled.code, pulled.stdout]).toEqual([0, expect.stringContaining("greeting.json")]);
  expect(
    JSON.parse(readFileSync(join(cwd, "copy", "desk", "greeting.json"), "utf8")),
  ).toMatchObject({ app: "desk", name: "Greeting" });
  writeFileSync(join(cwd, "more.json"), JSON.stringify({ ...greeting, name: "More" }));
  const imported = await runRemotely("import-flows", "more.json", "--app", "shop");
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

it("`token` and `source` manage the tokens and endpoints of the hub", async () => {
  const { runRemotely } = await startRemoteHub();
  const token = JSON.parse((await runRemotely("token", "create", "laptop", "--json")).stdout);
  expect((await runRemotely("token", "list")).stdout).toMatch(
    /laptop +inbox:read,inbox:write,flows:call +local/,
  );
  expect((await runRemotely("token", "revoke", token.id)).code).toBe(0);
  const source = JSON.parse((await runRemotely("source", "add", "stripe", "--json")).stdout);
  expect(source.url).toContain(`${PUBLIC_URL}/webhooks/stripe/`);
  const rotated = JSON.parse((await runRemotely("source", "rotate", source.id, "--json")).stdout);
  expect(rotated.oldUntil).toBeGreaterThan(Date.now());
  expect((await runRemotely("send", "stripe", "--endpoint", source.id)).stdout).toMatch(
    /202 stored/,
  );
});

it("`doctor` checks only what another machine can check", async () => {
  const { data, url, cwd, env } = await startRemoteHub();
  const runDoctor = async (SIGNALBOX_TOKEN: string | undefined) => {
    const args = ["doctor", "--github-api-url", url, "--json"];
    const token = SIGNALBOX_TOKEN === undefined ? {} : { SIGNALBOX_TOKEN };
    const { code, stdout } = await runCli(args, { cwd, env: { SIGNALBOX_URL: url, ...token } });
    expect(code).toBe(0);
    return JSON.parse(stdout).findings as { check: string; says: string }[];
  };
  const findings = await runDoctor(TOKEN);
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
    expect((await runDoctor(token))[4]).toMatchObject({
      check: "redelivery",
      state: "warning",
      says: expect.stringMatching(reason),
      fix: expect.stringMatching(/SIGNALBOX_TOKEN.*all tenants/),
    });
});

it("commands report a missing, an unknown and a limited token, and a wrong address", async () => {
  const { url, data } = await startRemoteHub();
  const cwd = tempFolder();
  const limited = await createTokenByCli({ SIGNALBOX_DATA: data });
  const runWith = async (env: Record<string, string>, ...args: string[]) => {
    const { code, stderr } = await runCli(args, { cwd, env: { SIGNALBOX_URL: url, ...env } });
    return { code, stderr };
  };
  const pull = ["flows", "pull", "flows"];
  expect(await runWith({}, ...pull)).toEqual({
    code: 1,
    stderr: expect.stringMatching(/requires a token: set SIGNALBOX_TOKEN/),
  });
  expect(await runWith({ SIGNALBOX_TOKEN: "sbx_of_another_hub" }, ...pull)).toEqual({
    code: 1,
    stderr: expect.stringMatching(/rejects the token in SIGNALBOX_TOKEN: .*unknown to this hub/),
  });
  expect(await runWith({ SIGNALBOX_TOKEN: "sbx_typo" }, ...pull)).toEqual({
    code: 1,
    stderr: expect.stringMatching(/rejects the token in SIGNALBOX_TOKEN: .*token create NAME/),
  });
  for (const args of [pull, ["send", "github"]])
    expect(await runWith({ SIGNALBOX_TOKEN: limited.token }, ...args)).toEqual({
      code: 1,
      stderr: expect.stringMatching(/denies the request: The token lacks the scope admin/),
    });
  expect(await runWith({ SIGNALBOX_URL: "http://127.0.0.1:1" }, ...pull)).toEqual({
    code: 1,
    stderr: expect.stringMatching(/No response from http:\/\/127\.0\.0\.1:1 .*SIGNALBOX_URL/),
  });
  expect(await runWith({ SIGNALBOX_URL: "hub.example" }, ...pull)).toEqual({
    code: 2,
    stderr: expect.stringMatching(/SIGNALBOX_URL must be an http\(s\) URL/),
  });
});
