/** The settings of webhooks, retention and MCP Events. */
import {
  boolean,
  choice,
  DAY_MS,
  days,
  integer,
  setting,
  type ValuesOf,
} from "../kernel/settings.ts";
import type { Retention } from "./retention/model.ts";

// biome-ignore format: a table
export const eventDefinitions = {
  maxWebhookValues: setting({ env: "SIGNALBOX_MAX_WEBHOOK_VALUES", flag: "max-webhook-values", help: "maximum number of values in the body of a webhook above 256 KiB", schema: integer(1_000, 10_000_000).default(2_000_000) }),
  allowUnsigned: setting({ env: "SIGNALBOX_ALLOW_UNSIGNED", flag: "allow-unsigned", help: "accept webhooks without a signature (only on a loopback address)", schema: boolean.default(false) }),
  githubIpAllowlist: setting({ env: "GITHUB_IP_ALLOWLIST", flag: "github-ip-allowlist", help: "accept webhooks of GitHub only from its IP addresses: auto (on when the hub is public), on or off", schema: choice(["auto", "on", "off"]).default("auto") }),
  rateLimit: setting({ env: "SIGNALBOX_RATE_LIMIT", flag: "rate-limit", help: "maximum number of failed webhooks and callbacks per second and client address, above which only valid ones are accepted; 0 = no limit", schema: integer(0, 1_000_000).default(100) }),
  quota: setting({ env: "SIGNALBOX_QUOTA", flag: "quota", help: "maximum number of pending events per tenant; 0 = no limit (default: no limit for single, 10000 for github)", schema: integer(0, Number.MAX_SAFE_INTEGER).optional() }),
  keepProcessedDays: setting({ env: "SIGNALBOX_KEEP_PROCESSED_DAYS", flag: "keep-processed-days", help: "days to keep processed events, above 0", schema: days.default(3) }),
  keepPendingDays: setting({ env: "SIGNALBOX_KEEP_PENDING_DAYS", flag: "keep-pending-days", help: "days to keep pending events, above 0", schema: days.default(90) }),
  keepMegabytes: setting({ env: "SIGNALBOX_KEEP_MB", flag: "keep-mb", help: "maximum size of the events and ended runs to keep per tenant, as stored in the database, in megabytes", schema: integer(1, 1_000_000_000).default(8192) }),
  eventsDraft: setting({ env: "SIGNALBOX_EVENTS_DRAFT", flag: "events-draft", help: "on or off: MCP Events (a draft) on /mcp, with webhooks to subscribers", schema: choice(["on", "off"]).default("on") }),
} as const;

export interface EventSettings {
  /** The maximum number of failed requests per client per second (kernel/http/rate-limit.ts); 0 = no limits. */
  rateLimit: number;
  /** The maximum number of pending events per tenant; null = no limit. */
  quota: number | null;
  retention: Pick<Retention, "processedFor" | "pendingFor" | "maxBytes">;
  /** Whether the hub accepts GitHub's webhooks from GitHub's addresses only. */
  githubAddressesOnly: boolean;
  /** Whether `/mcp` supports the draft "MCP Events", including webhooks to subscribers. */
  eventsDraft: boolean;
}

export function readEventSettings(
  values: ValuesOf<typeof eventDefinitions>,
  { isPublic, defaultQuota }: { isPublic: boolean; defaultQuota: number },
): EventSettings {
  const { githubIpAllowlist } = values;
  const quota = values.quota ?? defaultQuota;
  return {
    rateLimit: values.rateLimit,
    quota: quota === 0 ? null : quota,
    retention: {
      processedFor: values.keepProcessedDays * DAY_MS,
      pendingFor: values.keepPendingDays * DAY_MS,
      maxBytes: values.keepMegabytes * 1024 * 1024,
    },
    githubAddressesOnly: githubIpAllowlist === "on" || (githubIpAllowlist === "auto" && isPublic),
    eventsDraft: values.eventsDraft === "on",
  };
}
