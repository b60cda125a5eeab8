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
  const runTasks = () => {
    for (const task of tasks.splice(0)) task();
  };
  const openSources = () => sources.filter(({ readyState }) => readyState === 1);
  const setHidden = (isHidden: boolean) => {
    hidden = isHidden;
    live.visibilityChanged();
    runTasks();
  };
  return { live, sources, runTasks, openSources, setHidden };
}

describe("the live stream of a tab", () => {
  it("uses one connection for all topics", () => {
    const { live, runTasks, openSources } = setup();
    live.subscribe("events", () => {});
    live.subscribe("changes", () => {});
    live.subscribe("events", () => {});
    runTasks();
    expect(openSources().map(({ url }) => url)).toEqual(["/api/live?topics=changes%2Cevents"]);
  });

  it("is closed while the tab is hidden, and continues after the last message when the tab is shown", () => {
    const { live, runTasks, openSources, setHidden } = setup();
    live.subscribe("events", () => {});
    runTasks();
    openSources()[0]?.send("event", "7", {});
    setHidden(true);
    live.subscribe("changes", () => {});
    runTasks();
    expect(openSources()).toEqual([]);
    setHidden(false);
    expect(openSources().map(({ url }) => url)).toEqual([
      "/api/live?topics=changes%2Cevents&after=7",
    ]);
  });

  it("subscribes only to the newest 20 runs, since the hub accepts no more", () => {
    const { live, runTasks, openSources } = setup();
    live.subscribe("changes", () => {});
    for (let run = 0; run < 25; run += 1) live.subscribe(`runs:${run}`, () => {});
    runTasks();
    const topics = new URL(openSources()[0]?.url ?? "", "http://hub").searchParams.get("topics");
    expect(topics?.split(",")).toHaveLength(21);
    expect(topics).toContain("runs:24");
    expect(topics?.split(",")).not.toContain("runs:4");
  });

  it("continues after the last message when the topics change", () => {
    const { live, runTasks, openSources, sources } = setup();
    live.subscribe("events", () => {});
    runTasks();
    sources[0]?.send("event", "42", {});
    const unsubscribe = live.subscribe("runs:1", () => {});
    runTasks();
    expect(openSources().map(({ url }) => url)).toEqual([
      "/api/live?topics=events%2Cruns%3A1&after=42",
    ]);
    // The set of topics is the same again before the tasks run, so the stream stays open.
    unsubscribe();
    live.subscribe("runs:1", () => {});
    runTasks();
    expect(sources).toHaveLength(2);
  });

  it("passes messages to the subscribers, and ignores those of a closed connection", () => {
    const { live, runTasks, sources } = setup();
    const received: LiveMessage[] = [];
    live.subscribe("events", (message) => received.push(message));
    runTasks();
    sources[0]?.send("event", "1", { id: "a" });
    live.subscribe("changes", () => {});
    runTasks();
    sources[0]?.send("event", "2", { id: "b" });
    expect(received).toEqual([{ kind: "event", id: "1", data: { id: "a" } }]);
  });

  it("reports its state, and reconnects after a response that is not a stream", () => {
    const { live, runTasks, sources } = setup();
    live.subscribe("events", () => {});
    runTasks();
    sources[0]?.onopen?.();
    expect(live.state()).toBe("live");
    sources[0]?.close();
    sources[0]?.onerror?.();
    expect(live.state()).toBe("lost");
    runTasks();
    expect(sources).toHaveLength(2);
    sources[1]?.onopen?.();
    expect(live.state()).toBe("live");
  });

  it("closes the connection when the last subscriber leaves", () => {
    const { live, runTasks, openSources } = setup();
    const unsubscribe = live.subscribe("events", () => {});
    runTasks();
    unsubscribe();
    runTasks();
    expect(openSources()).toEqual([]);
  });
});
