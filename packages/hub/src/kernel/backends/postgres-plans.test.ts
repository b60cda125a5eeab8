import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { createMigratedDatabase } from "../../../../../test/support/postgres.ts";
import {
  connectionPlanCases,
  FILL_CONNECTIONS,
} from "../../connections/store/contract/connection-query-plans.ts";
import { FILL_EVENTS, planCases } from "../../events/store/contract/query-plans.ts";
import { itemAt } from "../../events/store/contract/sample.ts";
import {
  FILL_RUNS,
  normalizeIndexes,
  runPlanCases,
} from "../../flows/runs/store/contract/run-query-plans.ts";
import { storeDefinition } from "../../store.ts";
import type { Operation, Row, Verb } from "../store/sql.ts";
import { openPostgres } from "./postgres.ts";
import { dialect, statements, types } from "./postgres-pipeline.ts";

let client: pg.Client;

beforeAll(async () => {
  const url = await createMigratedDatabase(inject("postgresUrl"));
  await (await openPostgres(storeDefinition, url)).close();
  client = new pg.Client({ connectionString: url, types });
  await client.connect();
  for (const statement of [...FILL_EVENTS, ...FILL_RUNS, ...FILL_CONNECTIONS])
    await client.query(statement);
  await client.query("VACUUM ANALYZE");
});

afterAll(() => client.end());

interface Plan {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  "Parent Relationship"?: string;
  Plans?: Plan[];
}

const isEvents = (plan: Plan) =>
  plan["Relation Name"] === "events" || plan["Index Name"]?.startsWith("events_");

/** The index of each access to events in a plan; also sequential scans and sorts of events. */
function* accesses(plan: Plan): Generator<string> {
  if (plan["Node Type"] === "Seq Scan" && isEvents(plan)) yield "Seq Scan";
  else if (plan["Index Name"] && isEvents(plan))
    yield plan["Index Name"].replace("events_pkey", "primary");
  if (plan["Node Type"].includes("Sort") && plan.Plans?.some(sortsEvents)) yield "Sort";
  for (const child of plan.Plans ?? []) yield* accesses(child);
}

const sortsEvents = (plan: Plan): boolean =>
  plan["Parent Relationship"] !== "InitPlan" &&
  plan["Parent Relationship"] !== "SubPlan" &&
  (isEvents(plan) === true || (plan.Plans?.some(sortsEvents) ?? false));

async function explainVerb(
  verb: Verb<unknown>,
  accessesOf: (plan: Plan) => Iterable<string> = accesses,
): Promise<string[]> {
  const used: string[] = [];
  const explain = async (operation: Operation): Promise<Row[]> => {
    if (operation.kind === "notify") return [];
    if (operation.kind === "all") {
      const rows: unknown[] = [];
      for (const inner of operation.operations) rows.push(await explain(inner));
      return rows as Row[];
    }
    let rows: Row[] = [];
    for (const { text, values } of statements(operation)) {
      const explained = await client.query<{ "QUERY PLAN": [{ Plan: Plan }] }>({
        text: `EXPLAIN (FORMAT JSON) ${text}`,
        values,
      });
      used.push(...accessesOf(itemAt(explained.rows, 0)["QUERY PLAN"][0].Plan));
      rows = (await client.query<Row>({ text, values })).rows;
    }
    return rows;
  };
  for (let next = verb.next([]); ; next = verb.next(await explain(next.value)))
    if (next.done) return used;
}

describe("events on PostgreSQL", () => {
  for (const { operation, verb, indexes, maySort } of planCases)
    test(`${operation}: uses ${[...new Set(indexes)].join(", ")}`, async () => {
      await client.query("BEGIN");
      try {
        const used = await explainVerb(verb(dialect));
        const relevant = used.filter((access) => !(maySort && access === "Sort"));
        expect(relevant.sort()).toEqual(indexes.toSorted());
      } finally {
        await client.query("ROLLBACK");
      }
    });
});

/** The index of each access to any table; also sequential scans. */
function* allAccesses(plan: Plan): Generator<string> {
  if (plan["Node Type"] === "Seq Scan") yield `Seq Scan of ${plan["Relation Name"]}`;
  else if (plan["Index Name"]) yield plan["Index Name"].replace(/_pkey$/, "");
  for (const child of plan.Plans ?? []) yield* allAccesses(child);
}

describe("flows, runs and connections on PostgreSQL", () => {
  for (const planCase of [...runPlanCases, ...connectionPlanCases])
    test(`${planCase.operation}: uses ${planCase.indexes.join(", ")}`, async () => {
      await client.query("BEGIN");
      try {
        const used = await explainVerb(planCase.verb(dialect), allAccesses);
        expect(normalizeIndexes(planCase, used).sort()).toEqual(planCase.indexes.toSorted());
      } finally {
        await client.query("ROLLBACK");
      }
    });
});
