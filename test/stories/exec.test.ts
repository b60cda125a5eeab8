/** `signalbox exec` runs a scripted agent for each event, and recovers from failures and crashes. */
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

/** Starts a hub. Returns functions that start `signalbox exec` and read the log of the scripted agent. */
async function setup(backend?: Backend) {
  const api = await startApi(backend);
  const folder = tempFolder();
  const stateFolder = join(folder, "state");
  const localEnv = { SIGNALBOX_DATA: api.env.SIGNALBOX_DATA as string };

  const readLog = (what?: LogEntry["what"]): LogEntry[] => {
    const path = join(folder, "log");
    if (!existsSync(path)) return [];
    const lines = readFileSync(path, "utf8").trim().split("\n");
    return lines
      .map((line) => JSON.parse(line) as LogEntry)
      .filter((entry) => what === undefined || entry.what === what);
  };

  function startExec(args: string[], env: Record<string, string> = localEnv): ExecProcess {
    const child: ChildProcess = spawn(process.execPath, [CLI, "exec", ...args], {
      cwd: folder,
      env: { PATH: process.env.PATH, SIGNALBOX_EXEC_STATE: stateFolder, ...env },
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
      // Agents have their own process group, so that they continue after `exec` was killed.
      for (const { pid } of readLog("started")) killIfAlive(pid);
    });
    return {
      pid: child.pid as number,
      output: () => text,
      kill: (signal) => void child.kill(signal),
      exit,
    };
  }

  const agentCommand = (mode = "ok") => ["--", process.execPath, AGENT, folder, mode];
  const readEvent = async (id: string) =>
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
    stateFolder,
    readLog,
    startExec,
    agentCommand,
    readEvent,
    /** Lets the agents of the mode `gate` finish. */
    openGate: () => writeFileSync(join(folder, "open"), ""),
    waitForStarts: async (count: number) =>
      vi.waitFor(() => expect(readLog("started")).toHaveLength(count), WAIT),
    waitUntilProcessed: async (...ids: string[]) =>
      vi.waitFor(async () => {
        for (const id of ids) expect(await readEvent(id)).toMatchObject({ processed: true });
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

let issueNumber = 0;
async function sendIssue({ hub }: Pick<Api, "hub">, overrides: object = {}): Promise<string> {
  issueNumber += 1;
  const issue = {
    ...issueOpened.issue,
    number: issueNumber,
    title: `Lamp ${issueNumber}`,
    ...overrides,
  };
  const body = JSON.stringify({ ...issueOpened, issue });
  const response = await deliver(hub.url, { body });
  expect(response.status).toBe(202);
  return ((await response.json()) as { id: string }).id;
}

describe("an agent", () => {
  it.each<Backend>(["SQLite", "PostgreSQL"])(
    "triages pending and new issues, on %s",
    async (backend) => {
      const { api, startExec, agentCommand, readLog, readEvent, waitUntilProcessed } =
        await setup(backend);
      const pending = await sendIssue(api);
      await deliver(api.hub.url, { type: "push" });
      const exec = startExec(["--type", "issues", "--repo", "octo/town", ...agentCommand()]);
      await waitUntilProcessed(pending);
      const firstNumber = issueNumber;
      const live = await sendIssue(api);
      await waitUntilProcessed(live);
      expect(await readEvent(live)).toMatchObject({
        note: `Lamp ${issueNumber}: done`,
        attempts: 1,
        claimed_by: expect.stringMatching(new RegExp(`^local/.*-${exec.pid}-`)),
      });
      expect(readLog().map(({ what, id }) => [what, id])).toEqual([
        ["started", pending],
        ["finished", pending],
        ["started", live],
        ["finished", live],
      ]);
      const [entry] = readLog();
      expect(entry?.event).toMatchObject({
        id: pending,
        type: "issues",
        source: "github",
        repo: "octo/town",
        number: firstNumber,
        title: `Lamp ${firstNumber}`,
        attempts: 1,
        payload: { action: "opened", issue: { number: firstNumber } },
      });
      expect(entry?.env).toMatchObject({
        SIGNALBOX_EVENT_ID: pending,
        SIGNALBOX_EVENT_TITLE: `Lamp ${firstNumber}`,
        SIGNALBOX_EVENT_SENDER: "mona",
        SIGNALBOX_ATTEMPT: "1",
        SIGNALBOX_URL: api.hub.url,
      });
      expect(exec.output().stdout).toContain(
        `[issues opened octo/town#${firstNumber}] Triaged octo/town#${firstNumber}\n`,
      );
      expect(exec.output().stderr).toContain(`[issues opened octo/town#${firstNumber}] thinking\n`);
      exec.kill("SIGTERM");
      expect(await exec.exit).toBe(0);
    },
  );

  it("processes events of a remote hub, and does not inherit the token of `exec`", async () => {
    const { api, startExec, agentCommand, readLog, waitUntilProcessed } = await setup();
    const token = await api.token();
    const env = { SIGNALBOX_URL: api.hub.url, SIGNALBOX_TOKEN: token };
    const id = await sendIssue(api);
    startExec(agentCommand(), env);
    await waitUntilProcessed(id);
    expect(readLog()[0]?.env).not.toHaveProperty("SIGNALBOX_TOKEN");
    expect(JSON.stringify(readLog())).not.toContain(token);
    const denied = startExec(agentCommand(), { ...env, SIGNALBOX_TOKEN: "sbx_unknown_token" });
    expect(await denied.exit).toBe(1);
    expect(denied.output().stderr).toMatch(/rejects the token/);
    const reader = startExec(agentCommand(), {
      ...env,
      SIGNALBOX_TOKEN: await api.token("--scope", "inbox:read"),
    });
    expect(await reader.exit).toBe(1);
    expect(reader.output().stderr).toMatch(/inbox:write/);
  });

  it("gets only the events that match the filters", async () => {
    const { api, startExec, agentCommand, readLog } = await setup();
    const labels = (name: string) => ({ labels: [{ name: "triage" }, { name }] });
    const bug = await sendIssue(api, labels("bug"));
    const question = await sendIssue(api, labels("question"));
    const args = ["--filter", "issue.labels[].name=bug", "--filter", "action=opened"];
    const exec = startExec([...args, "--source", "github", "--once", ...agentCommand()]);
    expect(await exec.exit).toBe(0);
    expect(readLog("started").map(({ id }) => id)).toEqual([bug]);
    const live = startExec([...args, ...agentCommand()]);
    await vi.waitFor(() => expect(live.output().stderr).toContain("Waiting for events"), WAIT);
    await sendIssue(api, labels("question"));
    const another = await sendIssue(api, labels("bug"));
    await vi.waitFor(() => expect(readLog("finished")).toHaveLength(2), WAIT);
    expect(readLog("started").map(({ id }) => id)).toEqual([bug, another]);
    expect((await api.call("GET", `/api/events/${question}`)).json.attempts).toBe(0);
  });
});

describe("a failing command", () => {
  it("is retried after a delay, and after the last attempt the note of the event has the reason", async () => {
    const { api, startExec, agentCommand, readLog, readEvent, waitUntilProcessed } = await setup();
    const id = await sendIssue(api);
    const exec = startExec([
      "--attempts",
      "2",
      "--backoff",
      "1",
      "--json",
      ...agentCommand("fail"),
    ]);
    await vi.waitFor(() => expect(exec.output().stderr).toContain("next attempt in 1 s"), WAIT);
    await waitUntilProcessed(id);
    expect(readLog().map(({ what, attempt }) => [what, attempt])).toEqual([
      ["started", 1],
      ["started", 2],
    ]);
    const note = "Gave up after 2 attempts: exit code 3: no luck today";
    expect(await readEvent(id)).toMatchObject({ note, attempts: 2 });
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

  it("keeps its retry delay and its number of attempts when another process continues", async () => {
    const { api, startExec, agentCommand, readLog, readEvent, waitUntilProcessed } = await setup();
    const id = await sendIssue(api);
    const first = startExec(["--once", "--backoff", "3600", ...agentCommand("fail")]);
    expect(await first.exit).toBe(1);
    const event = await readEvent(id);
    expect(event).toMatchObject({ processed: false, attempts: 1, claimed_by: null });
    expect(Date.parse(event.claimed_until ?? "")).toBeGreaterThan(Date.now() + 1_000_000);
    expect(await startExec(["--once", ...agentCommand()]).exit).toBe(0);
    expect(readLog("started")).toHaveLength(1);
    const secondId = await sendIssue(api);
    for (const code of [1, 1, 0]) {
      const exec = startExec([
        "--once",
        "--attempts",
        "2",
        "--backoff",
        "0",
        ...agentCommand("fail"),
      ]);
      expect(await exec.exit, exec.output().stderr).toBe(code);
    }
    await waitUntilProcessed(secondId);
    expect(await readEvent(secondId)).toMatchObject({
      attempts: 2,
      note: expect.stringMatching(/^Gave up after 2/),
    });
  });

  it("is terminated after the time limit", async () => {
    const { api, startExec, agentCommand, readLog, readEvent, waitUntilProcessed } = await setup();
    const id = await sendIssue(api);
    startExec(["--timeout", "1", "--attempts", "1", ...agentCommand("gate")]);
    await waitUntilProcessed(id);
    expect(await readEvent(id)).toMatchObject({
      note: expect.stringMatching(/^Gave up after 1 attempt: exceeded the time limit of 1 s/),
    });
    for (const { pid } of readLog("started"))
      await vi.waitFor(() => expect(isAlive(pid)).toBe(false), WAIT);
  });
});

describe("several commands", () => {
  it("run in parallel up to the concurrency limit", async () => {
    const { api, startExec, agentCommand, readLog, openGate, waitForStarts, waitUntilProcessed } =
      await setup();
    const ids = [await sendIssue(api), await sendIssue(api), await sendIssue(api)];
    startExec(["--concurrency", "2", ...agentCommand("gate")]);
    await waitForStarts(2);
    const claimable = await api.expect(200, "GET", "/api/events?claimable=1");
    expect(claimable.json.items.map(({ id }: { id: string }) => id)).toEqual([ids[2]]);
    openGate();
    await waitUntilProcessed(...ids);
    // The first two commands start in parallel, so that their order can vary.
    const order = readLog("started").map(({ id }) => id);
    expect([...order.slice(0, 2).sort(), ...order.slice(2)]).toEqual(ids);
  });

  it.each<Backend>(["SQLite", "PostgreSQL"])(
    "of two processes with the same token never process the same event, on %s",
    async (backend) => {
      const { api, startExec, agentCommand, readLog, waitUntilProcessed } = await setup(backend);
      const ids: string[] = [];
      for (let count = 0; count < 12; count += 1) ids.push(await sendIssue(api));
      const execs = [1, 2].map(() => startExec(["--concurrency", "2", ...agentCommand()]));
      await waitUntilProcessed(...ids);
      for (let count = 0; count < 4; count += 1) ids.push(await sendIssue(api));
      await waitUntilProcessed(...ids);
      expect(
        readLog("started")
          .map(({ id }) => id)
          .sort(),
      ).toEqual(ids.toSorted());
      for (const exec of execs) exec.kill("SIGINT");
      expect(await Promise.all(execs.map(({ exit }) => exit))).toEqual([0, 0]);
    },
  );
});

describe("after a crash or a lost claim", () => {
  it("an event is processed again when the lease of a killed `exec` has expired", async () => {
    const {
      api,
      startExec,
      agentCommand,
      readLog,
      readEvent,
      openGate,
      waitForStarts,
      waitUntilProcessed,
    } = await setup();
    const id = await sendIssue(api);
    const killed = startExec(["--lease", "5", ...agentCommand("gate")]);
    await waitForStarts(1);
    killed.kill("SIGKILL");
    await killed.exit;
    const { claimed_until } = await readEvent(id);
    startExec(["--lease", "5", ...agentCommand("gate")]);
    await waitForStarts(2);
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(claimed_until ?? ""));
    openGate();
    await waitUntilProcessed(id);
    expect(readLog("started").map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(await readEvent(id)).toMatchObject({ attempts: 2, note: `Lamp ${issueNumber}: done` });
  });

  it("an event is given up if `exec` was killed in every attempt", async () => {
    const { api, startExec, agentCommand, readEvent, waitForStarts, waitUntilProcessed } =
      await setup();
    const id = await sendIssue(api);
    const killed = startExec(["--lease", "5", "--attempts", "1", ...agentCommand("gate")]);
    await waitForStarts(1);
    killed.kill("SIGKILL");
    startExec(["--lease", "5", "--attempts", "1", ...agentCommand("gate")]);
    await waitUntilProcessed(id);
    expect(await readEvent(id)).toMatchObject({
      note: "Gave up after 1 attempt: no attempt reported a result; the limit is 1",
    });
    await waitForStarts(1);
  });

  it("a finished command does not run again if `exec` was killed before it marked the event", async () => {
    const { api, startExec, agentCommand, stateFolder, readLog, openGate, waitForStarts } =
      await setup();
    const id = await sendIssue(api);
    const killed = startExec(["--lease", "5", ...agentCommand("gate")]);
    await waitForStarts(1);
    await api.hub.stop();
    openGate();
    await vi.waitFor(() => expect(readdirSync(stateFolder)).toEqual([`${id}.json`]), WAIT);
    killed.kill("SIGKILL");
    await killed.exit;
    const { hub, readEvent } = await restartHub(api);
    const exec = startExec(agentCommand());
    await vi.waitFor(
      async () => expect(await readEvent(id)).toMatchObject({ processed: true }),
      WAIT,
    );
    expect(await readEvent(id)).toMatchObject({ note: `Lamp ${issueNumber}: done`, attempts: 1 });
    await vi.waitFor(() => expect(readdirSync(stateFolder)).toEqual([]), WAIT);
    expect(readLog("started")).toHaveLength(1);
    const next = await sendIssue({ hub });
    await vi.waitFor(
      async () => expect(await readEvent(next)).toMatchObject({ processed: true }),
      WAIT,
    );
    expect(exec.output().stderr).toContain(`Marked event ${id} as processed`);
  });

  it.each(["SIGTERM", "SIGKILL"] as const)(
    "an event is marked as processed even if the hub was stopped with %s during the command",
    async (signal) => {
      const { api, startExec, agentCommand, readLog, openGate, waitForStarts } = await setup();
      const id = await sendIssue(api);
      const exec = startExec(["--lease", "5", ...agentCommand("gate")]);
      await waitForStarts(1);
      await api.hub.stop(signal);
      await vi.waitFor(() => expect(exec.output().stderr).toMatch(/Retrying\.$/m), WAIT);
      openGate();
      await vi.waitFor(() => expect(readLog("finished")).toHaveLength(1), WAIT);
      const { hub, readEvent } = await restartHub(api);
      expect(hub.url).not.toBe(api.hub.url);
      await vi.waitFor(
        async () => expect(await readEvent(id)).toMatchObject({ processed: true }),
        WAIT,
      );
      const next = await sendIssue({ hub });
      await vi.waitFor(
        async () => expect(await readEvent(next)).toMatchObject({ processed: true }),
        WAIT,
      );
      expect(readLog("started").map((entry) => entry.id)).toEqual([id, next]);
      expect(exec.output().stderr).toContain("The hub responds again.");
    },
  );

  it("a worker that has lost its claim terminates its command", async () => {
    const { api, startExec, agentCommand, readLog, waitForStarts } = await setup();
    const id = await sendIssue(api);
    const exec = startExec(["--lease", "5", ...agentCommand("gate")]);
    await waitForStarts(1);
    await api.expect(200, "POST", `/api/events/${id}/processed`, { note: "by hand" });
    await vi.waitFor(() => expect(exec.output().stderr).toMatch(/the claim was lost/), WAIT);
    expect(exec.output().stderr).toMatch(/is already processed/);
    expect(readLog("finished")).toEqual([]);
    for (const { pid } of readLog("started"))
      await vi.waitFor(() => expect(isAlive(pid)).toBe(false), WAIT);
  });
});

/** Starts a hub with the same data on another port. */
async function restartHub({ env }: Api) {
  const hub = await startHubProcess({ data: env.SIGNALBOX_DATA as string, env });
  onTestFinished(async () => void (await hub.stop("SIGKILL")));
  const readEvent = async (id: string) => {
    const headers = { authorization: `Bearer ${ADMIN}` };
    return (await fetch(`${hub.url}/api/events/${id}`, { headers })).json();
  };
  return { hub, readEvent };
}

describe("a signal", () => {
  it("lets the running command finish, and `exec` starts no other command", async () => {
    const { api, startExec, agentCommand, readLog, openGate, waitForStarts, readEvent } =
      await setup();
    const [id, nextId] = [await sendIssue(api), await sendIssue(api)];
    const exec = startExec(agentCommand("gate"));
    await waitForStarts(1);
    exec.kill("SIGTERM");
    await vi.waitFor(() => expect(exec.output().stderr).toContain("Stopping when"), WAIT);
    openGate();
    expect(await exec.exit).toBe(0);
    expect(await readEvent(id)).toMatchObject({ processed: true });
    expect(await readEvent(nextId)).toMatchObject({ processed: false, attempts: 0 });
    expect(readLog("started")).toHaveLength(1);
  });

  it("that is repeated terminates the command, and the attempt does not count", async () => {
    const { api, startExec, agentCommand, readLog, waitForStarts, readEvent } = await setup();
    const id = await sendIssue(api);
    const exec = startExec(agentCommand("gate"));
    await waitForStarts(1);
    exec.kill("SIGINT");
    await vi.waitFor(() => expect(exec.output().stderr).toContain("Stopping when"), WAIT);
    exec.kill("SIGINT");
    expect(await exec.exit).toBe(0);
    expect(await readEvent(id)).toMatchObject({
      processed: false,
      attempts: 0,
      claimed_by: null,
      claimed_until: null,
    });
    for (const { pid } of readLog("started")) expect(isAlive(pid)).toBe(false);
  });

  it.each(["SIGINT", "SIGTERM"] as const)(
    "%s ends `exec` without further output while no hub responds",
    async (signal) => {
      const { api, startExec, agentCommand } = await setup();
      await api.hub.stop();
      const exec = startExec(agentCommand(), {
        SIGNALBOX_URL: api.hub.url,
        SIGNALBOX_TOKEN: "sbx_any_token",
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
    const { api, startExec, agentCommand, readLog, waitUntilProcessed } = await setup();
    const exitCode = (...args: string[]) => startExec(["--once", ...args]).exit;
    const idle = startExec(["--once", ...agentCommand()]);
    expect(await idle.exit).toBe(0);
    expect(idle.output()).toEqual({ stdout: "", stderr: "No pending event to work on.\n" });
    const ids = [await sendIssue(api), await sendIssue(api), await sendIssue(api)];
    expect(await exitCode("--concurrency", "2", ...agentCommand())).toBe(0);
    await waitUntilProcessed(...ids);
    await sendIssue(api);
    expect(await exitCode(...agentCommand("fail"))).toBe(1);
    expect(readLog("started")).toHaveLength(4);
    await api.hub.stop();
    const noHub = startExec(["--once", ...agentCommand()]);
    expect(await noHub.exit).toBe(1);
    expect(noHub.output().stderr).toMatch(/No response from/);
  });

  it("--dry-run lists the matching events, and neither claims them nor runs the command", async () => {
    const { api, startExec, agentCommand, readLog, readEvent } = await setup();
    const id = await sendIssue(api, { labels: [{ name: "bug" }] });
    await sendIssue(api);
    const exec = startExec(["--dry-run", "--filter", "issue.labels[].name=bug", ...agentCommand()]);
    expect(await exec.exit).toBe(0);
    expect(exec.output().stdout).toBe(
      `${id}  issues opened octo/town#${issueNumber - 1}  Lamp ${issueNumber - 1}\n`,
    );
    expect(readLog()).toEqual([]);
    expect(await readEvent(id)).toMatchObject({ attempts: 0, claimed_by: null });
  });

  it("--shell runs a script; without --shell, arguments are passed unchanged", async () => {
    const { api, startExec, readEvent } = await setup();
    const first = await sendIssue(api);
    const script = 'grep -c Lamp > /dev/null && echo "for $SIGNALBOX_EVENT_REPO"';
    expect(await startExec(["--once", "--shell", "--", script]).exit).toBe(0);
    expect(await readEvent(first)).toMatchObject({ note: "for octo/town" });
    const second = await sendIssue(api);
    expect(await startExec(["--once", "--quiet", "--", "echo", "$HOME; `id`", "--json"]).exit).toBe(
      0,
    );
    expect(await readEvent(second)).toMatchObject({ note: "$HOME; `id` --json" });
  });

  it("prints the beginning of a long note, and stores the whole note", async () => {
    const { api, startExec, readEvent } = await setup();
    const id = await sendIssue(api);
    const note = "x".repeat(500);
    const exec = startExec(["--once", "--", "echo", note]);
    expect(await exec.exit).toBe(0);
    expect(exec.output().stdout).toContain(note);
    expect(exec.output().stderr).toContain(`: ${"x".repeat(99)}… (`);
    expect(await readEvent(id)).toMatchObject({ note });
  });

  it("reports a state folder that cannot be written to, before it claims an event", async () => {
    const { api, startExec, agentCommand, folder, readEvent } = await setup();
    const id = await sendIssue(api);
    const file = join(folder, "file");
    writeFileSync(file, "");
    const env = { SIGNALBOX_DATA: api.env.SIGNALBOX_DATA as string, SIGNALBOX_EXEC_STATE: file };
    const exec = startExec(agentCommand(), env);
    expect(await exec.exit).toBe(2);
    expect(exec.output().stderr).toContain(file);
    expect(exec.output().stderr).toContain("Set SIGNALBOX_EXEC_STATE to a folder");
    expect(await readEvent(id)).toMatchObject({ attempts: 0 });
  });

  it("reports a command that does not exist at the start, and one that is removed later", async () => {
    const { api, startExec, folder, readEvent } = await setup();
    const missing = startExec(["--", "no-such-agent"]);
    expect(await missing.exit).toBe(2);
    expect(missing.output().stderr).toMatch(/Cannot find the command "no-such-agent"/);
    const copy = join(folder, "agent");
    copyFileSync("/bin/true", copy);
    const removed = startExec(["--", copy]);
    await vi.waitFor(() => expect(removed.output().stderr).toContain("Waiting for events"), WAIT);
    rmSync(copy);
    const id = await sendIssue(api);
    const sentAt = performance.now();
    expect(await removed.exit).toBe(1);
    // `exec` stops immediately, not when it reloads the list of events after 30 seconds.
    expect(performance.now() - sentAt).toBeLessThan(20_000);
    expect(removed.output().stderr).toContain(`Cannot start ${copy}: no such command.`);
    expect(await readEvent(id)).toMatchObject({ attempts: 0, claimed_until: null });
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
