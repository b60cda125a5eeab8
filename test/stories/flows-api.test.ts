/** Creates, changes, publishes and imports apps and flows over the API of a real hub. */
import { describe, expect, it } from "vitest";
import { type Api, type Backend, startApi } from "../support/api-client.ts";
import { edge, greeting, intent, node } from "../support/flow-samples.ts";

const hosts: Backend[] = ["SQLite", "workerd"];
const backends: Backend[] = [...hosts, "PostgreSQL"];

async function startWithApp(backend: Backend): Promise<Api> {
  const api = await startApi(backend);
  await api.expect(201, "POST", "/api/apps", { slug: "desk", name: "Desk" });
  return api;
}
const createFlow = async (api: Api, flow: object, app = "desk") =>
  (await api.expect(201, "POST", `/api/apps/${app}/flows`, flow)).json;
const toolNamesOf = ({ exposedTools }: { exposedTools: { name: string }[] }) =>
  exposedTools.map(({ name }) => name);
const codesOf = (findings: { code: string }[]) => findings.map(({ code }) => code);

describe.each(hosts)("apps, on %s", (backend) => {
  it("are created, listed in pages, changed, and deleted with their flows", async () => {
    const api = await startApi(backend);
    for (const slug of ["b", "a", "c"])
      await api.expect(201, "POST", "/api/apps", { slug, name: slug.toUpperCase() });
    const duplicate = await api.expect(409, "POST", "/api/apps", { slug: "a", name: "Again" });
    expect(duplicate.json).toMatchObject({
      code: "conflict",
      detail: "There is an app a already.",
    });
    expect((await api.expect(200, "GET", "/api/apps/a")).json).toEqual({
      slug: "a",
      name: "A",
      description: "",
      mcp_path: "/mcp/a",
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      updated_at: expect.any(String),
    });
    const firstPage = (await api.expect(200, "GET", "/api/apps?limit=2")).json;
    expect(firstPage.items.map(({ slug }: { slug: string }) => slug)).toEqual(["a", "b"]);
    const secondPage = (
      await api.expect(200, "GET", `/api/apps?limit=2&cursor=${firstPage.next_cursor}`)
    ).json;
    expect(secondPage).toMatchObject({ items: [{ slug: "c" }], next_cursor: null });

    await api.expect(200, "PATCH", "/api/apps/a", { description: "What it is for" });
    const renamed = await api.expect(200, "PATCH", "/api/apps/a", { name: "First" });
    expect(renamed.json).toMatchObject({ name: "First", description: "What it is for" });

    const flow = await createFlow(api, greeting, "a");
    await api.expect(204, "DELETE", "/api/apps/a");
    for (const path of ["/api/apps/a", "/api/apps/a/flows", `/api/flows/${flow.id}`])
      expect((await api.expect(404, "GET", path)).json.code).toBe("not_found");
    await api.expect(404, "DELETE", "/api/apps/a");
  });

  it("get a slug from their name if none is given", async () => {
    const api = await startApi(backend);
    const createApp = async (name: string) =>
      (await api.expect(201, "POST", "/api/apps", { name })).json.slug;
    expect(await createApp("Help Desk")).toBe("help-desk");
    expect(await createApp("help desk!")).toBe("help-desk-2");
    expect(await createApp("天気")).toBe("app");
    expect(await createApp("x".repeat(300))).toBe("x".repeat(63));
    const slugs = await Promise.all(Array.from({ length: 5 }, () => createApp("Race")));
    expect(slugs.toSorted()).toEqual(["race", "race-2", "race-3", "race-4", "race-5"]);
    expect((await api.expect(200, "GET", "/api/apps/help-desk-2")).json.name).toBe("help desk!");
  });
});

