/**
 * Flows as tools of an app: a call of a flow with one node beside a tool of the bare SDK that answers
 * with nothing, and lists of ever more tools. A call is a run: it is on disk before it is answered.
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { openSqlite } from "../packages/hub/src/store/backends/sqlite.ts";
import type { Store } from "../packages/hub/src/store/store.ts";
import type { Options, Result } from "./benchmark.ts";
import { startFloor } from "./floor-process.ts";
import { flowNode, publishFlow } from "./flow-engine.ts";
import { startFlags, startHub } from "./hub-process.ts";
import type { LoadPlan, LoadReport } from "./load.ts";
import type { Load } from "./load-process.ts";
import { recordCall, toTemplates } from "./mcp-requests.ts";
import { makeFolder, removeFolder } from "./owned.ts";
import { cpuSeconds } from "./process-facts.ts";
import { median } from "./statistics.ts";
import { figure, table, times } from "./table.ts";
import type { Target } from "./target.ts";

const SIZES = [10, 100, 1_000, 10_000];
/** Tools of one flow: as many as its graph may have. */
const PER_FLOW = 200;

interface Called {
  name: string;
  cpuMicros: number[];
  p50: number[];
}

interface Listed {
  tools: number;
  pages: number;
  ms: number[];
}

export async function measureTools(options: Options, cli: string, load: Load): Promise<Result> {
  const { quick, tell } = options;
  const data = makeFolder();
  const targets: Target[] = [];
  const called: Called[] = [];
  const listed: Listed[] = [];
  let valid = true;
  try {
    const store = openSqlite(join(data, "signalbox.db"));
    for (const size of SIZES) {
      tell(`flows: tools: storing ${figure(size)}`);
      await storeTools(store, appOf(size), size);
    }
    await store.close();
    const token = createToken(cli, data);
    const floor = await startFloor(new URL("./mcp-floor.ts", import.meta.url), startFlags());
    targets.push(floor);
    const hub = await startHub({ cli, name: "hub", data });
    targets.push(hub);

    const call = { name: "nothing", arguments: {} };
    const path = `/mcp/${appOf(10)}`;
    const callers = [
      { target: floor, path: "/mcp", call },
      { target: hub, path, call: { name: "tool_0", arguments: { n: 1 } } },
    ];
    const plans: { plan: Pick<LoadPlan, "port" | "templates">; pid: number; found: Called }[] = [];
    for (const { target, path: where, call: what } of callers) {
      const recorded = await recordCall(target.port, token, what, where);
      const templates = toTemplates(recorded, Array(16).fill(what.arguments));
      const found = { name: target.name, cpuMicros: [], p50: [] };
      plans.push({ plan: { port: target.port, templates }, pid: target.pid, found });
      called.push(found);
    }
    for (let round = 0; round <= (quick ? 3 : 7); round += 1)
      for (const { plan, pid, found } of plans) {
        tell(`flows: tools: calls, round ${round}, ${found.name}`);
        const seconds = quick ? 2 : 4;
        const run = (connections: number): Promise<LoadReport> =>
          load.run({ ...plan, connections, requests: 100_000, seconds, rate: undefined });
        const before = cpuSeconds(pid);
        const many = await run(16);
        const cpu = cpuSeconds(pid) - before;
        const one = await run(1);
        valid &&= many.valid && one.valid;
        // The first one only makes code warm.
        if (round === 0) continue;
        found.cpuMicros.push((cpu / many.answered) * 1e6);
        found.p50.push(one.latency.p50);
      }
    for (const size of SIZES) {
      tell(`flows: tools: listing ${figure(size)}`);
      listed.push(await listAll(hub.port, token, size, quick ? 5 : 15));
    }
  } finally {
    for (const target of targets) await target.stop();
    removeFolder(data);
  }
  return toResult(called, listed, valid);
}

const appOf = (size: number): string => `tools-${size}`;

async function storeTools(store: Store, app: string, count: number): Promise<void> {
  for (let made = 0; made < count; made += PER_FLOW) {
    const tools = Array.from({ length: Math.min(PER_FLOW, count - made) }, (_, at) => {
      const name = `tool_${made + at}`;
      return flowNode(`t${at}`, "UserIntent", {
        toolName: name,
        toolDescription: `What ${name} does, said in a sentence of some length.`,
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

/** By the command line, so that it is one that this very hub knows. */
function createToken(cli: string, data: string): string {
  const made = execFileSync(
    process.execPath,
    [cli, "token", "create", "bench", "--scope", "flows:call", "--data", data, "--json"],
    { cwd: data, env: { PATH: process.env.PATH, HOME: process.env.HOME }, encoding: "utf8" },
  );
  return (JSON.parse(made) as { token: string }).token;
}

/** Page by page, as a client has to. */
async function listAll(port: number, token: string, size: number, rounds: number): Promise<Listed> {
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
      const began = performance.now();
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
      if (tools !== size) throw new Error(`${tools} tools in place of ${size}`);
      if (round > 0) ms.push(performance.now() - began);
    }
  } finally {
    await client.close();
  }
  return { tools: size, pages, ms };
}

function toResult(called: Called[], listed: Listed[], valid: boolean): Result {
  const [floor, hub] = called as [Called, Called];
  const ratio = (value: (one: Called) => number[]) =>
    median(value(hub).map((one, at) => one / (value(floor)[at] as number)));
  return {
    tables: [
      {
        title: "tools/call of a flow with one node, durable, beside a bare tool of the SDK",
        text: table(
          [
            "server",
            "CPU µs/call, 16 at once",
            "p50 ms, 1 at once",
            "CPU to floor",
            "p50 to floor",
          ],
          [
            ["floor", figure(median(floor.cpuMicros)), figure(median(floor.p50)), "", ""],
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
        title: "tools/list to its end, by the SDK's client",
        text: table(
          ["tools", "pages", "ms", "µs a tool"],
          listed.map(({ tools, pages, ms }) => [
            figure(tools),
            String(pages),
            figure(median(ms)),
            figure((median(ms) / tools) * 1000),
          ]),
        ),
      },
    ],
    goals: [],
    valid,
    data: { called, listed },
  };
}
