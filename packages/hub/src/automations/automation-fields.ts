/** Schemas of the arguments that describe an automation: the config fields of its nodes. */
import { isObject, type JsonObject } from "@signalbox/rules/json.ts";
import { z } from "zod";
import { brief } from "../kernel/mcp/listed-schema.ts";
import { AGENT, TRIGGER_KINDS, TRIGGERS, type TriggerInput } from "./automation-graph.ts";

/** Descriptions of fields that have fields or fixed values. They name all of these. */
export const BRIEF_FIELDS: Readonly<Record<string, string>> = {
  model:
    "{ provider, name, apiKey?, baseUrl?, maxOutputTokens? }: provider is anthropic, or openai for any compatible API at baseUrl. " +
    "apiKey is {{ secrets.NAME }}: a key itself is rejected",
  tools:
    "[{ connection, tools? }]: the id of a connection, and the tools of it that the agent may call; by default all",
  limits:
    "{ turns?, tokens?, seconds? }: when one is reached, the run fails. By default 10 answers of the model, 100000 tokens, 300 seconds",
  misfire:
    "For ticks missed while the hub was down: once (default, one run for all of them) or skip",
  concurrency:
    "{ most, key?, whenFull? }: at most `most` (1 to 1000) runs at the same time, counted for each value at the path `key`. " +
    "whenFull: queue (default), skip the new run, or replace the waiting runs",
  gather:
    "{ forMs, key? }: events within forMs milliseconds, up to 86400000, share one run; with `key`, only those with the same value at this path. " +
    "{{ trigger.gathered }} lists all but the first",
  poll:
    "{ tool, key, arguments?, items?, everySeconds? }: for a connection without triggers. Calls the tool every 60 seconds (10 to 86400); " +
    "each new value at the path `key` of an item is an event. items: the path of the list in the result",
  whenToUse: "Appended to toolDescription",
  whenNotToUse: "Appended to toolDescription",
  parameters:
    "[{ name, type?, description?, optional?, default?, enum?, items?, format?, schema? }]: the arguments. " +
    "type: string (default), number, integer, boolean, enum (with its values in `enum`), array (with the type of its `items`) or object. " +
    "schema: a JSON Schema instead of the type",
};

/** Lists the fields of `BRIEF_FIELDS` briefly. */
const withBriefFields = (shape: object): Record<string, z.ZodType> =>
  Object.fromEntries(
    Object.entries(shape as Record<string, z.ZodType>).map(([name, field]) => {
      const description = BRIEF_FIELDS[name];
      return [name, description === undefined ? field : brief(field, description)];
    }),
  );

export const agentFields = withBriefFields(AGENT.config.shape);

/**
 * The fields of the agent for an update. An omitted field keeps its stored value, so the schemas have no
 * defaults, which would overwrite it. Null removes an optional field.
 */
export const changedAgentFields = Object.fromEntries(
  Object.entries(agentFields).map(([name, field]) => {
    const schema = field as z.ZodType;
    const hasDefault = schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault;
    const value = (hasDefault ? schema.unwrap() : schema) as z.ZodType;
    const changed = schema instanceof z.ZodOptional ? value.nullable() : value.optional();
    return [name, brief(changed)];
  }),
);

/** Picks the fields of the agent from the arguments of a tool. */
export const agentConfig = (args: Record<string, unknown>): JsonObject =>
  Object.fromEntries(
    Object.entries(args).filter(([name, value]) => name in agentFields && value !== undefined),
  ) as JsonObject;

const DESCRIPTIONS = {
  event:
    "Starts when an event arrives: a webhook, or an event of a connection. The agent gets { id, source, type, received_at, data }",
  schedule: "Starts at certain times. The agent gets { scheduled_at, fired_at, time_zone, missed }",
  tool: "A tool of the MCP server /mcp/APP. The agent gets the arguments of the call",
};

/** A trigger: its kind, an optional name, and the config of its node. */
export const triggerField = z.discriminatedUnion(
  "kind",
  TRIGGER_KINDS.map((kind) =>
    z
      .strictObject({
        kind: z.literal(kind),
        name: z.string().min(1).max(100).optional().describe("For people"),
        ...shapeOf(kind),
      })
      .describe(DESCRIPTIONS[kind]),
  ) as unknown as [z.ZodObject<{ kind: z.ZodLiteral<(typeof TRIGGER_KINDS)[number]> }>],
  {
    error: ({ input }) =>
      isObject(input)
        ? 'must be "event", "schedule" or "tool"'
        : 'must be an object with the field kind: "event", "schedule" or "tool"',
  },
);

/** Like `triggerField`, but its JSON Schema is short, because AUTOMATION_TRIGGER_ADD has the long one. */
export const briefTriggerField = brief(
  triggerField,
  'As `trigger` in AUTOMATION_TRIGGER_ADD, such as { "kind": "event", "source": "github", "type": "issues", "params": { "action": "opened" } } or { "kind": "schedule", "cron": "0 9 * * 1-5", "timeZone": "Europe/Berlin" }',
);

/**
 * The config fields of a trigger kind. `toolName` is optional: by default it is derived from the
 * name.
 */
function shapeOf(kind: (typeof TRIGGER_KINDS)[number]): z.ZodRawShape {
  const { toolName, ...shape } = withBriefFields(TRIGGERS[kind].config.shape);
  // The same for all kinds, so one has the description.
  if (shape.concurrency && kind !== "event")
    shape.concurrency = brief(shape.concurrency, "As for the kind event");
  return toolName ? { toolName: toolName.optional(), ...shape } : shape;
}

export function toTriggerInput(trigger: Record<string, unknown>): TriggerInput {
  const { kind, name, ...config } = trigger;
  return {
    kind: kind as TriggerInput["kind"],
    name: name as string | undefined,
    config: config as JsonObject,
  };
}
