/** Commands find the hub that uses their data folder, even if only its process has its settings. */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectNewestVersion } from "../support/app-clients.ts";
import { deliver, SECRET } from "../support/deliver.ts";
import { greeting } from "../support/flow-samples.ts";
import {
  createTokenByCli,
  type HubProcessOptions,
  runCli,
  startHubProcess,
} from "../support/hub-process.ts";
import { tempFolder } from "../support/temp-folder.ts";

async function startHub(options: Partial<HubProcessOptions> = {}) {
  const data = options.data ?? join(tempFolder(), "data");
  const hub = await startHubProcess({ ...options, data });
  onTestFinished(async () => void (await hub.stop("SIGKILL")));
  return { ...hub, data };
}

const readHubFile = (data: string) => JSON.parse(readFileSync(join(data, "hub.json"), "utf8"));

/** Returns the arguments of the command that the hub has printed. */
function printedCommand(output: string, command: string): string[] {
  const line = new RegExp(`npx signalbox (${command} .*)$`, "m").exec(output)?.[1];
  if (line === undefined) throw new Error(`no command ${command} in:\n${output}`);
  return line.split(" ");
}

/** Runs the printed command without settings in the environment. */
async function runPrinted(output: string, command: string, cwd = tempFolder()) {
  const { code, stdout, stderr } = await runCli(printedCommand(output, command), { cwd });
  return { code, text: stdout + stderr };
}

const STORED = {
  code: 0,
  text: expect.stringMatching(/^✓ 202 stored {2}event \S+, delivery \S+$/m),
};

describe("the printed `send` command", () => {
  it("works although only the hub's process has the port and the secret", async () => {
    const { output } = await startHub({ env: { GITHUB_WEBHOOK_SECRET: SECRET } });
    const sent = await runPrinted(output(), "send");
    expect(sent).toEqual(STORED);
    expect(sent.text).not.toContain("Not signed");
    const eventsCommand = /`npx signalbox (events .*)` lists/.exec(sent.text)?.[1] ?? "";
    const events = await runCli(eventsCommand.split(" "), { cwd: tempFolder() });
    expect([events.code, events.stdout]).toEqual([0, expect.stringMatching(/issues.*opened/s)]);
  });

  it("works without options in the hub's own folder", async () => {
    const cwd = tempFolder();
    const env = { SIGNALBOX_DATA: "", GITHUB_WEBHOOK_SECRET: SECRET };
    const { output } = await startHub({ cwd, env });
    expect(printedCommand(output(), "send").join(" ")).toBe("send github issues --action opened");
    expect(await runPrinted(output(), "send", cwd)).toEqual(STORED);
  });

  it("works after `source add stripe` and a restart, for both sources", async () => {
    const first = await startHub();
    const added = await runCli(["source", "add", "stripe"], {
      env: { SIGNALBOX_DATA: first.data },
    });
    expect(added.stdout).toContain(`${first.url}/webhooks/stripe/`);
    expect(added.stdout).toContain("After its next start, the hub rejects webhooks");
    /** Returns how the endpoint without a key verifies webhooks. */
    const readVerification = async (hub: string) => {
      const { token } = await createTokenByCli({ SIGNALBOX_DATA: first.data });
      const headers = { authorization: `Bearer ${token}` };
      const kinds = (await (await fetch(`${hub}/api/source-kinds`, { headers })).json()) as {
        items: { verification: string }[];
      };
      return kinds.items[0]?.verification;
    };
    expect(await readVerification(first.url)).toBe("unsigned");
    expect(await first.stop()).toBe(0);

    const { output, data, url } = await startHub({ data: first.data });
    const sent = await runPrinted(output(), "send");
    expect(sent).toEqual(STORED);
    expect(sent.text).toContain("Not signed: this hub has no secret for GitHub");
    expect(await runPrinted(`${added.stdout.trim()} --data ${data}`, "send")).toEqual(STORED);
    const stripe = await runCli(["send", "stripe"], { env: { SIGNALBOX_DATA: data } });
    expect([stripe.code, stripe.stdout]).toEqual([0, STORED.text]);
    expect(stripe.stdout).not.toContain("Not signed");
    expect((await deliver(url, { secret: "" })).status).toBe(403);
    expect(await readVerification(url)).toBe("rejected");
    const addedAgain = await runCli(["source", "add", "stripe"], { env: { SIGNALBOX_DATA: data } });
    expect(addedAgain.stdout).not.toContain("next start");
  });

  it("works on public hubs, which accept GitHub's webhooks from GitHub's addresses only", async () => {
    for (const env of [
      { HOST: "0.0.0.0" },
      { SIGNALBOX_PUBLIC_URL: "http://hub.example" },
    ] as Record<string, string>[]) {
      const { output, data } = await startHub({ env: { ...env, GITHUB_WEBHOOK_SECRET: SECRET } });
      expect(await runPrinted(output(), "send")).toEqual(STORED);
      const { url } = readHubFile(data);
      expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
      const direct = await deliver(url);
      expect([direct.status, await direct.json()]).toEqual([
        403,
        expect.objectContaining({ code: "address_not_allowed" }),
      ]);
    }
  });

  it("works with several tenants", async () => {
    const env = { SIGNALBOX_TENANCY: "github", GITHUB_WEBHOOK_SECRET: SECRET };
    const { output, data } = await startHub({ env });
    const command = printedCommand(output(), "send").join(" ").replace("ACCOUNT_ID", "42");
    expect(await runPrinted(`npx signalbox ${command}`, "send")).toEqual(STORED);
    const withoutTenant = await runCli(["send", "github"], { env: { SIGNALBOX_DATA: data } });
    expect([withoutTenant.code, withoutTenant.stderr]).toEqual([
      1,
      expect.stringContaining("--tenant ID"),
    ]);
  });
});

