/**
 * `/mcp/:app`: the flows of an app as one MCP server, for the stateless 2026-07-28 protocol and the
 * 2025-era `initialize` handshake. Each active tool trigger of a published flow is a tool, and each
 * call of the tool is a run. This module only maps requests to apps and runs.
 */
import {
  createMcpHandler,
  type McpRequestContext,
  type Server,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Access, Authorizer } from "../../kernel/access/authorizer.ts";
import type { ReserveBytes } from "../../kernel/http/byte-budgets.ts";
import type { BodyLimits } from "../../kernel/lib/limits.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import { trackUnreadBytes } from "../../kernel/mcp/back-pressure.ts";
import { batchOf } from "../../kernel/mcp/batch.ts";
import { TaskServer } from "../../kernel/mcp/hub-server.ts";
import { listCursor } from "../../kernel/mcp/list-cursor.ts";
import { createOpenStreams } from "../../kernel/mcp/open-streams.ts";
import { readCall } from "../../kernel/mcp/read-call.ts";
import {
  type RequestContext,
  requestContextOf,
  serveCall,
} from "../../kernel/mcp/request-context.ts";
import { createResourceChanges } from "../../kernel/mcp/resource-changes.ts";
import { isClientError, toProtocolError } from "../../kernel/mcp/sdk-errors.ts";
import { createSessions } from "../../kernel/mcp/sessions.ts";
import { createListenHandler } from "../../kernel/mcp/subscriptions-listen.ts";
import type { Store } from "../../store.ts";
import type { ToolCalls } from "../editing/tool-calls.ts";
import type { StoredApp } from "../model.ts";
import { type AppCallsOptions, createAppCalls } from "./app-calls.ts";
import { type AppTasksOptions, createAppTasks, type Era, taskCapabilities } from "./app-tasks.ts";
import { createAppTools } from "./app-tools.ts";

export interface AppServersOptions {
  store: AppCallsOptions["store"] &
    AppTasksOptions["store"] &
    Pick<Store, "getApp" | "listTools" | "subscribe">;
  calls: Pick<ToolCalls, "call" | "follow" | "resultError">;
  authorizer: Pick<Authorizer, "watch">;
  version: string;
  limits?: BodyLimits | undefined;
  /** How long ended runs are kept. By default, they are kept forever. */
  keepRunsMs?: number | undefined;
  now?: () => number;
  onError?: (error: unknown) => void;
  taskAfterMs?: number;
}

export interface AppServers {
  /** Throws a `RequestError` if the caller has no such app. */
  serve(
    request: Request,
    slug: string,
    access: Access,
    reserveBytes: ReserveBytes,
  ): Promise<Response>;
  close(): Promise<void>;
}

/** The URI of an app's tool list, the only resource that clients watch. It is internal. */
const toolListUri = (slug: string) => `tools:${slug}`;
const cursors = listCursor("tool");
/** `AppCalls` parses the params, because the SDK's error messages do not name the field. */
const anyParams = z.looseObject({});

export function createAppServers({
  store,
  calls,
  authorizer,
  version,
  limits,
  keepRunsMs,
  now = Date.now,
  onError = () => {},
  taskAfterMs = 500,
}: AppServersOptions): AppServers {
  const tools = createAppTools({ store });
  const tasks = createAppTasks({ store, calls, now, onError, keepRunsMs });
  const appCalls = createAppCalls({
    store,
    calls,
    now,
    taskAfterMs,
    createTaskResult: tasks.createTaskResult,
  });

  /**
   * `listChanged`: whether the client can get notifications, in a session or by
   * `subscriptions/listen`.
   */
  function createServer(
    { app }: RequestContext,
    { era, listChanged }: { era: Era; listChanged: boolean },
  ): Server {
    const { slug, name, description } = app as StoredApp;
    const server = new TaskServer(
      { name: `signalbox-${slug}`, title: name, version },
      {
        capabilities: { tools: listChanged ? { listChanged } : {}, ...taskCapabilities[era] },
        ...(description && { instructions: description }),
      },
    );
    server.setRequestHandler("tools/list", async ({ params }, context) => {
      const after = cursors.decode(params?.cursor) ?? "";
      try {
        const { nextCursor, ...page } = await tools.list(
          requestContextOf(context).app as StoredApp,
          after,
        );
        return {
          ...page,
          ...(nextCursor !== undefined && { nextCursor: cursors.encode(nextCursor) }),
        };
      } catch (error) {
        throw toProtocolError(error, onError);
      }
    });
    tasks.addTo(server, era);
    server.setRequestHandler("tools/call", { params: anyParams }, async (params, context) => {
      try {
        return await appCalls.call(server, era, params, context);
      } catch (error) {
        throw toProtocolError(error, onError);
      }
    });
    return server;
  }

  const onSdkError = (error: Error) => {
    if (!isClientError(error)) onError(error);
  };
  const createServerFor = ({ era, authInfo }: McpRequestContext): Server =>
    createServer(requestContextOf({ http: { authInfo } } as never), {
      era,
      listChanged: era === "modern",
    });
  const handler = createMcpHandler(createServerFor, { onerror: onSdkError });
  const changes = createResourceChanges(
    store,
    () => performance.now(),
    (notice) =>
      notice.topic === "tools"
        ? { tenant: notice.tenant, uris: [toolListUri(notice.app)] }
        : undefined,
  );
  const watchedUris = ({ app }: RequestContext) => new Set([toolListUri((app as StoredApp).slug)]);
  const streams = createOpenStreams(authorizer);
  const listenHandler = createListenHandler({
    createServer: createServerFor,
    changes,
    streams,
    onError: onSdkError,
    watchedResources: (_, requestContext) => ({
      uris: watchedUris(requestContext),
      eventOf: () => ({ kind: "tools_list_changed" }),
    }),
  });
  const sessions = createSessions({
    createServer: (requestContext) =>
      createServer(requestContext, { era: "legacy", listChanged: true }),
    subscriptions: (server, requestContext) => ({
      uris: watchedUris(requestContext),
      notify: () => void server.sendToolListChanged().catch(() => {}),
    }),
    changes,
    streams,
    now: () => performance.now(),
  });

  /** Throws if several of the caller's tenants have an app with this slug. */
  async function findApp({ tenants }: Access, slug: string): Promise<StoredApp> {
    const apps = await Promise.all(tenants.map((tenant) => store.getApp(tenant, slug)));
    const [app, another] = apps.filter((candidate) => candidate !== undefined);
    if (!app) throw new RequestError("not_found", "app", `There is no app ${slug.slice(0, 100)}.`);
    if (another)
      throw new RequestError(
        "invalid",
        "tenant",
        "is missing: several tenants have this app. Name one with ?tenant=…",
      );
    return app;
  }

  return {
    async serve(request, slug, access, reserveBytes) {
      const app = await findApp(access, slug);
      const call = await readCall(request, limits);
      if (call instanceof Response) return call;
      const requestContext: RequestContext = {
        access: { ...access, tenants: [app.tenant] },
        reserveBytes,
        app,
        body: call.body,
        batch: batchOf(call.body),
      };
      return trackUnreadBytes(
        requestContext.access,
        (await listenHandler.serve(call.request, requestContext)) ??
          (await sessions.serve(call.request, requestContext)) ??
          (await serveCall(handler, call.request, requestContext)),
      );
    },
    async close() {
      appCalls.close();
      tools.close();
      changes.close();
      streams.close();
      await Promise.all([sessions.close(), handler.close()]);
    },
  };
}
