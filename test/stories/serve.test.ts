/** Starting and stopping, as a person or an orchestrator does it. */
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { deliver, issueOpened, SECRET, signature } from "../support/deliver.ts";
import { runCli, startHubProcess } from "../support/hub-process.ts";
import { createDatabase } from "../support/postgres.ts";
import { tempFolder } from "../support/temp-folder.ts";

describe("signalbox serve", () => {
  it("on the first start prints a token once, and lines to paste", async () => {
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

  it("keeps its folder and its key to itself", async () => {
    const data = join(tempFolder(), "new");
    await (await startHubProcess({ data })).stop();
    expect(statSync(data).mode & 0o077).toBe(0);
    expect(statSync(join(data, "key")).mode & 0o077).toBe(0);
  });

  it("warns at every start while it is unsigned, and not when it is signed", async () => {
    const data = tempFolder();
    for (let start = 0; start < 2; start += 1) {
      const hub = await startHubProcess({ data });
      expect(await fetch(hub.url).then((r) => r.text())).toContain("Unsigned");
      await hub.stop();
      expect(hub.output()).toContain("Unsigned");
    }
    const signed = await startHubProcess({ data, env: { GITHUB_WEBHOOK_SECRET: SECRET } });
    expect(await fetch(signed.url).then((r) => r.text())).not.toContain("Unsigned");
    await signed.stop();
    expect(signed.output()).not.toContain("Unsigned");
    expect(signed.output()).not.toContain(SECRET);
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
    [
      { DATABASE_URL: "postgres://nobody@127.0.0.1:1/x" },
      [],
      /does not open: .*Check DATABASE_URL/s,
    ],
    [{}, ["--prot", "1"], /Unknown option '--prot'/],
  ] as [Record<string, string>, string[], RegExp][])(
    "does not start with %o %o, and says what to do",
    async (env, args, message) => {
      const { code, stderr } = await runCli(["serve", ...args], {
        env: { SIGNALBOX_DATA: tempFolder(), ...env },
      });
      expect(stderr).toMatch(message);
      expect(stderr).not.toContain("    at ");
      expect(code).toBe(2);
    },
  );

  it("says so when the port is taken", async () => {
    const hub = await startHubProcess({ data: tempFolder() });
    onTestFinished(async () => void (await hub.stop()));
    const { code, stderr } = await runCli(["serve", "--port", new URL(hub.url).port], {
      env: { SIGNALBOX_DATA: tempFolder() },
    });
    expect([code, stderr]).toEqual([2, expect.stringMatching(/Port \d+ on 127.0.0.1 is taken/)]);
  });

  it("finishes the request that is under way when told to stop, refuses new ones, and exits 0", async () => {
    const data = tempFolder();
    const hub = await startHubProcess({ data, env: { GITHUB_WEBHOOK_SECRET: SECRET } });
    const body = JSON.stringify(issueOpened);
    const { port } = new URL(hub.url);
    const socket = connect(Number(port), "127.0.0.1");
    let answer = "";
    socket.on("data", (chunk) => {
      answer += chunk;
    });
    const closed = new Promise((resolve) => socket.on("close", resolve));
    socket.write(
      `POST /webhooks/github HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-GitHub-Event: issues\r\nX-GitHub-Delivery: slow\r\nX-Hub-Signature-256: ${signature(body)}\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 20)}`,
    );
    await deliver(hub.url); // by then the hub has the slow one's headers too
    const ended = hub.stop("SIGTERM");
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
    expect(answer).toMatch(/^HTTP\/1.1 202 /);
    expect(answer.toLowerCase()).toContain("connection: close");
    expect(await ended).toBe(0);

    const again = await startHubProcess({ data, env: { GITHUB_WEBHOOK_SECRET: SECRET } });
    expect((await deliver(again.url, { id: "slow" })).status).toBe(200);
    await again.stop();
  });

  it("readyz says when the database is gone, healthz does not mind, and webhooks are refused, not lost", async () => {
    const { startPostgres } = await import("../support/postgres.ts");
    const server = await startPostgres();
    onTestFinished(server.stop);
    const hub = await startHubProcess({
      data: tempFolder(),
      env: { DATABASE_URL: await createDatabase(server.url), GITHUB_WEBHOOK_SECRET: SECRET },
    });
    onTestFinished(async () => void (await hub.stop()));
    expect((await fetch(`${hub.url}/readyz`)).status).toBe(200);
    process.kill(server.pid, "SIGQUIT");
    await expect
      .poll(async () => (await fetch(`${hub.url}/readyz`)).status, { timeout: 20_000 })
      .toBe(503);
    expect(await (await fetch(`${hub.url}/readyz`)).json()).toMatchObject({
      code: "storage_unavailable",
    });
    expect((await fetch(`${hub.url}/healthz`)).status).toBe(200);
    const refused = await deliver(hub.url);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(await refused.json()).toMatchObject({ code: "storage_unavailable" });
  });

  it("two hubs on one PostgreSQL share events, tokens and endpoints", async () => {
    const env = {
      DATABASE_URL: await createDatabase(inject("postgresUrl")),
      GITHUB_WEBHOOK_SECRET: SECRET,
    };
    const hubs = await Promise.all([1, 2].map(() => startHubProcess({ data: tempFolder(), env })));
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, at) =>
        deliver((hubs[at % 2] as { url: string }).url, { id: `d-${at >> 1}` }),
      ),
    );
    const outcomes = await Promise.all(
      answers.map(async (answer) => ((await answer.json()) as { outcome: string }).outcome),
    );
    expect(outcomes.filter((outcome) => outcome === "stored")).toHaveLength(100);
    expect(outcomes.filter((outcome) => outcome === "duplicate")).toHaveLength(100);
    for (const hub of hubs) await hub.stop();
    expect(hubs.filter((hub) => hub.output().includes("sbx_"))).toHaveLength(1);
  });
});

