/** Runs `signalbox events` with a local and with a remote hub. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it, onTestFinished } from "vitest";
import { deliver } from "../support/deliver.ts";
import {
  CLI,
  createTokenByCli,
  type HubProcess,
  runCli,
  startHubProcess,
} from "../support/hub-process.ts";
import { tempFolder } from "../support/temp-folder.ts";

async function startHub(data = tempFolder(), env: Record<string, string> = {}) {
  const hub = await startHubProcess({ data, env });
  onTestFinished(async () => void (await hub.stop("SIGKILL")));
  return { hub, data, env: { SIGNALBOX_DATA: data } };
}

const sendEvent = async ({ url }: HubProcess, type = "issues") => {
  const response = await deliver(url, { type });
  expect(response.status).toBe(202);
  return ((await response.json()) as { id: string }).id;
};

const parseLines = (text: string) =>
  text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));

/** Starts `events --follow`. `stop` sends SIGINT, like Ctrl+C. */
function startFollowing(env: Record<string, string>, ...args: string[]) {
  const child = spawn(process.execPath, [CLI, "events", "--follow", "--json", ...args], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const output = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const)
    child[stream].on("data", (chunk: Buffer) => {
      output[stream] += chunk;
    });
  const ended = once(child, "exit").then(([code]) => code as number | null);
  return {
    ids: () => parseLines(output.stdout).map(({ id }) => id),
    seqs: () => parseLines(output.stdout).map(({ seq }) => seq),
    stderr: () => output.stderr,
    stop() {
      child.kill("SIGINT");
      return ended;
    },
    ended,
  };
}

describe("signalbox events", () => {
  it("lists the newest events, filters them, and shows one event by its id and by its seq", async () => {
    const { hub, env } = await startHub();
    const empty = await runCli(["events"], { env });
    expect([empty.code, empty.stdout]).toEqual([0, ""]);
    expect(empty.stderr).toContain("signalbox send github issues --action opened");
    const ids = [await sendEvent(hub), await sendEvent(hub, "push"), await sendEvent(hub)];

    const table = (await runCli(["events"], { env })).stdout.trimEnd().split("\n");
    expect(table).toHaveLength(4);
    expect(table[0]).toMatch(/^SEQ +RECEIVED +DONE +EVENT +FROM +TITLE$/);
    expect(table[3]).toMatch(/^3 +[\d: -]+ github\.issues opened +octo\/town +#7 It rains$/);

    const list = async (...args: string[]) =>
      parseLines((await runCli(["events", "--json", ...args], { env })).stdout).map(({ id }) => id);
    expect(await list()).toEqual(ids);
    expect(await list("--limit", "2")).toEqual(ids.slice(1));
    expect(await list("--type", "push", "--source", "github", "--repo", "octo/town")).toEqual([
      ids[1],
    ]);

    for (const argument of [ids[1] as string, "2"]) {
      const shown = await runCli(["events", argument], { env });
      expect(shown.stdout).toMatch(/Type +github\.push/);
      expect(shown.stdout).toContain('"title": "It rains"');
      const json = JSON.parse((await runCli(["events", argument, "--json"], { env })).stdout);
      expect(json).toMatchObject({ id: ids[1], seq: 2, payload: { action: "opened" } });
    }
    for (const argument of ["9", "abc"]) {
      const missing = await runCli(["events", argument], { env });
      const message = `There is no event with the ID or SEQ ${argument}.`;
      expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining(message)]);
    }
  });

  it("follows new events, and misses no event when the hub restarts", async () => {
    const { hub, data, env } = await startHub();
    const first = await sendEvent(hub);
    const following = startFollowing(env);
    await expect.poll(following.ids).toEqual([first]);
    const second = await sendEvent(hub);
    await expect.poll(following.ids).toEqual([first, second]);
    await hub.stop("SIGKILL");
    const { hub: restarted } = await startHub(data);
    const third = await sendEvent(restarted);
    await expect.poll(following.ids).toEqual([first, second, third]);
    expect(following.stderr()).toMatch(/The connection was lost\..*\n.*Connected again/);
    expect(await following.stop()).toBe(0);
    const resumed = startFollowing(env, "--after", "1");
    await expect.poll(resumed.seqs).toEqual([2, 3]);
    expect(await resumed.stop()).toBe(0);
  });

  it("reads from a remote hub with a token, and reports a missing token and a missing hub", async () => {
    const { hub, env } = await startHub();
    const id = await sendEvent(hub);
    const { token } = await createTokenByCli(env, "--scope", "inbox:read");
    const remote = { SIGNALBOX_URL: hub.url, SIGNALBOX_DATA: tempFolder() };
    const listed = await runCli(["events", "--json"], {
      env: { ...remote, SIGNALBOX_TOKEN: token },
    });
    expect(parseLines(listed.stdout)).toMatchObject([{ id }]);
    const noToken = await runCli(["events"], { env: remote });
    expect([noToken.code, noToken.stderr]).toEqual([1, expect.stringContaining("SIGNALBOX_TOKEN")]);
    await hub.stop();
    for (const args of [["events"], ["events", "--follow"], ["events", "1"]]) {
      const { code, stderr } = await runCli(args, { env });
      expect([code, stderr]).toEqual([1, expect.stringMatching(/No response .*signalbox serve/)]);
    }
  });

  it.each([
    [["events", "1", "--follow"], /an ID or --follow, not both/],
    [["events", "--after", "1"], /--after needs --follow/],
    [["events", "--limit", "101"], /--limit must be a whole number from 1 to 100/],
    [["events", "--limit", "0"], /--limit must be a whole number from 1 to 100/],
    [["events", "--follow", "--limit", "101"], /--limit must be a whole number from 0 to 100/],
    [["events", "1", "2"], /Unexpected argument "2"/],
    [["events", "--folow"], /Unknown flag --folow\. Did you mean --follow\?/],
  ] as [string[], RegExp][])("rejects the arguments %j", async (args, message) => {
    const { code, stderr } = await runCli(args, { env: { SIGNALBOX_DATA: tempFolder() } });
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
  });
});
