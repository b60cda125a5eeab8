import { expect, it } from "vitest";
import type { Channel } from "./channel.ts";
import { createLogChannel } from "./log-channel.ts";

/** Channels with cursors only, by log. */
function setup(places: Record<string, string>) {
  const taken: string[] = [];
  const stopped: string[] = [];
  const channel = createLogChannel(
    (log): Channel => ({
      position: () => places[log],
      opened: () => {},
      take({ id }) {
        taken.push(`${log}:${id}`);
        if (id !== undefined) places[log] = id;
      },
      resetPosition: () => void delete places[log],
      remind: async () => {},
      stop: () => void stopped.push(log),
      drained: async () => {},
    }),
  );
  /** A connection as the hub opens it after the given position. */
  const connect = (log: string | undefined, cursor: string) => {
    const after = channel.position();
    channel.opened({ hubTime: 0, resumed: after !== undefined });
    const data = JSON.stringify({ status: "connected", cursor, log });
    return { after, answer: channel.take({ id: cursor, event: "message", data }) };
  };
  const event = (id: string) =>
    channel.take({ id, event: "message", data: JSON.stringify({ event_id: id, log: "evil" }) });
  return { channel, connect, event, taken, stopped, places };
}

it("sends no position before the log is known, then the one saved for it", () => {
  const { connect, event, taken } = setup({ a: "5", b: "900" });
  expect(connect("a", "7")).toEqual({ after: undefined, answer: "reconnect" });
  expect(taken).toEqual([]);
  expect(connect("a", "5")).toEqual({ after: "5", answer: undefined });
  expect(event("6")).toBeUndefined();
  expect(taken).toEqual(["a:5", "a:6"]);
});

it("keeps the connection if it has no position yet", () => {
  const { connect, event, taken } = setup({ b: "900" });
  expect(connect("a", "7")).toEqual({ after: undefined, answer: undefined });
  event("8");
  expect(taken).toEqual(["a:7", "a:8"]);
});

it("ignores messages after a position of another log", () => {
  const { connect, taken, stopped, places } = setup({ a: "5" });
  connect("a", "7");
  connect("a", "5");
  expect(connect("b", "5")).toEqual({ after: "5", answer: "reconnect" });
  expect(stopped).toEqual(["a"]);
  expect(connect("b", "2")).toEqual({ after: undefined, answer: undefined });
  expect(taken).toEqual(["a:5", "b:2"]);
  expect(places).toEqual({ a: "5", b: "2" });
});

it("treats a hub that names no log as one with a single log", () => {
  const { connect, taken } = setup({ "": "5" });
  expect(connect(undefined, "7")).toEqual({ after: undefined, answer: "reconnect" });
  expect(connect(undefined, "5")).toEqual({ after: "5", answer: undefined });
  expect(taken).toEqual([":5"]);
});
