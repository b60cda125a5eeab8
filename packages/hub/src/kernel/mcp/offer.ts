/** What a part adds to the MCP server `/mcp`. */
import type {
  GetPromptResult,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
  ServerCapabilities,
} from "@modelcontextprotocol/server";
import type { Access } from "../access/authorizer.ts";
import type { ReserveBytes } from "../http/byte-budgets.ts";
import type { HubServer } from "./hub-server.ts";
import type { Tool } from "./tool.ts";

export interface McpOffer {
  tools?: readonly Tool[];
  /** Whether clients get the tools also at `/mcp?tools=inbox`. */
  isInbox?: boolean;
  resources?: McpResources;
  prompts?: McpPrompts;
  capabilities?: ServerCapabilities;
  /** Ends its streams and waits. Called before the server closes, so that clients get the last messages. */
  close?(): Promise<unknown>;
  /** Adds other methods to a server. `assertTenant` rejects if the access has no tenants. */
  addTo?(server: HubServer, assertTenant: (access: Access) => Promise<void>): void;
}

export interface McpResources {
  listed: readonly Resource[];
  templates: readonly ResourceTemplateType[];
  exists(uri: string, access: Access): Promise<boolean>;
  read(uri: string, access: Access, reserveBytes: ReserveBytes): Promise<ReadResourceResult>;
}

interface McpPrompts {
  listed: readonly Prompt[];
  get(name: string, args: Record<string, string> | undefined): GetPromptResult;
}

/** Loads what the parts add, in their order. */
export const loadOffers = async (
  parts: readonly { loadMcp?(): Promise<McpOffer> }[],
): Promise<McpOffer[]> =>
  (await Promise.all(parts.map((part) => part.loadMcp?.()))).filter((offer) => offer !== undefined);
