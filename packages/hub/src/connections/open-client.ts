/** Opens clients with the MCP SDK. This module is imported when the first client is opened. */
import {
  Client,
  type JSONRPCMessage,
  type JsonSchemaValidator,
  SdkHttpError,
  type Transport,
} from "@modelcontextprotocol/client";
import { backoffMs } from "@signalbox/rules/backoff.ts";
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
import { z } from "zod";
import { NOTIFICATIONS } from "../events/mcp-events/protocol.ts";
import type { Timers } from "../kernel/lib/timers.ts";
import { isSessionLost, toConnectionError } from "./client-error.ts";
import { type CommandSupport, commandRefusal, type OpenedCommand } from "./command.ts";
import { ConnectionError } from "./connection-error.ts";
import { createConnectionFetch } from "./connection-fetch.ts";
import type { ToolAnswer } from "./connections.ts";
import type { Credentials } from "./credentials.ts";
import { createEchoMask, type EchoMask } from "./echo-mask.ts";
import { answerTooLarge, createExchanges } from "./exchange.ts";
import { HttpTransport } from "./http-transport.ts";
import { limitNesting } from "./limit-nesting.ts";
import { CLOSE_MS, OPEN_MS } from "./limits.ts";
import { mapMessages } from "./map-messages.ts";
import type { McpClient } from "./mcp-client.ts";
import type { Connection } from "./model.ts";
import { type OpenOAuthOptions, openOAuthTokens } from "./open-oauth-tokens.ts";
import { TRIGGER_CONFIGURE } from "./trigger-list.ts";

export interface OpenClientOptions extends OpenOAuthOptions {
  connection: Pick<Connection, "id" | "tenant" | "revision" | "target">;
  credentials: Credentials;
  openCommand: CommandSupport;
  identity: (connection: string) => Promise<string>;
  version: string;
  timers: Timers;
  random: () => number;
  /** Aborts the handshake. */
  signal: AbortSignal;
  onListChanged(): void;
}

/** How long a command may take to answer the probe for the stateless protocol. */
const COMMAND_PROBE_MS = 3_000;
/** The longest delay of Node's timers. The SDK requires a timeout, but the hub has its own. */
const NO_TIMEOUT = 2 ** 31 - 1;
const RELISTEN_BACKOFF = { firstMs: 1_000, maxMs: 30_000 };

/** The hub validates outputs itself, in the sandbox, because schemas of servers may be expensive. */
const acceptAll = {
  getValidator:
    <Value>(): JsonSchemaValidator<Value> =>
    (input) => ({ valid: true, data: input as Value, errorMessage: undefined }),
};

export async function openClient(options: OpenClientOptions): Promise<McpClient> {
  const { target } = options.connection;
  return "url" in target ? openHttp(target.url, options) : openStdio(target, options);
}

async function openHttp(serverUrl: string, options: OpenClientOptions): Promise<McpClient> {
  const { connection, credentials, fetch, identity, timers } = options;
  const url = new URL(serverUrl);
  const exchanges = createExchanges();
  const echoes = createEchoMask(credentials);
  const tokens = openOAuthTokens(connection, credentials, url, options);
  const open = (isLegacy: boolean) => {
    const session = createSession(options, OPEN_MS, isLegacy);
    const transport = new HttpTransport(url, {
      exchanges,
      timers,
      fetch: createConnectionFetch({
        fetch,
        exchanges,
        credentials,
        echoes,
        tokens,
        identity: () => identity(connection.id),
        usesNotifications: session.usesNotifications,
      }),
    });
    return session.connect(transport, {
      echoes,
      exchanges,
      hasSession: () => transport.sessionId !== undefined,
      end: () => transport.terminateSession(),
    });
  };
  try {
    return await open(false);
  } catch (error) {
    // Some legacy servers answer the unknown method of the probe with 5xx.
    if (isServerError(error) && !options.signal.aborted) return await open(true);
    throw error;
  }
}

