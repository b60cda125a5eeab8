import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { z } from "zod";
import { type ExplainToolsOptions, explainTools } from "../flows/matching/explain-tools.ts";
import { messageWithField, type RequestError } from "../kernel/lib/request-error.ts";
import { type Tool, type ToolContext, toCallToolResult } from "../kernel/mcp/tool.ts";
import { BRIEF_FIELDS } from "./automation-fields.ts";
import { AGENT, TRIGGERS } from "./automation-graph.ts";
import { automationRunTools } from "./automation-run-tools.ts";
import { createAutomationRuns } from "./automation-runs.ts";
import { automationTools } from "./automation-tools.ts";
import type { Automations } from "./automations.ts";

const AT = Date.UTC(2026, 10, 15);
const text = fc
  .tuple(fc.constantFrom("x", '"', "漢"), fc.nat(8_000))
  .map(([character, length]) => character.repeat(length));
const max_bytes = fc.integer({ min: 4_000, max: 60_000 });

/** Calls the tool until there is no next page. Returns the items of all pages, at most one item above the budget. */
async function readPages<Page>(
  tool: Tool | undefined,
  args: Record<string, unknown>,
  itemsOf: (page: Page) => unknown[],
): Promise<unknown[][]> {
  const pages: unknown[][] = [];
  let cursor: string | undefined;
  do {
    const result = await (tool as Tool).call({ ...args, ...(cursor && { cursor }) }, {
      access: { token: "t", name: "t", scopes: ["admin"], tenants: ["acme"] },
      signal: new AbortController().signal,
    } as unknown as ToolContext);
    const items = itemsOf(result.structured as Page);
    const { byteLength } = new TextEncoder().encode(JSON.stringify(toCallToolResult(result)));
    if (items.length > 1) expect(byteLength).toBeLessThanOrEqual(Number(args.max_bytes));
    pages.push(items);
    cursor = (result.structured as { next_cursor: string | null }).next_cursor ?? undefined;
  } while (cursor !== undefined);
  return pages;
}

const findTool = (tools: readonly Tool[], name: string) => tools.find((tool) => tool.name === name);

