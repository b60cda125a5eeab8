import type { TokenKind } from "../kernel/access/scopes.ts";
import { defineTables, json, text, time } from "../kernel/store/schema.ts";

export const tokenTables = defineTables({
  /** Codes and sessions of the web UI are tokens too. */
  tokens: {
    columns: {
      id: text.exported,
      kind: text.of<TokenKind>().default("token").exported,
      hash: text.unique.credential,
      name: text.exported,
      tenants: json.omitted,
      scopes: json.exported,
      created_at: time.exported,
      expires_at: time.nullable.exported,
      revoked_at: time.nullable.exported,
      parent: text.nullable.omitted,
      last_used_at: time.nullable.exported,
      person: text.nullable.omitted,
      resource: text.nullable.omitted,
    },
    key: ["id"],
    indexes: {
      tokens_parent: { on: ["parent"], where: "parent IS NOT NULL" },
      tokens_expiry: { on: ["expires_at"], where: "kind <> 'token'" },
      tokens_kind: { on: ["kind", "id"] },
      tokens_person: { on: ["person", "kind", "id"], where: "person IS NOT NULL" },
    },
    /** Finds no tokens of several tenants in a deletion: `startDeletion` has removed this tenant from them. */
    tenant: {
      kind: "token",
      stage: "access",
      where: "id IN (SELECT token_id FROM token_tenants WHERE tenant_id = ?)",
      isInRegistry: true,
    },
  },
  /** An index: it finds the tokens of one tenant. */
  token_tenants: {
    columns: {
      tenant_id: text,
      token_id: text.omitted,
    },
    key: ["tenant_id", "token_id"],
    isClustered: true,
    tenant: { stage: "access" },
  },
});