describe.each(hosts)("a flow, on %s", (backend) => {
  it("is created node by node, published and run", async () => {
    const api = await startWithApp(backend);
    const created = await api.expect(201, "POST", "/api/apps/desk/flows", { name: "Weather" });
    expect(created.json).toMatchObject({ hasTriggers: false, exposedTools: [], version: null });
    expect(created.json.warnings).toEqual([
      {
        code: "no_triggers",
        message: "This flow has no trigger nodes and cannot be executed via MCP.",
      },
    ]);
    expect(created.headers.get("etag")).toBe('"1"');
    const base = `/api/flows/${created.json.id}`;
    const parameters = [{ name: "city", type: "string" }];
    const withTrigger = await api.expect(201, "POST", `${base}/nodes`, {
      ...intent("Get Weather Data", { parameters }),
    });
    expect(withTrigger.json).toMatchObject({ hasTriggers: true, revision: 2 });
    expect(toolNamesOf(withTrigger.json)).toEqual(["get_weather_data"]);
    expect(codesOf(withTrigger.json.warnings)).toEqual(["trigger_leads_nowhere"]);
    const value = "{{ get_weather_data.city }} is fine";
    await api.expect(201, "POST", `${base}/nodes`, node("end", "Return", { value }));
    const connected = await api.expect(
      201,
      "POST",
      `${base}/edges`,
      edge("intent Get Weather Data", "end"),
    );
    expect(connected.json).toMatchObject({ warnings: [], errors: [], revision: 4 });
    const edgeId = connected.json.edges[0].id;
    await api.expect(200, "DELETE", `${base}/edges/${edgeId}`);
    await api.expect(404, "DELETE", `${base}/edges/${edgeId}`);
    await api.expect(201, "POST", `${base}/edges`, edge("intent Get Weather Data", "end"));

    const unpublished = await api.expect(400, "POST", `${base}/runs`, { trigger: "x" });
    expect(unpublished.json.detail).toMatch(/has not been published yet/);
    const published = await api.expect(200, "POST", `${base}/publish`, { note: "first" });
    expect(published.json).toMatchObject({ version: 1, revision: 7 });
    const run = await api.expect(200, "POST", `${base}/runs?wait=1`, {
      trigger: "get_weather_data",
      input: { city: "Bern" },
    });
    expect(run.json).toMatchObject({ status: "succeeded", output: "Bern is fine", cause: "api" });
    expect(run.json.steps).toHaveLength(2);

    // The removal of the trigger changes only the draft; the published version still runs.
    const withoutTrigger = await api.expect(
      200,
      "DELETE",
      `${base}/nodes/intent%20Get%20Weather%20Data`,
    );
    expect(withoutTrigger.json).toMatchObject({ edges: [], hasTriggers: false, version: 1 });
    await api.expect(200, "POST", `${base}/runs?wait=1`, {
      trigger: "get_weather_data",
      input: { city: "Bern" },
    });
    await api.expect(204, "DELETE", base);
    await api.expect(404, "GET", base);
  });

  it("is listed in pages, without its graph", async () => {
    const api = await startWithApp(backend);
    const ids: string[] = [];
    for (let count = 0; count < 3; count += 1) ids.push((await createFlow(api, greeting)).id);
    const first = (await api.expect(200, "GET", "/api/apps/desk/flows?limit=2")).json;
    expect(first.items).toMatchObject([
      { id: ids[0], hasTriggers: true, exposedTools: [{ name: "say_hello" }], warnings: [] },
      { id: ids[1], exposedTools: [{ name: "say_hello_2" }] },
    ]);
    expect(first.items[0]).not.toHaveProperty("nodes");
    const nextPage = `/api/apps/desk/flows?limit=2&cursor=${first.next_cursor}`;
    expect((await api.expect(200, "GET", nextPage)).json).toMatchObject({
      items: [{ id: ids[2] }],
      next_cursor: null,
    });
  });

  it("has a warning and no tools if all its triggers are disabled", async () => {
    const api = await startWithApp(backend);
    const flow = await createFlow(api, {
      name: "Off",
      nodes: [intent("One", { isActive: false }), intent("Two", { isActive: false })],
    });
    expect(flow).toMatchObject({ hasTriggers: true, exposedTools: [] });
    expect(flow.warnings).toContainEqual({
      code: "no_active_triggers",
      message: "No active triggers",
    });
  });

  it("with errors is not published, and the response contains each error", async () => {
    const api = await startWithApp(backend);
    const flow = await createFlow(api, {
      name: "Unfinished",
      nodes: [
        intent("Ask"),
        node("call", "HttpRequest", {}),
        node("unknown", "Nonsense", {}),
        node("end", "Return", { value: "{{ nobody.x }}" }),
      ],
      edges: [edge("intent Ask", "call"), edge("call", "end", "nowhere")],
    });
    const rejected = await api.expect(400, "POST", `/api/flows/${flow.id}/publish`);
    expect(flow.errors.length).toBeGreaterThanOrEqual(4);
    expect(rejected.json.errors).toHaveLength(flow.errors.length);
    for (const { message } of flow.errors) {
      expect(rejected.json.detail).toContain(message);
      expect(rejected.json.errors).toContainEqual({ path: expect.any(String), message });
    }
    expect(codesOf(flow.errors)).toEqual(
      expect.arrayContaining([
        "invalid_config",
        "unknown_node_type",
        "missing_port",
        "dangling_reference",
      ]),
    );
    const after = (await api.expect(200, "GET", `/api/flows/${flow.id}`)).json;
    expect(after).toMatchObject({ version: null, revision: flow.revision });
  });

  it("with code that cannot be parsed is saved with an error on its line, and is not published", async () => {
    const api = await startWithApp(backend);
    const flow = (code: string) => ({
      name: "Count",
      nodes: [intent("Count"), node("code", "Code", { code, timeoutMs: 2000 })],
      edges: [edge("intent Count", "code")],
    });
    const broken = flow("const one = await 1;\n\nreturn one +;");
    const saved = (await api.expect(201, "POST", "/api/apps/desk/flows", broken)).json;
    expect(saved.errors).toEqual([
      {
        code: "invalid_config",
        node_id: "code",
        nodeId: "code",
        path: "code",
        message: expect.stringMatching(/^code: code: SyntaxError: .* \(line 3\)$/),
        problem: expect.stringMatching(/^SyntaxError: .* \(line 3\)$/),
      },
    ]);
    const path = `/api/flows/${saved.id}`;
    const rejected = await api.expect(400, "POST", `${path}/publish`, {});
    expect(rejected.json.errors).toMatchObject([{ path: "code.code" }]);
    const fixed = flow("const one = await 1;\n\nreturn one + 1;");
    expect((await api.expect(200, "PUT", path, fixed)).json.errors).toEqual([]);
    await api.expect(200, "POST", `${path}/publish`, {});
    const run = await api.expect(200, "POST", `${path}/runs?wait=1`, { trigger: "count" });
    expect(run.json).toMatchObject({ status: "succeeded", output: 2 });
  });

  it("cannot have a cycle, even as a draft; the error names the nodes of the cycle", async () => {
    const api = await startWithApp(backend);
    const nodes = [intent("Start"), node("A", "Merge"), node("B", "Merge")];
    const edges = [edge("intent Start", "A"), edge("A", "B"), edge("B", "A")];
    const rejected = await api.expect(400, "POST", "/api/apps/desk/flows", {
      name: "Round",
      nodes,
      edges,
    });
    expect(rejected.json).toMatchObject({ code: "invalid", errors: [{ path: "edges" }] });
    expect(rejected.json.detail).toBe("edges: Cycle: A → B → A");
    const flow = await createFlow(api, { name: "Line", nodes, edges: edges.slice(0, 2) });
    const closing = await api.expect(400, "POST", `/api/flows/${flow.id}/edges`, edge("B", "A"));
    expect(closing.json.detail).toContain("A → B → A");
    const after = (await api.expect(200, "GET", `/api/flows/${flow.id}`)).json;
    expect(after.edges).toHaveLength(2);
  });

  it("is changed partially by PATCH, and replaced by PUT", async () => {
    const api = await startWithApp(backend);
    const flow = await createFlow(api, { ...greeting, description: "Says hello" });
    const base = `/api/flows/${flow.id}`;
    const patched = (await api.expect(200, "PATCH", base, { name: "Hello" })).json;
    expect(patched).toMatchObject({ name: "Hello", description: "Says hello", nodes: flow.nodes });
    const { nodes, edges } = patched;
    expect((await api.expect(200, "PATCH", base, { description: "" })).json.description).toBe("");
    const put = (await api.expect(200, "PUT", base, { name: "Whole", nodes, edges })).json;
    expect(put).toMatchObject({ name: "Whole", description: "", nodes, edges });
    const emptied = (await api.expect(200, "PUT", base, { name: "Empty" })).json;
    expect(emptied).toMatchObject({ nodes: [], edges: [], hasTriggers: false });
  });

  it("merges the parameters of a node by PATCH, and replaces them by PUT", async () => {
    const api = await startWithApp(backend);
    const parameters = { parameters: [{ name: "who" }], isActive: false };
    const flow = await createFlow(api, { name: "Flow", nodes: [intent("Ask", parameters)] });
    const path = `/api/flows/${flow.id}/nodes/intent%20Ask`;
    const changeParameters = async (method: string, changed: object) =>
      (await api.expect(200, method, path, { parameters: changed })).json.nodes[0].parameters;
    const before = flow.nodes[0].parameters;
    expect(await changeParameters("PATCH", { whenToUse: "Often" })).toEqual({
      ...before,
      whenToUse: "Often",
    });
    expect(await changeParameters("PATCH", { whenToUse: null })).toEqual(before);
    expect(await changeParameters("PUT", { toolDescription: "New." })).toEqual({
      toolName: "ask",
      toolDescription: "New.",
    });
    const missing = await api.expect(400, "PUT", path, { name: "Only a name" });
    expect(missing.json.errors).toMatchObject([{ path: "parameters" }]);
  });

  it("can have a name of 300 characters, like its nodes and its app", async () => {
    const api = await startApi(backend);
    const name = "n".repeat(300);
    await api.expect(201, "POST", "/api/apps", { slug: "long", name });
    const flow = await createFlow(api, { name, nodes: [intent(name.slice(0, 90))] }, "long");
    const named = await api.expect(
      200,
      "PATCH",
      `/api/flows/${flow.id}/nodes/${flow.nodes[0].id}`,
      {
        name,
      },
    );
    expect(named.json).toMatchObject({ name, nodes: [{ name }] });
    expect(toolNamesOf(named.json)).toEqual(["n".repeat(64)]);
    const file = (await api.expect(200, "GET", `/api/flows/${flow.id}/export`)).json;
    const copy = await api.expect(201, "POST", "/api/apps/long/flows/import", file);
    expect(copy.json.name).toBe(name);
    await api.expect(400, "POST", "/api/apps/long/flows", { name: `${name}n` });
  });

  it("is rejected if an edge names a missing node, and the error quotes the id of that node", async () => {
    const api = await startWithApp(backend);
    const { nodes } = greeting;
    const rejected = await api.expect(400, "POST", "/api/apps/desk/flows", {
      name: "Lost",
      nodes,
      edges: [edge("intent Say hello", "the end")],
    });
    expect(rejected.json.errors).toEqual([
      {
        path: "edges[0].target",
        message: expect.stringContaining('there is no node with the id "the end"'),
      },
    ]);
    const flow = await createFlow(api, { name: "Found", nodes });
    const added = await api.expect(
      400,
      "POST",
      `/api/flows/${flow.id}/edges`,
      edge("Say hello", "end"),
    );
    expect(added.json.detail).toBe(
      'source: The edge from "Say hello" to "end" has no source: there is no node with the id "Say hello". The node with this name has the id "intent Say hello".',
    );
  });

  it("keeps its versions, and can be rolled back to one of them", async () => {
    const api = await startWithApp(backend);
    const flow = await createFlow(api, greeting);
    const base = `/api/flows/${flow.id}`;
    await api.expect(200, "POST", `${base}/publish`, { note: "Hello" });
    await api.expect(200, "PATCH", `${base}/nodes/end`, { parameters: { value: "Good day" } });
    await api.expect(200, "POST", `${base}/publish`, { note: "Good day" });
    const versions = (await api.expect(200, "GET", `${base}/versions`)).json.items;
    expect(versions).toMatchObject([
      { version: 2, note: "Good day", created_by: "admin, from SIGNALBOX_TOKEN" },
      { version: 1, note: "Hello", created_at: expect.stringMatching(/Z$/) },
    ]);
    const first = (await api.expect(200, "GET", `${base}/versions/1`)).json;
    expect(first).toEqual({ nodes: flow.nodes, edges: flow.edges });
    const runFlow = async () =>
      (
        await api.expect(200, "POST", `${base}/runs?wait=1`, {
          trigger: "say_hello",
          input: { who: "you" },
        })
      ).json.output;
    expect(await runFlow()).toBe("Good day");
    const rolledBack = (await api.expect(200, "POST", `${base}/rollback`, { version: 1 })).json;
    expect(rolledBack).toMatchObject({ version: 3, nodes: flow.nodes, edges: flow.edges });
    expect(await runFlow()).toEqual({ text: "Hello you!" });
    expect((await api.expect(200, "GET", `${base}/versions`)).json.items[0].note).toBe(
      "Back to version 1",
    );
    await api.expect(404, "POST", `${base}/rollback`, { version: 9 });
    for (const version of ["9", "0", "-1", "1.5", "1e400", "99999999999999999999", "x"])
      await api.expect(404, "GET", `${base}/versions/${version}`);
    await api.expect(204, "DELETE", base);
    for (const path of [`${base}/versions`, `${base}/versions/1`])
      await api.expect(404, "GET", path);
    await api.expect(404, "POST", `${base}/rollback`, { version: 1 });
  });

  it("rejects a change with 409 and its current revision if If-Match has an older revision", async () => {
    const api = await startWithApp(backend);
    const flow = await createFlow(api, greeting);
    const base = `/api/flows/${flow.id}`;
    const first = await api.expect(200, "GET", base);
    const headers = { "if-match": first.headers.get("etag") ?? "" };
    const mine = await api.expect(200, "PATCH", base, { name: "Mine" }, { headers });
    expect(mine.headers.get("etag")).toBe('"2"');
    const writes: [string, string, unknown?][] = [
      ["PATCH", base, { name: "Theirs" }],
      ["PUT", base, { name: "Theirs" }],
      ["POST", `${base}/nodes`, intent("More")],
      ["PATCH", `${base}/nodes/end`, { name: "More" }],
      ["PUT", `${base}/nodes/end`, { parameters: {} }],
      ["DELETE", `${base}/nodes/end`],
      ["POST", `${base}/edges`, edge("end", "end")],
      ["DELETE", `${base}/edges/${flow.edges[0].id}`],
      ["POST", `${base}/publish`],
      ["POST", `${base}/rollback`, { version: 1 }],
      ["DELETE", base],
    ];
    for (const [method, path, body] of writes) {
      const rejected = await api.expect(409, method, path, body, { headers });
      expect(rejected.json).toMatchObject({ code: "changed", errors: [{ path: "If-Match" }] });
      expect(rejected.json.detail).toContain("revision 2");
    }
    const invalid = await api.expect(400, "PATCH", base, {}, { headers: { "if-match": '"two"' } });
    expect(invalid.json.errors[0].path).toBe("If-Match");
    expect((await api.expect(200, "GET", base)).json).toMatchObject({ name: "Mine", revision: 2 });
    const responses = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        api.call("PATCH", base, { name: `${index}` }, { headers: { "if-match": '"2"' } }),
      ),
    );
    expect(responses.map(({ status }) => status).toSorted()).toEqual([200, ...Array(7).fill(409)]);
  });

  it("can be exported and imported, also from legacy formats", async () => {
    const api = await startWithApp(backend);
    await api.expect(201, "POST", "/api/apps", { slug: "other", name: "Other" });
    const flow = await createFlow(api, greeting);
    const file = await api.expect(200, "GET", `/api/flows/${flow.id}/export`);
    expect(file.headers.get("content-disposition")).toMatch(/attachment/);
    const copy = (await api.expect(201, "POST", "/api/apps/other/flows/import", file.json)).json;
    expect(copy.id).not.toBe(flow.id);
    expect(copy).toMatchObject({ app: "other", notes: [], nodes: flow.nodes, edges: flow.edges });
    // This app already has the tool name, so that the copy gets another name and a note.
    const secondCopy = (await api.expect(201, "POST", "/api/apps/desk/flows/import", file.json))
      .json;
    expect(toolNamesOf(secondCopy)).toEqual(["say_hello_2"]);
    expect(secondCopy.notes).toEqual([expect.stringContaining("say_hello_2")]);

    const legacyFlow = {
      name: "Older",
      toolName: "OldName",
      toolDescription: "What it did.",
      isActive: true,
      parameters: [{ name: "who", type: "string", required: true }],
      nodes: [
        { id: "1", type: "Return", name: "End", parameters: { value: "Hi {{ trigger.who }}" } },
      ],
      connections: [],
    };
    const migrated = (await api.expect(201, "POST", "/api/apps/other/flows/import", legacyFlow))
      .json;
    const [firstNode, ...otherNodes] = file.json.nodes;
    const withUnknownFields = {
      ...file.json,
      team: "ops",
      nodes: [{ ...firstNode, colour: "red" }, ...otherNodes],
    };
    const withNotes = (
      await api.expect(201, "POST", "/api/apps/other/flows/import", withUnknownFields)
    ).json;
    expect(withNotes.notes).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^team: "ops" /),
        expect.stringMatching(/^nodes\[0\]\.colour: "red" /),
      ]),
    );
    expect(toolNamesOf(migrated)).toEqual(["OldName"]);
    expect(migrated.edges).toMatchObject([{ target: "1", sourceHandle: "out" }]);
    const camelCase = (
      await api.expect(201, "POST", "/api/apps/other/flows/import", {
        name: "Camel case",
        nodes: [intent("Go"), node("end", "Return", {})],
        connections: [
          {
            sourceNodeId: "intent Go",
            sourceHandle: "out",
            targetNodeId: "end",
            targetHandle: "in",
          },
        ],
      })
    ).json;
    expect(camelCase.edges).toMatchObject([{ source: "intent Go", target: "end" }]);
    // A rollback restores a tool name of the legacy format.
    const base = `/api/flows/${migrated.id}`;
    await api.expect(200, "POST", `${base}/publish`);
    const trigger = migrated.exposedTools[0].nodeId;
    await api.expect(200, "PATCH", `${base}/nodes/${trigger}`, { name: "Newer" });
    await api.expect(200, "POST", `${base}/publish`);
    const rolledBack = (await api.expect(200, "POST", `${base}/rollback`, { version: 1 })).json;
    expect(toolNamesOf(rolledBack)).toEqual(["OldName"]);

    // Legacy nodes are converted even if the flow has no connections.
    const nodes = [
      { id: "u1", type: "UserIntent", name: "Ask" },
      { id: "api1", type: "ApiCall", name: "Fetch", parameters: { url: "https://example.com" } },
    ];
    const unconnected = {
      name: "Unconnected",
      toolName: "fetch",
      toolDescription: "Fetches.",
      nodes,
    };
    const importedApp = await api.expect(200, "POST", "/api/apps/imp/import", {
      flows: [unconnected],
    });
    expect(importedApp.json.flows).toMatchObject([{ outcome: "created", errors: [] }]);

    const broken = await api.expect(400, "POST", "/api/apps/other/flows/import", {
      name: "Broken",
      nodes: [{ id: 5 }],
      edges: "none",
    });
    expect(broken.json.errors.map(({ path }: { path: string }) => path)).toEqual(
      expect.arrayContaining(["nodes[0].id", "edges"]),
    );
  });
});