describe("the pages of a list have each item once, within the budget", () => {
  it("of the steps of a run, and shortens values only if they do not fit", async () => {
    const steps = fc.array(fc.record({ input: text, output: text, gap: fc.nat(3) }), {
      minLength: 1,
      maxLength: 90,
    });
    await fc.assert(
      fc.asyncProperty(steps, max_bytes, async (values, max_bytes) => {
        let nth = 0;
        const stored = values.map(({ gap, ...step }, index) => {
          nth += gap + 1;
          return { ...step, nth, node_id: `n${index}`, item: "", attempt: 1, status: "succeeded" };
        });
        const run = { id: "r", created_at: AT, finished_at: AT, input: {}, output: {} };
        const runs = createAutomationRuns({
          store: {
            previewRun: async () => run,
            countSteps: async () => stored.length,
            listSteps: async (_: string, __: string, { after = 0 }) => {
              const items = stored.filter((step) => step.nth > after).slice(0, 20);
              const last = items.at(-1)?.nth ?? nth;
              return { items, next: last < nth ? last : null, unread: [] };
            },
          },
        } as never);
        const tool = findTool(automationRunTools(runs as Automations), "AUTOMATION_RUN_GET");
        type Page = { steps: { node_id: string; input: unknown }[]; omitted_steps: number };
        const omitted: number[] = [];
        const pages = await readPages<Page>(tool, { run_id: "r", max_bytes }, (page) => {
          omitted.push(page.omitted_steps);
          return page.steps.map(({ node_id }) => node_id);
        });
        expect(pages.toReversed().flat()).toEqual(stored.map(({ node_id }) => node_id));
        expect(omitted.at(-1)).toBe(0);
      }),
      { numRuns: 30 },
    );
  });

  it("of the tools and triggers of a connection, which is checked once", async () => {
    const offers = fc.record({
      tools: fc.array(text, { maxLength: 40 }),
      triggers: fc.array(text, { maxLength: 10 }),
    });
    await fc.assert(
      fc.asyncProperty(offers, max_bytes, async ({ tools, triggers }, max_bytes) => {
        const found = {
          connection: { id: "c", name: "C", status: "ok", error: null, checked_at: AT },
          offers: {
            tools: tools.map((description, index) => ({
              name: `t${index}`,
              description,
              inputSchema: { description },
            })),
            triggers: triggers.map((description, index) => ({
              type: `t${index}`,
              description,
              inputSchema: { description },
            })),
          },
        };
        let checks = 0;
        const automations = {
          async checkConnection() {
            checks += 1;
            return found;
          },
          getConnection: async () => found,
        } as unknown as Automations;
        const tool = findTool(automationRunTools(automations), "CONNECTION_CHECK");
        type Page = { tools: { name: string }[]; triggers: { type: string }[] };
        const pages = await readPages<Page>(tool, { connection: "c", max_bytes }, (page) => [
          ...page.tools.map(({ name }) => `tool ${name}`),
          ...page.triggers.map(({ type }) => `trigger ${type}`),
        ]);
        expect(pages.flat()).toEqual([
          ...tools.map((_, index) => `tool t${index}`),
          ...triggers.map((_, index) => `trigger t${index}`),
        ]);
        expect(checks).toBe(1);
      }),
      { numRuns: 30 },
    );
  });

  it("of a server that repeats a tool and uses long names", async () => {
    const offered = (name: string) => ({ name, description: "x".repeat(1_000), inputSchema: {} });
    const long = "n".repeat(2_000);
    const names = ["a", "b", "a", long, "c", "d"];
    const found = {
      connection: { id: "c", name: "C", status: "ok", error: null, checked_at: AT },
      offers: { tools: names.map(offered), triggers: [] },
    };
    const automations = {
      checkConnection: async () => found,
      getConnection: async () => found,
    } as unknown as Automations;
    const tool = findTool(automationRunTools(automations), "CONNECTION_CHECK");
    type Page = { tools: { name: string }[] };
    const pages = await readPages<Page>(tool, { connection: "c", max_bytes: 4_000 }, (page) =>
      page.tools.map(({ name }) => name),
    );
    expect(pages.length).toBeGreaterThan(2);
    expect(pages.flat()).toEqual(["a", "b", long, "c", "d"]);
  });

  it("of automations, runs and connections", async () => {
    const pageOf = <Item>(items: readonly Item[], idOf: (item: Item) => string, limit: number) => ({
      after: (cursor: string | undefined) =>
        items
          .slice(cursor ? items.findIndex((item) => idOf(item) === cursor) + 1 : 0)
          .slice(0, limit),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(text, { maxLength: 70 }), max_bytes, async (texts, max_bytes) => {
        const ids = texts.map((_, index) => `id-${String(index).padStart(3, "0")}`);
        const flows = texts.map((description, index) => ({
          flow: { id: ids[index] as string, name: "A", description, errors: [], warnings: [] },
          triggers: [{ name: description.slice(0, 200) }],
        }));
        const runs = texts.map((message, index) => ({
          id: ids[index] as string,
          created_at: AT,
          finished_at: null,
          error: { code: "failed", message: message.slice(0, 2_000) },
        }));
        const connections = texts.map((name, index) => ({
          connection: { id: ids[index] as string, name: "C", checked_at: AT },
          offers: { tools: Array.from({ length: 150 }, () => ({ name: name.slice(0, 100) })) },
        }));
        const automations = {
          async list(_: string, { after, limit }: { after?: string; limit: number }) {
            const items = pageOf(flows, ({ flow }) => flow.id, limit).after(after);
            const last = items.at(-1)?.flow.id;
            return { items, next: last === undefined || last === ids.at(-1) ? null : last };
          },
          listSecretNames: async () => texts.map((secret) => secret.slice(0, 100)),
          listRuns: async ({ before, limit }: { before?: string; limit: number }) =>
            pageOf(runs, ({ id }) => id, limit).after(before),
          listConnections: async (_: string, after: string, limit: number) =>
            pageOf(connections, ({ connection }) => connection.id, limit).after(after),
        } as unknown as Automations;
        const tools = [...automationTools(automations), ...automationRunTools(automations)];
        type Page = {
          automations?: { id: string }[];
          runs?: { run_id: string }[];
          connections?: { id: string }[];
        };
        for (const name of ["AUTOMATION_LIST", "AUTOMATION_RUN_LIST", "CONNECTION_LIST"]) {
          const pages = await readPages<Page>(findTool(tools, name), { max_bytes }, (page) => [
            ...(page.automations ?? []).map(({ id }) => id),
            ...(page.runs ?? []).map(({ run_id }) => run_id),
            ...(page.connections ?? []).map(({ id }) => id),
          ]);
          expect([name, pages.flat()]).toEqual([name, ids]);
        }
      }),
      { numRuns: 30 },
    );
  });

  it("of the triggers that explain_event returns, if the result or the page of the hub is full", async () => {
    const triggers = Array.from({ length: 150 }, (_, index) => ({
      trigger: `Trigger ${index}`,
      flow_id: "f",
      node_id: `n${index}`,
      matched: false,
      reasons: [],
      reason: "x".repeat(index * 10),
      decided: "now",
      run_id: null,
      run_status: null,
    }));
    const tools = explainTools({
      inbox: { find: async () => ({ id: "e", tenant: "acme", trigger_status: null }) },
      explainer: {
        async explain(
          _tenant: string,
          _event: string,
          { cursor, limit }: { cursor?: string; limit: number },
        ) {
          const from = cursor ? triggers.findIndex(({ node_id }) => node_id === cursor) + 1 : 0;
          const items = triggers.slice(from, from + limit);
          const cursors = items.map(({ node_id }) => node_id);
          const next_cursor = from + limit < triggers.length ? cursors.at(-1) : null;
          return { items, cursors, next_cursor, total: triggers.length, started: 0 };
        },
      },
    } as unknown as ExplainToolsOptions);
    const tool = findTool(tools, "explain_event");
    type Page = { triggers: { node_id: string }[] };
    const args = { event_id: "e", max_bytes: 40_000 };
    const itemsOf = (page: Page) => page.triggers.map(({ node_id }) => node_id);
    const pages = await readPages<Page>(tool, args, itemsOf);
    expect(pages.length).toBeGreaterThan(5);
    expect(pages.flat()).toEqual(triggers.map(({ node_id }) => node_id));
    const large = await readPages<Page>(tool, { ...args, max_bytes: 1_000_000 }, itemsOf);
    expect(large.map(({ length }) => length)).toEqual([100, 50]);
  });
});

