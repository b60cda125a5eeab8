/** Flows whose runs succeed, fail, wait, loop and call a model, and the servers that these flows call. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "vitest";
import { startFakeModelServer } from "../../support/fake-model-server.ts";
import { edge, intent, node } from "../../support/flow-samples.ts";
import type { Ui } from "./ui.ts";

/** A body that is so large that the page shows a preview, and loads the value in several parts. */
const LARGE = { rows: Array.from({ length: 4_000 }, (_, id) => ({ id, text: `row ${id} ünï` })) };

/**
 * Starts an HTTP server and a fake model. `/flaky` fails every other time, `/broken` fails until `repair`,
 * `/never` always fails, `/gate` responds while the gate is open, `/large` responds with a large body.
 */
export async function startSampleServers() {
  const waitingResponses: ServerResponse[] = [];
  const state = { isBroken: true, isGateOpen: false, flakyCount: 0 };
  const respond = (response: ServerResponse, status: number, body: unknown) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  };
  const server = createServer(({ url = "" }, response) => {
    if (url.startsWith("/flaky")) {
      state.flakyCount += 1;
      return respond(response, state.flakyCount % 2 === 1 ? 502 : 200, { labels: ["bug"] });
    }
    if (url.startsWith("/broken"))
      return respond(response, state.isBroken ? 500 : 200, { isBroken: state.isBroken });
    if (url.startsWith("/never")) return respond(response, 503, {});
    if (url.startsWith("/gate") && !state.isGateOpen) return void waitingResponses.push(response);
    respond(response, 200, url.startsWith("/large") ? LARGE : { ok: true });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const model = await startFakeModelServer(({ calls }) =>
    calls.length === 0
      ? {
          text: "Let me look into the inbox.",
          calls: [{ tool: "inbox__get_pending_status", arguments: {} }],
        }
      : { text: "Nothing waits there. <b>All is well.</b>" },
  );
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    modelUrl: model.url,
    repair: () => {
      state.isBroken = false;
    },
    /** Responds to the waiting requests to `/gate`, and to later ones at once. */
    openGate: () => {
      state.isGateOpen = true;
      for (const response of waitingResponses.splice(0)) respond(response, 200, { ok: true });
    },
    closeGate: () => {
      state.isGateOpen = false;
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await model.close();
    },
  };
}
export type SampleServers = Awaited<ReturnType<typeof startSampleServers>>;

const httpNode = (id: string, url: string, extra: Record<string, unknown> = {}) =>
  node(id, "HttpRequest", { url, ...extra });
const whoParameter = [{ name: "who", type: "string" }];