describe("`signalbox send --url`", () => {
  it("sends to the hub's address with a token or a secret, and reports a rejected signature", async () => {
    const { data } = await startHub({ env: { GITHUB_WEBHOOK_SECRET: SECRET } });
    const { url, token } = readHubFile(data);
    const send = async (env: Record<string, string>, ...args: string[]) =>
      (await runCli(["send", "github", ...args], { cwd: tempFolder(), env })).stdout;
    for (const address of [url, `${url}/`]) {
      expect(await send({ SIGNALBOX_DATA: data }, "--url", address)).toMatch(/202 stored/);
      expect(await send({ SIGNALBOX_TOKEN: token }, "--url", address)).toMatch(/202 stored/);
      // Without a token, the command signs and sends the webhook itself.
      expect(await send({ GITHUB_WEBHOOK_SECRET: SECRET }, "--url", address)).toMatch(/202 stored/);
    }
    expect(await send({ SIGNALBOX_SEND_SECRET: SECRET, SIGNALBOX_DATA: data })).toMatch(
      /202 stored/,
    );
    expect(await send({ SIGNALBOX_SEND_SECRET: "wrong", SIGNALBOX_DATA: data })).toMatch(
      /✗ 403 The signature does not match/,
    );
    expect(await send({ SIGNALBOX_DATA: data }, "--url", `${url}/webhooks/github`)).toMatch(
      /✗ 403 .*\n +Set SIGNALBOX_SEND_SECRET .*without --url/,
    );
    const port = new URL(url).port;
    expect(await send({ GITHUB_WEBHOOK_SECRET: SECRET }, "--port", port)).toMatch(/202 stored/);
  });
});

