import type { Connection, Source, SourceKind } from "@signalbox/contract";
import { expect, it } from "vitest";
import { kindOf, modeOf, nameOfSender, optionsFor, type Senders } from "./senders.ts";

const connection = (id: string, trigger_count: number, status: Connection["status"] = "ok") =>
  ({ id, name: `Server ${id}`, trigger_count, status }) as Connection;

const senders: Senders = {
  connections: [connection("c1", 2), connection("c2", 0), connection("c3", 1, "failed")],
  endpoints: [{ id: "e1", name: "Shop", kind: "stripe" } as Source],
  kinds: [
    { id: "github", title: "GitHub" },
    { id: "stripe", title: "Stripe" },
  ] as SourceKind[],
};

const labels = (...args: Parameters<typeof optionsFor>) =>
  optionsFor(...args).flatMap(({ options }) => options.map(({ label }) => label));

it("offers only connections that have triggers, with their status", () =>
  expect(labels("server", "c1", senders)).toEqual([
    "Server c1 · responds",
    "Server c3 · does not respond",
  ]));

it("offers every connection for polling", () =>
  expect(labels("poll", "", senders)).toContain("Server c2 · responds"));

it("offers endpoints, kinds of senders and flows for webhooks", () =>
  expect(labels("webhook", "", senders)).toEqual([
    "Shop · Stripe",
    "GitHub",
    "Stripe",
    "Events that flows emit",
  ]));

it("adds the current source if it is not offered", () => {
  expect(labels("server", "c2", senders)).toContain("Server c2 · has no triggers");
  expect(labels("webhook", "gone", senders)).toContain("gone");
});

it.each([
  [{}, undefined],
  [{ source: "c1" }, "server"],
  [{ source: "c2" }, "server"],
  [{ source: "c2", poll: {} }, "poll"],
  [{ source: "e1" }, "webhook"],
  [{ source: "unknown" }, "webhook"],
])("reads the mode of %j as %s", (parameters, mode) =>
  expect(modeOf(parameters, senders)).toBe(mode),
);

it("returns the name and the kind of a source", () => {
  expect(nameOfSender("c1", senders)).toBe("Server c1");
  expect(nameOfSender("e1", senders)).toBe("Shop");
  expect(nameOfSender("github", senders)).toBe("github");
  expect(kindOf("e1", senders)?.id).toBe("stripe");
  expect(kindOf("c1", senders)).toBeUndefined();
});
