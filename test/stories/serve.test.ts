/** `signalbox serve` as a separate process: start, errors at the start, and stop. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { deliver, issueOpened, SECRET, signature } from "../support/deliver.ts";
import { fixedPort } from "../support/fixed-port.ts";
import { CLI, runCli, startHubProcess } from "../support/hub-process.ts";
import { createDatabase, startPostgres } from "../support/postgres.ts";
import { tempFolder } from "../support/temp-folder.ts";

describe("signalbox serve", () => {
  it("prints a token on the first start only, and commands and settings to copy", async () => {
    const data = tempFolder();
    const first = await startHubProcess({ data });
    await first.stop();
    const token = /Token +(sbx_[\w-]{43})/.exec(first.output())?.[1];
    expect(token).toBeDefined();
    expect(first.output()).toContain(`${first.url}/webhooks/github`);
    expect(first.output()).toContain(`"url": "${first.url}/mcp"`);
    expect(first.output()).toContain("npx signalbox send github issues --action opened");

    const second = await startHubProcess({ data });
    await second.stop();
    expect(second.output()).not.toContain("sbx_");
    for (const file of readdirSync(data))
      expect(readFileSync(join(data, file)).includes(token as string), file).toBe(false);
  });

  it("writes one log line for each message in the pretty format", async () => {
    const hub = await startHubProcess({
      data: tempFolder(),
      env: { SIGNALBOX_LOG_FORMAT: "pretty" },
    });
    onTestFinished(async () => void (await hub.stop()));
    await expect
      .poll(hub.output)
      .toMatch(/^\d\d:\d\d:\d\d INFO: listening url=http:\S+ storage=sqlite startedIn=\d+$/m);
  });

  it.each(["json", "pretty"])(
    "serves and stops although its output has been closed, with log format %s",
    async (format) => {
      const port = await fixedPort();
      const hub = spawn(process.execPath, [CLI, "serve"], {
        env: { PORT: port, SIGNALBOX_DATA: tempFolder(), SIGNALBOX_LOG_FORMAT: format },
        stdio: ["ignore", "pipe", "pipe"],
      });
      onTestFinished(() => void hub.kill("SIGKILL"));
      const exited = once(hub, "exit");
      // This happens if `tee` in `signalbox serve | tee hub.log` ends before the hub prints its first line.
      hub.stdout.destroy();
      hub.stderr.destroy();
      const url = `http://127.0.0.1:${port}`;
      await expect
        .poll(() => fetch(`${url}/healthz`).then(({ status }) => status, String))
        .toBe(200);
      for (let count = 0; count < 3; count += 1) expect((await deliver(url)).status).toBe(202);
      hub.kill("SIGTERM");
      expect(await exited).toEqual([0, null]);
    },
  );

  it("creates its folder and key with permissions for the owner only", async () => {
    const data = join(tempFolder(), "new");
    await (await startHubProcess({ data })).stop();
    expect(statSync(data).mode & 0o077).toBe(0);
    expect(statSync(join(data, "key")).mode & 0o077).toBe(0);
  });

  it("warns about unsigned webhooks at every start without a secret, but not with a secret", async () => {
    const data = tempFolder();
    for (let start = 0; start < 2; start += 1) {
      const hub = await startHubProcess({ data });
      await hub.stop();
      expect(hub.output()).toContain("Unsigned");
    }
    const withSecret = await startHubProcess({ data, env: { GITHUB_WEBHOOK_SECRET: SECRET } });
    await withSecret.stop();
    expect(withSecret.output()).not.toContain("Unsigned");
    expect(withSecret.output()).not.toContain(SECRET);
  });

  it.each([
    [{ HOST: "0.0.0.0" }, [], /has no webhook secret.*Set GITHUB_WEBHOOK_SECRET/s],
    [{ SIGNALBOX_PUBLIC_URL: "https://hub.example" }, [], /has no webhook secret/],
    [
      { HOST: "0.0.0.0" },
      ["--allow-unsigned"],
      /--allow-unsigned is for hubs that only this machine can reach/,
    ],
    [{ PORT: "no" }, [], /PORT must be a number/],
    [{ DATABASE_URL: "sqlite::memory:" }, [], /DATABASE_URL must name a file.*lose/],
    [{ GITHUB_WEBHOOK_SECRET: " , " }, [], /GITHUB_WEBHOOK_SECRET contains an empty secret/],
    [{ DATABASE_URL: "postgres://u:hidden@h%ost:x/db" }, [], /postgres:\/\/… cannot be opened/],
    [{}, ["--prot", "1"], /Unknown flag --prot\. Did you mean --port\?/],
    [
      {},
      ["--database-url", "postgres://u:p@x"],
      /no flag --database-url.*set DATABASE_URL in the environment/,
    ],
    [{}, ["nonsense"], /Unexpected argument "nonsense"/],
  ] as [Record<string, string>, string[], RegExp][])(
    "does not start with the environment %o and the arguments %o, and prints the fix",
    async (env, args, message) => {
      const { code, stderr } = await runCli(["serve", ...args], {
        env: { SIGNALBOX_DATA: tempFolder(), ...env },
      });
      expect(stderr).toMatch(message);
      expect(stderr).not.toMatch(/ {4}at |hidden/);
      expect(code).toBe(2);
    },
  );

  it("waits for PostgreSQL, and exits with code 1 if it stays unavailable", async () => {
    const { code, stdout, stderr } = await runCli(["serve"], {
      env: {
        SIGNALBOX_DATA: tempFolder(),
        DATABASE_URL: "postgres://nobody:hidden@127.0.0.1:1/x",
        SIGNALBOX_DATABASE_WAIT: "2",
      },
    });
    expect(stdout).toMatch(/is unavailable: .*ECONNREFUSED.*Waiting for up to 2 s/);
    expect(stderr).toMatch(/is unavailable: .*Check that PostgreSQL is running/s);
    expect(stdout + stderr).not.toMatch(/ {4}at |hidden/);
    expect(code).toBe(1);
  });

  it("reports a database that cannot be opened, without a stack trace", async () => {
    const folder = tempFolder();
    const pathOf = (name: string) => join(folder, name);
    writeFileSync(pathOf("file"), "");
    writeFileSync(pathOf("damaged.db"), "no database".repeat(1000));
    mkdirSync(pathOf("folder"));
    for (const [env, message] of [
      [{ SIGNALBOX_DATA: pathOf("file") }, /file is not a folder.*SIGNALBOX_DATA/s],
      [{ DATABASE_URL: `sqlite:${pathOf("damaged.db")}` }, /damaged\.db is damaged.*backup/s],
      [{ DATABASE_URL: `sqlite:${pathOf("folder")}` }, /folder is a folder.*name a file/s],
    ] as [Record<string, string>, RegExp][]) {
      const { code, stderr } = await runCli(["serve"], {
        env: { SIGNALBOX_DATA: pathOf("data"), ...env },
      });
      expect(stderr).toMatch(message);
      expect(stderr).not.toContain("    at ");
      expect(code).toBe(2);
    }
  });

  it("reports that the port is in use", async () => {
    const hub = await startHubProcess({ data: tempFolder() });
    onTestFinished(async () => void (await hub.stop()));
    const { code, stdout, stderr } = await runCli(["serve", "--port", new URL(hub.url).port], {
      env: { SIGNALBOX_DATA: tempFolder() },
    });
    expect([code, stderr]).toEqual([2, expect.stringMatching(/Port \d+ on 127.0.0.1 is in use/)]);
    expect(stdout + stderr).not.toMatch(/(request|operation) failed/);
  });

  it.each([
    { cause: "SIGTERM", signals: ["SIGTERM"] },
    { cause: "Ctrl+C, which npm sends a second time", signals: ["SIGINT", "SIGINT"] },
  ] as const)(
    "finishes the open request, rejects new ones, and exits with 0 on $cause",
    async ({ signals: [firstSignal, secondSignal] }) => {
      const data = tempFolder();
      const hub = await startHubProcess({ data, env: { GITHUB_WEBHOOK_SECRET: SECRET } });
      const body = JSON.stringify(issueOpened);
      const { port } = new URL(hub.url);
      const socket = connect(Number(port), "127.0.0.1");
      let received = "";
      socket.on("data", (chunk) => {
        received += chunk;
      });
      const closed = new Promise((resolve) => socket.on("close", resolve));
      socket.write(
        `POST /webhooks/github HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-GitHub-Event: issues\r\nX-GitHub-Delivery: slow\r\nX-Hub-Signature-256: ${signature(body)}\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 20)}`,
      );
      await deliver(hub.url); // when this returns, the hub has received the headers of the slow request
      const exited = hub.stop(firstSignal);
      await expect.poll(hub.output, { interval: 10 }).toContain('"stopping"');
      if (secondSignal) process.kill(hub.pid, secondSignal);
      await expect
        .poll(() =>
          fetch(`${hub.url}/healthz`).then(
            () => "up",
            () => "down",
          ),
        )
        .toBe("down");
      socket.write(body.slice(20));
      await closed;
      expect(received).toMatch(/^HTTP\/1.1 202 /);
      expect(received.toLowerCase()).toContain("connection: close");
      expect(await exited).toBe(0);

      const restarted = await startHubProcess({ data, env: { GITHUB_WEBHOOK_SECRET: SECRET } });
      expect((await deliver(restarted.url, { id: "slow" })).status).toBe(200);
      await restarted.stop();
    },
  );

  it("returns 503 from readyz and webhooks during a database outage, and 200 from healthz", async () => {
    const server = await startPostgres();
    onTestFinished(server.stop);
    const hub = await startHubProcess({
      data: tempFolder(),
      env: { DATABASE_URL: await createDatabase(server.url), GITHUB_WEBHOOK_SECRET: SECRET },
    });
    onTestFinished(async () => void (await hub.stop()));
    expect((await fetch(`${hub.url}/readyz`)).status).toBe(200);
    process.kill(server.pid, "SIGQUIT"); // stops PostgreSQL immediately
    await expect.poll(async () => (await fetch(`${hub.url}/readyz`)).status).toBe(503);
    expect(await (await fetch(`${hub.url}/readyz`)).json()).toMatchObject({
      code: "storage_unavailable",
    });
    expect((await fetch(`${hub.url}/healthz`)).status).toBe(200);
    const rejected = await deliver(hub.url);
    expect([rejected.status, rejected.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(await rejected.json()).toMatchObject({ code: "storage_unavailable" });
  });

  it("stores each webhook once and creates one token if two hubs share a PostgreSQL database", async () => {
    const env = {
      DATABASE_URL: await createDatabase(inject("postgresUrl")),
      GITHUB_WEBHOOK_SECRET: SECRET,
    };
    const hubs = await Promise.all([1, 2].map(() => startHubProcess({ data: tempFolder(), env })));
    const responses = await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        deliver((hubs[index % 2] as { url: string }).url, { id: `d-${index >> 1}` }),
      ),
    );
    const outcomes = await Promise.all(
      responses.map(async (response) => ((await response.json()) as { outcome: string }).outcome),
    );
    expect(outcomes.filter((outcome) => outcome === "stored")).toHaveLength(100);
    expect(outcomes.filter((outcome) => outcome === "duplicate")).toHaveLength(100);
    for (const hub of hubs) await hub.stop();
    expect(hubs.filter((hub) => hub.output().includes("sbx_"))).toHaveLength(1);
  });
});