describe("the file hub.json", () => {
  it("is reported by commands if it is damaged, and replaced when a hub starts", async () => {
    const data = tempFolder();
    writeFileSync(join(data, "hub.json"), "{");
    const env = { SIGNALBOX_DATA: data, GITHUB_API_URL: "http://127.0.0.1:1" };
    for (const args of [["events"], ["token", "list"], ["send", "github"]]) {
      const { code, stderr } = await runCli(args, { env });
      expect([code, stderr]).toEqual([2, expect.stringMatching(/hub\.json, .* is damaged/)]);
    }
    const { code, stdout } = await runCli(["doctor"], { env });
    expect([code, stdout]).toEqual([1, expect.stringMatching(/✗ hub .*hub\.json, .* is damaged/)]);
    const hub = await startHub({ data });
    expect(readHubFile(data).url).toBe(hub.url);
  });

  it("is readable for its owner only, and removed when the hub stops", async () => {
    const hub = await startHub();
    const file = join(hub.data, "hub.json");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readHubFile(hub.data)).toMatchObject({
      pid: hub.pid,
      url: hub.url,
      public_url: hub.url,
    });
    expect(await hub.stop()).toBe(0);
    expect(existsSync(file)).toBe(false);
  });

  it("contains an admin token that is valid while the process runs, and is not stored", async () => {
    const first = await startHub();
    const { token } = readHubFile(first.data);
    const listTokens = (url: string) =>
      fetch(`${url}/api/tokens`, { headers: { authorization: `Bearer ${token}` } });
    const listed = await listTokens(first.url);
    expect(listed.status).toBe(200);
    expect(((await listed.json()) as { items: object[] }).items).toEqual([
      expect.objectContaining({ id: "admin" }),
    ]);
    await first.stop("SIGKILL");
    const second = await startHub({ data: first.data });
    expect((await listTokens(second.url)).status).toBe(401);
  });

  it("is ignored after the hub has crashed, even if another hub uses its address", async () => {
    const hub = await startHub();
    await hub.stop("SIGKILL");
    expect(readHubFile(hub.data).pid).toBe(hub.pid);
    const env = { SIGNALBOX_DATA: hub.data };
    const sent = await runCli(["send", "github"], { env });
    expect([sent.code, sent.stderr]).toEqual([
      1,
      expect.stringMatching(/No response from .*Start the hub with `npx signalbox serve`/),
    ]);
    const created = await runCli(["token", "create", "laptop"], { env });
    expect([created.code, created.stdout]).toEqual([0, expect.stringMatching(/^✓ sbx_/)]);
    // Simulates that another hub has got the port of the crashed one.
    const otherHub = await startHub();
    writeFileSync(
      join(hub.data, "hub.json"),
      JSON.stringify({ ...readHubFile(hub.data), url: otherHub.url }),
    );
    const listed = await runCli(["token", "list"], { env });
    expect(listed.stdout).toContain("laptop");
  });

  it("lets `token`, `source` and `doctor` use the settings of the running hub", async () => {
    const key = Buffer.alloc(32, 7).toString("base64");
    const hub = await startHub({ env: { SIGNALBOX_KEY: key, GITHUB_WEBHOOK_SECRET: SECRET } });
    const env = { SIGNALBOX_DATA: hub.data, GITHUB_API_URL: "http://127.0.0.1:1" };
    const created = JSON.parse(
      (await runCli(["token", "create", "laptop", "--json"], { env })).stdout,
    );
    const headers = { authorization: `Bearer ${created.token}` };
    expect((await fetch(`${hub.url}/pending-events`, { headers })).status).toBe(200);
    // Only the hub has the key that encrypts the secret.
    const source = JSON.parse(
      (await runCli(["source", "add", "stripe", "--json"], { env })).stdout,
    );
    expect(source.url).toContain(`${hub.url}/webhooks/stripe/`);
    expect(existsSync(join(hub.data, "key"))).toBe(false);
    const sent = await runCli(["send", "stripe", "--endpoint", source.id], { env });
    expect([sent.code, sent.stdout]).toEqual([0, STORED.text]);
    const doctor = JSON.parse((await runCli(["doctor", "--json"], { env })).stdout);
    expect(doctor.findings).toEqual(
      expect.arrayContaining([
        { check: "hub", state: "ok", says: `responds at ${hub.url}` },
        { check: "secrets", state: "ok", says: "set for github, and 1 for endpoints with a key" },
      ]),
    );
    expect((await runCli(["token", "revoke", created.id], { env })).code).toBe(0);
    expect((await runCli(["source", "remove", source.id], { env })).code).toBe(0);
  });
});

