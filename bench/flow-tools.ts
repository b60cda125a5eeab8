/**
 * Flows as MCP tools: tools/call of a flow with one node after its trigger, compared with an empty
 * tool of the MCP SDK; and tools/list for 10 to 10,000 tools. A call is a run, which is on disk
 * before the response.
 */
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { openSqlite } from "../packages/hub/src/kernel/backends/sqlite.ts";
import type { Store } from "../packages/hub/src/store.ts";
import { storeDefinition } from "../packages/hub/src/store.ts";
import { createToken } from "./agent-hub.ts";
import { startBaseline } from "./baseline-process.ts";
import type { Options, Result } from "./benchmark.ts";
import { makeFolder, removeFolder } from "./cleanup.ts";
import { flowNode, publishFlow } from "./flow-engine.ts";
import { startFlags, startHub } from "./hub-process.ts";
import type { LoadPlan, LoadReport } from "./load.ts";
import type { Load } from "./load-process.ts";
import { recordCall, toTemplates } from "./mcp-requests.ts";
import { cpuSeconds } from "./process-stats.ts";
import { median } from "./statistics.ts";
import { figure, table, times } from "./table.ts";
import type { Target } from "./target.ts";

const SIZES = [10, 100, 1_000, 10_000];
/** Tools per flow. Each is a node, and a flow has at most 500 nodes. */
const PER_FLOW = 200;

interface CallTimes {
  name: string;
  cpuMicros: number[];
  p50: number[];
}

interface ListTimes {
  tools: number;
  pages: number;
  ms: number[];
}

export async function measureTools(options: Options, cli: string, load: Load): Promise<Result> {
  const { quick, reportProgress } = options;
  const data = makeFolder();
  const targets: Target[] = [];
  const calls: CallTimes[] = [];
  const lists: ListTimes[] = [];
  let isValid = true;
  try {
    const store = openSqlite(storeDefinition, join(data, "signalbox.db"));
    for (const size of SIZES) {
      reportProgress(`flows: tools: storing ${figure(size)}`);
      await storeTools(store, appOf(size), size);
    }
    await store.close();
    const token = createToken(cli, data, "flows:call");
    const baseline = await startBaseline(
      new URL("./mcp-baseline.ts", import.meta.url),
      startFlags(),
    );
    targets.push(baseline);
    const hub = await startHub({ cli, name: "hub", data });
    targets.push(hub);

    const callers = [
      { target: baseline, path: "/mcp", call: { name: "empty", arguments: {} } },
      { target: hub, path: `/mcp/${appOf(10)}`, call: { name: "tool_0", arguments: { n: 1 } } },
    ];
    const plans: {
      plan: Pick<LoadPlan, "port" | "templates">;
      pid: number;
      callTimes: CallTimes;
    }[] = [];
    for (const { target, path, call } of callers) {
      const recorded = await recordCall(target.port, token, call, path);
      const templates = toTemplates(recorded, Array(16).fill(call.arguments));
      const callTimes = { name: target.name, cpuMicros: [], p50: [] };
      plans.push({ plan: { port: target.port, templates }, pid: target.pid, callTimes });
      calls.push(callTimes);
    }
    for (let round = 0; round <= (quick ? 3 : 7); round += 1)
      for (const { plan, pid, callTimes } of plans) {
        reportProgress(`flows: tools: calls, round ${round}, ${callTimes.name}`);
        const seconds = quick ? 2 : 4;
        const run = (connections: number): Promise<LoadReport> =>
          load.run({ ...plan, connections, requests: 100_000, seconds, rate: undefined });
        const before = cpuSeconds(pid);
        const parallel = await run(16);
        const cpu = cpuSeconds(pid) - before;
        const sequential = await run(1);
        isValid &&= parallel.isValid && sequential.isValid;
        // Round 0 is the warm-up.
        if (round === 0) continue;
        callTimes.cpuMicros.push((cpu / parallel.completed) * 1e6);
        callTimes.p50.push(sequential.latency.p50);
      }
    for (const size of SIZES) {
      reportProgress(`flows: tools: listing ${figure(size)}`);
      lists.push(await listAll(hub.port, token, size, quick ? 5 : 15));
    }
  } finally {
    for (const target of targets) await target.stop();
    removeFolder(data);
  }
  return toResult(calls, lists, isValid);
}

const appOf = (size: number): string => `tools-${size}`;

async function storeTools(store: Store, app: string, count: number): Promise<void> {
  for (let stored = 0; stored < count; stored += PER_FLOW) {
    const tools = Array.from({ length: Math.min(PER_FLOW, count - stored) }, (_, at) => {
      const name = `tool_${stored + at}`;
      return flowNode(`t${at}`, "UserIntent", {
        toolName: name,
        toolDescription: `Returns its argument. A description of average length for ${name}.`,
        parameters: [{ name: "n", type: "integer" }],
      });
    });
    const end = flowNode("end", "Return", { value: "{{ trigger.n }}" });
    const edges = tools.map(({ id }) => ({
      id: `${id}-end`,
      source: id,
      sourceHandle: "out",
      target: "end",
      targetHandle: "in",
    }));
    await publishFlow(store, [...tools, end], { app, edges });
  }
}

/** Reads all pages, as a client does. */
async function listAll(
  port: number,
  token: string,
  size: number,
  rounds: number,
): Promise<ListTimes> {
  const client = new Client(
    { name: "bench", version: "1" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp/${appOf(size)}`), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }),
  );
  const ms: number[] = [];
  let pages = 0;
  try {
    for (let round = 0; round <= rounds; round += 1) {
      const startedAt = performance.now();
      let tools = 0;
      pages = 0;
      for (let cursor: string | undefined; ; ) {
        const page = await client.request({
          method: "tools/list",
          params: cursor === undefined ? {} : { cursor },
        });
        tools += page.tools.length;
        pages += 1;
        cursor = page.nextCursor;
        if (cursor === undefined) break;
      }
      if (tools !== size) throw new Error(`expected ${size} tools, found ${tools}`);
      if (round > 0) ms.push(performance.now() - startedAt);
    }
  } finally {
    await client.close();
  }
  return { tools: size, pages, ms };
}

function toResult(calls: CallTimes[], lists: ListTimes[], isValid: boolean): Result {
  const [baseline, hub] = calls as [CallTimes, CallTimes];
  const ratio = (values: (times: CallTimes) => number[]) =>
    median(values(hub).map((value, at) => value / (values(baseline)[at] as number)));
  return {
    tables: [
      {
        title:
          "tools/call of a flow with one node (durable), compared with an empty tool of the SDK",
        text: table(
          [
            "server",
            "CPU µs/call, concurrency 16",
            "p50 ms, concurrency 1",
            "CPU / baseline",
            "p50 / baseline",
          ],
          [
            ["baseline", figure(median(baseline.cpuMicros)), figure(median(baseline.p50)), "", ""],
            [
              "hub",
              figure(median(hub.cpuMicros)),
              figure(median(hub.p50)),
              times(ratio(({ cpuMicros }) => cpuMicros)),
              times(ratio(({ p50 }) => p50)),
            ],
          ],
        ),
      },
      {
        title: "tools/list, all pages, with the SDK's client",
        text: table(
          ["tools", "pages", "ms", "µs per tool"],
          lists.map(({ tools, pages, ms }) => [
            figure(tools),
            String(pages),
            figure(median(ms)),
            figure((median(ms) / tools) * 1000),
          ]),
        ),
      },
    ],
    goals: [],
    isValid,
    data: { calls, lists },
  };
}
