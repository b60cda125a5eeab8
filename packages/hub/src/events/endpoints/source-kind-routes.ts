/** Lists the kinds of senders, the types of recent events, and the counts of rejected requests. */
import { type kindView, sourceKindApi } from "@signalbox/contract/sources.ts";
import type { JsonSchema } from "@signalbox/rules/json.ts";
import { z } from "zod";
import { assertForAllTenants } from "../../kernel/access/authorizer.ts";
import type { TokenLookup } from "../../kernel/access/scopes.ts";
import { iso } from "../../kernel/http/paging.ts";
import { implement, type Route } from "../../kernel/http/route.ts";
import type { Store } from "../../store.ts";
import type { IngestObserver } from "../admit/observe-ingest.ts";
import { type SourceDefinition, secretVariable } from "../admit/source.ts";
import { githubSampleTypes } from "../sources/github-sample.ts";
import { sources } from "../sources/index.ts";

const RECENT_EVENTS = 1_000;

export interface SourceKindRoutes {
  store: Pick<Store, "listRecentTypes">;
  listRejections: IngestObserver["listRejections"];
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
): z.output<typeof kindView>["verification"] {
  if (tenancy === "github" && !namesInstallation) return "key_required";
  if (secrets[id]?.length) return "signed";
  return allowUnsigned ? "unsigned" : "rejected";
}

export const sourceKindRoutes = ({
  store,
  listRejections,
  tokens,
  settings,
}: SourceKindRoutes): Route[] => [
  implement(sourceKindApi.list, async () => ({
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
          config: config
            ? (z.toJSONSchema(config, { io: "input", unrepresentable: "any" }) as JsonSchema)
            : null,
          sample_types: id === "github" ? githubSampleTypes : [],
        };
      }),
    },
  })),
  implement(sourceKindApi.listEventTypes, async ({ tenant }) => {
    const types = await store.listRecentTypes(tenant, RECENT_EVENTS);
    const items = types.map(({ received_at, ...type }) => ({
      ...type,
      last_received_at: iso(received_at),
    }));
    return { json: { items } };
  }),
  implement(sourceKindApi.countRejections, async ({ access }) => {
    await assertForAllTenants(tokens, access);
    const items = listRejections().map((counted) => ({
      ...counted,
      last_at: iso(counted.last_at),
    }));
    return { json: { items } };
  }),
];
