import { expect, it } from "vitest";
import { issuesOf } from "../issues.ts";
import { eventConfig } from "./event.ts";

const problems = (config: object) => {
  const { error } = eventConfig.safeParse(config);
  return error ? issuesOf(error).map(({ path, message }) => `${path}: ${message}`) : [];
};

it("requires only a source", () => {
  expect(eventConfig.parse({ source: "github" })).toEqual({
    source: "github",
    params: {},
    isActive: true,
  });
  expect(problems({})).toEqual(["source: must name a source or a connection"]);
});

it("queues runs above the concurrency limit by default", () => {
  expect(eventConfig.parse({ source: "x", concurrency: { most: 1 } }).concurrency).toEqual({
    most: 1,
    whenFull: "queue",
  });
});

it("polls a tool once a minute by default", () => {
  const poll = { tool: "list_issues", key: "id" };
  expect(eventConfig.parse({ source: "x", poll }).poll).toEqual({
    ...poll,
    arguments: {},
    everySeconds: 60,
  });
});

it("accepts a blank filter", () => {
  expect(problems({ source: "github", filter: " " })).toEqual([]);
});

it.each([
  [{ source: "x", filter: "x".repeat(2001) }, "filter: "],
  [{ source: "x", concurrency: { most: 0 } }, "concurrency.most: "],
  [{ source: "x", concurrency: { most: 1, key: "a..b" } }, "concurrency.key: must be a path"],
  [
    { source: "x", concurrency: { most: 1, whenFull: "drop" } },
    "concurrency.whenFull: must be queue, skip or replace",
  ],
  [{ source: "x", poll: { tool: "", key: "id" } }, "poll.tool: must not be empty"],
  [{ source: "x", poll: { tool: "t" } }, "poll.key: "],
  [{ source: "x", poll: { tool: "t", key: "a..b" } }, "poll.key: must be a path"],
  [
    { source: "x", poll: { tool: "t", key: "id", everySeconds: 9 } },
    "poll.everySeconds: must be at least 10",
  ],
  [{ source: "x", params: { "a..b": 1 } }, 'params["a..b"]: is not a path'],
])("rejects %j with the message %j", (config, message) => {
  expect(problems(config)).toEqual([expect.stringContaining(message)]);
});
