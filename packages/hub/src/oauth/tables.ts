import { defineTables, flag, json, text, time } from "../kernel/store/schema.ts";
import type { OAuthGrant } from "./model.ts";

export const oauthTables = defineTables({
  oauth_clients: {
    columns: {
      id: text,
      name: text,
      redirect_uris: json,
      grant_types: json,
      created_at: time,
      expires_at: time,
      /** 1 if the client has registered itself, and no person has approved a grant of it. */
      unused: flag.default(0),
    },
    key: ["id"],
    indexes: {
      oauth_clients_expiry: { on: ["expires_at"] },
      oauth_clients_unused: { on: ["created_at"], where: "unused = 1" },
    },
    shared: true,
  },
  /** Their access tokens are rows of `tokens`. */
  oauth_grants: {
    columns: {
      id: text.exported,
      client_id: text.exported,
      client_name: text.exported,
      status: text.of<OAuthGrant["status"]>().exported,
      code_hash: text.unique.credential,
      user_code: text.nullable.unique.credential,
      redirect_uri: text.nullable.omitted,
      challenge: text.nullable.omitted,
      resource: text.omitted,
      scopes: json.exported,
      tenants: json.omitted,
      person: text.nullable.omitted,
      parent: text.nullable.omitted,
      salt: text.credential,
      family_hash: text.nullable.unique.credential,
      refresh_hash: text.nullable.credential,
      former_hash: text.nullable.credential,
      rotated_at: time.nullable.omitted,
      created_at: time.exported,
      expires_at: time.exported,
      last_used_at: time.nullable.exported,
    },
    key: ["id"],
    indexes: {
      oauth_grants_expiry: { on: ["expires_at"] },
      oauth_grants_client: { on: ["client_id"] },
      oauth_grants_parent: { on: ["parent"], where: "parent IS NOT NULL" },
      oauth_grants_tenants: { on: ["tenants"] },
      oauth_grants_active: { on: ["id"], where: "status = 'active'" },
      oauth_grants_person: { on: ["person", "id"], where: "person IS NOT NULL" },
    },
    tenant: {
      kind: "oauth_grant",
      stage: "access",
      where: "tenants = ?",
      params: (tenant) => [JSON.stringify([tenant])],
      isInRegistry: true,
    },
  },
});
