/** What operators need: settings, statistics, the size of the database, and the addresses of the hub. */
import { commandRefusal } from "../connections/command.ts";
import { WEBHOOKS } from "../events/admit/receive-request.ts";
import { partsOf } from "../kernel/store/engine.ts";
import type { Kernel, Part } from "../part.ts";
import type { TokensPart } from "../tokens/part.ts";
import { type GetHubInfo, hubInfoRoute } from "../tokens/session-routes.ts";
import { settingsRoutes } from "./settings-routes.ts";
import { statsRoutes } from "./stats-routes.ts";
import { storageRoutes } from "./storage-routes.ts";

export function createOperationsPart(
  { store, ports, settings }: Kernel,
  { tokens }: TokensPart,
  describeHub: GetHubInfo,
): Part {
  ports.metrics.gauge({
    name: "signalbox_database_bytes",
    help: "Size of the database by part: used, free (only SQLite) and wal (only SQLite); every replica reports the same number.",
    labels: ["part"],
    read: async () =>
      partsOf(await store.measureSize()).map(([part, bytes]) => [{ part }, bytes] as const),
  });
  return {
    routes: [
      ...settingsRoutes(settings.effectiveSettings ?? [], tokens),
      ...statsRoutes(store, ports.timers.now, settings.quota),
      ...storageRoutes(store, tokens),
      hubInfoRoute(describeHub),
    ],
  };
}

/** The version, addresses and capabilities of the hub. */
export function createDescribeHub({ store, ports, settings }: Kernel): GetHubInfo {
  const started_at = new Date(ports.timers.now()).toISOString();
  const { tenancy, github, publicUrl } = settings;
  return (origin) => {
    const url = publicUrl?.replace(/\/$/, "") ?? origin;
    return {
      version: settings.version,
      url,
      webhook_url: `${url}${WEBHOOKS}`.replace(/\/$/, ""),
      mcp_url: `${url}/mcp`,
      storage: store.backend,
      tenancy,
      is_public: settings.isPublic,
      accepts_unsigned: settings.allowUnsigned,
      allows_commands: commandRefusal(ports.openCommand) === undefined,
      install_url:
        tenancy === "single" || github.slug === undefined
          ? null
          : `${github.url}/apps/${github.slug}/installations/new`,
      started_at,
    };
  };
}
