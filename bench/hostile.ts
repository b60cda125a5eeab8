/**
 * `npm run bench -- hostile`: runs hostile programs of flow authors (expressions, schemas, globs,
 * code) while another process probes `/healthz`. The slowest response of `/healthz` shows whether a
 * program blocks other requests.
 */
import { createHmac, randomUUID } from "node:crypto";
import { startHealthProbe } from "../test/support/start-health-probe.ts";
import { createToken } from "./agent-hub.ts";
import type { Benchmark } from "./benchmark.ts";
import { makeFolder, removeFolder } from "./cleanup.ts";
import { findCli, startHub } from "./hub-process.ts";
import { SECRET } from "./signed-webhooks.ts";
import { figure, table } from "./table.ts";

const GOAL_MS = 50;

interface Case {
  name: string;
  kind: "filter" | "glob" | "Transform" | "Code" | "schema";
  /** The hostile program. */
  program: unknown;
  /** Its input. */
  value: unknown;
}

const nested = (depth: number, inner: string, wrap: (text: string) => string): string =>
  Array.from({ length: depth }).reduce<string>((text) => wrap(text), inner);
const many = <Value>(count: number, make: (at: number) => Value): Value[] =>
  Array.from({ length: count }, (_, at) => make(at));
const text = `${"a".repeat(5_000)}!`;
const list = many(20_000, (at) => `item ${at}`);

const EXPRESSIONS: [string, string][] = [
  ["regular expression that backtracks", "$match(text, /^(a+)+$/)"],
  ["regular expression in $replace", '$replace(text, /(a|aa)+$/, "")'],
  ["nested ??", nested(24, "text", (inner) => `(${inner} ?? ${inner.length < 99 ? inner : "1"})`)],
  ["nested conditionals", nested(28, "1", (inner) => `(x ? ${inner} : 2)`)],
  ["endless recursion", "($f := function($n) { $f($n + 1) }; $f(0))"],
  ["large ranges", "$sum([1..9999999].($ * $))"],
  ["quadratic $distinct", "$count($distinct(list.{'x': $}))"],
  ["quadratic $sort", "$sort(list, function($l, $r) { $length($l) > $length($r) })[0]"],
  ["cross product", "$count(list.(list))"],
  ["$eval in a loop", "[1..999999].$eval('1+1')"],
];

