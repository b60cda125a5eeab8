/** Lists what a server offers: its tools, its triggers, and its event types of the MCP Events draft. */
import { isObject, type JsonObject, type JsonSchema } from "@signalbox/rules/json.ts";
import { z } from "zod";
import { METHODS } from "../events/mcp-events/protocol.ts";
import { ConnectionError } from "./connection-error.ts";
import type { Exchange } from "./exchange.ts";
import { MAX_TOOLS, MAX_TRIGGERS } from "./limits.ts";
import type { McpClient } from "./mcp-client.ts";
import type { OfferedTool, OfferedTrigger, Offers } from "./model.ts";
import {
  hasTriggers,
  isPerSubscription,
  paramsFromSchema,
  readTriggers,
  TRIGGER_LIST,
} from "./trigger-list.ts";

const MAX_PAGES = 200;

const object = z.custom<JsonObject>(isObject, "must be an object");
const text = z.string("must be a string");
const name = text.min(1, "must not be empty");
const cursor = text.nullish();

const toolPage = z.object({
  tools: z.array(
    z.object({
      name,
      title: text.nullish(),
      description: text.nullish(),
      inputSchema: object,
      outputSchema: object.nullish(),
      annotations: object.nullish(),
    }),
    "must be an array",
  ),
  nextCursor: cursor,
});

const eventPage = z.object({
  events: z.array(
    z.object({
      name,
      title: text.nullish(),
      description: text.nullish(),
      delivery: z.array(text).nullish(),
      inputSchema: object.nullish(),
      payloadSchema: object.nullish(),
    }),
    "must be an array",
  ),
  nextCursor: cursor,
});

/** `openExchange` is called for each list, because each has its own size limit. */
export async function loadOffers(client: McpClient, openExchange: () => Exchange): Promise<Offers> {
  const { server, capabilities } = client;
  const tools = capabilities.tools ? await listTools(client, openExchange()) : [];
  const triggers: OfferedTrigger[] = hasTriggers(tools)
    ? readTriggers(await client.callTool({ tool: TRIGGER_LIST, arguments: {} }, openExchange()))
    : [];
  const triggerTypes = new Set(triggers.map(({ type }) => type));
  const events = capabilities.events ? await listEvents(client, openExchange()) : [];
  return {
    server,
    perSubscription: isPerSubscription(tools),
    tools,
    triggers: [...triggers, ...events.filter(({ type }) => !triggerTypes.has(type))],
  };
}

async function listTools(client: McpClient, exchange: Exchange): Promise<OfferedTool[]> {
  const tools: OfferedTool[] = [];
  for await (const page of pages(client, "tools/list", toolPage, exchange)) {
    for (const tool of page.tools)
      tools.push({
        name: tool.name,
        ...(tool.title ? { title: tool.title } : {}),
        description: tool.description ?? "",
        inputSchema: tool.inputSchema,
        ...(tool.outputSchema ? { outputSchema: tool.outputSchema } : {}),
        ...(tool.annotations ? { annotations: tool.annotations } : {}),
      });
    if (tools.length > MAX_TOOLS)
      throw new ConnectionError(
        "too_large",
        `The server has more than ${MAX_TOOLS} tools, which is the limit.`,
      );
  }
  return tools;
}

const EMPTY_SCHEMA: JsonSchema = { type: "object", properties: {} };

async function listEvents(client: McpClient, exchange: Exchange): Promise<OfferedTrigger[]> {
  const triggers: OfferedTrigger[] = [];
  for await (const page of pages(client, METHODS.list, eventPage, exchange)) {
    for (const event of page.events) {
      // The hub polls events, so it cannot use types that the server only pushes.
      if (event.delivery && !event.delivery.includes("poll")) continue;
      const inputSchema = event.inputSchema ?? EMPTY_SCHEMA;
      triggers.push({
        type: event.name,
        ...(event.title ? { title: event.title } : {}),
        description: event.description ?? "",
        binding: "events",
        inputSchema,
        paramsSchema: paramsFromSchema(inputSchema),
        ...(event.payloadSchema ? { payloadSchema: event.payloadSchema } : {}),
      });
    }
    if (triggers.length > MAX_TRIGGERS)
      throw new ConnectionError(
        "too_large",
        `The server has more than ${MAX_TRIGGERS} event types, which is the limit.`,
      );
  }
  return triggers;
}

async function* pages<Page extends { nextCursor?: string | null | undefined }>(
  client: McpClient,
  method: string,
  schema: z.ZodType<Page>,
  exchange: Exchange,
): AsyncGenerator<Page> {
  const seenCursors = new Set<string>();
  let next: string | undefined;
  do {
    const result = await client.request(
      method,
      next === undefined ? {} : { cursor: next },
      exchange,
    );
    const page = schema.safeParse(result);
    if (!page.success)
      throw new ConnectionError(
        "invalid_response",
        `The server's answer to ${method} is invalid: ${problemOf(page.error)}.`,
      );
    yield page.data;
    exchange.remainingBytes -= exchange.receivedBytes;
    exchange.receivedBytes = 0;
    next = page.data.nextCursor || undefined;
    if (next !== undefined && (seenCursors.has(next) || seenCursors.size >= MAX_PAGES))
      throw new ConnectionError(
        "invalid_response",
        `The pages of ${method} do not end: the server repeats its cursor, or has more than ${MAX_PAGES} pages.`,
      );
    if (next !== undefined) seenCursors.add(next);
  } while (next !== undefined);
}

function problemOf({ issues: [issue] }: z.ZodError): string {
  const path = (issue?.path ?? [])
    .map((segment, index) =>
      typeof segment === "number" ? `[${segment}]` : `${index > 0 ? "." : ""}${String(segment)}`,
    )
    .join("");
  return `${path === "" ? "the result" : path} ${issue?.message ?? "is invalid"}`;
}
