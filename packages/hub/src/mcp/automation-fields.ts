/** Schemas of the arguments that describe an automation: the config fields of its nodes. */
import type { JsonObject } from "@signalbox/rules/json.ts";
import { z } from "zod";
import { AGENT, TRIGGER_KINDS, TRIGGERS, type TriggerInput } from "../apps/automation-graph.ts";

export const agentFields = AGENT.config.shape;

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
    const { description = "" } = schema;
    const removal = schema instanceof z.ZodOptional ? " Null removes it." : "";
    return [name, changed.describe(description + removal)];
  }),
);

/** Picks the fields of the agent from the arguments of a tool. */
export const agentConfig = (args: Record<string, unknown>): JsonObject =>
  Object.fromEntries(
    Object.entries(args).filter(([name, value]) => name in agentFields && value !== undefined),
  ) as JsonObject;

const DESCRIPTIONS = {
  event:
    "Starts when an event arrives: a webhook of a source such as github, or an event of a connection. The agent gets { id, source, type, received_at, data } as its data.",
  schedule:
    "Starts at the times of a cron expression. The agent gets { scheduled_at, fired_at, time_zone, missed } as its data.",
  tool: "Is a tool of the app's MCP server, /mcp/APP. The agent gets the arguments of the call as its data.",
};

/** A trigger: its kind, an optional name, and the config of its node. */
export const triggerField = z.discriminatedUnion(
  "kind",
  TRIGGER_KINDS.map((kind) =>
    z
      .strictObject({
        kind: z.literal(kind),
        name: z.string().min(1).max(100).optional().describe("A short name for people."),
        ...shapeOf(kind),
      })
      .describe(DESCRIPTIONS[kind]),
  ) as unknown as [z.ZodObject<{ kind: z.ZodLiteral<(typeof TRIGGER_KINDS)[number]> }>],
  'kind: must be "event", "schedule" or "tool"',
);

/**
 * Like `triggerField`, but its JSON Schema is short, because AUTOMATION_TRIGGER_ADD has the long
 * one.
 */
export const briefTriggerField = z
  .record(z.string(), z.unknown())
  .pipe(triggerField)
  .describe(
    'A trigger with the fields of `trigger` in AUTOMATION_TRIGGER_ADD, such as { "kind": "event", "source": "github", "type": "issues", "params": { "action": "opened" } } or { "kind": "schedule", "cron": "0 9 * * 1-5", "timeZone": "Europe/Berlin" }.',
  );

/**
 * The config fields of a trigger kind. `toolName` is optional: by default it is derived from the
 * name.
 */
function shapeOf(kind: (typeof TRIGGER_KINDS)[number]): z.ZodRawShape {
  const { toolName, ...shape } = TRIGGERS[kind].config.shape as Record<string, z.ZodType>;
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
