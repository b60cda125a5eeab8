/** Runs `send`, `token`, `source`, `config` and `doctor` as separate processes. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { SECRET } from "../support/deliver.ts";
import { CLI, runCli, startHubProcess } from "../support/hub-process.ts";
import { tempFolder } from "../support/temp-folder.ts";

const hubFolder = fileURLToPath(new URL("../../packages/hub/", import.meta.url));
const readJson = (path: string) => JSON.parse(readFileSync(path, "utf8"));

describe("the executable `signalbox`", () => {
  const manifest = readJson(join(hubFolder, "package.json"));
  const bin = join(hubFolder, manifest.bin.signalbox);

  it("has execute permission, and sets V8's semi-space size like `npm start`", () => {
    expect(manifest.files).toContain("bin");
    expect(statSync(bin).mode & 0o111).toBe(0o111);
    const { scripts } = readJson(join(hubFolder, "../../package.json"));
    // Without `exec`, a signal that npm forwards would end the shell and not the hub.
    expect(scripts.start).toMatch(/^exec node /);
    // On Windows, where `exec` is not a command, cmd finds this file in the working folder.
    expect(readFileSync(join(hubFolder, "../../exec.cmd"), "utf8")).toMatch(/^@%\*$/m);
    const flag = /--max-semi-space-size=\d+/.exec(scripts.start)?.[0];
    expect(readFileSync(bin, "utf8").split("\n")[0]).toBe(`#!/usr/bin/env -S node ${flag}`);
    const { stdout } = spawnSync(bin, ["--version"], { encoding: "utf8" });
    expect(stdout).toBe(`${manifest.version}\n`);
  });

  it("reports a missing build, and a Node version that is too old", () => {
    const folder = tempFolder();
    cpSync(bin, join(folder, "bin/signalbox.js"));
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    const run = (...flags: string[]) =>
      spawnSync(process.execPath, [...flags, join(folder, "bin/signalbox.js"), "--version"], {
        encoding: "utf8",
      });
    const unbuilt = run();
    expect([unbuilt.status, unbuilt.stderr]).toEqual([
      2,
      "signalbox: Signalbox is not built: run `npm run build` first.\n",
    ]);
    const overrideVersion = (version: string) =>
      `data:text/javascript,Object.defineProperty(process,"versions",{value:{node:"${version}"}})`;
    for (const version of ["20.20.2", "22.14.0"]) {
      const { status, stderr } = run("--import", overrideVersion(version));
      expect([status, stderr]).toEqual([
        2,
        `signalbox: Signalbox needs Node 22.15 or newer, this is ${version}. ` +
          "Run `npx signalbox` in the checkout, which has its own Node, or install a newer Node.\n",
      ]);
    }
    for (const version of ["22.15.0", "24.0.0"])
      expect(run("--import", overrideVersion(version)).stderr).toContain("not built");
  });

  it("caches the compiled code beside the program, and starts if it cannot write there", () => {
    const folder = tempFolder();
    cpSync(bin, join(folder, "bin/signalbox.js"));
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    mkdirSync(join(folder, "dist"));
    writeFileSync(join(folder, "dist/cli.js"), 'console.log("started")');
    const cache = join(folder, ".compile-cache");
    const run = () =>
      spawnSync(process.execPath, [join(folder, "bin/signalbox.js")], { encoding: "utf8" });
    expect(run().stdout).toBe("started\n");
    expect(readdirSync(cache)).not.toEqual([]);
    rmSync(cache, { recursive: true });
    writeFileSync(cache, "a file where the folder would be");
    expect([run().stdout, run().stderr]).toEqual(["started\n", ""]);
  });
});

describe("the CLI", () => {
  it("sends a signed sample, reports a duplicate, and fails without a hub", async () => {
    const hub = await startHubProcess({
      data: tempFolder(),
      env: { GITHUB_WEBHOOK_SECRET: SECRET },
    });
    const env = { GITHUB_WEBHOOK_SECRET: SECRET, PORT: new URL(hub.url).port };
    const first = await runCli(
      ["send", "github", "issues", "--action", "opened", "--id", "one", "--json"],
      { env },
    );
    expect([first.code, JSON.parse(first.stdout)]).toEqual([
      0,
      { status: 202, outcome: "stored", id: expect.any(String) },
    ]);
    const second = await runCli(["send", "github", "issues", "--id", "one"], { env });
    expect([second.code, second.stdout]).toEqual([0, expect.stringMatching(/200 duplicate/)]);
    const forged = await runCli(["send", "github"], {
      env: { ...env, SIGNALBOX_SEND_SECRET: "guess" },
    });
    expect([forged.code, forged.stdout]).toEqual([
      1,
      expect.stringMatching(/403 The signature does not match/),
    ]);
    const unknown = await runCli(["send", "github", "nonsense"], { env });
    expect([unknown.code, unknown.stderr]).toEqual([
      2,
      expect.stringMatching(/no sample of type "nonsense".*issues.*push/),
    ]);
    await hub.stop();
    const noHub = await runCli(["send", "github"], { env });
    expect([noHub.code, noHub.stderr]).toEqual([
      1,
      expect.stringMatching(/No response from .*signalbox serve/),
    ]);
  });

  it("creates, lists and revokes tokens, and shows a token only once", async () => {
    const env = { SIGNALBOX_DATA: tempFolder() };
    const created = JSON.parse(
      (await runCli(["token", "create", "laptop", "--json"], { env })).stdout,
    );
    expect(created.token).toMatch(/^sbx_/);
    const listed = await runCli(["token", "list"], { env });
    expect(listed.stdout).toMatch(/laptop +inbox:read,inbox:write,flows:call +local .* active/);
    expect(listed.stdout).not.toContain(created.token);
    expect((await runCli(["token", "revoke", created.id], { env })).code).toBe(0);
    expect((await runCli(["token", "list"], { env })).stdout).toMatch(/revoked/);
    const secondRevoke = await runCli(["token", "revoke", created.id], { env });
    expect([secondRevoke.code, secondRevoke.stderr]).toEqual([
      2,
      expect.stringMatching(/No active token/),
    ]);
    const unknownScope = await runCli(["token", "create", "x", "--scope", "everything"], { env });
    expect([unknownScope.code, unknownScope.stderr]).toEqual([
      2,
      expect.stringMatching(/Unknown scope "everything"/),
    ]);
  });

  it("prints follow-up commands that can be run without changes", async () => {
    const data = join(tempFolder(), "my hub");
    const created = await runCli(["token", "create", "laptop", "--data", data]);
    const revoke = /npx signalbox (token revoke \S+) --data '(.*)'/.exec(created.stdout);
    expect(revoke?.[2]).toBe(data);
    const revoked = await runCli([...(revoke?.[1]?.split(" ") ?? []), "--data", data]);
    expect([revoked.code, revoked.stdout]).toEqual([0, expect.stringContaining("revoked")]);
    const added = await runCli(["source", "add", "stripe", "--data", data]);
    expect(added.stdout).toMatch(/npx signalbox source rotate \S+ --grace 0 --data '.*my hub'/);
    const unknown = await runCli(["source", "remove", "x", "--data", data]);
    expect(unknown.stderr).toMatch(/`npx signalbox source list --data '.*my hub'`/);
  });

  it("shows settings with their origins, and hides secrets", async () => {
    const cwd = tempFolder();
    writeFileSync(
      join(cwd, "signalbox.config.json"),
      JSON.stringify({ rateLimit: 7, secrets: { stripe: "whsec_hidden" } }),
    );
    const { stdout } = await runCli(["config", "--port", "1234"], {
      cwd,
      env: {
        HOST: "::1",
        GITHUB_WEBHOOK_SECRET: "hidden",
        DATABASE_URL: "postgres://u:hidden@127.0.0.1/x",
      },
    });
    expect(stdout).toMatch(/port +1234 +flag/);
    expect(stdout).toMatch(/host +::1 +environment/);
    expect(stdout).toMatch(/rateLimit +7 +file/);
    expect(stdout).toMatch(/secrets.github +\(set\)/);
    expect(stdout).not.toContain("hidden");
    expect(stdout).toMatch(/No hub runs on \.signalbox\. These are the settings of this terminal/);
    writeFileSync(join(cwd, "signalbox.config.json"), "{ nonsense");
    const broken = await runCli(["config"], { cwd });
    expect([broken.code, broken.stderr]).toEqual([
      2,
      expect.stringMatching(/signalbox.config.json is not valid JSON/),
    ]);
  });

  it("reports a healthy hub, an unavailable database and a stopped hub with `doctor`", async () => {
    const data = tempFolder();
    const hub = await startHubProcess({ data, env: { GITHUB_WEBHOOK_SECRET: SECRET } });
    const env = {
      SIGNALBOX_DATA: data,
      PORT: new URL(hub.url).port,
      GITHUB_WEBHOOK_SECRET: SECRET,
      GITHUB_API_URL: hub.url,
    };
    const healthy = await runCli(["doctor", "--json"], { env });
    const report = JSON.parse(healthy.stdout) as {
      ok: boolean;
      findings: { check: string; state: string }[];
    };
    expect([healthy.code, report.ok]).toEqual([0, true]);
    const states = Object.fromEntries(report.findings.map(({ check, state }) => [check, state]));
    expect(states).toMatchObject({
      settings: "ok",
      node: "ok",
      database: "ok",
      hub: "ok",
      clock: "ok",
      secrets: "ok",
    });
    const endpointEnv = { SIGNALBOX_DATA: tempFolder(), PORT: "1", GITHUB_API_URL: hub.url };
    await runCli(["source", "add", "github"], { env: endpointEnv });
    expect((await runCli(["doctor"], { env: endpointEnv })).stdout).toMatch(
      /secrets +1 for endpoints with a key/,
    );
    await hub.stop();
    const unhealthy = await runCli(["doctor"], {
      env: { ...env, DATABASE_URL: "postgres://nobody@127.0.0.1:1/x" },
    });
    expect(unhealthy.code).toBe(1);
    expect(unhealthy.stdout).toMatch(/✗ database .*is unavailable/);
    expect(unhealthy.stdout).toMatch(/! hub .*no response/);
  });

  it("reports a data folder that is a file, and a missing proxy header with `doctor`", async () => {
    const data = join(tempFolder(), "file");
    writeFileSync(data, "");
    const { code, stdout } = await runCli(["doctor"], {
      env: {
        SIGNALBOX_DATA: data,
        SIGNALBOX_PUBLIC_URL: "http://127.0.0.1:1",
        GITHUB_API_URL: "http://127.0.0.1:1",
        PORT: "1",
      },
    });
    expect(code).toBe(1);
    expect(stdout).toMatch(/✗ database .*file is not a folder/);
    expect(stdout).toMatch(/! proxy .*\n.*SIGNALBOX_PROXY_HEADER/);
    expect(statSync(data).size).toBe(0);
  });

  it("prints the usage of a command, and rejects an unknown command", async () => {
    for (const command of ["serve", "send", "token", "source", "config", "doctor"]) {
      const { code, stdout } = await runCli([command, "--help"]);
      expect([code, stdout]).toEqual([0, expect.stringContaining(`Usage: signalbox ${command}`)]);
    }
    expect((await runCli(["--help"])).stdout).toContain("Usage: signalbox COMMAND");
    expect((await runCli(["--version"])).stdout).toMatch(/^\d+\.\d+\.\d+/);
    const unknownCommand = await runCli(["srve"]);
    expect([unknownCommand.code, unknownCommand.stderr]).toEqual([
      2,
      expect.stringMatching(/Unknown command "srve"/),
    ]);
  });

  it("reports Slack's empty response to a sample as success", async () => {
    const hub = await startHubProcess({ data: tempFolder() });
    const env = { PORT: new URL(hub.url).port };
    const { code, stdout } = await runCli(["send", "slack"], { env });
    const json = await runCli(["send", "slack", "--json"], { env });
    await hub.stop();
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^✓ 200 accepted {2}delivery [\w-]+\n.*`npx signalbox events`.*\n$/),
    ]);
    expect(JSON.parse(json.stdout)).toEqual({ status: 200 });
  });

  it("creates an endpoint and rotates its secret, and rejects old secrets after their grace period", async () => {
    const data = tempFolder();
    const hub = await startHubProcess({ data, env: { GITHUB_WEBHOOK_SECRET: SECRET } });
    const env = { SIGNALBOX_DATA: data, PORT: new URL(hub.url).port };
    const created = JSON.parse(
      (await runCli(["source", "add", "standard-webhooks", "Shop", "--json"], { env })).stdout,
    );
    expect(created.url).toMatch(`${hub.url}/webhooks/standard-webhooks/`);
    expect(created.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const send = async (secret: string) =>
      (
        await runCli(["send", "standard-webhooks", "--url", created.url], {
          env: { SIGNALBOX_SEND_SECRET: secret },
        })
      ).stdout;
    expect(await send(created.secret)).toMatch(/202 stored/);
    await hub.stop();

    const rotate = async (...args: string[]) =>
      JSON.parse(
        (await runCli(["source", "rotate", created.id, ...args, "--json"], { env })).stdout,
      );
    const expiries = async (): Promise<(number | null)[]> =>
      JSON.parse((await runCli(["source", "list", "--json"], { env })).stdout)[0].secrets.map(
        (secret: { expires_at: number | null }) => secret.expires_at,
      );
    const second = await rotate("--grace", "10");
    const third = await rotate("--grace", "20");
    expect(await expiries()).toEqual([second.oldUntil, third.oldUntil, null]);
    const last = await rotate("--grace", "0");
    expect(await expiries()).toEqual([last.oldUntil, last.oldUntil, last.oldUntil, null]);

    const restartedHub = await startHubProcess({
      data,
      env: { GITHUB_WEBHOOK_SECRET: SECRET, PORT: env.PORT },
    });
    for (const { secret } of [created, second, third]) expect(await send(secret)).toMatch(/✗ 403/);
    expect(await send(last.secret)).toMatch(/202 stored/);
    await restartedHub.stop();
  });

  it("does not print an endpoint secret from the environment, and rejects a short or empty secret", async () => {
    const data = tempFolder();
    const add = (secret: string, ...args: string[]) =>
      runCli(["source", "add", "generic", ...args], {
        env: { SIGNALBOX_DATA: data, SIGNALBOX_SOURCE_SECRET: secret },
      });
    const asJson = await add("hidden-and-long", "--json");
    expect(JSON.parse(asJson.stdout)).toEqual({ id: expect.any(String), url: expect.any(String) });
    const asText = await add("hidden-and-long");
    expect(asText.stdout).toMatch(/Secret +from the environment/);
    expect(asText.stdout).not.toMatch(/hidden|shown only once/);
    const short = await add("x");
    expect([short.code, short.stderr]).toEqual([
      expect.any(Number),
      expect.stringMatching(/secret.*must have at least 12 characters/s),
    ]);
    const empty = await add(" ");
    expect([empty.code, empty.stderr]).toEqual([
      2,
      expect.stringMatching(/SIGNALBOX_SOURCE_SECRET contains an empty secret/),
    ]);
    const listed = await runCli(["source", "list", "--json"], { env: { SIGNALBOX_DATA: data } });
    expect(JSON.parse(listed.stdout)).toHaveLength(2);
  });

  it("prints endpoint URLs that clients can reach", async () => {
    const env = { SIGNALBOX_DATA: tempFolder() };
    const urlWith = async (extra: Record<string, string>) =>
      JSON.parse(
        (await runCli(["source", "add", "stripe", "--json"], { env: { ...env, ...extra } })).stdout,
      ).url;
    expect(await urlWith({ HOST: "::1" })).toMatch("http://[::1]:4747/webhooks/stripe/");
    expect(await urlWith({ HOST: "0.0.0.0" })).toMatch("http://127.0.0.1:4747/webhooks/stripe/");
    expect(await urlWith({ HOST: "::" })).toMatch("http://127.0.0.1:4747/webhooks/stripe/");
    expect(await urlWith({ SIGNALBOX_PUBLIC_URL: "https://hub.example/" })).toMatch(
      "https://hub.example/webhooks/stripe/",
    );
  });

  it("creates no database for commands that only read or change existing data", async () => {
    const cwd = tempFolder();
    for (const args of [
      ["token", "list"],
      ["token", "revoke", "x"],
      ["source", "list"],
      ["source", "rotate", "x"],
      ["source", "remove", "x"],
      ["key", "rotate"],
    ]) {
      const { code, stderr } = await runCli(args, { cwd });
      expect([code, stderr]).toEqual([1, expect.stringMatching(/No database at .*signalbox\.db/)]);
      expect(existsSync(join(cwd, ".signalbox"))).toBe(false);
    }
    expect((await runCli(["token", "create", "laptop"], { cwd })).code).toBe(0);
    expect((await runCli(["token", "list"], { cwd })).stdout).toContain("laptop");
  });

  it.each([
    [["flows", "push"], /Missing argument DIR.*`npx signalbox flows push flows`/],
    [["config", "extra"], /Unexpected argument "extra"/],
    [["doctor", "extra"], /Unexpected argument "extra"/],
    [["token", "create", "a", "b", "c"], /Unexpected argument "b c"/],
    [["token", "list", "a"], /Unexpected argument "a"/],
    [["source", "add", "stripe", "name", "b"], /Unexpected argument "b"/],
    [["source", "list", "a"], /Unexpected argument "a"/],
    [["source", "remove", "a", "b"], /Unexpected argument "b"/],
    [["send", "github", "issues", "more"], /Unexpected argument "more"/],
    [["help", "nonsense"], /Unknown command "nonsense"\. `npx signalbox --help`/],
    [["sned", "github"], /Unknown command "sned"\. Did you mean send\?/],
    [["--port", "1", "nonsense"], /Unexpected argument "nonsense"/],
    [["token", "create", "a", "--tenant", ""], /--tenant must not contain an empty value/],
    [["token", "create", "a", "--tenant", "a,,b"], /--tenant must not contain an empty value/],
    [
      ["token", "create", "a", "--tenant", "nope"],
      /--tenant "nope" does not exist: this hub has only the tenant local\. .*SIGNALBOX_TENANCY=github/,
    ],
    [["source", "add", "stripe", "--tenant", " "], /--tenant must not contain an empty value/],
    [["source", "add", "stripe", "--tenant", "a,b"], /--tenant must be one id/],
    [["token", "create", "a", "--days", "0"], /--days must be a number above 0, at most 36500/],
    [["token", "create", "a", "--days", "1e9"], /--days must be/],
    [["token", "create", "a", "--days", "99999"], /--days must be/],
    [["source", "rotate", "x", "--grace", ""], /--grace must be a number from 0 to 87600/],
    [["source", "rotate", "x", "--grace", "87601"], /--grace must be/],
    [["send", "github", "--count", ""], /--count must be a whole number from 1 to 10000/],
    [["send", "github", "--secret", "hidden"], /Unknown flag --secret\./],
    [["send", "github", "--url", "nowhere"], /--url must be an http\(s\) URL/],
    [["send", "github", "--rate-limit", "1"], /Unknown flag --rate-limit\./],
  ] as [string[], RegExp][])("rejects %o with exit code 2", async (args, message) => {
    const { code, stderr } = await runCli(args, { env: { SIGNALBOX_DATA: tempFolder() } });
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
    expect(stderr).not.toMatch(/ {4}at |hidden/);
  });

  it("lists the settings of a command with their defaults in its help", async () => {
    const serve = (await runCli(["serve", "--help"])).stdout;
    expect(serve).toMatch(/--port VALUE +port to listen on \(4747\) \[PORT, port\]/);
    expect(serve).toMatch(/--keep-pending-days VALUE .*\(90\)/);
    for (const variable of [
      "GITHUB_WEBHOOK_SECRET",
      "STANDARD_WEBHOOKS_WEBHOOK_SECRET",
      "SIGNALBOX_TOKEN",
      "SIGNALBOX_KEY",
      "DATABASE_URL",
    ])
      expect(serve).toMatch(new RegExp(`^  ${variable} `, "m"));
    const helpOf = async (command: string) => (await runCli(["help", command])).stdout;
    expect(await helpOf("token")).toMatch(/--data .*DATABASE_URL/s);
    expect(await helpOf("token")).not.toMatch(/--port|WEBHOOK_SECRET/);
    expect(await helpOf("send")).toMatch(/--port .*GITHUB_WEBHOOK_SECRET/s);
    expect(await helpOf("send")).toMatch(/--url .*--data .*SIGNALBOX_TOKEN/s);
    expect(await helpOf("send")).not.toMatch(/--rate-limit|DATABASE_URL/);
    expect(serve).not.toContain("SIGNALBOX_URL");
    expect(await helpOf("source")).toMatch(/--data .*--public-url/s);
    expect(await helpOf("config")).not.toContain("--rate-limit VALUE");
    expect(await helpOf("doctor")).not.toContain("--rate-limit VALUE");
  });

  it("exits with code 0 if the reader of its output closes the pipe", async () => {
    const child = spawn(process.execPath, [CLI, "config"], {
      env: { PATH: process.env.PATH },
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stdout.destroy();
    let stderr = "";
    child.stderr.on("data", (chunk) => {
      stderr += chunk;
    });
    const [code] = await once(child, "close");
    expect([code, stderr]).toEqual([0, ""]);
  });
});
