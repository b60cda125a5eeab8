import { expect, it } from "vitest";
import type { Channel } from "./channel.ts";
import { createLogChannel } from "./log-channel.ts";

/** Channels that only know their places, by log. */
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
      forgetPosition: () => void delete places[log],
      remind: async () => {},
      stop: () => void stopped.push(log),
      settled: async () => {},
    }),
  );
  /** A connection as the hub answers it, after where we say that we are. */
  const connect = (log: string | undefined, place: string) => {
    const after = channel.position();
    channel.opened({ hubTime: 0, resumed: after !== undefined });
    const data = JSON.stringify({ status: "connected", cursor: place, log });
    return { after, answer: channel.take({ id: place, event: "message", data }) };
  };
  const event = (id: string) =>
    channel.take({ id, event: "message", data: JSON.stringify({ event_id: id, log: "evil" }) });
  return { channel, connect, event, taken, stopped, places };
}

it("says no place before it knows whose log it is, then the one that it has there", () => {
  const { connect, event, taken } = setup({ a: "5", b: "900" });
  expect(connect("a", "7")).toEqual({ after: undefined, answer: "again" });
  expect(taken).toEqual([]);
  expect(connect("a", "5")).toEqual({ after: "5", answer: undefined });
  expect(event("6")).toBeUndefined();
  expect(taken).toEqual(["a:5", "a:6"]);
});

it("stays where it has no place yet", () => {
  const { connect, event, taken } = setup({ b: "900" });
  expect(connect("a", "7")).toEqual({ after: undefined, answer: undefined });
  event("8");
  expect(taken).toEqual(["a:7", "a:8"]);
});

it("takes nothing that follows a place in another log, when the hub's log is another one", () => {
  const { connect, taken, stopped, places } = setup({ a: "5" });
  connect("a", "7");
  connect("a", "5");
  expect(connect("b", "5")).toEqual({ after: "5", answer: "again" });
  expect(stopped).toEqual(["a"]);
  expect(connect("b", "2")).toEqual({ after: undefined, answer: undefined });
  expect(taken).toEqual(["a:5", "b:2"]);
  expect(places).toEqual({ a: "5", b: "2" });
});

it("takes a hub that does not say for one with a single log", () => {
  const { connect, taken } = setup({ "": "5" });
  expect(connect(undefined, "7")).toEqual({ after: undefined, answer: "again" });
  expect(connect(undefined, "5")).toEqual({ after: "5", answer: undefined });
  expect(taken).toEqual([":5"]);
});