const createFlows = ({ url, modelUrl }: SampleServers) => ({
  Triage: {
    nodes: [
      intent("Triage", { parameters: whoParameter }),
      node("opened", "Event", { source: "github", type: "issues" }),
      httpNode("fetch", `${url}/ok`),
      httpNode("labels", `${url}/flaky`, {
        settings: { retries: { attempts: 3, backoffMs: 400 } },
      }),
      node("check", "Condition", {
        conditions: [{ left: "{{ labels.body.labels }}", op: "contains", right: "bug" }],
      }),
      node("shape", "Code", {
        code: 'console.log("looked at", trigger.who); return { bug: true };',
      }),
      node("thanks", "Transform", { expression: '"Thanks"' }),
      node("answer", "Return", { value: { bug: true } }),
    ],
    edges: [
      edge("intent Triage", "fetch"),
      edge("opened", "fetch"),
      edge("fetch", "labels"),
      edge("labels", "check"),
      edge("check", "shape", "true"),
      edge("check", "thanks", "false"),
      edge("shape", "answer"),
      edge("thanks", "answer"),
    ],
  },
  Deploy: {
    nodes: [
      intent("Deploy", { parameters: whoParameter, concurrency: { most: 1 } }),
      httpNode("gate", `${url}/gate`, { timeoutMs: 300_000, settings: { timeoutMs: 300_000 } }),
      node("nap", "Wait", { seconds: 0.3 }),
      node("end", "Return", { value: "{{ trigger.who }}" }),
    ],
    edges: [edge("intent Deploy", "gate"), edge("gate", "nap"), edge("nap", "end")],
  },
  Billing: {
    nodes: [
      intent("Bill", { parameters: whoParameter }),
      httpNode("book", `${url}/ok`),
      httpNode("send", `${url}/broken`),
      node("end", "Return", { value: "sent" }),
    ],
    edges: [edge("intent Bill", "book"), edge("book", "send"), edge("send", "end")],
  },
  Report: {
    nodes: [
      intent("Report", { parameters: whoParameter }),
      httpNode("rows", `${url}/large`),
      node("end", "Return", { value: "{{ rows.body.rows }}" }),
    ],
    edges: [edge("intent Report", "rows"), edge("rows", "end")],
  },
  Loop: {
    nodes: [
      intent("Loop", { parameters: whoParameter }),
      node("list", "Code", { code: "return Array.from({ length: 700 }, (_, at) => at);" }),
      node("each", "ForEach", { items: "{{ list }}" }),
      node("double", "Transform", { expression: "item * 2" }),
      node("end", "Return", { value: "done" }),
    ],
    edges: [
      edge("intent Loop", "list"),
      edge("list", "each"),
      edge("each", "double", "item"),
      edge("each", "end", "done"),
    ],
  },
  Patient: {
    nodes: [
      intent("Wait", { parameters: whoParameter }),
      node("each", "ForEach", { items: ["ok", "never"] }),
      httpNode("body", `${url}/{{ item }}`, {
        settings: { retries: { attempts: 3, backoffMs: 60_000 } },
      }),
      node("end", "Return", { value: "done" }),
    ],
    edges: [edge("intent Wait", "each"), edge("each", "body", "item"), edge("each", "end", "done")],
  },
  Helper: {
    nodes: [
      intent("Help", { parameters: whoParameter }),
      node("agent", "Agent", {
        model: { provider: "anthropic", name: "fake", baseUrl: modelUrl },
        instructions: "Look after the inbox.",
        inboxTools: true,
      }),
    ],
    edges: [edge("intent Help", "agent")],
  },
});
export type SampleFlow = keyof ReturnType<typeof createFlows>;

/** Creates and publishes the flows. Returns functions that start runs and read them. */
export async function setUpSampleFlows(ui: Ui, servers: SampleServers) {
  await ui.call("POST", "/api/apps", { slug: "samples", name: "Samples" });
  const flows: Partial<Record<SampleFlow, string>> = {};
  for (const [name, graph] of Object.entries(createFlows(servers))) {
    const { json } = await ui.call("POST", "/api/apps/samples/flows", { name, ...graph });
    await ui.call("POST", `/api/flows/${json.id}/publish`, {});
    flows[name as SampleFlow] = json.id;
  }
  const triggers: Record<SampleFlow, string> = {
    Triage: "intent Triage",
    Deploy: "intent Deploy",
    Billing: "intent Bill",
    Report: "intent Report",
    Loop: "intent Loop",
    Patient: "intent Wait",
    Helper: "intent Help",
  };
  const get = async (id: string) => (await ui.call("GET", `/api/runs/${id}`)).json;
  return {
    flow: (name: SampleFlow) => flows[name] as string,
    /** Starts a run. Returns its id. */
    start: async (name: SampleFlow, who = "octocat"): Promise<string> => {
      const body = { trigger: triggers[name], input: { who } };
      return (await ui.call("POST", `/api/flows/${flows[name]}/runs`, body)).json.id;
    },
    waitUntilEnded: (id: string) =>
      expect.poll(async () => (await get(id)).finished_at, { interval: 50 }).not.toBeNull(),
    get,
  };
}