const CASES: Case[] = [
  ...EXPRESSIONS.flatMap(([name, program]): Case[] => [
    {
      name,
      kind: "filter",
      program: program.replace(/\b(text|list)\b(?!')/g, "data.$1"),
      value: { text, list },
    },
    {
      name,
      kind: "Transform",
      program: program.replace(/\b(text|list)\b(?!')/g, "trigger.$1"),
      value: { text, list },
    },
  ]),
  {
    name: "many stars",
    kind: "glob",
    program: `${"*a".repeat(400)}*b`,
    value: { text: "a".repeat(100_000) },
  },
  { name: "endless loop", kind: "Code", program: "for (;;) {}", value: {} },
  {
    name: "endless allocation",
    kind: "Code",
    program: "const all = []; for (;;) all.push('x'.repeat(1e6) + all.length)",
    value: {},
  },
  {
    name: "pattern that backtracks",
    kind: "schema",
    program: { type: "string", pattern: "^(a+)+$" },
    value: text,
  },
  {
    name: "alternatives × items",
    kind: "schema",
    program: { type: "array", items: { anyOf: many(1_900, (at) => ({ const: at + 0.5 })) } },
    value: many(20_000, (at) => at),
  },
  {
    name: "uniqueItems of objects",
    kind: "schema",
    program: { type: "array", uniqueItems: true },
    value: many(8_000, (at) => ({ at })),
  },
  {
    name: "recursive $ref",
    kind: "schema",
    program: {
      $defs: { tree: { anyOf: many(6, () => ({ items: { $ref: "#/$defs/tree" } })) } },
      $ref: "#/$defs/tree",
    },
    value: JSON.parse(nested(40, "1", (inner) => `[${inner}]`)),
  },
];

export const hostile: Benchmark = async ({ hub: cliPath, reportProgress }) => {
  const cli = findCli(cliPath);
  const data = makeFolder();
  const token = createToken(cli, data, "admin");
  const hub = await startHub({ cli, name: "hub", data });
  const probe = startHealthProbe(`http://127.0.0.1:${hub.port}`);
  const api = async (method: string, route: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${hub.port}${route}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text(); // empty after DELETE
    return { status: response.status, ...(text === "" ? {} : (JSON.parse(text) as object)) };
  };
  const rows: { test: Case; worstMs: number; seconds: number; result: string }[] = [];
  try {
    await api("POST", "/api/apps", { slug: "hostile", name: "Hostile" });
    for (const test of CASES) {
      reportProgress(`hostile: ${test.kind}, ${test.name}`);
      const startedAt = performance.now();
      await probe.report(); // discards the latencies before this case
      const result = await run(test, api, hub.port);
      const worstMs = Math.max(...(await probe.report()).latencies);
      rows.push({ test, worstMs, seconds: (performance.now() - startedAt) / 1000, result });
    }
  } finally {
    probe.stop();
    await hub.stop();
    removeFolder(data);
  }
  const worst = Math.max(...rows.map(({ worstMs }) => worstMs));
  return {
    tables: [
      {
        title: "Slowest response of /healthz while a hostile program runs",
        text: table(
          ["where", "program", "/healthz ms, worst", "seconds", "result"],
          rows.map(({ test, worstMs, seconds, result }) => [
            test.kind,
            test.name,
            figure(worstMs),
            figure(seconds),
            result.slice(0, 90),
          ]),
        ),
      },
    ],
    goals: [
      {
        what: `/healthz responds within ${GOAL_MS} ms during every hostile program`,
        isMet: worst <= GOAL_MS,
        result: `${figure(worst)} ms`,
      },
    ],
    isValid: true,
    data: rows.map(({ test: { name, kind }, ...rest }) => ({ name, kind, ...rest })),
  };
};

type Api = (method: string, route: string, body?: unknown) => Promise<unknown>;

/**
 * Saves, publishes and runs a flow with the program. Returns the hub's message, or the run's
 * status.
 */
async function run({ kind, program, value }: Case, api: Api, port: number): Promise<string> {
  const trigger =
    kind === "filter"
      ? node("on", "Event", { source: "github", type: "issues", filter: program })
      : kind === "glob"
        ? node("on", "Event", {
            source: "github",
            type: "issues",
            params: { text: { op: "glob", value: program } },
          })
        : node("on", "UserIntent", {
            toolDescription: "Runs the program.",
            parameters:
              kind === "schema"
                ? [{ name: "value", schema: program, required: true }]
                : [{ name: "value", type: "object", required: false }],
          });
  const middle =
    kind === "Transform"
      ? [
          node("mid", "Transform", {
            expression: String(program).replaceAll("trigger.", "trigger.value."),
          }),
        ]
      : kind === "Code"
        ? [node("mid", "Code", { code: program, timeoutMs: 1_000 })]
        : [];
  const nodes = [trigger, ...middle, node("end", "Return", { value: "done" })];
  const created = (await api("POST", "/api/apps/hostile/flows", {
    name: `Flow ${randomUUID()}`,
    nodes,
    edges: nodes.slice(1).map(({ id }, at) => ({
      id: `e${at}`,
      source: nodes[at]?.id,
      sourceHandle: "out",
      target: id,
      targetHandle: "in",
    })),
  })) as { id?: string; detail?: string };
  if (!created.id) return `not saved: ${created.detail}`;
  const published = (await api("POST", `/api/flows/${created.id}/publish`, {})) as {
    status: number;
    detail?: string;
  };
  try {
    if (published.status >= 300) return `not published: ${published.detail}`;
    if (kind === "filter" || kind === "glob") return await sendEvent(value, api, port);
    const input = { value };
    const ran = (await api("POST", `/api/flows/${created.id}/runs?wait=1`, {
      trigger: "on",
      input,
    })) as { status: number | string; error?: { message: string } | null; detail?: string };
    return ran.error?.message ?? ran.detail ?? String(ran.status);
  } finally {
    await api("DELETE", `/api/flows/${created.id}`);
  }
}

async function sendEvent(value: unknown, api: Api, port: number): Promise<string> {
  const body = JSON.stringify(value);
  const response = await fetch(`http://127.0.0.1:${port}/webhooks/github`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-github-event": "issues",
      "x-github-delivery": randomUUID(),
      "x-hub-signature-256": `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`,
    },
    body,
  });
  const stored = (await response.json()) as { id?: string; detail?: string };
  if (!stored.id) return `not stored: ${stored.detail}`;
  const explained = (await api("GET", `/api/events/${stored.id}/explain`)) as {
    items: { reason: string }[];
  };
  return explained.items[0]?.reason ?? "no trigger";
}

const node = (id: string, type: string, parameters: Record<string, unknown>) => ({
  id,
  type,
  name: id,
  slug: id,
  position: { x: 0, y: 0 },
  parameters,
});
