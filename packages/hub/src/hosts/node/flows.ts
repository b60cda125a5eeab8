/** Flows on Node, joined: what matches events, what runs, and the routes to both. */

import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import type { Hono } from "hono";
import { appRoutes } from "../../api/app-routes.ts";
import type { AuthorizeRequest } from "../../api/authorize-request.ts";
import { eventRoutes } from "../../api/event-routes.ts";
import { flowRoutes } from "../../api/flow-routes.ts";
import { nodeTypeRoutes, parameterSchemas } from "../../api/node-type-routes.ts";
import { openApiRoute } from "../../api/openapi.ts";
import { mountRoutes, type Route } from "../../api/route.ts";
import { runRoutes } from "../../api/run-routes.ts";
import { secretRoutes } from "../../api/secret-routes.ts";
import { sourceRoutes } from "../../api/source-routes.ts";
import { statsRoutes } from "../../api/stats-routes.ts";
import { tokenRoutes } from "../../api/token-routes.ts";
import { createToolCalls } from "../../apps/call-tool.ts";
import { createFlows } from "../../apps/flows.ts";
import { createInbox } from "../../inbox/inbox.ts";
import { createIds } from "../../lib/ids.ts";
import type { Seal } from "../../lib/seal.ts";
import { createMatchedAppend } from "../../runs/append-matched.ts";
import { createTriggers } from "../../runs/explain.ts";
import { loadInput } from "../../runs/load-input.ts";
import { createMatcher } from "../../runs/matcher.ts";
import { createReach } from "../../runs/reach.ts";
import { createRunner } from "../../runs/runner.ts";
import { openSecrets } from "../../runs/secrets.ts";
import type { GroupCommit } from "../../store/group-commit.ts";
import type { TrippedTrigger } from "../../store/run-store.ts";
import type { Store } from "../../store/store.ts";
import { createSources } from "../../tenants/sources.ts";
import type { Settings } from "../settings.ts";
import { createGuardedFetch } from "./guarded-fetch.ts";
import { createSandbox } from "./sandbox.ts";

export interface FlowsOptions {
  store: Store;
  commit: GroupCommit;
  settings: Settings;
  seal: Seal;
  version: string;
  /** A trigger was stopped, so that nothing goes round for ever. */
  onTripped: (tenant: string, tripped: TrippedTrigger) => void;
  onError: (error: unknown) => void;
}

/** While more events than this arrive at once, runs give way to them, by so much in each step. */
const CROWD = 4;
const GIVE_WAY_MS = 10;

export function createFlowSide(options: FlowsOptions) {
  const { store, commit, settings, seal, version, onTripped, onError } = options;
  const now = Date.now;
  const newId = createIds();
  const limits = { maxDepth: settings.maxChain, maxLoops: settings.maxLoops };
  const matcher = createMatcher({ store, newId, now, ...limits });
  let arriving = 0;
  const commitCounted: typeof commit.append = async (arrived) => {
    arriving += 1;
    try {
      return await commit.append(arrived);
    } finally {
      arriving -= 1;
    }
  };
  const append = createMatchedAppend(matcher, commitCounted, onTripped);
  const sandbox = createSandbox();
  const runner = createRunner({
    store,
    registry: nodeTypes,
    worker: newId(),
    secrets: openSecrets(store, seal),
    loadInput: (run) => loadInput(store, run),
    reach: createReach({
      store,
      append,
      start: (run, watch) => runner.start(run, watch),
      fetch: createGuardedFetch({ allowPrivate: settings.allowPrivate }),
      evaluate: sandbox.evaluate,
      newId,
      now,
      maxDepth: limits.maxDepth,
    }),
    atOnce: settings.runsAtOnce,
    leaseMs: settings.runLease * 1000,
    // Senders wait for an answer; runs lie safe in the store, and go on a little later.
    soon: (work) => (arriving > CROWD ? setTimeout(work, GIVE_WAY_MS) : setImmediate(work)),
    onError,
  });
  const flows = createFlows({ store, registry: nodeTypes, newId, now });
  const calls = createToolCalls({ store, runner, newId, now });
  const triggers = createTriggers({ store, newId, now, ...limits });
  const closing = new AbortController();
  const routes: Route[] = [
    ...appRoutes(store, now),
    ...flowRoutes({ flows, store }),
    ...runRoutes({ calls, store, now, closing: closing.signal }),
    ...secretRoutes(store, seal, now),
    ...nodeTypeRoutes(nodeTypes),
    ...eventRoutes(createInbox({ store, now }), triggers),
    ...tokenRoutes({ store, newId, now }),
    ...sourceRoutes({
      store,
      sources: createSources({ store, seal, newId, now }),
      publicUrl: settings.publicUrl,
    }),
    ...statsRoutes(store, now),
  ];

  return {
    /** Stores events together with the runs that they start. */
    append,
    calls,
    triggers,
    addRoutes(app: Hono, authorizeRequest: AuthorizeRequest): void {
      mountRoutes(
        app,
        [...routes, openApiRoute(routes, version, parameterSchemas(nodeTypes))],
        authorizeRequest,
      );
    },
    async close() {
      closing.abort();
      matcher.close();
      await runner.close();
      await sandbox.close();
    },
  };
}
