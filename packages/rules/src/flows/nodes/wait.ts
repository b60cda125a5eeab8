/** Waits, and passes on what came in. The run takes up no place meanwhile, and survives a restart. */
import { z } from "zod";
import { Permanent } from "../errors.ts";
import { defineNode } from "../node-type.ts";

const LONGEST_S = 366 * 24 * 3600;

const config = z
  .strictObject({
    seconds: z
      .number()
      .min(0)
      .max(LONGEST_S, "must be a year at the most")
      .optional()
      .describe("How long."),
    until: z.iso
      .datetime({ offset: true, error: "must be a time such as 2026-01-31T09:00:00Z" })
      .optional()
      .describe("In place of seconds. Once it has passed, there is nothing to wait for."),
  })
  .superRefine(({ seconds, until }, context) => {
    if ((seconds === undefined) === (until === undefined))
      context.addIssue({
        code: "custom",
        path: ["seconds"],
        message: "give either seconds, or until",
      });
  });

export const wait = defineNode({
  type: "Wait",
  title: "Wait",
  description: "Waits for some time, or until a point in time.",
  icon: "Hourglass",
  kind: "action",
  config,
  ports: { in: ["in"], out: ["out"] },
  sample: {
    config: { seconds: 90 },
    input: { order: 1 },
    result: { wait: { until: 90_000 } },
    refuses: { config: { until: "tomorrow" }, path: "until" },
  },
  run({ config: { seconds, until }, input, resumed, now }) {
    if (resumed) return { output: input };
    const at = until === undefined ? now() + (seconds ?? 0) * 1000 : Date.parse(until);
    if (at <= now()) return { output: input };
    if (at > now() + LONGEST_S * 1000)
      throw new Permanent(`until: ${until} is more than a year away.`, { code: "invalid_config" });
    return { wait: { until: at } };
  },
});
