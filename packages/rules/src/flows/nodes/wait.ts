/** Suspends the run for a time, and then returns its input. */
import { z } from "zod";
import { Permanent } from "../errors.ts";
import { defineNode } from "../node-type.ts";

const MAX_SECONDS = 366 * 24 * 3600;

const config = z
  .strictObject({
    seconds: z
      .number()
      .min(0)
      .max(MAX_SECONDS, "must be at most a year")
      .optional()
      .describe("How long to wait."),
    until: z.iso
      .datetime({ offset: true, error: "must be a time such as 2026-01-31T09:00:00Z" })
      .optional()
      .describe(
        "The time to wait for, instead of seconds. If it has passed, the node does not wait.",
      ),
  })
  .superRefine(({ seconds, until }, context) => {
    if ((seconds === undefined) === (until === undefined))
      context.addIssue({
        code: "custom",
        path: ["seconds"],
        message: "set either seconds or until",
      });
  });

export const wait = defineNode({
  type: "Wait",
  title: "Wait",
  description: "Waits for a duration, or until a point in time.",
  icon: "Hourglass",
  kind: "action",
  config,
  ports: { in: ["in"], out: ["out"] },
  sample: {
    config: { seconds: 90 },
    input: { order: 1 },
    result: { wait: { until: 90_000 } },
    rejects: { config: { until: "tomorrow" }, path: "until" },
  },
  run({ config: { seconds, until }, input, resumed, now }) {
    if (resumed) return { output: input };
    const at = until === undefined ? now() + (seconds ?? 0) * 1000 : Date.parse(until);
    if (at <= now()) return { output: input };
    if (at > now() + MAX_SECONDS * 1000)
      throw new Permanent(`until: ${until} is more than a year away.`, { code: "invalid_config" });
    return { wait: { until: at } };
  },
});
