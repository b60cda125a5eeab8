import { expect, it } from "vitest";
import { createCommitSchedule } from "./ports.ts";

it("commits without a timer while one request is received, and after a timer while several are", async () => {
  const byTimer: (() => void)[] = [];
  const { receive, defer } = createCommitSchedule((work) => byTimer.push(work));
  const commits: string[] = [];
  const request = (name: string) =>
    receive(() =>
      new Promise<void>((finish) => finishers.push(finish)).then(() => void commits.push(name)),
    );
  const finishers: (() => void)[] = [];

  const first = request("first");
  defer(() => commits.push("alone"));
  expect(commits).toEqual([]); // a request of the same microtask can still join the commit
  await Promise.resolve();
  expect(commits).toEqual(["alone"]);

  const second = request("second");
  defer(() => commits.push("shared"));
  await Promise.resolve();
  expect(byTimer).toHaveLength(1);

  for (const finish of finishers) finish();
  await Promise.all([first, second]);
  await receive(async () => defer(() => commits.push("alone again")));
  expect(commits).toEqual(["alone", "first", "second", "alone again"]);
  const failed = receive(() => Promise.reject(new Error("failed")));
  await expect(failed).rejects.toThrow("failed");
  await receive(async () => defer(() => commits.push("after a failure")));
  expect(commits.at(-1)).toBe("after a failure");
  expect(byTimer).toHaveLength(1);
});
