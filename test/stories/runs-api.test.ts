/** Runs and secrets over the API of the built hub. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ADMIN, type Api, type Backend, startApi } from "../support/api-client.ts";
import { edge, greeting, intent, node } from "../support/flow-samples.ts";
import { openSse } from "../support/sse.ts";
import { WAIT } from "../support/timeouts.ts";

async function startWithApp(backend: Backend, env?: Record<string, string>): Promise<Api> {
  const api = await startApi(backend, env);
  await api.expect(201, "POST", "/api/apps", { slug: "desk", name: "Desk" });
  return api;
}
const publish = async (api: Api, flow: object) => {
  const { id } = (await api.expect(201, "POST", "/api/apps/desk/flows", flow)).json;
  await api.expect(200, "POST", `/api/flows/${id}/publish`);
  return id as string;
};
const idsOf = (page: { items: { id: string }[] }) => page.items.map(({ id }) => id);
const waitForEnd = async (api: Api, id: string) =>
  vi.waitFor(async () => {
    const run = (await api.expect(200, "GET", `/api/runs/${id}`)).json;
    expect(run.finished_at).not.toBeNull();
    return run;
  }, WAIT);

const suspendingFlow = {
  name: "Pause",
  nodes: [intent("Pause"), node("wait", "Wait", { seconds: 3600 }), node("end", "Return", {})],
  edges: [edge("intent Pause", "wait"), edge("wait", "end")],
};
const failingFlow = {
  name: "Fail",
  nodes: [
    intent("Fail"),
    node("code", "Code", { code: "console.warn('on my way'); throw new Error('no luck')" }),
    node("end", "Return", {}),
  ],
  edges: [edge("intent Fail", "code"), edge("code", "end")],
};

describe.each<Backend>(["SQLite", "PostgreSQL", "workerd"])("a run, on %s", (backend) => {
  it("is started with or without waiting for its end, listed by filters, and returned with its steps", async () => {
    const api = await startWithApp(backend);
    const helloFlow = await publish(api, greeting);
    const failFlow = await publish(api, failingFlow);
    const input = { who: "you" };
    const queued = await api.expect(202, "POST", `/api/flows/${helloFlow}/runs`, {
      trigger: "say_hello",
      input,
    });
    expect(queued.json).toMatchObject({ flow_id: helloFlow, app: "desk", version: 1, input });
    expect(await waitForEnd(api, queued.json.id)).toMatchObject({
      status: "succeeded",
      output: { text: "Hello you!" },
      error: null,
      steps: [
        { node_id: "intent Say hello", status: "done", output: { who: "you" } },
        { node_id: "end", status: "done", output: { text: "Hello you!" } },
      ],
    });
    const waited = await api.expect(200, "POST", `/api/flows/${helloFlow}/runs?wait=1`, {
      trigger: "intent Say hello",
      input,
    });
    const failed = await api.expect(200, "POST", `/api/flows/${failFlow}/runs?wait=1`, {
      trigger: "fail",
    });
    expect(failed.json).toMatchObject({ status: "failed", error: { node_id: "code" } });
    expect(failed.json.error.message).toContain("no luck");
    expect(failed.json.steps[1].log).toEqual([{ level: "warn", text: "on my way" }]);

    const list = async (query: string) =>
      idsOf((await api.expect(200, "GET", `/api/runs?${query}`)).json);
    const newestFirst = [failed.json.id, waited.json.id, queued.json.id];
    expect(await list("")).toEqual(newestFirst);
    expect(await list("status=failed")).toEqual([failed.json.id]);
    expect(await list("status=active")).toEqual([]);
    expect(await list(`flow=${helloFlow}`)).toEqual(newestFirst.slice(1));
    expect(await list(`flow=${helloFlow}&status=failed`)).toEqual([]);
    expect(await list("app=desk")).toEqual(newestFirst);
    expect(await list("app=shop")).toEqual([]);
    const first = (await api.expect(200, "GET", "/api/runs?limit=2")).json;
    expect(await list(`limit=2&cursor=${first.next_cursor}`)).toEqual(newestFirst.slice(2));
    await api.expect(404, "GET", "/api/runs/none");
  });

  it("is rejected for invalid arguments, which the errors name, and for an unknown trigger", async () => {
    const api = await startWithApp(backend);
    const helloFlow = await publish(api, greeting);
    const base = `/api/flows/${helloFlow}/runs`;
    const trigger = "say_hello";
    const missingArgument = await api.expect(400, "POST", base, { trigger });
    expect(missingArgument.json.errors).toEqual([{ path: "who", message: "is missing" }]);
    const invalidInput = { who: 5, more: 1 };
    const invalid = await api.expect(400, "POST", base, { trigger, input: invalidInput });
    expect(invalid.json.errors.map(({ path }: { path: string }) => path)).toEqual(["who", "more"]);
    const unknownTrigger = await api.expect(400, "POST", base, { trigger: "end", input: {} });
    expect(unknownTrigger.json).toMatchObject({ errors: [{ path: "trigger" }] });
    await api.expect(404, "POST", "/api/flows/none/runs", { trigger });
    expect((await api.expect(200, "GET", "/api/runs")).json.items).toEqual([]);
    // Renaming the trigger in the draft does not change the published flow.
    await api.expect(200, "PATCH", `/api/flows/${helloFlow}/nodes/intent%20Say%20hello`, {
      name: "X",
    });
    await api.expect(200, "POST", `${base}?wait=1`, { trigger, input: { who: "you" } });
    await api.expect(400, "POST", base, { trigger: "x", input: { who: "you" } });
  });

  it("can be cancelled while it waits, and retried after that", async () => {
    const api = await startWithApp(backend);
    const pause = await publish(api, suspendingFlow);
    const { id } = (await api.expect(202, "POST", `/api/flows/${pause}/runs`, { trigger: "pause" }))
      .json;
    await vi.waitFor(
      async () => expect((await api.call("GET", `/api/runs/${id}`)).json.status).toBe("waiting"),
      WAIT,
    );
    const rejectedRetry = await api.expect(409, "POST", `/api/runs/${id}/retry`);
    expect(rejectedRetry.json.detail).toMatch(/waiting: only a failed or cancelled run/);
    await api.expect(202, "POST", `/api/runs/${id}/cancel`);
    const cancelled = await waitForEnd(api, id);
    expect(cancelled).toMatchObject({
      status: "cancelled",
      steps: [{}, { node_id: "wait", status: "failed", error: { code: "cancelled" } }],
    });
    expect(cancelled.steps[1].finished_at).toBe(cancelled.finished_at);
    const rejectedCancel = await api.expect(409, "POST", `/api/runs/${id}/cancel`);
    expect(rejectedCancel.json.detail).toBe(
      `The run was cancelled at ${cancelled.finished_at}; it cannot be cancelled.`,
    );
    await api.expect(202, "POST", `/api/runs/${id}/retry`);
    await vi.waitFor(
      async () => expect((await api.call("GET", `/api/runs/${id}`)).json.status).toBe("waiting"),
      WAIT,
    );
    for (const action of ["cancel", "retry"])
      await api.expect(404, "POST", `/api/runs/none/${action}`);
  });

  it("is streamed live until its end", async () => {
    const api = await startWithApp(backend);
    const pause = await publish(api, suspendingFlow);
    const { id } = (await api.expect(202, "POST", `/api/flows/${pause}/runs`, { trigger: "pause" }))
      .json;
    const reader = await openSse(`${api.hub.url}/api/runs/${id}/stream`, {
      authorization: `Bearer ${ADMIN}`,
    });
    expect(reader.response.headers.get("content-type")).toBe("text/event-stream");
    const statuses = () => reader.messages.map(({ data }) => data.status);
    await vi.waitFor(() => expect(statuses()).toContain("waiting"), WAIT);
    await api.expect(202, "POST", `/api/runs/${id}/cancel`);
    await reader.ended;
    expect(statuses().at(-1)).toBe("cancelled");
    expect(reader.messages.at(-1)).toMatchObject({ event: "run", data: { id } });
    const [first, ...deltas] = reader.messages;
    expect(first?.data).toMatchObject({ id, flow_id: pause, steps: expect.any(Array) });
    for (const { data } of deltas) expect(data).not.toHaveProperty("flow_id");
    // A step is sent once for each status, and not with every message.
    const changes = reader.messages.flatMap(({ data }) =>
      (data.steps as { nth: number; status: string }[]).map(
        ({ nth, status }) => `${nth} ${status}`,
      ),
    );
    expect(changes.length).toBe(new Set(changes).size);
    expect(deltas.at(-1)?.data.steps).toMatchObject([{ status: "failed" }]);
    await api.expect(404, "GET", "/api/runs/none/stream");
  });
});

describe.each<Backend>(["SQLite", "workerd"])("a hub that stops, on %s", (backend) => {
  it("ends streams and responds to pending requests", async ({ skip }) => {
    skip(backend === "workerd", "a Worker is not notified before it stops");
    const api = await startWithApp(backend);
    const pause = await publish(api, suspendingFlow);
    const waiting = api.call("POST", `/api/flows/${pause}/runs?wait=1`, { trigger: "pause" });
    const { id } = await vi.waitFor(async () => {
      const [run] = (await api.call("GET", "/api/runs")).json.items;
      expect(run?.status).toBe("waiting");
      return run;
    }, WAIT);
    const reader = await openSse(`${api.hub.url}/api/runs/${id}/stream`, {
      authorization: `Bearer ${ADMIN}`,
    });
    await vi.waitFor(() => expect(reader.messages).not.toEqual([]), WAIT);
    const stopped = api.hub.stop();
    expect(await waiting).toMatchObject({ status: 202, json: { id, status: "waiting" } });
    await reader.ended;
    expect(await stopped).toBe(0);
  });
});

/** Starts a server that echoes the URL and the authorization of each request. Returns its origin. */
async function startEchoServer(): Promise<string> {
  const server = createServer((request, response) => {
    const authorization = request.headers.authorization ?? "";
    response.setHeader("content-type", "application/json");
    response.statusCode = request.url === "/fail" ? 400 : 200;
    response.setHeader("x-echo", authorization);
    response.end(JSON.stringify({ url: request.url, authorization, [authorization]: true }));
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe.each<Backend>(["SQLite", "workerd"])("secrets, on %s", (backend) => {
  const SECRET_VALUE = "s3cret/of+the=story";
  const flowWithSecret = (url: string) => ({
    name: "Call",
    nodes: [
      intent("Call"),
      node("http", "HttpRequest", {
        url,
        headers: { authorization: "Bearer {{ secrets.API_KEY }}" },
      }),
      node("end", "Return", { value: "{{ http }}" }),
    ],
    edges: [edge("intent Call", "http"), edge("http", "end")],
  });

  it("are stored and used, and occur in no response, step, error or log", async () => {
    const api = await startWithApp(backend, { SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1" });
    const echo = await startEchoServer();
    const responseTexts: string[] = [];
    const call: Api["call"] = async (...args) => {
      const response = await api.call(...args);
      responseTexts.push(response.text);
      return response;
    };
    // A draft may refer to a secret that does not exist yet; a published flow must not.
    const draft = (
      await api.expect(201, "POST", "/api/apps/desk/flows", flowWithSecret(`${echo}/ok`))
    ).json;
    const missingSecret = {
      code: "missing_secret",
      node_id: "http",
      nodeId: "http",
      path: "headers.authorization",
      message:
        "http: headers.authorization: there is no secret API_KEY; add it with PUT /api/secrets/API_KEY",
      problem: "there is no secret API_KEY; add it with PUT /api/secrets/API_KEY",
    };
    expect(draft).toMatchObject({ errors: [], warnings: [missingSecret] });
    const rejectedPublish = await api.expect(400, "POST", `/api/flows/${draft.id}/publish`, {});
    expect(rejectedPublish.json.errors).toEqual([
      { path: "http.headers.authorization", message: missingSecret.message },
    ]);

    expect((await call("PUT", "/api/secrets/API_KEY", { value: SECRET_VALUE })).status).toBe(204);
    const flow = await publish(api, flowWithSecret(`${echo}/ok`));
    const failFlow = await publish(api, { ...flowWithSecret(`${echo}/fail`), name: "Fail" });
    const runFlow = (id: string) =>
      call("POST", `/api/flows/${id}/runs?wait=1`, { trigger: "call" });
    const succeededRun = (await runFlow(flow)).json;
    expect(succeededRun).toMatchObject({ status: "succeeded" });
    expect(JSON.stringify(succeededRun)).toContain("Bearer •••");
    expect((await runFlow(failFlow)).json).toMatchObject({ status: "failed" });
    for (const path of ["/api/secrets", "/api/runs", `/api/flows/${flow}`, "/api/openapi.json"])
      await call("GET", path);
    expect((await call("GET", "/api/secrets")).json).toEqual({
      items: [{ name: "API_KEY", created_at: expect.any(String), updated_at: expect.any(String) }],
    });
    expect((await call("GET", "/api/secrets/API_KEY")).status).toBe(405);
    await call("PUT", "/api/secrets/API_KEY", { value: [SECRET_VALUE] });
    await call("PUT", "/api/secrets/API_KEY", { value: SECRET_VALUE, more: SECRET_VALUE });
    for (const text of [...responseTexts, api.hub.output()])
      for (const encoded of [SECRET_VALUE, encodeURIComponent(SECRET_VALUE), btoa(SECRET_VALUE)])
        expect(text).not.toContain(encoded);

    const deleted = await api.expect(200, "DELETE", "/api/secrets/API_KEY");
    expect(deleted.json.warnings.toSorted()).toEqual(
      ["Call", "Fail"].map(
        (name) =>
          `The published flow ${name} uses API_KEY: its runs fail at http until you add the secret again.`,
      ),
    );
    await api.expect(404, "DELETE", "/api/secrets/API_KEY");
    expect((await runFlow(flow)).json.error).toMatchObject({ code: "no_secret" });
    expect((await call("GET", `/api/flows/${flow}`)).json.warnings).toEqual([missingSecret]);
    for (const name of ["lower", "1X", "A-B", "A".repeat(65), "A%00B"]) {
      const rejected = await api.expect(400, "PUT", `/api/secrets/${name}`, {
        value: SECRET_VALUE,
      });
      expect(rejected.json.errors[0].path).toBe("name");
    }
  });

  it("are rejected in places that would reveal them", async () => {
    const api = await startWithApp(backend);
    const flow = (
      await api.expect(201, "POST", "/api/apps/desk/flows", {
        name: "Leak",
        nodes: [intent("Leak"), node("end", "Return", { value: "{{ secrets.API_KEY }}" })],
        edges: [edge("intent Leak", "end")],
      })
    ).json;
    expect(flow.errors).toMatchObject([{ code: "secret_not_allowed", nodeId: "end" }]);
    await api.expect(400, "POST", `/api/flows/${flow.id}/publish`);
  });
});