const isServerError = (error: unknown): boolean =>
  error instanceof ConnectionError &&
  SdkHttpError.isInstance(error.cause) &&
  error.cause.status >= 500;

async function openStdio(
  target: { command: string; args: readonly string[] },
  options: OpenClientOptions,
): Promise<McpClient> {
  const { openCommand, credentials } = options;
  if (typeof openCommand !== "function")
    throw new ConnectionError("not_allowed", commandRefusal(openCommand));
  const opened = await openCommand({ ...target, env: credentials.env ?? {} });
  const session = createSession(options, COMMAND_PROBE_MS, false);
  return session.connect(opened.transport, {
    echoes: createEchoMask(credentials),
    exchanges: createExchanges(),
    hasSession: () => false,
    end: async () => {},
    countBytes: (result) => JSON.stringify(result).length,
    stderrTail: opened.stderrTail,
  });
}

interface ConnectOptions {
  echoes: EchoMask;
  exchanges: ReturnType<typeof createExchanges>;
  /** Whether the server has assigned a session id. */
  hasSession(): boolean;
  /** Notifies the server that the session ends. */
  end(): Promise<void>;
  /** Set if the transport does not count the bytes of answers itself. */
  countBytes?(result: unknown): number;
  stderrTail?: OpenedCommand["stderrTail"];
}