describe.each(hosts)("tool names, on %s", (backend) => {
  it("are derived from the node's name, and get the lowest free number if they exist already", async () => {
    const api = await startWithApp(backend);
    await api.expect(201, "POST", "/api/apps", { slug: "other", name: "Other" });
    const one = await createFlow(api, { name: "1", nodes: [intent("Get Weather Data")] });
    const two = await createFlow(api, { name: "2", nodes: [intent("Get weather  data!")] });
    const three = await createFlow(api, { name: "3", nodes: [intent("get_weather_data")] });
    expect([one, two, three].flatMap(toolNamesOf)).toEqual([
      "get_weather_data",
      "get_weather_data_2",
      "get_weather_data_3",
    ]);
    expect(toolNamesOf(await createFlow(api, greeting, "other"))).toEqual(["say_hello"]);
    expect(toolNamesOf(await createFlow(api, greeting))).toEqual(["say_hello"]);
    await api.expect(204, "DELETE", `/api/flows/${two.id}`);
    const four = await createFlow(api, { name: "4", nodes: [intent("Get Weather Data")] });
    expect(toolNamesOf(four)).toEqual(["get_weather_data_2"]);
    const unusualNames = ["天気", "🌧", "123 go", "Ünïcode", "x".repeat(150)];
    const names = toolNamesOf(
      await createFlow(api, {
        name: "Odd",
        nodes: unusualNames.map((name, index) => ({ ...intent(name), id: `node-${index}` })),
      }),
    );
    expect(names).toEqual(["tool", "tool_2", "tool_123_go", "unicode", "x".repeat(64)]);
    // Saving an unchanged flow changes no name.
    const put = await api.expect(200, "PUT", `/api/flows/${three.id}`, {
      name: "3",
      nodes: [intent("get_weather_data")],
    });
    expect(toolNamesOf(put.json)).toEqual(["get_weather_data_3"]);
  });

  it("are rejected with 409 if they exist already, and with 400 if they are invalid or have no description", async () => {
    const api = await startWithApp(backend);
    await createFlow(api, greeting);
    const other = await createFlow(api, { name: "Other", nodes: [intent("Other")] });
    const base = `/api/flows/${other.id}`;
    const nameTaken = "Tool name 'say_hello' already exists in this app";
    const intentWithToolName = (toolName: unknown) => intent("Other", { toolName });
    const attempts: [string, string, object][] = [
      ["POST", "/api/apps/desk/flows", { name: "New", nodes: [intentWithToolName("say_hello")] }],
      ["PATCH", base, { nodes: [intentWithToolName("say_hello")] }],
      ["PUT", base, { name: "New", nodes: [intentWithToolName("say_hello")] }],
      [
        "PATCH",
        `${base}/nodes/intent%20Other`,
        { parameters: intentWithToolName("say_hello").parameters },
      ],
      [
        "POST",
        `${base}/nodes`,
        { ...intent("More"), parameters: intentWithToolName("say_hello").parameters },
      ],
    ];
    for (const [method, path, body] of attempts) {
      const rejected = await api.expect(409, method, path, body);
      expect(rejected.json).toMatchObject({ detail: nameTaken, errors: [{ path: "toolName" }] });
    }
    const usedTwice = await api.expect(409, "PATCH", base, {
      nodes: [intentWithToolName("same"), { ...intent("Twin", { toolName: "same" }) }],
    });
    expect(usedTwice.json.detail).toBe("Tool name 'same' already exists in this app");
    for (const name of ["123_go", "Get", "get-weather", "_x", "x_", "x".repeat(65), 5, " "]) {
      const rejected = await api.expect(400, "PATCH", `${base}/nodes/intent%20Other`, {
        parameters: intentWithToolName(name).parameters,
      });
      expect(rejected.json.detail).toMatch(/^toolName: A tool name starts with a letter/);
    }
    for (const toolDescription of ["", "  ", null, 5]) {
      const rejected = await api.expect(400, "PATCH", `${base}/nodes/intent%20Other`, {
        parameters: { toolDescription },
      });
      expect(rejected.json).toMatchObject({ errors: [{ path: "toolDescription" }] });
      expect(rejected.json.detail).toContain("must not be empty");
    }
    expect((await api.expect(200, "GET", base)).json).toMatchObject({ revision: 1 });
    const mine = await api.expect(200, "PATCH", `${base}/nodes/intent%20Other`, {
      parameters: intentWithToolName("mine").parameters,
    });
    expect(toolNamesOf(mine.json)).toEqual(["mine"]);
    const both = await api.expect(200, "PATCH", `${base}/nodes/intent%20Other`, {
      name: "Another",
      parameters: intentWithToolName("chosen").parameters,
    });
    expect(toolNamesOf(both.json)).toEqual(["chosen"]);
  });

  it("change when their node is renamed, and so do all references to the node", async () => {
    const api = await startWithApp(backend);
    await createFlow(api, { name: "Taken", nodes: [intent("Question")] });
    const flow = await createFlow(api, {
      name: "Chain",
      nodes: [
        intent("Ask", { parameters: [{ name: "x", type: "string" }] }),
        intent("Twin"),
        node("fetch", "HttpRequest", {
          url: "https://example.com/{{ ask.x }}",
          method: "POST",
          headers: { "x-a": "{{ask.x}}" },
          body: { deep: [{ text: "a {{ ask.x }} b {{ trigger.x }} ask.x {{ asker.x? }}" }] },
        }),
        node("end", "Return", { value: "{{ fetch.body }} {{ ask.x }}" }),
      ],
      edges: [edge("intent Ask", "fetch"), edge("fetch", "end")],
    });
    const base = `/api/flows/${flow.id}`;
    const renamed = (
      await api.expect(200, "PATCH", `${base}/nodes/intent%20Ask`, { name: "Question" })
    ).json;
    expect(toolNamesOf(renamed)).toEqual(["question_2", "twin"]);
    const [trigger, , fetch, end] = renamed.nodes;
    expect(trigger).toMatchObject({ name: "Question", slug: "question" });
    expect(fetch.parameters).toMatchObject({
      url: "https://example.com/{{ question.x }}",
      headers: { "x-a": "{{question.x}}" },
      body: { deep: [{ text: "a {{ question.x }} b {{ trigger.x }} ask.x {{ asker.x? }}" }] },
    });
    expect(end.parameters.value).toBe("{{ fetch.body }} {{ question.x }}");
    // A second trigger of the same flow cannot get the same name.
    const twin = await api.expect(200, "PATCH", `${base}/nodes/intent%20Twin`, {
      name: "Question",
    });
    expect(toolNamesOf(twin.json)).toEqual(["question_2", "question_3"]);
  });
});

it.each(backends)("tool names are unique after 50 concurrent creations, on %s", async (backend) => {
  const api = await startWithApp(backend);
  const created = await Promise.all(
    Array.from({ length: 50 }, () =>
      api.expect(201, "POST", "/api/apps/desk/flows", { name: "Race", nodes: [intent("Go")] }),
    ),
  );
  const names = created.flatMap(({ json }) => toolNamesOf(json));
  const expected = ["go", ...Array.from({ length: 49 }, (_, index) => `go_${index + 2}`)];
  expect(names.toSorted()).toEqual(expected.toSorted());
  const [first] = created;
  const base = `/api/flows/${first?.json.id}`;
  await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      api.expect(201, "POST", `${base}/nodes`, { ...intent("Go"), id: `n${index}` }),
    ),
  );
  const after = (await api.expect(200, "GET", base)).json;
  expect(new Set(toolNamesOf(after)).size).toBe(21);
  expect(new Set(after.nodes.map(({ slug }: { slug: string }) => slug)).size).toBe(21);
});
