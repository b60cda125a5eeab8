import { expect, it } from "vitest";
import { createCommitSchedule } from "./commit-schedule.ts";

it("commits without a timer while one request is received, and by a timer while several are", async () => {
  const byTimer: (() => void)[] = [];
  const { receive, defer } = createCommitSchedule((work) => byTimer.push(work));
  const commits: string[] = [];
  const request = (name: string) =>
    receive(() => new Promise<void>((end) => ends.push(end)).then(() => void commits.push(name)));
  const ends: (() => void)[] = [];

  const first = request("first");
  defer(() => commits.push("alone"));
  expect(commits).toEqual([]); // what is added in the same turn can still join
  await Promise.resolve();
  expect(commits).toEqual(["alone"]);

  const second = request("second");
  defer(() => commits.push("shared"));
  await Promise.resolve();
  expect(byTimer).toHaveLength(1);

  for (const end of ends) end();
  await Promise.all([first, second]);
  await receive(async () => defer(() => commits.push("alone again")));
  expect(commits).toEqual(["alone", "first", "second", "alone again"]);
  const failed = receive(() => Promise.reject(new Error("failed")));
  await expect(failed).rejects.toThrow("failed");
  await receive(async () => defer(() => commits.push("after a failure")));
  expect(commits.at(-1)).toBe("after a failure");
  expect(byTimer).toHaveLength(1);
});