describe("the other commands", () => {
  it("send posts a signed sample, doubles as a duplicate, and tells when nobody listens", async () => {
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
    const forged = await runCli(["send", "github", "--secret", "guess"], { env });
    expect([forged.code, forged.stdout]).toEqual([
      1,
      expect.stringMatching(/403 The signature does not fit/),
    ]);
    const unknown = await runCli(["send", "github", "nonsense"], { env });
    expect([unknown.code, unknown.stderr]).toEqual([
      2,
      expect.stringMatching(/no sample of type "nonsense"/),
    ]);
    await hub.stop();
    const nobody = await runCli(["send", "github"], { env });
    expect([nobody.code, nobody.stderr]).toEqual([
      2,
      expect.stringMatching(/No hub answers at .*signalbox serve/),
    ]);
  });

  it("token creates, lists and revokes, and shows the secret only once", async () => {
    const env = { SIGNALBOX_DATA: tempFolder() };
    const made = JSON.parse(
      (await runCli(["token", "create", "laptop", "--json"], { env })).stdout,
    );
    expect(made.token).toMatch(/^sbx_/);
    const listed = await runCli(["token", "list"], { env });
    expect(listed.stdout).toMatch(/laptop +inbox:read,inbox:write +local .* active/);
    expect(listed.stdout).not.toContain(made.token);
    expect((await runCli(["token", "revoke", made.id], { env })).code).toBe(0);
    expect((await runCli(["token", "list"], { env })).stdout).toMatch(/revoked/);
    const again = await runCli(["token", "revoke", made.id], { env });
    expect([again.code, again.stderr]).toEqual([2, expect.stringMatching(/no active token/)]);
    const wrong = await runCli(["token", "create", "x", "--scope", "everything"], { env });
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringMatching(/no scope "everything"/)]);
  });

  it("config shows values and origins, and no secret", async () => {
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
    writeFileSync(join(cwd, "signalbox.config.json"), "{ nonsense");
    const broken = await runCli(["config"], { cwd });
    expect([broken.code, broken.stderr]).toEqual([
      2,
      expect.stringMatching(/signalbox.config.json is not valid JSON/),
    ]);
  });

  it("doctor finds what is wrong and says what to do", async () => {
    const data = tempFolder();
    const hub = await startHubProcess({ data, env: { GITHUB_WEBHOOK_SECRET: SECRET } });
    const env = {
      SIGNALBOX_DATA: data,
      PORT: new URL(hub.url).port,
      GITHUB_WEBHOOK_SECRET: SECRET,
      GITHUB_API_URL: hub.url,
    };
    const well = await runCli(["doctor", "--json"], { env });
    const report = JSON.parse(well.stdout) as {
      ok: boolean;
      findings: { check: string; state: string }[];
    };
    expect([well.code, report.ok]).toEqual([0, true]);
    const states = Object.fromEntries(report.findings.map(({ check, state }) => [check, state]));
    expect(states).toMatchObject({
      settings: "ok",
      node: "ok",
      database: "ok",
      hub: "ok",
      clock: "ok",
      secrets: "ok",
    });
    await hub.stop();
    const down = await runCli(["doctor"], {
      env: { ...env, DATABASE_URL: "postgres://nobody@127.0.0.1:1/x" },
    });
    expect(down.code).toBe(1);
    expect(down.stdout).toMatch(/✗ database .*does not open/);
    expect(down.stdout).toMatch(/! hub .*nothing answers/);
  });

  it("every command has help, and a wrong one is named", async () => {
    for (const command of ["serve", "send", "token", "source", "config", "doctor"]) {
      const { code, stdout } = await runCli([command, "--help"]);
      expect([code, stdout]).toEqual([0, expect.stringContaining(`Usage: signalbox ${command}`)]);
    }
    expect((await runCli(["--help"])).stdout).toContain("Usage: signalbox COMMAND");
    expect((await runCli(["--version"])).stdout).toMatch(/^\d+\.\d+\.\d+/);
    const wrong = await runCli(["srve"]);
    expect([wrong.code, wrong.stderr]).toEqual([
      2,
      expect.stringMatching(/There is no command "srve"/),
    ]);
  });
});
