import { z } from "zod";
import { defineRoute, type Route } from "./route.ts";

export const hubInfoView = z.object({
  version: z.string(),
  url: z.string().describe("The address under which clients reach the hub."),
  webhook_url: z
    .string()
    .describe("The URL of webhooks, to which the name of the source is added."),
  mcp_url: z.string().describe("The MCP server of the inbox; an app's server is below it."),
  storage: z.enum(["sqlite", "postgres", "durable-object"]),
  tenancy: z.enum(["single", "github"]),
  is_public: z.boolean().describe("Whether other machines can reach the hub."),
  accepts_unsigned: z
    .boolean()
    .describe("Whether webhooks of sources without a secret are accepted."),
  allows_commands: z
    .boolean()
    .describe("Whether connections may run MCP servers as commands on the hub's machine."),
  install_url: z
    .string()
    .nullable()
    .describe("Where the owner of a GitHub account installs the App; null if it is unknown."),
  started_at: z.iso.datetime(),
});
export type HubInfo = z.input<typeof hubInfoView>;

/** `origin` is that of the request; it is used if the hub has no public URL. */
export type GetHubInfo = (origin: string) => HubInfo;

export const hubInfoRoute = (hubInfo: GetHubInfo): Route =>
  defineRoute({
    method: "get",
    path: "/api/hub",
    summary: "The hub's version, addresses and capabilities",
    tag: "meta",
    scope: "any",
    isShared: true,
    response: { status: 200, schema: hubInfoView },
    handle: async ({ origin }) => ({ json: hubInfo(origin) }),
  });