function createSession(options: OpenClientOptions, probeMs: number, isLegacy: boolean) {
  const { version, timers, signal, onListChanged } = options;
  const client = new Client(
    { name: "signalbox", version },
    {
      jsonSchemaValidator: acceptAll,
      versionNegotiation: { mode: "auto", probe: { timeoutMs: probeMs } },
    },
  );
  let hasEvents = false;
  let isClosing = false;
  let onClosed = () => {};
  let cancelListen = () => {};
  const listChanged = () => client.getServerCapabilities()?.tools?.listChanged === true;

  client.onerror = () => {}; // errors of calls reject the calls; no other error needs handling
  client.fallbackNotificationHandler = async ({ method }) => {
    if (method === "notifications/tools/list_changed" || method === NOTIFICATIONS.listChanged)
      onListChanged();
  };

  /** In the stateless protocol, the client must send a request to receive notifications. */
  async function listen(failures = 0): Promise<void> {
    try {
      const subscription = await client.listen({ toolsListChanged: true }, { timeout: OPEN_MS });
      failures = 0;
      if ((await subscription.closed) === "local") return;
    } catch {
      // Without notifications, the next check finds changed tools.
    }
    if (isClosing) return;
    const delay = backoffMs(failures + 1, { ...RELISTEN_BACKOFF, random: options.random });
    cancelListen = timers.after(delay, () => listen(failures + 1));
  }

  async function connect(transport: Transport, connectOptions: ConnectOptions): Promise<McpClient> {
    const toError = (error: unknown) => toErrorWithStderr(error, connectOptions);
    mapMessages(transport, (message) => {
      if (declaresEvents(message)) hasEvents = true;
      return limitNesting(message);
    });
    const abort = () => void transport.close();
    signal.addEventListener("abort", abort, { once: true });
    try {
      if (signal.aborted) throw signal.reason;
      await client.connect(transport, {
        timeout: NO_TIMEOUT,
        signal,
        ...(isLegacy ? { prior: { kind: "legacy" } } : {}),
      });
    } catch (error) {
      await client.close().catch(() => {});
      throw signal.aborted ? signal.reason : toError(error);
    } finally {
      signal.removeEventListener("abort", abort);
    }
    client.onclose = () => {
      if (!isClosing) onClosed();
      isClosing = true;
      cancelListen();
    };
    if (listChanged() && client.getProtocolEra() === "modern") listen();
    return toMcpClient(connectOptions, toError);
  }

  function toMcpClient(
    { echoes, exchanges, hasSession, end, countBytes }: ConnectOptions,
    toError: (error: unknown) => ConnectionError,
  ): McpClient {
    const server = client.getServerVersion();
    const yieldToEventLoop = () => new Promise<void>((resolve) => timers.defer(resolve));
    const run = async <Result>(
      exchange: Parameters<typeof exchanges.run>[0],
      work: (headers: Record<string, string>) => Promise<Result>,
    ): Promise<Result> => {
      try {
        const result = await exchanges.run(exchange, work);
        if (countBytes) exchange.receivedBytes += countBytes(result);
        if (exchange.receivedBytes > exchange.remainingBytes)
          throw answerTooLarge(exchange.limitBytes);
        // Parsing, masking and using a large answer take long, so each gets its own time slice.
        if (exchange.receivedBytes > LARGE_BYTES) await yieldToEventLoop();
        const masked = echoes.json(result as Json) as Result;
        if (exchange.receivedBytes > LARGE_BYTES) await yieldToEventLoop();
        return masked;
      } catch (error) {
        throw exchange.stop.signal.aborted ? exchange.stop.signal.reason : toError(error);
      }
    };
    return {
      server: server
        ? { name: echoes.text(server.name), version: echoes.text(server.version) }
        : null,
      capabilities: {
        tools: client.getServerCapabilities()?.tools !== undefined,
        listChanged: listChanged(),
        events: hasEvents,
      },
      callTool: ({ tool, arguments: args }, exchange, { meta, onProgress } = {}) => {
        if (tool === TRIGGER_CONFIGURE && typeof args.callbackToken === "string")
          echoes.add(args.callbackToken);
        return run(exchange, async (headers) => {
          // For commands, whose pipe is open. Over HTTP, `fetch` calls it again when the socket is open.
          exchange.beforeSend?.();
          const { isError, content, structuredContent } = await client.callTool(
            { name: tool, arguments: args, ...(meta ? { _meta: meta } : {}) },
            {
              headers,
              signal: exchange.stop.signal,
              timeout: NO_TIMEOUT,
              ...(onProgress
                ? {
                    onprogress: ({ progress, total, message }) =>
                      onProgress({
                        progress,
                        ...(total === undefined ? {} : { total }),
                        ...(message === undefined ? {} : { message: echoes.text(message) }),
                      }),
                  }
                : {}),
            },
          );
          const answer: ToolAnswer = {
            isError: isError === true,
            content: content as JsonObject[],
          };
          if (structuredContent !== undefined)
            answer.structuredContent = structuredContent as JsonObject;
          return answer;
        });
      },
      request: (method, params, exchange) =>
        run(exchange, (headers) =>
          client.request({ method, params }, z.unknown(), {
            headers,
            signal: exchange.stop.signal,
            timeout: NO_TIMEOUT,
          }),
        ),
      isSessionLost: (error) => hasSession() && isSessionLost(error),
      onClosed(listener) {
        onClosed = listener;
        if (!client.transport) listener();
      },
      async close() {
        isClosing = true;
        cancelListen();
        let cancelTimeout = () => {};
        const timeout = new Promise<void>((resolve) => {
          cancelTimeout = timers.after(CLOSE_MS, resolve);
        });
        await Promise.race([end().catch(() => {}), timeout]);
        cancelTimeout();
        await client.close().catch(() => {});
      },
    };
  }

  return { connect, usesNotifications: listChanged };
}

/** The SDK drops capabilities that it does not know, so `events` is read from the message. */
const declaresEvents = (message: JSONRPCMessage): boolean =>
  "result" in message &&
  isObject(message.result) &&
  isObject(message.result.capabilities) &&
  isObject(message.result.capabilities.events);

/** The message of the error contains what a command wrote to stderr before it failed. */
function toErrorWithStderr(
  thrown: unknown,
  { echoes, stderrTail }: Pick<ConnectOptions, "echoes" | "stderrTail">,
): ConnectionError {
  const error = echoes.error(toConnectionError(thrown, echoes.quote));
  const stderr = stderrTail?.() ?? "";
  if (stderr === "" || error.code === "rejected") return error;
  const message = `${error.message} It wrote: ${echoes.quote(stderr)}`;
  return new ConnectionError(error.code, message, { cause: error });
}
