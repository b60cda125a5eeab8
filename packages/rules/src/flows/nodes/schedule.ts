/** Starts a run at the times of a cron expression; ../schedule.ts plans the runs. */
import { z } from "zod";
import { concurrencySchema } from "../concurrency.ts";
import { cronProblem, isTimeZone, MAX_CRON_LENGTH } from "../cron.ts";
import { defineNode } from "../node-type.ts";
import { MAX_MISSED, MISFIRE_POLICIES } from "../schedule.ts";
import { textSchema } from "../text-schema.ts";

const NO_TIME_ZONE =
  "must be the IANA name of a time zone, such as Europe/Berlin, America/New_York or UTC";

const scheduleConfig = z.strictObject({
  cron: textSchema("must be a cron expression such as `0 9 * * 1-5`")
    .max(MAX_CRON_LENGTH)
    .superRefine((cron, context) => {
      const message = cronProblem(cron);
      if (message) context.addIssue({ code: "custom", message });
    })
    .describe(
      "A cron expression: minute, hour, day of month, month, weekday, such as `0 9 * * 1-5`. At most one tick per minute.",
    ),
  timeZone: textSchema(NO_TIME_ZONE)
    .max(100)
    .refine(isTimeZone, NO_TIME_ZONE)
    .default("UTC")
    .describe("The time zone of the cron expression: an IANA name such as `Europe/Berlin`."),
  misfire: z
    .enum(MISFIRE_POLICIES, "must be skip or once")
    .default("once")
    .describe(
      "What happens to ticks that the hub missed by a minute or more, because it was down. `once`: one run for all of them. `skip`: none.",
    ),
  isActive: z.boolean().default(true).describe("Whether it starts runs."),
  concurrency: concurrencySchema
    .optional()
    .describe("How many runs may be active at the same time."),
});

export const schedule = defineNode({
  type: "Schedule",
  title: "Schedule",
  description: "Starts at the times of a cron expression.",
  icon: "CalendarClock",
  kind: "trigger",
  config: scheduleConfig,
  ports: { in: [], out: ["out"] },
  schedule: ({ isActive: _, cron, ...rest }) => ({ cron: cron.trim(), ...rest }),
  outputSchema: () => ({
    type: "object",
    properties: {
      scheduled_at: { type: "string", format: "date-time" },
      fired_at: { type: "string", format: "date-time" },
      time_zone: { type: "string" },
      missed: { type: "integer", minimum: 0, maximum: MAX_MISSED },
    },
    required: ["scheduled_at", "fired_at", "time_zone", "missed"],
    additionalProperties: false,
  }),
  sample: {
    config: { cron: "0 9 * * 1-5", timeZone: "Europe/Berlin", misfire: "once" },
    input: {
      scheduled_at: "2026-11-16T08:00:00.000Z",
      fired_at: "2026-11-16T08:00:00.012Z",
      time_zone: "Europe/Berlin",
      missed: 0,
    },
    result: {
      output: {
        scheduled_at: "2026-11-16T08:00:00.000Z",
        fired_at: "2026-11-16T08:00:00.012Z",
        time_zone: "Europe/Berlin",
        missed: 0,
      },
    },
    rejects: { config: { cron: "*/10 * * * * *" }, path: "cron" },
  },
});
