/** The setting of the redelivery of webhooks. */
import { z } from "zod";
import { integer, setting, type ValuesOf } from "../kernel/settings.ts";

// biome-ignore format: a table
export const redeliveryDefinitions = {
  githubRedelivery: setting({ env: "GITHUB_REDELIVERY", flag: "github-redelivery", help: "minutes between the checks for webhooks that GitHub failed to deliver, or off; needs the App's id and key", schema: z.union([z.literal("off"), integer(1, 1_440)], "must be off, or minutes from 1 to 1440").default(5) }),
} as const;

export interface RedeliverySettings {
  /** How often the hub checks for webhooks that GitHub failed to deliver; undefined = never. */
  redeliverEveryMs?: number | undefined;
}

export const readRedeliverySettings = ({
  githubRedelivery,
}: ValuesOf<typeof redeliveryDefinitions>): RedeliverySettings => ({
  redeliverEveryMs: githubRedelivery === "off" ? undefined : githubRedelivery * 60_000,
});
