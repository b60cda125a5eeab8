import { expect, it } from "vitest";
import type { Channel } from "./channel.ts";
import { createLogChannel } from "./log-channel.ts";

/** Fake channels that store only a cursor per log. */
function setup(cursors: Record<string, string>) {
  const taken: string[] = [];
  const stopped: string[] = [];
  const channel = createLogChannel(
    (log): Channel => ({
      position: () => cursors[log],
      opened: () => {},
      take({ id }) {
        taken.push(`${log}:${id}`);
        if (id !== undefined) cursors[log] = id;
      },
      resetPosition: () => void delete cursors[log],
      remind: async () => {},
      stop: () => void stopped.push(log),
      drained: async () => {},
    }),
  );
  /** Opens a connection; its first message names `log` and `cursor`. */
  const connect = (log: string | undefined, cursor: string) => {
    const after = channel.position();
    channel.opened({ hubTime: 0, resumed: after !== undefined });
    const data = JSON.stringify({ status: "connected", cursor, log });
    return { after, result: channel.take({ id: cursor, event: "message", data }) };
  };
  const event = (id: string) =>
    channel.take({ id, event: "message", data: JSON.stringify({ event_id: id, log: "evil" }) });
  return { channel, connect, event, taken, stopped, cursors };
}

it("sends no position until the log is known, then the saved position of that log", () => {
  const { connect, event, taken } = setup({ a: "5", b: "900" });
  expect(connect("a", "7")).toEqual({ after: undefined, result: "reconnect" });
  expect(taken).toEqual([]);
  expect(connect("a", "5")).toEqual({ after: "5", result: undefined });
  expect(event("6")).toBeUndefined();
  expect(taken).toEqual(["a:5", "a:6"]);
});

it("keeps the connection if the log has no saved position", () => {
  const { connect, event, taken } = setup({ b: "900" });
  expect(connect("a", "7")).toEqual({ after: undefined, result: undefined });
  event("8");
  expect(taken).toEqual(["a:7", "a:8"]);
});

it("reconnects without processing messages if the position belongs to another log", () => {
  const { connect, taken, stopped, cursors } = setup({ a: "5" });
  connect("a", "7");
  connect("a", "5");
  expect(connect("b", "5")).toEqual({ after: "5", result: "reconnect" });
  expect(stopped).toEqual(["a"]);
  expect(connect("b", "2")).toEqual({ after: undefined, result: undefined });
  expect(taken).toEqual(["a:5", "b:2"]);
  expect(cursors).toEqual({ a: "5", b: "2" });
});

it("treats a hub that names no log as one with a single log", () => {
  const { connect, taken } = setup({ "": "5" });
  expect(connect(undefined, "7")).toEqual({ after: undefined, result: "reconnect" });
  expect(connect(undefined, "5")).toEqual({ after: "5", result: undefined });
  expect(taken).toEqual([":5"]);
});
