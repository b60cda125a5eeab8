/** The metrics of runs, pending events and connected streams. */
import { expect, it, vi } from "vitest";
import { ADMIN, type Backend, startApi } from "../support/api-client.ts";
import { deliver } from "../support/deliver.ts";
import { edge, greeting, intent, node } from "../support/flow-samples.ts";
import { openSse } from "../support/sse.ts";
import { WAIT } from "../support/timeouts.ts";

const failingFlow = {
  name: "Fail",
  nodes: [
    intent("Fail"),
    node("code", "Code", { code: "throw new Error('no luck')" }),
    node("end", "Return", {}),
  ],
  edges: [edge("intent Fail", "code"), edge("code", "end")],
};

const suspendingFlow = {
  name: "Pause",
  nodes: [intent("Pause"), node("wait", "Wait", { seconds: 3600 }), node("end", "Return", {})],
  edges: [edge("intent Pause", "wait"), edge("wait", "end")],
};

it.each<Backend>(["SQLite", "PostgreSQL"])(
  "the metrics count a run that is cancelled while it is suspended, on %s",
  async (backend) => {
    const api = await startApi(backend);
    const readMetrics = async () => (await api.expect(200, "GET", "/metrics")).text.split("\n");
    expect(await readMetrics()).toContain('signalbox_runs_total{outcome="cancelled"} 0');
    await api.expect(201, "POST", "/api/apps", { slug: "desk", name: "Desk" });
    const { id } = (await api.expect(201, "POST", "/api/apps/desk/flows", suspendingFlow)).json;
    await api.expect(200, "POST", `/api/flows/${id}/publish`);
    const started = await api.expect(202, "POST", `/api/flows/${id}/runs`, {
      trigger: "pause",
      input: {},
    });
    const run = `/api/runs/${started.json.id}`;
    await vi.waitFor(
      async () => expect((await api.expect(200, "GET", run)).json.status).toBe("waiting"),
      WAIT,
    );
    await api.expect(202, "POST", `${run}/cancel`);
    const metrics = await readMetrics();
    expect(metrics).toContain('signalbox_runs_total{outcome="cancelled"} 1');
    expect(metrics).toContain('signalbox_run_seconds_count{outcome="cancelled"} 1');
  },
);

it.each<Backend>(["SQLite", "PostgreSQL"])(
  "the metrics count runs, steps, pending events and connected streams, on %s",
  async (backend) => {
    const api = await startApi(backend);
    const readMetrics = async () => (await api.expect(200, "GET", "/metrics")).text.split("\n");
    await api.expect(201, "POST", "/api/apps", { slug: "desk", name: "Desk" });
    for (const [flow, trigger] of [
      [greeting, "say_hello"],
      [failingFlow, "fail"],
    ] as const) {
      const { id } = (await api.expect(201, "POST", "/api/apps/desk/flows", flow)).json;
      await api.expect(200, "POST", `/api/flows/${id}/publish`);
      await api.expect(200, "POST", `/api/flows/${id}/runs?wait=1`, {
        trigger,
        input: flow === greeting ? { who: "you" } : {},
      });
    }
    const first = await deliver(api.hub.url);
    await deliver(api.hub.url);
    const { id } = (await first.json()) as { id: string };
    await vi.waitFor(async () => {
      const metrics = await readMetrics();
      for (const line of [
        'signalbox_runs_total{outcome="succeeded"} 1',
        'signalbox_runs_total{outcome="failed"} 1',
        'signalbox_run_seconds_count{outcome="succeeded"} 1',
        'signalbox_step_seconds_count{type="Return",outcome="done"} 1',
        'signalbox_step_seconds_count{type="Code",outcome="failed"} 1',
        "signalbox_pending_events 2",
        "signalbox_matching_events 0",
        "signalbox_connected_streams 0",
      ])
        expect(metrics).toContain(line);
    }, WAIT);

    const stream = await openSse(`${api.hub.url}/events`, { authorization: `Bearer ${ADMIN}` });
    await api.expect(200, "POST", `/api/events/${id}/processed`, {});
    await vi.waitFor(async () => {
      const metrics = await readMetrics();
      expect(metrics).toContain("signalbox_connected_streams 1");
      expect(metrics).toContain("signalbox_pending_events 1");
    }, WAIT);
    stream.close();
    await vi.waitFor(
      async () => expect(await readMetrics()).toContain("signalbox_connected_streams 0"),
      WAIT,
    );
  },
);
