import { defineTables, flag, integer, json, text, time } from "../../kernel/store/schema.ts";

export const mcpEventsTables = defineTables({
  subscriptions: {
    columns: {
      id: text.exported,
      principal: text.omitted,
      tenants: json.omitted,
      name: text.exported,
      arguments: json.exported,
      url: text.exported,
      secret: text.credential,
      secret_hash: text.credential,
      former_secret: text.nullable.credential,
      former_until: time.nullable.omitted,
      places: json.omitted,
      gap: flag.default(0).omitted,
      attempt: integer.default(0).omitted,
      failing_since: time.nullable.omitted,
      next_at: time.default(0).omitted,
      last_error: text.nullable.exported,
      delivered_at: time.nullable.exported,
      expires_at: time.exported,
      leased_by: text.default("").omitted,
      leased_until: time.default(0).omitted,
      created_at: time.exported,
      updated_at: time.exported,
    },
    key: ["id"],
    indexes: {
      subscriptions_principal: { on: ["principal"] },
      subscriptions_lease: { on: ["leased_until"] },
      subscriptions_owner: { on: ["leased_by"] },
    },
    /** Not selected by `principal`: on Cloudflare the tokens are in the registry, not in this database. */
    tenant: {
      kind: "subscription",
      stage: "access",
      where: "tenants = ?",
      params: (tenant) => [JSON.stringify([tenant])],
    },
    owned: { of: "tokens", by: "principal" },
  },
  callback_verifications: {
    columns: {
      principal: text,
      url: text.omitted,
      verified_at: time.omitted,
    },
    key: ["principal", "url"],
    owned: { of: "tokens", by: "principal" },
  },
});
