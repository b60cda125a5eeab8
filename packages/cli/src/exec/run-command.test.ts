import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { WAIT } from "../../../../test/support/timeouts.ts";
import { CommandNotStarted, type CommandToRun, runCommand } from "./run-command.ts";

const script = (code: string) => [process.execPath, "-e", code];

function run(argv: readonly string[], options: Partial<CommandToRun> = {}) {
  const output = { stdout: "", stderr: "" };
  const exit = runCommand({
    argv,
    env: { PATH: process.env.PATH },
    input: "",
    timeoutS: 0,
    signal: new AbortController().signal,
    onOutput(stream, chunk) {
      output[stream] += chunk;
    },
    ...options,
  });
  return { exit, output };
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

it("passes input and environment, and returns the exit code and the last lines of output", async () => {
  const { exit, output } = run(
    script(
      'process.stdin.on("data", (text) => { console.log(text + process.env.ANSWER); console.error("hm"); process.exitCode = 3; })',
    ),
    { input: "six times seven\n", env: { ANSWER: "42" } },
  );
  expect(await exit).toEqual({ code: 3, signal: null, stdout: "42", stderr: "hm" });
  expect(output).toEqual({ stdout: "six times seven\n42\n", stderr: "hm\n" });
});

it("tolerates a command that does not read its input", async () => {
  const { exit } = run(["true"], { input: "x".repeat(5_000_000) });
  expect(await exit).toMatchObject({ code: 0 });
});

it("passes the arguments without a shell", async () => {
  const { exit } = run([
    process.execPath,
    "-e",
    "console.log(process.argv[1])",
    "$HOME `id`; 'x' && y",
  ]);
  expect(await exit).toMatchObject({ code: 0, stdout: "$HOME `id`; 'x' && y" });
});

it("terminates a command with its children after the time limit", async () => {
  const { exit, output } = run(["sh", "-c", "sleep 1000 & echo $!; trap 'exit 0' TERM; wait"], {
    timeoutS: 3,
  });
  expect(await exit).toMatchObject({ timeoutS: 3 });
  const child = Number(output.stdout);
  expect(child).toBeGreaterThan(1);
  await vi.waitFor(() => expect(isAlive(child)).toBe(false), WAIT);
});

it("kills a command that ignores SIGTERM", async () => {
  const stop = new AbortController();
  const { exit, output } = run(
    script('process.on("SIGTERM", () => {}); setInterval(() => {}, 1e6); console.log("up")'),
    { signal: stop.signal, killAfterMs: 100 },
  );
  await vi.waitFor(() => expect(output.stdout).toBe("up\n"), WAIT);
  stop.abort();
  expect(await exit).toMatchObject({ code: null, signal: "SIGKILL" });
});

it("terminates a command whose signal was aborted before the start", async () => {
  const { exit } = run(["sleep", "1000"], { signal: AbortSignal.abort() });
  expect(await exit).toMatchObject({ code: null, signal: "SIGTERM" });
});

it("does not wait for a child that keeps the output open", async () => {
  const { exit, output } = run(["sh", "-c", "sleep 1000 & echo $!"]);
  const result = await Promise.race([exit, sleep(60_000, "waited")]);
  process.kill(Number(output.stdout), "SIGKILL");
  expect(result).toMatchObject({ code: 0 });
});

it.each([
  [["signalbox-no-such-command"], /^Cannot start signalbox-no-such-command: no such command\.$/],
  [["/"], /^Cannot start \/: it is not executable\.$/],
])("rejects %o, which cannot be started", async (argv, message) => {
  const { exit } = run(argv);
  await expect(exit).rejects.toThrow(message);
  await expect(exit).rejects.toBeInstanceOf(CommandNotStarted);
});
