/** The results of the tools for automations, runs and connections: their schemas and their values. */
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import { type MaybeLarge, parseIfLarge, writeJson } from "@signalbox/rules/large-json.ts";
import { z } from "zod";
import { TRIGGER_KINDS } from "../apps/automation-graph.ts";
import type { Automation } from "../apps/automation-view.ts";
import { firstFindings } from "../apps/first-findings.ts";
import type { Connection, Offers } from "../store/connection-store.ts";
import { RUN_CAUSES, RUN_STATUSES, type Run, type Step } from "../store/run-store.ts";

const iso = (ms: number) => new Date(ms).toISOString();
const isoOrNull = (ms: number | null) => (ms === null ? null : iso(ms));
const object = z.record(z.string(), z.json());

export const automationSchema = z.object({
  id: z.string(),
  app: z.string(),
  name: z.string(),
  description: z.string(),
  agent: object.describe("The model, the instructions, the tools and the limits"),
  triggers: z.array(
    z.object({
      trigger_id: z.string(),
      name: z.string(),
      kind: z.enum([...TRIGGER_KINDS, "other"]),
      is_active: z.boolean(),
      config: object,
      next_fire_at: z.string().nullable().optional().describe("When a schedule fires next"),
      state: z.string().optional().describe("What the server of the connection has confirmed"),
      error: z.string().nullable().optional().describe("The error message of the server"),
    }),
  ),
  version: z.number().nullable().describe("The published version; null if it is only a draft"),
  is_published: z.boolean().describe("False if the draft has changes that do not run yet"),
  errors: z.array(z.string()).describe("What prevents publishing"),
  warnings: z.array(z.string()),
});

export function viewAutomation(automation: Automation): z.input<typeof automationSchema> {
  const { flow, agent, triggers, isPublished } = automation;
  const messages = (findings: readonly { message: string; path?: string | undefined }[]) =>
    firstFindings(findings).map(({ message }) => message);
  return {
    id: flow.id,
    app: flow.app,
    name: flow.name,
    description: flow.description,
    agent,
    triggers: triggers.map(({ id, name, kind, isActive, config, nextFireAt, subscription }) => ({
      trigger_id: id,
      name,
      kind,
      is_active: isActive,
      config,
      ...(nextFireAt !== undefined && { next_fire_at: isoOrNull(nextFireAt) }),
      ...subscription,
    })),
    version: flow.version,
    is_published: isPublished,
    errors: messages(flow.errors),
    warnings: messages(flow.warnings),
  };
}

/** The fields of an automation in a list. */
export const automationSummarySchema = automationSchema
  .pick({ id: true, app: true, name: true, description: true, version: true, is_published: true })
  .extend({ triggers: z.array(z.string()).describe("The names of its triggers") });

export const summarizeAutomation = (
  automation: Automation,
): z.input<typeof automationSummarySchema> => {
  const { id, app, name, description, version, is_published, triggers } =
    viewAutomation(automation);
  const names = triggers.map((trigger) => trigger.name);
  return { id, app, name, description, version, is_published, triggers: names };
};

const errorSchema = z.object({ code: z.string(), message: z.string() }).nullable();

export const runSchema = z.object({
  run_id: z.string(),
  automation_id: z.string(),
  trigger_id: z.string(),
  cause: z.enum(RUN_CAUSES),
  status: z.enum(RUN_STATUSES),
  event_id: z.string().nullable(),
  error: errorSchema,
  created_at: z.string(),
  finished_at: z.string().nullable(),
});

export const viewRun = (run: Run): z.input<typeof runSchema> => ({
  run_id: run.id,
  automation_id: run.flow_id,
  trigger_id: run.trigger_node,
  cause: run.cause,
  status: run.status,
  event_id: run.event_id ?? null,
  error: run.error && { code: run.error.code, message: run.error.message },
  created_at: iso(run.created_at),
  finished_at: isoOrNull(run.finished_at),
});

export const endedRunSchema = runSchema.extend({ output: z.json() });
export const viewEndedRun = (run: Run): z.input<typeof endedRunSchema> => ({
  ...viewRun(run),
  output: shorten(run.output),
});

export const wholeRunSchema = endedRunSchema.extend({
  input: z.json(),
  steps: z
    .array(
      z.object({
        node_id: z.string(),
        part: z.string().describe("A turn or a tool call of the agent, such as #turn-2"),
        attempt: z.number(),
        status: z.string(),
        input: z.json(),
        output: z.json(),
        error: errorSchema,
      }),
    )
    .describe("In the order in which they started"),
  omitted_steps: z.number().describe("How many earlier steps are left out"),
});

export const MAX_STEPS = 60;

export const viewWholeRun = (
  run: Run,
  steps: readonly Step[],
  total: number,
): z.input<typeof wholeRunSchema> => ({
  ...viewEndedRun(run),
  input: shorten(run.input),
  steps: steps.map(({ node_id, item, attempt, status, ...step }) => ({
    node_id,
    part: item,
    attempt,
    status,
    input: shorten(step.input),
    output: shorten(step.output),
    error: step.error && { code: step.error.code, message: step.error.message },
  })),
  omitted_steps: total - steps.length,
});

const MAX_CHARS = 4000;

/**
 * Replaces a large value by the beginning of its JSON, so that a run fits in the context of a model.
 */
function shorten(value: MaybeLarge): Json {
  const text = writeJson(value);
  if (text.length <= MAX_CHARS) return parseIfLarge(value);
  return { truncated: true, chars: text.length, json: text.slice(0, MAX_CHARS) };
}

const MAX_NAMES = 100;

export const connectionSchema = z.object({
  id: z
    .string()
    .describe("Use it as `connection` of an agent's tools, and as `source` of a trigger"),
  name: z.string(),
  status: z.enum(["unknown", "ok", "failed", "needs_authorization"]),
  error: z.string().nullable().describe("The error message of the last check, if it failed"),
  checked_at: z.string().nullable(),
  tools: z.array(z.string()).describe(`The names of its tools, up to ${MAX_NAMES}`),
  triggers: z.array(z.string()).describe(`The types of its triggers, up to ${MAX_NAMES}`),
});

interface ConnectionWithOffers {
  connection: Connection;
  offers: Offers | undefined;
}

export const viewConnection = ({
  connection,
  offers,
}: ConnectionWithOffers): z.input<typeof connectionSchema> => ({
  id: connection.id,
  name: connection.name,
  status: connection.status,
  error: connection.error,
  checked_at: isoOrNull(connection.checked_at),
  tools: (offers?.tools ?? []).slice(0, MAX_NAMES).map(({ name }) => name),
  triggers: (offers?.triggers ?? []).slice(0, MAX_NAMES).map(({ type }) => type),
});

export const checkedConnectionSchema = connectionSchema.extend({
  tools: z.array(z.object({ name: z.string(), description: z.string(), input_schema: object })),
  triggers: z.array(z.object({ type: z.string(), description: z.string(), params_schema: object })),
});

export const viewCheckedConnection = (
  checked: ConnectionWithOffers,
): z.input<typeof checkedConnectionSchema> => ({
  ...viewConnection(checked),
  tools: (checked.offers?.tools ?? []).slice(0, MAX_NAMES).map((tool) => ({
    name: tool.name,
    description: tool.description,
    input_schema: tool.inputSchema as JsonObject,
  })),
  triggers: (checked.offers?.triggers ?? []).slice(0, MAX_NAMES).map((trigger) => ({
    type: trigger.type,
    description: trigger.description,
    params_schema: trigger.inputSchema as JsonObject,
  })),
});
