import { describe, expect, it } from "vitest";
import { createLive, type LiveMessage, type LiveSource } from "./live.ts";

function setup() {
  let hidden = false;
  const tasks: (() => void)[] = [];
  const sources: (LiveSource & {
    url: string;
    send(kind: string, id: string, data: unknown): void;
  })[] = [];
  const live = createLive({
    isHidden: () => hidden,
    schedule(task) {
      tasks.push(task);
      return () => void tasks.splice(tasks.indexOf(task), 1);
    },
    open(url) {
      const listeners = new Map<string, (message: { data: string; lastEventId: string }) => void>();
      const source = {
        url,
        onopen: null,
        onerror: null,
        readyState: 1,
        addEventListener: (
          kind: string,
          listener: (message: { data: string; lastEventId: string }) => void,
        ) => void listeners.set(kind, listener),
        close() {
          source.readyState = 2;
        },
        send: (kind: string, lastEventId: string, data: unknown) =>
          listeners.get(kind)?.({ data: JSON.stringify(data), lastEventId }),
      } as (typeof sources)[number];
      sources.push(source);
      return source;
    },
  });
  const settle = () => {
    for (const task of tasks.splice(0)) task();
  };
  const open = () => sources.filter(({ readyState }) => readyState === 1);
  const hide = (isHidden: boolean) => {
    hidden = isHidden;
    live.visibilityChanged();
    settle();
  };
  return { live, sources, settle, open, hide };
}

describe("the live stream of a tab", () => {
  it("is one connection for all topics", () => {
    const { live, settle, open } = setup();
    live.subscribe("events", () => {});
    live.subscribe("changes", () => {});
    live.subscribe("events", () => {});
    settle();
    expect(open().map(({ url }) => url)).toEqual(["/api/live?topics=changes%2Cevents"]);
  });

  it("is closed while the tab is hidden, and then continues after the last message", () => {
    const { live, settle, open, hide } = setup();
    live.subscribe("events", () => {});
    settle();
    open()[0]?.send("event", "7", {});
    hide(true);
    live.subscribe("changes", () => {});
    settle();
    expect(open()).toEqual([]);
    hide(false);
    expect(open().map(({ url }) => url)).toEqual(["/api/live?topics=changes%2Cevents&after=7"]);
  });

  it("follows no more runs than the hub accepts", () => {
    const { live, settle, open } = setup();
    live.subscribe("changes", () => {});
    for (let nth = 0; nth < 25; nth += 1) live.subscribe(`runs:${nth}`, () => {});
    settle();
    const topics = new URL(open()[0]?.url ?? "", "http://hub").searchParams.get("topics");
    expect(topics?.split(",")).toHaveLength(21);
    expect(topics).toContain("runs:24");
    expect(topics?.split(",")).not.toContain("runs:4");
  });

  it("continues after the last message when the topics change", () => {
    const { live, settle, open, sources } = setup();
    live.subscribe("events", () => {});
    settle();
    sources[0]?.send("event", "42", {});
    const leave = live.subscribe("runs:1", () => {});
    settle();
    expect(open().map(({ url }) => url)).toEqual(["/api/live?topics=events%2Cruns%3A1&after=42"]);
    leave();
    live.subscribe("runs:1", () => {});
    settle();
    expect(sources).toHaveLength(2);
  });

  it("gives messages to the subscribers, and none of a closed connection", () => {
    const { live, settle, sources } = setup();
    const got: LiveMessage[] = [];
    live.subscribe("events", (message) => got.push(message));
    settle();
    sources[0]?.send("event", "1", { id: "a" });
    live.subscribe("changes", () => {});
    settle();
    sources[0]?.send("event", "2", { id: "b" });
    expect(got).toEqual([{ kind: "event", id: "1", data: { id: "a" } }]);
  });

  it("reports its state, and opens again after a response that is not a stream", () => {
    const { live, settle, sources } = setup();
    live.subscribe("events", () => {});
    settle();
    sources[0]?.onopen?.();
    expect(live.state()).toBe("live");
    sources[0]?.close();
    sources[0]?.onerror?.();
    expect(live.state()).toBe("lost");
    settle();
    expect(sources).toHaveLength(2);
    sources[1]?.onopen?.();
    expect(live.state()).toBe("live");
  });

  it("closes the connection when nothing is subscribed", () => {
    const { live, settle, open } = setup();
    const leave = live.subscribe("events", () => {});
    settle();
    leave();
    settle();
    expect(open()).toEqual([]);
  });
});
