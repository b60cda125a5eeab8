/** Flows whose runs go well, fail, wait, loop and talk to a model, with the servers that they call. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "vitest";
import { startFakeModelServer } from "../../support/fake-model-server.ts";
import { edge, intent, node } from "../../support/flow-samples.ts";
import type { Ui } from "./ui.ts";

/** Long enough to be a preview, and for several parts. */
const LARGE = { rows: Array.from({ length: 4_000 }, (_, id) => ({ id, text: `row ${id} ünï` })) };

/**
 * `/flaky` fails every first time, `/broken` fails until it is mended, `/never` fails always, `/gate`
 * answers when it is opened, `/large` has much to say.
 */
export async function startYard() {
  const waiting: ServerResponse[] = [];
  const state = { isBroken: true, isOpen: false, flaky: 0 };
  const answer = (response: ServerResponse, status: number, body: unknown) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  };
  const server = createServer(({ url = "" }, response) => {
    if (url.startsWith("/flaky")) {
      state.flaky += 1;
      return answer(response, state.flaky % 2 === 1 ? 502 : 200, { labels: ["bug"] });
    }
    if (url.startsWith("/broken"))
      return answer(response, state.isBroken ? 500 : 200, { isBroken: state.isBroken });
    if (url.startsWith("/never")) return answer(response, 503, {});
    if (url.startsWith("/gate") && !state.isOpen) return void waiting.push(response);
    answer(response, 200, url.startsWith("/large") ? LARGE : { ok: true });
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
    mend: () => {
      state.isBroken = false;
    },
    /** Answers what waits at the gate, and does not let anyone wait from now on. */
    open: () => {
      state.isOpen = true;
      for (const response of waiting.splice(0)) answer(response, 200, { ok: true });
    },
    close: () => {
      state.isOpen = false;
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await model.close();
    },
  };
}
export type Yard = Awaited<ReturnType<typeof startYard>>;

const http = (id: string, url: string, more: Record<string, unknown> = {}) =>
  node(id, "HttpRequest", { url, ...more });
const who = [{ name: "who", type: "string" }];

const flowsOf = ({ url, modelUrl }: Yard) => ({
  Triage: {
    nodes: [
      intent("Triage", { parameters: who }),
      node("opened", "Event", { source: "github", type: "issues" }),
      http("fetch", `${url}/ok`),
      http("labels", `${url}/flaky`, {
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
      intent("Deploy", { parameters: who, concurrency: { most: 1 } }),
      http("gate", `${url}/gate`, { timeoutMs: 300_000, settings: { timeoutMs: 300_000 } }),
      node("nap", "Wait", { seconds: 0.3 }),
      node("end", "Return", { value: "{{ trigger.who }}" }),
    ],
    edges: [edge("intent Deploy", "gate"), edge("gate", "nap"), edge("nap", "end")],
  },
  Billing: {
    nodes: [
      intent("Bill", { parameters: who }),
      http("book", `${url}/ok`),
      http("send", `${url}/broken`),
      node("end", "Return", { value: "sent" }),
    ],
    edges: [edge("intent Bill", "book"), edge("book", "send"), edge("send", "end")],
  },
  Report: {
    nodes: [
      intent("Report", { parameters: who }),
      http("rows", `${url}/large`),
      node("end", "Return", { value: "{{ rows.body.rows }}" }),
    ],
    edges: [edge("intent Report", "rows"), edge("rows", "end")],
  },
  Loop: {
    nodes: [
      intent("Loop", { parameters: who }),
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
      intent("Wait", { parameters: who }),
      node("each", "ForEach", { items: ["ok", "never"] }),
      http("body", `${url}/{{ item }}`, {
        settings: { retries: { attempts: 3, backoffMs: 60_000 } },
      }),
      node("end", "Return", { value: "done" }),
    ],
    edges: [edge("intent Wait", "each"), edge("each", "body", "item"), edge("each", "end", "done")],
  },
  Helper: {
    nodes: [
      intent("Help", { parameters: who }),
      node("agent", "Agent", {
        model: { provider: "anthropic", name: "fake", baseUrl: modelUrl },
        instructions: "Look after the inbox.",
        inboxTools: true,
      }),
    ],
    edges: [edge("intent Help", "agent")],
  },
});
export type YardFlow = keyof ReturnType<typeof flowsOf>;

/** Creates and publishes the flows. */
export async function setUpYard(ui: Ui, yard: Yard) {
  await ui.call("POST", "/api/apps", { slug: "yard", name: "Yard" });
  const flows: Partial<Record<YardFlow, string>> = {};
  for (const [name, graph] of Object.entries(flowsOf(yard))) {
    const { json } = await ui.call("POST", "/api/apps/yard/flows", { name, ...graph });
    await ui.call("POST", `/api/flows/${json.id}/publish`, {});
    flows[name as YardFlow] = json.id;
  }
  const triggers: Record<YardFlow, string> = {
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
    flow: (name: YardFlow) => flows[name] as string,
    /** Starts a run. Returns its id. */
    start: async (name: YardFlow, who = "octocat"): Promise<string> => {
      const body = { trigger: triggers[name], input: { who } };
      return (await ui.call("POST", `/api/flows/${flows[name]}/runs`, body)).json.id;
    },
    ended: (id: string) =>
      expect.poll(async () => (await get(id)).finished_at, { interval: 50 }).not.toBeNull(),
    get,
  };
}
