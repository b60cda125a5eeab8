/** How the rows of a tenant are exported and deleted, as the tables of the schema declare it. */
import { columnsOf, STAGES, type Table } from "../kernel/store/schema.ts";
import type { Value } from "../kernel/store/sql.ts";

export interface OwnedTable {
  table: Table;
  /** The column with the key of the owner. */
  by: string;
  kind?: string | undefined;
  /** The primary key, without the tenant. */
  key: readonly string[];
}

/** The rows of a tenant in one table, or a part of them. */
export interface TenantTable {
  /** The name of the table; `deleted NAME` is the part with the deleted rows. */
  id: string;
  kind?: string | undefined;
  table: Table;
  /** The primary key, without the tenant. */
  key: readonly string[];
  /** Selects the rows, with `params`. */
  where: string;
  params(tenant: string): Value[];
  isInRegistry: boolean;
  /** Tables whose rows belong to a row of this table. The key of this table is `id`. */
  owned: readonly OwnedTable[];
}

const OF_TENANT = "tenant_id = ?";

const keyOf = ({ key }: Table): string[] => key.filter((column) => column !== "tenant_id");

export const exportedColumns = (table: Table): string[] =>
  columnsOf(table).filter((name) => table.columns[name]?.spec.export === "exported");

function partsOf(table: Table, tables: readonly Table[]): TenantTable[] {
  const { name, tenant } = table;
  if (!tenant) return [];
  const {
    kind,
    hasDeleted,
    where = OF_TENANT,
    params = (id) => [id],
    isInRegistry = false,
  } = tenant;
  const owned = tables.flatMap((child): OwnedTable[] =>
    child.owned?.of === name
      ? [{ table: child, key: keyOf(child), by: child.owned.by, kind: child.owned.kind }]
      : [],
  );
  const part = { id: name, kind, table, key: keyOf(table), where, params, isInRegistry, owned };
  if (!hasDeleted) return [part];
  return [
    { ...part, where: `${where} AND deleted = 0` },
    { ...part, where: `${where} AND deleted = 1`, id: `deleted ${name}` },
  ];
}

/** In the order of their deletion. */
export const deletedTables = (tables: readonly Table[]): TenantTable[] =>
  STAGES.flatMap((stage) =>
    tables
      .filter(({ tenant }) => tenant && (tenant.stage ?? "settings") === stage)
      .flatMap((table) => partsOf(table, tables)),
  );

/** Those that are not deleted come first: with the ids in their rows, the hub still rejects late webhooks. */
export const tenantTables = (tables: readonly Table[]): TenantTable[] => [
  ...tables
    .filter(({ tenant }) => tenant?.stage === "kept")
    .flatMap((table) => partsOf(table, tables)),
  ...deletedTables(tables),
];