describe("`signalbox config`", () => {
  /** Returns the settings and the note that says whose they are. */
  async function printedConfig(env: Record<string, string>, ...args: string[]) {
    const cwd = tempFolder();
    const { code, stdout } = await runCli(["config", ...args], { cwd, env });
    const json = await runCli(["config", "--json", ...args], { cwd, env });
    expect([code, json.code]).toEqual([0, 0]);
    return { stdout, stderr: json.stderr, settings: JSON.parse(json.stdout) };
  }

  it("prints the settings of the running hub, and those of the terminal that differ", async () => {
    const hub = await startHub({ env: { SIGNALBOX_QUOTA: "7", GITHUB_WEBHOOK_SECRET: SECRET } });
    const env = {
      SIGNALBOX_DATA: hub.data,
      SIGNALBOX_LOG_LEVEL: "warn",
      SIGNALBOX_RATE_LIMIT: "0",
    };
    const { stdout, stderr, settings } = await printedConfig(env);
    expect(stdout).toMatch(/quota +7 +environment +SIGNALBOX_QUOTA/);
    expect(stdout).toMatch(/secrets\.github +\(set\)/);
    expect(stdout).not.toContain(SECRET);
    expect(stdout).toMatch(/logLevel +info +default/);
    const note = `These are the settings of the hub at ${hub.url}`;
    expect(stdout).toContain(note);
    expect(stdout.split(note)[1]).toMatch(/other values.*\n\s*logLevel +warn +environment +\S+\n$/);
    expect(stderr).toContain(note);
    expect(settings).toMatchObject({
      quota: { value: "7", from: "environment", env: "SIGNALBOX_QUOTA" },
      logLevel: { value: "info", from: "default" },
    });
    const withUrl = await printedConfig({
      SIGNALBOX_URL: hub.url,
      SIGNALBOX_TOKEN: readHubFile(hub.data).token,
    });
    expect(withUrl.settings.quota.value).toBe("7");
  });

  it("prints the settings of the terminal, and why, if it cannot ask a hub", async () => {
    const hub = await startHub();
    await hub.stop("SIGKILL");
    const stopped = await printedConfig({ SIGNALBOX_DATA: hub.data, SIGNALBOX_QUOTA: "7" });
    expect(stopped.settings.quota.value).toBe("7");
    expect(stopped.stdout).toMatch(/No hub runs on \S+\. These are the settings of this terminal/);
    expect(stopped.stderr).toMatch(/No hub runs on \S+\. These are the settings of this terminal/);
    const unknown = await printedConfig({ SIGNALBOX_URL: hub.url });
    expect(unknown.stdout).toMatch(
      /No response from http.* These are the settings of this terminal/,
    );
  });
});

it("a running hub notifies its clients of pushed flows", async () => {
  const hub = await startHub();
  const env = { SIGNALBOX_DATA: hub.data };
  const folder = tempFolder();
  const file = join(folder, "flow.json");
  writeFileSync(file, JSON.stringify({ ...greeting, name: "A draft" }));
  expect((await runCli(["import-flows", file, "--app", "desk"], { env })).code).toBe(0);
  const { token } = readHubFile(hub.data);
  const client = await connectNewestVersion(`${hub.url}/mcp/desk`, token);
  expect(await client.tools()).toEqual([]);
  const changes = await client.listen();
  mkdirSync(join(folder, "flows", "desk"), { recursive: true });
  writeFileSync(join(folder, "flows", "desk", "greeting.json"), JSON.stringify(greeting));
  const pushed = await runCli(["flows", "push", join(folder, "flows"), "--publish"], { env });
  expect([pushed.code, pushed.stdout]).toEqual([
    0,
    expect.stringMatching(/published as version 1/),
  ]);
  await expect.poll(changes).toBe(1);
  expect(await client.tools()).toHaveLength(1);
});

describe("a second hub on the same SQLite database", () => {
  it("does not start, and its error names the process and the address of the first hub", async () => {
    const hub = await startHub();
    await expect(startHubProcess({ data: hub.data })).rejects.toThrow(
      new RegExp(
        `ended \\(2\\)[^]*A hub \\(process ${hub.pid}, ${hub.url}\\) is using [^]*signalbox\\.db[^]*SIGNALBOX_DATA`,
      ),
    );
    // The same database, with another data folder.
    const env = { DATABASE_URL: `sqlite:${join(hub.data, "signalbox.db")}` };
    await expect(startHubProcess({ data: tempFolder(), env })).rejects.toThrow(/A hub is using/);
    expect(readHubFile(hub.data).pid).toBe(hub.pid);
    expect((await fetch(`${hub.url}/readyz`)).status).toBe(200);
    const pulled = await runCli(["flows", "pull", tempFolder()], {
      env: { SIGNALBOX_DATA: hub.data },
    });
    expect([pulled.code, pulled.stdout]).toEqual([0, "No flows found.\n"]);
  });

  it("starts after the first hub stopped or was killed, even if another process has its process id", async () => {
    const first = await startHub();
    expect(await first.stop()).toBe(0);
    const second = await startHub({ data: first.data });
    await second.stop("SIGKILL");
    const file = join(first.data, "hub.json");
    writeFileSync(file, JSON.stringify({ ...readHubFile(first.data), pid: process.pid }));
    const third = await startHub({ data: first.data });
    expect(readHubFile(first.data).pid).toBe(third.pid);
  });
});
