/** The inbox as an MCP server: its tools, resources and prompts. */
import type { McpOffer } from "../../kernel/mcp/offer.ts";
import {
  getInboxPrompt,
  inboxPrompts,
  inboxResources,
  inboxResourceTemplates,
  isInboxResource,
  readInboxResource,
} from "./inbox-resources.ts";
import { type InboxToolsOptions, inboxTools } from "./inbox-tools.ts";

export const inboxOffer = (options: InboxToolsOptions): McpOffer => ({
  tools: inboxTools(options),
  isInbox: true,
  resources: {
    listed: inboxResources,
    templates: inboxResourceTemplates,
    exists: (uri, access) => isInboxResource(options.inbox, access, uri),
    read: (uri, access, reserveBytes) =>
      readInboxResource(options.inbox, access, uri, reserveBytes),
  },
  prompts: { listed: inboxPrompts, get: getInboxPrompt },
});
