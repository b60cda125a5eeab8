/** Lists the kinds of senders, the types of recent events, and the counts of rejected requests. */
import { z } from "zod";
import { assertForAllTenants } from "../../kernel/access/for-all-tenants.ts";
import type { TokenLookup } from "../../kernel/access/granted-scopes.ts";
import { iso } from "../../kernel/http/paging.ts";
import { defineRoute, type Route } from "../../kernel/http/route.ts";
import type { Store } from "../../store.ts";
import type { RejectionCounts } from "../admit/rejection-counts.ts";
import { secretVariable } from "../admit/secret-variable.ts";
import type { SourceDefinition } from "../admit/source.ts";
import { githubSampleTypes } from "../sources/github-sample.ts";
import { sources } from "../sources/index.ts";

const tag = "sources";

export const kindView = z.object({
  id: z.string().describe("The name in `/webhooks/SOURCE`, such as github."),
  title: z.string(),
  secret: z.object({
    issued_by: z
      .enum(["sender", "you"])
      .describe("`sender`: copy the secret from the sender. `you`: paste yours there."),
    setup: z.string().describe("Where to paste the URL and the secret at the sender."),
    variable: z.string().describe("The environment variable for the endpoint without a key."),
  }),
  verification: z
    .enum(["signed", "unsigned", "rejected", "key_required"])
    .describe(
      "How the endpoint without a key treats webhooks. `signed`: it verifies signatures. `unsigned`: it has no secret and accepts unsigned webhooks. `rejected`: it has no secret and rejects all webhooks. `key_required`: every GitHub account is a tenant, so this kind needs endpoints with a key.",
    ),
  max_bytes: z.int(),
  config: z
    .record(z.string(), z.json())
    .nullable()
    .describe("JSON Schema of an endpoint's `config`; null if it has none."),
  sample_types: z
    .array(z.string())
    .describe("The types that a test event can have; empty if they are unknown."),
});

export const typeView = z.object({
  source: z.string(),
  source_id: z.string().describe("The endpoint, connection or flow that the events came from."),
  type: z.string(),
  count: z.int().describe("How many of the newest 1,000 events have this type."),
  last_received_at: z.iso.datetime(),
});

export const rejectionCountView = z.object({
  source: z.string().describe("Empty if the request was for no source of the hub."),
  reason: z.string().describe("The code of the response, such as `signature_mismatch`."),
  count: z.int(),
  last_at: z.iso.datetime(),
  detail: z.string(),
});

const RECENT_EVENTS = 1_000;

export interface SourceKindRoutes {
  store: Pick<Store, "listRecentTypes">;
  rejections: Pick<RejectionCounts, "list">;
  tokens: TokenLookup;
  settings: {
    tenancy: "single" | "github";
    /** The secrets of the endpoints without a key, by kind. */
    secrets: Record<string, readonly string[]>;
    allowUnsigned: boolean;
  };
}

function verificationOf(
  { id, namesInstallation }: SourceDefinition,
  { tenancy, secrets, allowUnsigned }: SourceKindRoutes["settings"],
): z.input<typeof kindView>["verification"] {
  if (tenancy === "github" && !namesInstallation) return "key_required";
  if (secrets[id]?.length) return "signed";
  return allowUnsigned ? "unsigned" : "rejected";
}

export const sourceKindRoutes = ({
  store,
  rejections,
  tokens,
  settings,
}: SourceKindRoutes): Route[] => [
  defineRoute({
    method: "get",
    path: "/api/source-kinds",
    summary: "List the kinds of senders, and how to set each up",
    tag,
    scope: "inbox:read",
    isShared: true,
    response: { status: 200, schema: z.object({ items: z.array(kindView) }) },
    handle: async () => ({
      json: {
        items: sources.map((source) => {
          const { id, title, secret, maxBytes, config } = source;
          return {
            id,
            title,
            secret: {
              issued_by: secret.issuedBy,
              setup: secret.setup,
              variable: secretVariable(id),
            },
            verification: verificationOf(source, settings),
            max_bytes: maxBytes,
            config: config ? z.toJSONSchema(config, { io: "input", unrepresentable: "any" }) : null,
            sample_types: id === "github" ? githubSampleTypes : [],
          };
        }),
      },
    }),
  }),
  defineRoute({
    method: "get",
    path: "/api/event-types",
    summary: "List the sources and types of recent events",
    tag: "events",
    scope: "inbox:read",
    response: { status: 200, schema: z.object({ items: z.array(typeView) }) },
    async handle({ tenant }) {
      const types = await store.listRecentTypes(tenant, RECENT_EVENTS);
      const items = types.map(({ received_at, ...type }) => ({
        ...type,
        last_received_at: iso(received_at),
      }));
      return { json: { items } };
    },
  }),
  defineRoute({
    method: "get",
    path: "/api/refusals",
    summary:
      "Count the rejected webhooks and callbacks since this process started, by source and reason; needs a token for all tenants",
    tag,
    scope: "admin",
    isShared: true,
    response: { status: 200, schema: z.object({ items: z.array(rejectionCountView) }) },
    async handle({ access }) {
      await assertForAllTenants(tokens, access);
      const items = rejections.list().map((counted) => ({
        ...counted,
        last_at: iso(counted.last_at),
      }));
      return { json: { items } };
    },
  }),
];
