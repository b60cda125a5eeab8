/**
 * Composes the parts of the hub, on any host. The host opens the store, provides `HostPorts`, and serves
 * the returned `Hub` over HTTP. To add a capability, add a folder with a `part.ts`, and its part to the list.
 */
import type { Hono } from "hono";
import { createAgentServices } from "./agents/part.ts";
import { createAutomationsPart } from "./automations/part.ts";
import { createConnectionsPart } from "./connections/part.ts";
import { createReceiveRequest, type ReceiveRequest } from "./events/admit/receive-request.ts";
import type { LiveStreams } from "./events/live/live-streams.ts";
import { createMcpEventsPart } from "./events/mcp-events/part.ts";
import { createEventsPart } from "./events/part.ts";
import { createMatchingPart } from "./flows/matching/part.ts";
import { createFlowsPart, migrateFlows } from "./flows/part.ts";
import { createGithubPart } from "./github/part.ts";
import { type BodyBudget, createBodyBudget } from "./kernel/http/byte-budgets.ts";
import type { Rejection } from "./kernel/http/ingest-outcome.ts";
import { createMcpPart } from "./mcp/part.ts";
import { createOAuthPart } from "./oauth/part.ts";
import { createHttp } from "./operations/http.ts";
import { createDescribeHub, createOperationsPart } from "./operations/part.ts";
import { type Addresses, createKernel, type HubOptions, type Part, stopParts } from "./part.ts";
import { createPeoplePart, createPeopleService } from "./people/part.ts";
import { createPipelinePart, type Pipeline } from "./pipeline.ts";
import { createRedeliveryPart } from "./redelivery/part.ts";
import { createTenantsPart } from "./tenants/part.ts";
import { createTokensPart } from "./tokens/part.ts";

export interface Hub {
  /** Handles a webhook or a callback: a request for which `isIngestPath` is true. */
  receive: ReceiveRequest;
  bodyBudget: BodyBudget;
  /** Logs and counts a request that the host rejected before it reached a route. */
  onRejected(rejection: Rejection, address: string): void;
  /** Serves `GET /events` and `GET /api/live`. */
  live: LiveStreams;
  /** Serves every other route. */
  app: Hono;
  isStopping(): boolean;
  /** The host calls `start` after it has begun to listen; `url` is its address. */
  start(url: string): Promise<Pick<Addresses, "publicUrl">>;
  /** Returns the path and fragment of a one-time link that signs the operator in to the web UI. */
  createSignInPath(): Promise<string>;
  /**
   * Rejects new requests, finishes the accepted ones within a time limit, and closes the hub and its store.
   * `closeServer` resolves when the host has no open requests.
   */
  stop(timeoutMs: number, closeServer?: (timeoutMs: number) => Promise<void>): Promise<void>;
}

export async function createHub(options: HubOptions): Promise<Hub> {
  const closing = new AbortController();
  const addresses = Promise.withResolvers<Addresses>();
  const kernel = createKernel(options, closing.signal, addresses.promise);
  const { store, settings, ports } = kernel;

  const describeHub = createDescribeHub(kernel);
  const people = createPeopleService(kernel);
  const tokens = await createTokensPart(kernel, people, describeHub);
  const tenants = await createTenantsPart(kernel, tokens);
  await migrateFlows(kernel);
  const github = await createGithubPart(kernel);
  const append: Pipeline["append"] = (request) => pipeline.append(request);
  const events = createEventsPart(kernel, tokens, {
    tenancy: github.tenancy,
    receive: (request) => pipeline.receive(request),
    append,
    replay: (tenant, event) => matching.explainer.replay(tenant, event),
    followRun: (...request) => flows.followRun(...request),
  });
  const mcpEvents = createMcpEventsPart(kernel, tokens, events);
  const matching = createMatchingPart(kernel, events.inbox);
  const pipeline = createPipelinePart(kernel, events, matching);
  const connections = createConnectionsPart(kernel, append);
  const flows = createFlowsPart(kernel, tokens, {
    append,
    pendingAppends: pipeline.pendingAppends,
    connections: connections.connections,
    agent: createAgentServices(kernel, [events, matching]),
  });
  const automations = createAutomationsPart(kernel, matching, connections, flows);
  const mcp = createMcpPart(kernel, tokens, {
    apps: flows.appServers,
    offering: [events, mcpEvents, matching, automations],
  });
  const parts: readonly Part[] = [
    { close: store.close },
    tokens,
    createOAuthPart(kernel, tokens),
    createPeoplePart(kernel, people, tokens.sessions),
    tenants,
    events,
    mcpEvents,
    createRedeliveryPart(kernel, tokens, github),
    matching,
    pipeline,
    connections,
    flows,
    automations,
    mcp,
    createOperationsPart(kernel, tokens, describeHub),
  ];

  return {
    receive: createReceiveRequest({
      receive: pipeline.receive,
      receiveCallback: pipeline.receiveCallback,
      proxy: settings.proxy,
      isStopping: () => closing.signal.aborted,
      onRejected: events.onRejected,
    }),
    bodyBudget: createBodyBudget(settings.bodyBudgetBytes),
    onRejected: events.onRejected,
    live: events.live,
    app: createHttp(kernel, tokens, {
      parts,
      inbox: events.inbox,
      checkReady: pipeline.checkReady,
      people,
    }),
    isStopping: () => closing.signal.aborted,
    createSignInPath: tokens.createSignInPath,
    async start(url) {
      const publicUrl = (settings.publicUrl ?? url).replace(/\/$/, "");
      addresses.resolve({ url, publicUrl });
      for (const part of parts) part.start?.({ url, publicUrl });
      return { publicUrl };
    },
    async stop(timeoutMs, closeServer = async () => {}) {
      if (closing.signal.aborted) return;
      closing.abort();
      await stopParts(parts, { timers: ports.timers, timeoutMs, closeServer });
    },
  };
}
