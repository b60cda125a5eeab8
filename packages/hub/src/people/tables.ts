import { defineTables, text, time } from "../kernel/store/schema.ts";

export const peopleTables = defineTables({
  people: {
    columns: {
      id: text,
      login: text,
      name: text.nullable,
      avatar: text.nullable,
      sealed: text.nullable.credential,
      checked_at: time,
      leased_until: time.default(0),
    },
    key: ["id"],
    shared: true,
  },
  memberships: {
    columns: {
      person: text.exported,
      tenant_id: text,
      role: text.exported,
    },
    key: ["person", "tenant_id"],
    indexes: {
      memberships_tenant: { on: ["tenant_id"] },
    },
    tenant: { kind: "membership", stage: "access", isInRegistry: true },
  },
});
