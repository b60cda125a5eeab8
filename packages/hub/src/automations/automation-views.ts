/** The results of the tools for automations, runs and connections: their schemas and their values. */
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import { type MaybeLarge, parseIfLarge, writeJson } from "@signalbox/rules/large-json.ts";
import { z } from "zod";
import type { Connection, Offers } from "../connections/model.ts";
import { RUN_CAUSES, RUN_STATUSES, type Run, type Step } from "../flows/runs/model.ts";
import { firstFindings } from "../flows/views.ts";
import { TRIGGER_KINDS } from "./automation-graph.ts";
import type { Automation } from "./automation-view.ts";

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
  return {
    id,
    app,
    name,
    description: clip(description, 300),
    version,
    is_published,
    triggers: withOmitted(names, 10),
  };
};

const clip = (text: string, length: number) =>
  text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`;

const withOmitted = (names: string[], length: number): string[] =>
  names.length <= length
    ? names
    : [...names.slice(0, length), `and ${(names.length - length).toLocaleString("en")} more`];

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
  output: shorten(run.output, MAX_CHARS),
});

export const wholeRunSchema = runSchema.extend({
  input: z.json().optional().describe("On the first page, like `output`"),
  output: z.json().optional(),
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
  next_cursor: z.string().nullable().describe("The cursor of the earlier steps"),
});

export const MAX_STEPS = 60;
/** The maximum length of the JSON of a value. */
export const MAX_CHARS = 4000;

export const viewRunValues = ({ input, output }: Run, maxChars: number) => ({
  output: shorten(output, maxChars),
  input: shorten(input, maxChars),
});

export const viewStep = (
  { node_id, item, attempt, status, ...step }: Step,
  maxChars: number,
): z.input<typeof wholeRunSchema>["steps"][number] => ({
  node_id,
  part: item,
  attempt,
  status,
  input: shorten(step.input, maxChars),
  output: shorten(step.output, maxChars),
  error: step.error && { code: step.error.code, message: step.error.message },
});

/** Replaces a large value by the beginning of its JSON, so that it fits in the context of a model. */
function shorten(value: MaybeLarge, maxChars: number): Json {
  const text = writeJson(value);
  if (text.length <= maxChars) return parseIfLarge(value);
  return { truncated: true, chars: text.length, json: text.slice(0, maxChars) };
}

export const MAX_NAMES = 100;

export const connectionSchema = z.object({
  id: z
    .string()
    .describe("Use it as `connection` of an agent's tools, and as `source` of a trigger"),
  name: z.string(),
  status: z.enum(["unknown", "ok", "failed", "needs_authorization"]),
  error: z.string().nullable().describe("The error message of the last check, if it failed"),
  checked_at: z.string().nullable(),
  tools: z.array(z.string()).describe("The names of its tools"),
  triggers: z.array(z.string()).describe("The types of its triggers"),
  omitted: z.number().optional().describe("How many tools and triggers are left out"),
});

interface ConnectionWithOffers {
  connection: Connection;
  offers: Offers | undefined;
}

const viewStatus = (connection: Connection) => ({
  id: connection.id,
  name: connection.name,
  status: connection.status,
  error: connection.error,
  checked_at: isoOrNull(connection.checked_at),
});

/** `maxNames`: how many tools and how many triggers it lists. */
export function viewConnection(
  { connection, offers }: ConnectionWithOffers,
  maxNames: number,
): z.input<typeof connectionSchema> {
  const tools = (offers?.tools ?? []).map(({ name }) => name);
  const triggers = (offers?.triggers ?? []).map(({ type }) => type);
  const omitted = [tools, triggers].reduce(
    (sum, { length }) => sum + Math.max(0, length - maxNames),
    0,
  );
  return {
    ...viewStatus(connection),
    tools: tools.slice(0, maxNames),
    triggers: triggers.slice(0, maxNames),
    ...(omitted > 0 && { omitted }),
  };
}

const toolSchema = z.object({
  name: z.string(),
  description: z.string(),
  input_schema: object,
});
const triggerSchema = z.object({
  type: z.string(),
  description: z.string(),
  params_schema: object,
});

export const checkedConnectionSchema = connectionSchema.omit({ omitted: true }).extend({
  tools: z.array(toolSchema),
  triggers: z.array(triggerSchema),
  next_cursor: z.string().nullable(),
});

type Offer =
  | { kind: "tool"; tool: z.input<typeof toolSchema> }
  | { kind: "trigger"; trigger: z.input<typeof triggerSchema> };

/**
 * The tools, then the triggers, without duplicates, which a server may list. A schema or description of
 * more than `maxChars` is shortened.
 */
export function viewOffers(offers: Offers | undefined, maxChars: number): Offer[] {
  const tools = (offers?.tools ?? []).map(({ name, description, inputSchema }) => ({
    kind: "tool" as const,
    tool: {
      name,
      description: clip(description, maxChars),
      input_schema: shorten(inputSchema as Json, maxChars) as JsonObject,
    },
  }));
  const triggers = (offers?.triggers ?? []).map(({ type, description, inputSchema }) => ({
    kind: "trigger" as const,
    trigger: {
      type,
      description: clip(description, maxChars),
      params_schema: shorten(inputSchema as Json, maxChars) as JsonObject,
    },
  }));
  return [...new Map([...tools, ...triggers].map((offer) => [offerKey(offer), offer])).values()];
}

/** A cursor. Servers may use names of any length. */
export const offerKey = (offer: Offer): string =>
  clip(offer.kind === "tool" ? `tool:${offer.tool.name}` : `trigger:${offer.trigger.type}`, 500);

export const viewCheckedConnection = (
  connection: Connection,
  offers: readonly Offer[],
  next_cursor: string | null,
): z.input<typeof checkedConnectionSchema> => ({
  ...viewStatus(connection),
  tools: offers.flatMap((offer) => (offer.kind === "tool" ? [offer.tool] : [])),
  triggers: offers.flatMap((offer) => (offer.kind === "trigger" ? [offer.trigger] : [])),
  next_cursor,
});