it.each([
  ["github", 'triggers[0]: must be an object with the field kind: "event", "schedule" or "tool"'],
  [{ source: "github" }, 'triggers[0].kind: must be "event", "schedule" or "tool"'],
])("rejects the trigger %j with the kinds that there are", async (trigger, message) => {
  const tool = findTool(automationTools({} as Automations), "AUTOMATION_CREATE");
  const model = { provider: "anthropic", name: "x" };
  const args = { name: "a", instructions: "b", model, triggers: [trigger] };
  const error: unknown = await tool?.call(args, {} as ToolContext).catch((error) => error);
  expect(messageWithField(error as RequestError)).toBe(message);
});

it("describes all fields and values of the fields that are listed briefly", () => {
  const shapes = [AGENT, ...Object.values(TRIGGERS)].map(
    ({ config }) => config.shape as Record<string, z.ZodType>,
  );
  for (const [name, description] of Object.entries(BRIEF_FIELDS)) {
    const fields = shapes.flatMap((shape) => shape[name] ?? []);
    expect(fields.length, name).toBeGreaterThan(0);
    for (const field of fields)
      for (const word of namesIn(field))
        expect([name, description]).toEqual([name, expect.stringContaining(word)]);
  }
});

/** The names of the fields of an object or of the objects in a list, and the values of enums. */
function namesIn(schema: z.ZodType): string[] {
  const { type, innerType, element, shape, entries } = schema.def as unknown as {
    type: string;
    innerType?: z.ZodType;
    element?: z.ZodType;
    shape?: Record<string, z.ZodType>;
    entries?: Record<string, string>;
  };
  if (innerType) return namesIn(innerType);
  if (element) return namesIn(element);
  if (entries) return Object.values(entries);
  const names = type === "object" ? Object.keys(shape ?? {}) : [];
  return names.filter((name) => name !== "required"); // legacy: a parameter has `optional`
}
