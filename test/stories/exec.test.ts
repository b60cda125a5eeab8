/** `signalbox exec` runs a scripted agent for the events of a hub, and survives what can go wrong. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ADMIN, type Api, type Backend, startApi } from "../support/api-client.ts";
import { deliver, issueOpened } from "../support/deliver.ts";
import { CLI, startHubProcess } from "../support/hub-process.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { WAIT } from "../support/timeouts.ts";

const AGENT = fileURLToPath(new URL("../support/scripted-agent.mjs", import.meta.url));

interface LogEntry {
  what: "started" | "finished";
  id: string;
  attempt: number;
  pid: number;
  event: Record<string, unknown>;
  env: Record<string, string>;
}

interface ExecProcess {
  pid: number;
  output(): { stdout: string; stderr: string };
  kill(signal: NodeJS.Signals): void;
  /** Resolves with the exit code; null after SIGKILL. */
  exit: Promise<number | null>;
}

/** A hub, the folder of an agent, and functions that start `signalbox exec`. */
async function setup(backend?: Backend) {
  const api = await startApi(backend);
  const folder = tempFolder();
  const state = join(folder, "state");
  const localEnv = { SIGNALBOX_DATA: api.env.SIGNALBOX_DATA as string };

  const entries = (what?: LogEntry["what"]): LogEntry[] => {
    const path = join(folder, "log");
    if (!existsSync(path)) return [];
    const all = readFileSync(path, "utf8").trim().split("\n");
    return all
      .map((line) => JSON.parse(line) as LogEntry)
      .filter((entry) => what === undefined || entry.what === what);
  };

  function run(args: string[], env: Record<string, string> = localEnv): ExecProcess {
    const child: ChildProcess = spawn(process.execPath, [CLI, "exec", ...args], {
      cwd: folder,
      env: { PATH: process.env.PATH, SIGNALBOX_EXEC_STATE: state, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const text = { stdout: "", stderr: "" };
    for (const stream of ["stdout", "stderr"] as const)
      child[stream]?.on("data", (chunk: Buffer) => {
        text[stream] += chunk.toString();
      });
    const exit = once(child, "close").then(([code]) => code as number | null);
    onTestFinished(async () => {
      child.kill("SIGKILL");
      await exit;
      // The agents of a killed process go on: they have their own process group.
      for (const { pid } of entries("started")) killIfAlive(pid);
    });
    return {
      pid: child.pid as number,
      output: () => text,
      kill: (signal) => void child.kill(signal),
      exit,
    };
  }

  const agent = (mode = "ok") => ["--", process.execPath, AGENT, folder, mode];
  const eventOf = async (id: string) =>
    (await api.expect(200, "GET", `/api/events/${id}`)).json as {
      processed: boolean;
      note: string | null;
      attempts: number;
      claimed_by: string | null;
      claimed_until: string | null;
    };
  return {
    api,
    folder,
    state,
    entries,
    run,
    agent,
    eventOf,
    open: () => writeFileSync(join(folder, "open"), ""),
    started: async (count: number) =>
      vi.waitFor(() => expect(entries("started")).toHaveLength(count), WAIT),
    untilProcessed: async (...ids: string[]) =>
      vi.waitFor(async () => {
        for (const id of ids) expect(await eventOf(id)).toMatchObject({ processed: true });
      }, WAIT),
  };
}

function killIfAlive(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {}
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

let number = 0;
async function sendIssue({ hub }: Pick<Api, "hub">, change: object = {}): Promise<string> {
  number += 1;
  const issue = { ...issueOpened.issue, number, title: `Lamp ${number}`, ...change };
  const body = JSON.stringify({ ...issueOpened, issue });
  const response = await deliver(hub.url, { body });
  expect(response.status).toBe(202);
  return ((await response.json()) as { id: string }).id;
}

describe("an agent", () => {
  it.each<Backend>(["SQLite", "PostgreSQL"])(
    "triages pending and new issues, on %s",
    async (backend) => {
      const { api, run, agent, entries, eventOf, untilProcessed } = await setup(backend);
      const pending = await sendIssue(api);
      await deliver(api.hub.url, { type: "push" });
      const exec = run(["--type", "issues", "--repo", "octo/town", ...agent()]);
      await untilProcessed(pending);
      const first = number;
      const live = await sendIssue(api);
      await untilProcessed(live);
      expect(await eventOf(live)).toMatchObject({
        note: `Lamp ${number}: done`,
        attempts: 1,
        claimed_by: expect.stringMatching(new RegExp(`^local/.*-${exec.pid}-`)),
      });
      expect(entries().map(({ what, id }) => [what, id])).toEqual([
        ["started", pending],
        ["finished", pending],
        ["started", live],
        ["finished", live],
      ]);
      const [entry] = entries();
      expect(entry?.event).toMatchObject({
        id: pending,
        type: "issues",
        source: "github",
        repo: "octo/town",
        number: first,
        title: `Lamp ${first}`,
        attempts: 1,
        payload: { action: "opened", issue: { number: first } },
      });
      expect(entry?.env).toMatchObject({
        SIGNALBOX_EVENT_ID: pending,
        SIGNALBOX_EVENT_TITLE: `Lamp ${first}`,
        SIGNALBOX_EVENT_SENDER: "mona",
        SIGNALBOX_ATTEMPT: "1",
        SIGNALBOX_URL: api.hub.url,
      });
      expect(exec.output().stdout).toContain(
        `[issues opened octo/town#${first}] Triaged octo/town#${first}\n`,
      );
      expect(exec.output().stderr).toContain(`[issues opened octo/town#${first}] thinking\n`);
      exec.kill("SIGTERM");
      expect(await exec.exit).toBe(0);
    },
  );

  it("works for a remote hub with a token, which the command does not inherit", async () => {
    const { api, run, agent, entries, untilProcessed } = await setup();
    const token = await api.token();
    const env = { SIGNALBOX_URL: api.hub.url, SIGNALBOX_TOKEN: token };
    const id = await sendIssue(api);
    run(agent(), env);
    await untilProcessed(id);
    expect(entries()[0]?.env).not.toHaveProperty("SIGNALBOX_TOKEN");
    expect(JSON.stringify(entries())).not.toContain(token);
    const denied = run(agent(), { ...env, SIGNALBOX_TOKEN: "sbx_wrong_token_of_nobody" });
    expect(await denied.exit).toBe(1);
    expect(denied.output().stderr).toMatch(/rejects the token/);
    const reader = run(agent(), {
      ...env,
      SIGNALBOX_TOKEN: await api.token("--scope", "inbox:read"),
    });
    expect(await reader.exit).toBe(1);
    expect(reader.output().stderr).toMatch(/inbox:write/);
  });

  it("gets only the events that match the filters", async () => {
    const { api, run, agent, entries } = await setup();
    const labels = (name: string) => ({ labels: [{ name: "triage" }, { name }] });
    const bug = await sendIssue(api, labels("bug"));
    const question = await sendIssue(api, labels("question"));
    const args = ["--filter", "issue.labels[].name=bug", "--filter", "action=opened"];
    const exec = run([...args, "--source", "github", "--once", ...agent()]);
    expect(await exec.exit).toBe(0);
    expect(entries("started").map(({ id }) => id)).toEqual([bug]);
    const live = run([...args, ...agent()]);
    await vi.waitFor(() => expect(live.output().stderr).toContain("Waiting for events"), WAIT);
    await sendIssue(api, labels("question"));
    const another = await sendIssue(api, labels("bug"));
    await vi.waitFor(() => expect(entries("finished")).toHaveLength(2), WAIT);
    expect(entries("started").map(({ id }) => id)).toEqual([bug, another]);
    expect((await api.call("GET", `/api/events/${question}`)).json.attempts).toBe(0);
  });
});

describe("a failing command", () => {
  it("is tried again with a delay, and then given up with the reason", async () => {
    const { api, run, agent, entries, eventOf, untilProcessed } = await setup();
    const id = await sendIssue(api);
    const exec = run(["--attempts", "2", "--backoff", "1", "--json", ...agent("fail")]);
    await vi.waitFor(() => expect(exec.output().stderr).toContain("next attempt in 1 s"), WAIT);
    await untilProcessed(id);
    expect(entries().map(({ what, attempt }) => [what, attempt])).toEqual([
      ["started", 1],
      ["started", 2],
    ]);
    const note = "Gave up after 2 attempts: exit code 3: no luck today";
    expect(await eventOf(id)).toMatchObject({ note, attempts: 2 });
    await vi.waitFor(() => expect(exec.output().stdout).toContain("given_up"), WAIT);
    const results = exec
      .output()
      .stdout.trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const reason = "exit code 3: no luck today";
    expect(results).toMatchObject([
      { event_id: id, outcome: "retry", attempt: 1, retry_in_s: 1, reason },
      { event_id: id, outcome: "given_up", attempt: 2, note },
    ]);
  });

  it("keeps its delay and its attempts when another process continues", async () => {
    const { api, run, agent, entries, eventOf, untilProcessed } = await setup();
    const id = await sendIssue(api);
    const first = run(["--once", "--backoff", "3600", ...agent("fail")]);
    expect(await first.exit).toBe(1);
    const event = await eventOf(id);
    expect(event).toMatchObject({ processed: false, attempts: 1, claimed_by: null });
    expect(Date.parse(event.claimed_until ?? "")).toBeGreaterThan(Date.now() + 1_000_000);
    expect(await run(["--once", ...agent()]).exit).toBe(0);
    expect(entries("started")).toHaveLength(1);
    const other = await sendIssue(api);
    for (const code of [1, 1, 0]) {
      const exec = run(["--once", "--attempts", "2", "--backoff", "0", ...agent("fail")]);
      expect(await exec.exit, exec.output().stderr).toBe(code);
    }
    await untilProcessed(other);
    expect(await eventOf(other)).toMatchObject({
      attempts: 2,
      note: expect.stringMatching(/^Gave up after 2/),
    });
  });

  it("is terminated after the time limit", async () => {
    const { api, run, agent, entries, eventOf, untilProcessed } = await setup();
    const id = await sendIssue(api);
    run(["--timeout", "1", "--attempts", "1", ...agent("gate")]);
    await untilProcessed(id);
    expect(await eventOf(id)).toMatchObject({
      note: expect.stringMatching(/^Gave up after 1 attempt: exceeded the time limit of 1 s/),
    });
    for (const { pid } of entries("started"))
      await vi.waitFor(() => expect(isAlive(pid)).toBe(false), WAIT);
  });
});

describe("several commands", () => {
  it("run in parallel up to the limit", async () => {
    const { api, run, agent, entries, open, started, untilProcessed } = await setup();
    const ids = [await sendIssue(api), await sendIssue(api), await sendIssue(api)];
    run(["--concurrency", "2", ...agent("gate")]);
    await started(2);
    const claimable = await api.expect(200, "GET", "/api/events?claimable=1");
    expect(claimable.json.items.map(({ id }: { id: string }) => id)).toEqual([ids[2]]);
    open();
    await untilProcessed(...ids);
    // Two commands that start together can begin in any order.
    const order = entries("started").map(({ id }) => id);
    expect([...order.slice(0, 2).sort(), ...order.slice(2)]).toEqual(ids);
  });

  it.each<Backend>(["SQLite", "PostgreSQL"])(
    "of two processes with the same token never share an event, on %s",
    async (backend) => {
      const { api, run, agent, entries, untilProcessed } = await setup(backend);
      const ids: string[] = [];
      for (let at = 0; at < 12; at += 1) ids.push(await sendIssue(api));
      const execs = [1, 2].map(() => run(["--concurrency", "2", ...agent()]));
      await untilProcessed(...ids);
      for (let at = 0; at < 4; at += 1) ids.push(await sendIssue(api));
      await untilProcessed(...ids);
      expect(
        entries("started")
          .map(({ id }) => id)
          .sort(),
      ).toEqual(ids.toSorted());
      for (const exec of execs) exec.kill("SIGINT");
      expect(await Promise.all(execs.map(({ exit }) => exit))).toEqual([0, 0]);
    },
  );
});

describe("a crash", () => {
  it("of exec during a command: the event is done once more, after the lease", async () => {
    const { api, run, agent, entries, eventOf, open, started, untilProcessed } = await setup();
    const id = await sendIssue(api);
    const killed = run(["--lease", "5", ...agent("gate")]);
    await started(1);
    killed.kill("SIGKILL");
    await killed.exit;
    const { claimed_until } = await eventOf(id);
    run(["--lease", "5", ...agent("gate")]);
    await started(2);
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(claimed_until ?? ""));
    open();
    await untilProcessed(id);
    expect(entries("started").map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(await eventOf(id)).toMatchObject({ attempts: 2, note: `Lamp ${number}: done` });
  });

  it("of exec during every attempt: the event is given up", async () => {
    const { api, run, agent, eventOf, started, untilProcessed } = await setup();
    const id = await sendIssue(api);
    const killed = run(["--lease", "5", "--attempts", "1", ...agent("gate")]);
    await started(1);
    killed.kill("SIGKILL");
    run(["--lease", "5", "--attempts", "1", ...agent("gate")]);
    await untilProcessed(id);
    expect(await eventOf(id)).toMatchObject({
      note: "Gave up after 1 attempt: no attempt reported a result; the limit is 1",
    });
    await started(1);
  });

  it("of exec between the end of a command and its mark: the command does not run again", async () => {
    const { api, run, agent, state, entries, open, started } = await setup();
    const id = await sendIssue(api);
    const killed = run(["--lease", "5", ...agent("gate")]);
    await started(1);
    await api.hub.stop();
    open();
    await vi.waitFor(() => expect(readdirSync(state)).toEqual([`${id}.json`]), WAIT);
    killed.kill("SIGKILL");
    await killed.exit;
    const { hub, eventOf } = await restart(api);
    const exec = run(agent());
    await vi.waitFor(
      async () => expect(await eventOf(id)).toMatchObject({ processed: true }),
      WAIT,
    );
    expect(await eventOf(id)).toMatchObject({ note: `Lamp ${number}: done`, attempts: 1 });
    await vi.waitFor(() => expect(readdirSync(state)).toEqual([]), WAIT);
    expect(entries("started")).toHaveLength(1);
    const next = await sendIssue({ hub });
    await vi.waitFor(
      async () => expect(await eventOf(next)).toMatchObject({ processed: true }),
      WAIT,
    );
    expect(exec.output().stderr).toContain(`Marked event ${id} as processed`);
  });

  it.each(["SIGTERM", "SIGKILL"] as const)(
    "or restart of the hub by %s during a command: the event is marked afterwards",
    async (signal) => {
      const { api, run, agent, entries, open, started } = await setup();
      const id = await sendIssue(api);
      const exec = run(["--lease", "5", ...agent("gate")]);
      await started(1);
      await api.hub.stop(signal);
      await vi.waitFor(() => expect(exec.output().stderr).toMatch(/Retrying\.$/m), WAIT);
      open();
      await vi.waitFor(() => expect(entries("finished")).toHaveLength(1), WAIT);
      const { hub, eventOf } = await restart(api);
      expect(hub.url).not.toBe(api.hub.url);
      await vi.waitFor(
        async () => expect(await eventOf(id)).toMatchObject({ processed: true }),
        WAIT,
      );
      const next = await sendIssue({ hub });
      await vi.waitFor(
        async () => expect(await eventOf(next)).toMatchObject({ processed: true }),
        WAIT,
      );
      expect(entries("started").map((entry) => entry.id)).toEqual([id, next]);
      expect(exec.output().stderr).toContain("The hub responds again.");
    },
  );

  it("of the network: a worker that lost its claim terminates its command", async () => {
    const { api, run, agent, entries, started } = await setup();
    const id = await sendIssue(api);
    const exec = run(["--lease", "5", ...agent("gate")]);
    await started(1);
    await api.expect(200, "POST", `/api/events/${id}/processed`, { note: "by hand" });
    await vi.waitFor(() => expect(exec.output().stderr).toMatch(/the claim was lost/), WAIT);
    expect(exec.output().stderr).toMatch(/is already processed/);
    expect(entries("finished")).toEqual([]);
    for (const { pid } of entries("started"))
      await vi.waitFor(() => expect(isAlive(pid)).toBe(false), WAIT);
  });
});

/** Starts a hub on the same data, on another port. */
async function restart({ env }: Api) {
  const hub = await startHubProcess({ data: env.SIGNALBOX_DATA as string, env });
  onTestFinished(async () => void (await hub.stop("SIGKILL")));
  const eventOf = async (id: string) => {
    const headers = { authorization: `Bearer ${ADMIN}` };
    return (await fetch(`${hub.url}/api/events/${id}`, { headers })).json();
  };
  return { hub, eventOf };
}

describe("a signal", () => {
  it("lets the running command end, and starts no other", async () => {
    const { api, run, agent, entries, open, started, eventOf } = await setup();
    const [id, other] = [await sendIssue(api), await sendIssue(api)];
    const exec = run(agent("gate"));
    await started(1);
    exec.kill("SIGTERM");
    await vi.waitFor(() => expect(exec.output().stderr).toContain("Stopping when"), WAIT);
    open();
    expect(await exec.exit).toBe(0);
    expect(await eventOf(id)).toMatchObject({ processed: true });
    expect(await eventOf(other)).toMatchObject({ processed: false, attempts: 0 });
    expect(entries("started")).toHaveLength(1);
  });

  it("that is repeated terminates the command, which does not count as an attempt", async () => {
    const { api, run, agent, entries, started, eventOf } = await setup();
    const id = await sendIssue(api);
    const exec = run(agent("gate"));
    await started(1);
    exec.kill("SIGINT");
    await vi.waitFor(() => expect(exec.output().stderr).toContain("Stopping when"), WAIT);
    exec.kill("SIGINT");
    expect(await exec.exit).toBe(0);
    expect(await eventOf(id)).toMatchObject({
      processed: false,
      attempts: 0,
      claimed_by: null,
      claimed_until: null,
    });
    for (const { pid } of entries("started")) expect(isAlive(pid)).toBe(false);
  });

  it.each(["SIGINT", "SIGTERM"] as const)(
    "%s stops quietly while no hub responds",
    async (signal) => {
      const { api, run, agent } = await setup();
      await api.hub.stop();
      const exec = run(agent(), {
        SIGNALBOX_URL: api.hub.url,
        SIGNALBOX_TOKEN: "sbx_of_a_hub_that_is_down",
      });
      await vi.waitFor(() => expect(exec.output().stderr).toContain("Retrying."), WAIT);
      const before = exec.output().stderr;
      exec.kill(signal);
      expect(await exec.exit).toBe(0);
      expect(exec.output()).toEqual({ stdout: "", stderr: before });
    },
  );
});

describe("the command line", () => {
  it("--once exits with 0 after success and without events, and with 1 after a failure", async () => {
    const { api, run, agent, entries, untilProcessed } = await setup();
    const code = (...args: string[]) => run(["--once", ...args]).exit;
    const idle = run(["--once", ...agent()]);
    expect(await idle.exit).toBe(0);
    expect(idle.output()).toEqual({ stdout: "", stderr: "No pending event to work on.\n" });
    const ids = [await sendIssue(api), await sendIssue(api), await sendIssue(api)];
    expect(await code("--concurrency", "2", ...agent())).toBe(0);
    await untilProcessed(...ids);
    await sendIssue(api);
    expect(await code(...agent("fail"))).toBe(1);
    expect(entries("started")).toHaveLength(4);
    await api.hub.stop();
    const noHub = run(["--once", ...agent()]);
    expect(await noHub.exit).toBe(1);
    expect(noHub.output().stderr).toMatch(/No response from/);
  });

  it("--dry-run lists what it would run for, and changes nothing", async () => {
    const { api, run, agent, entries, eventOf } = await setup();
    const id = await sendIssue(api, { labels: [{ name: "bug" }] });
    await sendIssue(api);
    const exec = run(["--dry-run", "--filter", "issue.labels[].name=bug", ...agent()]);
    expect(await exec.exit).toBe(0);
    expect(exec.output().stdout).toBe(
      `${id}  issues opened octo/town#${number - 1}  Lamp ${number - 1}\n`,
    );
    expect(entries()).toEqual([]);
    expect(await eventOf(id)).toMatchObject({ attempts: 0, claimed_by: null });
  });

  it("--shell runs a script; without it, arguments are passed as they are", async () => {
    const { api, run, eventOf } = await setup();
    const first = await sendIssue(api);
    const script = 'grep -c Lamp > /dev/null && echo "for $SIGNALBOX_EVENT_REPO"';
    expect(await run(["--once", "--shell", "--", script]).exit).toBe(0);
    expect(await eventOf(first)).toMatchObject({ note: "for octo/town" });
    const second = await sendIssue(api);
    expect(await run(["--once", "--quiet", "--", "echo", "$HOME; `id`", "--json"]).exit).toBe(0);
    expect(await eventOf(second)).toMatchObject({ note: "$HOME; `id` --json" });
  });

  it("prints the start of a long note, and stores all of it", async () => {
    const { api, run, eventOf } = await setup();
    const id = await sendIssue(api);
    const note = "x".repeat(500);
    const exec = run(["--once", "--", "echo", note]);
    expect(await exec.exit).toBe(0);
    expect(exec.output().stdout).toContain(note);
    expect(exec.output().stderr).toContain(`: ${"x".repeat(99)}… (`);
    expect(await eventOf(id)).toMatchObject({ note });
  });

  it("reports a state folder that cannot be written to, before it claims an event", async () => {
    const { api, run, agent, folder, eventOf } = await setup();
    const id = await sendIssue(api);
    const file = join(folder, "file");
    writeFileSync(file, "");
    const env = { SIGNALBOX_DATA: api.env.SIGNALBOX_DATA as string, SIGNALBOX_EXEC_STATE: file };
    const exec = run(agent(), env);
    expect(await exec.exit).toBe(2);
    expect(exec.output().stderr).toContain(file);
    expect(exec.output().stderr).toContain("Set SIGNALBOX_EXEC_STATE to a folder");
    expect(await eventOf(id)).toMatchObject({ attempts: 0 });
  });

  it("reports a command that cannot be found, before and after its start", async () => {
    const { api, run, folder, eventOf } = await setup();
    const missing = run(["--", "no-such-agent"]);
    expect(await missing.exit).toBe(2);
    expect(missing.output().stderr).toMatch(/Cannot find the command "no-such-agent"/);
    const copy = join(folder, "agent");
    copyFileSync("/bin/true", copy);
    const removed = run(["--", copy]);
    await vi.waitFor(() => expect(removed.output().stderr).toContain("Waiting for events"), WAIT);
    rmSync(copy);
    const id = await sendIssue(api);
    const sentAt = performance.now();
    expect(await removed.exit).toBe(1);
    // It does not wait for the next reload of the list, which is after 30 seconds.
    expect(performance.now() - sentAt).toBeLessThan(20_000);
    expect(removed.output().stderr).toContain(`Cannot start ${copy}: no such command.`);
    expect(await eventOf(id)).toMatchObject({ attempts: 0, claimed_until: null });
  });

  it.each([
    [[], /Missing command to run: `npx signalbox exec \[options\] -- COMMAND/],
    [["--"], /Missing command to run/],
    [["--once", "claude", "-p", "x"], /Write -- before the command to run: -- claude …/],
    [["echo", "--", "echo"], /Unexpected argument "echo"/],
    [["--shell", "--", "echo", "x"], /With --shell, the command must be one argument/],
    [["--filter", "bug", "--", "echo"], /--filter must be PATH=VALUE.* but is "bug"/],
    [["--concurrency", "0", "--", "echo"], /--concurrency must be a whole number from 1 to 100/],
    [["--lease", "1", "--", "echo"], /--lease must be a whole number from 5 to 86400/],
    [["--type", "", "--", "echo"], /--type must not be empty/],
    [["--", "echo hi"], /command "echo hi": remove the quotes around it, or add --shell/],
  ] as [string[], RegExp][])("rejects %o with exit code 2", async (args, message) => {
    const child = spawn(process.execPath, [CLI, "exec", ...args], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    let stderr = "";
    child.stderr.on("data", (chunk) => {
      stderr += chunk;
    });
    const [code] = await once(child, "close");
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
  });
});
