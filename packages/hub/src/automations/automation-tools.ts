/** Tools with which agents create and change automations, and test their triggers. */
import { nextTick } from "@signalbox/rules/flows/cron.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { z } from "zod";
import { onlyTenant } from "../kernel/access/authorizer.ts";
import { largestFitting } from "../kernel/lib/largest-fitting.ts";
import { RequestError } from "../kernel/lib/request-error.ts";
import { fitItems, max_bytes, nextPageNote, resultBytes } from "../kernel/mcp/result-budget.ts";
import { defineTool, type Tool, type ToolContext, type ToolResult } from "../kernel/mcp/tool.ts";
import {
  agentConfig,
  agentFields,
  briefTriggerField,
  changedAgentFields,
  toTriggerInput,
  triggerField,
} from "./automation-fields.ts";
import type { Automation } from "./automation-view.ts";
import {
  automationSchema,
  automationSummarySchema,
  summarizeAutomation,
  viewAutomation,
} from "./automation-views.ts";
import { type Automations, DEFAULT_APP } from "./automations.ts";

const scope = "admin" as const;
const id = z.string().min(1).max(100).describe("The automation's id");
const triggerId = z.string().min(1).max(100).describe("The `trigger_id` of AUTOMATION_GET");
const name = z.string().trim().min(1, "must not be empty").max(200);
const description = z.string().max(4000);
const draft = z
  .boolean()
  .default(false)
  .describe("Only saves a draft; otherwise the change takes effect immediately");

const changeOptionsOf = ({ access }: ToolContext, args: { draft: boolean }) => ({
  by: access.name,
  draft: args.draft,
});
const result = (structured: Record<string, unknown>, note?: string): ToolResult => ({
  text: structured,
  note,
  structured,
});

const MAX_TESTED = 100;
const MAX_LISTED = 20;
const NEXT_TIMES = 5;

