/** Compares events with the triggers of flows, and explains the result. */
import { type Trip, tripMessage } from "@signalbox/rules/match/breaker.ts";
import type { Inbox } from "../../events/inbox/inbox.ts";
import { createLargeReads } from "../../events/inbox/large-reads.ts";
import type { Kernel, Part } from "../../part.ts";
import { createMatchingMetrics } from "../metrics.ts";
import { createDeferredMatching, type DeferredMatching } from "./deferred-matching.ts";
import { createExplainer, type Explainer } from "./explain.ts";
import { explainRoutes } from "./explain-routes.ts";
import { createMatcher } from "./matcher.ts";
import type { TrippedTrigger } from "./model.ts";

/**
 * How long the sender of a webhook waits for filters. A filter of a running hub takes a few milliseconds; much
 * more on a busy machine.
 */
const MATCH_WITHIN_MS = 15;

export interface MatchingPart extends Part {
  matching: DeferredMatching;
  explainer: Explainer;
  /** Called when a circuit breaker has prevented a trigger from firing for an event. */
  onTripped(tenant: string, tripped: TrippedTrigger): void;
}

export function createMatchingPart(kernel: Kernel, inbox: Inbox): MatchingPart {
  const { store, ports, settings, newId, onError } = kernel;
  const { timers, log, runJob, queuedJobs } = ports;
  const { now } = timers;
  const { maxChain, maxLoops } = settings;
  const countTrip = createMatchingMetrics(ports.metrics, { store, queuedJobs });
  const onTripped: MatchingPart["onTripped"] = (tenant, { isFirst, ...trip }) => {
    countTrip(trip.limit as Trip["limit"]);
    if (isFirst)
      log.warn(
        { tenant, ...trip },
        `a circuit breaker prevented a trigger from firing: ${tripMessage(trip)}`,
      );
  };
  const matcher = createMatcher({ store, runJob, newId, now, maxChain, maxLoops });
  const matching = createDeferredMatching({
    store,
    matcher,
    largeReads: createLargeReads(),
    timers,
    withinMs: ports.runsJobsInBackground ? MATCH_WITHIN_MS : undefined,
    onTripped,
    onError,
  });
  const explainer = createExplainer({
    store,
    largeReads: inbox.largeReads,
    runJob,
    newId,
    now,
    maxChain,
    maxLoops,
  });
  return {
    matching,
    explainer,
    onTripped,
    routes: explainRoutes(inbox, explainer),
    async loadMcp() {
      const { explainTools } = await import("./explain-tools.ts");
      return { tools: explainTools({ inbox, explainer }), isInbox: true };
    },
    async stop() {
      matcher.close(); // appends still work, without invalidation of cached triggers
    },
    close: matching.close,
  };
}
