/** Asks GitHub to send the webhooks again that failed while the hub was down. */
import type { GithubPart } from "../github/part.ts";
import type { Kernel, Part } from "../part.ts";
import type { TokensPart } from "../tokens/part.ts";
import { createGithubDeliveries } from "./github-deliveries.ts";
import { createRedeliveryMetrics } from "./metrics.ts";
import { redeliveryRoutes } from "./redelivery-routes.ts";
import { type RedeliverySchedule, scheduleRedelivery } from "./schedule.ts";

export function createRedeliveryPart(
  { store, ports, settings, tenant, newId }: Kernel,
  { tokens }: TokensPart,
  { app }: GithubPart,
): Part {
  const { timers, log, metrics } = ports;
  const { redeliverEveryMs } = settings;
  const onCounted = createRedeliveryMetrics(metrics, store);
  let schedule: RedeliverySchedule | undefined;
  return {
    routes: redeliveryRoutes({
      store,
      tokens,
      isEnabled: app !== undefined && redeliverEveryMs !== undefined,
      wake: () => schedule?.wake(),
      now: timers.now,
    }),
    start() {
      // Without the registry of tokens and tenants, another Durable Object does it.
      if (!app || redeliverEveryMs === undefined || settings.hasRegistry === false) return;
      schedule = scheduleRedelivery({
        store,
        deliveries: createGithubDeliveries(app.call),
        tenant,
        by: newId(),
        everyMs: redeliverEveryMs,
        timers,
        log,
        onCounted,
      });
    },
    stop: () => schedule?.close(),
  };
}