export const automationTools = (automations: Automations): readonly Tool[] => [
  defineTool({
    name: "AUTOMATION_CREATE",
    title: "Create an automation",
    description:
      "Creates an automation: a model with instructions and tools, and the triggers that start it. " +
      "Each event, tick or tool call starts a run of the agent, with the trigger's data as untrusted data. " +
      "CONNECTION_LIST lists tools. If something is invalid, nothing is created.",
    scope,
    openWorld: true,
    input: z.object({
      name: name.describe("A short name, such as Label new issues"),
      description: description.optional().describe("What it does, for people"),
      app: z
        .string()
        .max(100)
        .optional()
        .describe(`The slug of an existing app; by default ${DEFAULT_APP}`),
      ...agentFields,
      triggers: z
        .array(briefTriggerField)
        .max(20)
        .default([])
        .describe("What starts it. AUTOMATION_TRIGGER_ADD adds more later"),
      draft,
    }),
    output: automationSchema,
    async run(args, context) {
      const created = await automations.create(
        onlyTenant(context.access),
        {
          name: args.name,
          description: args.description,
          app: args.app,
          agent: agentConfig(args),
          triggers: args.triggers.map(toTriggerInput),
        },
        changeOptionsOf(context, args),
      );
      return result(viewAutomation(created));
    },
  }),
  defineTool({
    name: "AUTOMATION_LIST",
    title: "List automations",
    description:
      "Lists automations, and the names of the stored secrets that a model's apiKey can refer to as {{ secrets.NAME }}.",
    scope,
    readOnly: true,
    input: z.object({
      app: z.string().max(100).optional().describe("Only automations of this app"),
      cursor: z.string().max(100).optional().describe("`next_cursor` of the previous page"),
      max_bytes,
    }),
    output: z.object({
      automations: z.array(automationSummarySchema),
      next_cursor: z
        .string()
        .nullable()
        .describe("A page may be short or empty; continue until null"),
      secrets: z.array(z.string()),
      omitted_secrets: z.number().optional().describe("The number of secrets that did not fit"),
    }),
    async run({ app, cursor, max_bytes }, { access }) {
      const tenant = onlyTenant(access);
      const { items, next } = await automations.list(tenant, { app, after: cursor, limit: 50 });
      const names = await automations.listSecretNames(tenant);
      const automationsResult = (page: Automation[], secrets: string[]): ToolResult => {
        const isWhole = page.length === items.length;
        const next_cursor = isWhole ? next : (page.at(-1)?.flow.id ?? null);
        const omitted_secrets = names.length - secrets.length;
        return result(
          {
            automations: page.map(summarizeAutomation),
            next_cursor,
            secrets,
            ...(omitted_secrets > 0 && { omitted_secrets }),
          },
          nextPageNote(next_cursor),
        );
      };
      // The other half is left for automations.
      const count = largestFitting(
        names.length,
        (n) => resultBytes(automationsResult([], names.slice(0, n))) <= max_bytes / 2,
      );
      return fitItems(items, max_bytes, (page) => automationsResult(page, names.slice(0, count)));
    },
  }),
  defineTool({
    name: "AUTOMATION_GET",
    title: "Get an automation",
    description:
      "Returns an automation: its agent, its triggers with their state, and its errors and warnings.",
    scope,
    readOnly: true,
    input: z.object({ id }),
    output: automationSchema,
    async run(args, { access }) {
      return result(viewAutomation(await automations.get(onlyTenant(access), args.id)));
    },
  }),
  defineTool({
    name: "AUTOMATION_UPDATE",
    title: "Change an automation",
    description:
      "Replaces the given fields of AUTOMATION_CREATE; null removes an optional one. Without any field, publishes the draft.",
    scope,
    idempotent: true,
    openWorld: true,
    input: z.object({
      id,
      name: name.optional(),
      description: description.optional(),
      ...changedAgentFields,
      draft,
    }),
    output: automationSchema,
    async run(args, context) {
      const { name, description } = args;
      const change = {
        ...(name !== undefined && { name }),
        ...(description !== undefined && { description }),
        agent: agentConfig(args),
      };
      const tenant = onlyTenant(context.access);
      const changeOptions = changeOptionsOf(context, args);
      return result(
        viewAutomation(await automations.update(tenant, args.id, change, changeOptions)),
      );
    },
  }),
  defineTool({
    name: "AUTOMATION_DELETE",
    title: "Delete an automation",
    description: "Deletes an automation with its triggers. Active runs finish.",
    scope,
    destructive: true,
    openWorld: true,
    input: z.object({ id }),
    output: z.object({ deleted: z.string() }),
    async run(args, { access }) {
      await automations.remove(onlyTenant(access), args.id);
      return result({ deleted: args.id });
    },
  }),
  defineTool({
    name: "AUTOMATION_TRIGGER_ADD",
    title: "Add a trigger",
    description:
      "Adds a trigger to an automation: an event, a schedule, or a tool that other agents call. " +
      "Test an event trigger with AUTOMATION_TRIGGER_TEST first.",
    scope,
    openWorld: true,
    input: z.object({ id, trigger: triggerField, draft }),
    output: automationSchema.extend({
      trigger_id: z.string().describe("The id of the new trigger"),
    }),
    async run(args, context) {
      const { triggerId, ...automation } = await automations.addTrigger(
        onlyTenant(context.access),
        args.id,
        toTriggerInput(args.trigger),
        changeOptionsOf(context, args),
      );
      return result({ ...viewAutomation(automation), trigger_id: triggerId });
    },
  }),
  defineTool({
    name: "AUTOMATION_TRIGGER_UPDATE",
    title: "Change a trigger",
    description:
      'Changes fields of a trigger, as in AUTOMATION_TRIGGER_ADD. To pause it: "changes": { "isActive": false }.',
    scope,
    idempotent: true,
    openWorld: true,
    input: z.object({
      id,
      trigger_id: triggerId,
      name: name.optional(),
      changes: z
        .record(z.string(), z.json())
        .default({})
        .describe("The fields to change. Objects are merged, null removes a field"),
      draft,
    }),
    output: automationSchema,
    async run(args, context) {
      const updated = await automations.updateTrigger(
        onlyTenant(context.access),
        args.id,
        args.trigger_id,
        { name: args.name, config: args.changes as JsonObject },
        changeOptionsOf(context, args),
      );
      return result(viewAutomation(updated));
    },
  }),
  defineTool({
    name: "AUTOMATION_TRIGGER_REMOVE",
    title: "Remove a trigger",
    description: "Removes a trigger from an automation.",
    scope,
    destructive: true,
    openWorld: true,
    input: z.object({ id, trigger_id: triggerId, draft }),
    output: automationSchema,
    async run(args, context) {
      const tenant = onlyTenant(context.access);
      const changeOptions = changeOptionsOf(context, args);
      return result(
        viewAutomation(
          await automations.removeTrigger(tenant, args.id, args.trigger_id, changeOptions),
        ),
      );
    },
  }),
  defineTool({
    name: "AUTOMATION_TRIGGER_TEST",
    title: "Test a trigger",
    description:
      `Compares an event trigger with the last ${MAX_TESTED} events of its source and type, or with one event, and says which match and why. ` +
      "For a schedule, returns the next times. Nothing runs. Send id and trigger_id of a trigger, or a new `trigger`.",
    scope,
    readOnly: true,
    input: z.object({
      id: id.optional(),
      trigger_id: triggerId.optional(),
      trigger: briefTriggerField.optional(),
      event_id: z.string().max(100).optional().describe("Only this event"),
      max_bytes,
    }),
    output: z.object({
      tested: z.number().describe("How many events were tested"),
      compared: z.string().describe("Describes which events were tested"),
      matched: z.number(),
      events: z
        .array(
          z.object({
            event_id: z.string(),
            source: z.string(),
            type: z.string(),
            received_at: z.string(),
            matched: z.boolean(),
            reason: z
              .string()
              .describe("The conditions that failed, or all conditions if none failed"),
          }),
        )
        .describe(
          `Up to ${MAX_LISTED} events: first those that match, then the others, the newest first`,
        ),
      next_fire_times: z
        .array(z.string())
        .describe("The next times of a schedule; empty for an event trigger"),
    }),
    async run({ max_bytes, ...args }, { access }) {
      const tenant = onlyTenant(access);
      const field = args.trigger ? "trigger" : "trigger_id";
      const { kind, config } = args.trigger
        ? toTriggerInput(args.trigger)
        : await automations.getTrigger(
            tenant,
            requireArgument(args.id, "id"),
            requireArgument(args.trigger_id, "trigger_id"),
          );
      if (kind === "schedule")
        return result({
          tested: 0,
          compared: "No events: a schedule fires at certain times",
          matched: 0,
          events: [],
          next_fire_times: listNextTimes(automations.getSchedule(config, field)),
        });
      if (kind !== "event")
        throw new RequestError(
          "invalid",
          args.trigger ? "trigger.kind" : "trigger_id",
          "Only triggers of the kinds event and schedule can be tested. Start a trigger of the kind tool with AUTOMATION_RUN.",
        );
      const event = args.event_id;
      const selection = { limit: MAX_TESTED, event };
      const { tested, compared } = await automations.testTrigger(tenant, config, field, selection);
      const listed = [...tested]
        .sort((a, b) => Number(b.matched) - Number(a.matched))
        .slice(0, MAX_LISTED);
      return fitItems(listed, max_bytes, (events) =>
        result({
          tested: tested.length,
          compared,
          matched: tested.filter(({ matched }) => matched).length,
          events: events.map(({ event: { id, source, type, received_at }, matched, reason }) => ({
            event_id: id,
            source,
            type,
            received_at: new Date(received_at).toISOString(),
            matched,
            reason,
          })),
          next_fire_times: [],
        }),
      );
    },
  }),
];

function requireArgument(value: string | undefined, field: string): string {
  if (value !== undefined) return value;
  throw new RequestError(
    "invalid",
    field,
    "is missing: send id and trigger_id of a stored trigger, or `trigger` to test a new one",
  );
}

function listNextTimes(schedule: { cron: string; timeZone: string }): string[] {
  const nextTimes: string[] = [];
  let at: number | null = Date.now();
  while (nextTimes.length < NEXT_TIMES && at !== null) {
    at = nextTick(schedule, at);
    if (at !== null) nextTimes.push(new Date(at).toISOString());
  }
  return nextTimes;
}
