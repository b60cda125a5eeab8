/**
 * Declares tables as data. From it come the statements that create them, the types of their rows, their lists
 * of columns, and the export and deletion of a tenant. The `tables.ts` of a capability has its tables.
 */
import type { Dialect, Value, Verb } from "./sql.ts";

type SqlType = "TEXT" | "BIGINT" | "SMALLINT" | "INTEGER" | "BLOB";

interface ColumnSpec {
  type: SqlType;
  isNullable?: boolean;
  isUnique?: boolean;
  default?: string | number;
  /** How an export shows the value. */
  format?: "json" | "flag" | "time";
  /** Whether an export of a tenant contains the column. */
  export?: "exported" | "omitted" | "credential";
}

class Column<Type extends Value> {
  /** Only for the inference of row types. */
  declare readonly value: Type;

  readonly spec: ColumnSpec;

  constructor(spec: ColumnSpec) {
    this.spec = spec;
  }

  #with<Changed extends Value = Type>(change: Partial<ColumnSpec>): Column<Changed> {
    return new Column({ ...this.spec, ...change });
  }

  get nullable(): Column<Type | null> {
    return this.#with({ isNullable: true });
  }

  get unique(): Column<Type> {
    return this.#with({ isUnique: true });
  }

  /** Narrows the type of the values. */
  of<Narrow extends Type>(): Column<Narrow> {
    return this.#with<Narrow>({});
  }

  default(value: string | number): Column<Type> {
    return this.#with({ default: value });
  }

  /** An export of a tenant contains the column. */
  get exported(): Column<Type> {
    return this.#with({ export: "exported" });
  }

  /** No export contains the column: it is derived, or internal state of the hub. */
  get omitted(): Column<Type> {
    return this.#with({ export: "omitted" });
  }

  /** No export contains the column, because it grants access. */
  get credential(): Column<Type> {
    return this.#with({ export: "credential" });
  }
}

export const text = new Column<string>({ type: "TEXT" });
/** JSON, in a column of text. */
export const json = new Column<string>({ type: "TEXT", format: "json" });
export const integer = new Column<number>({ type: "BIGINT" });
/** Milliseconds since 1970. */
export const time = new Column<number>({ type: "BIGINT", format: "time" });
export const smallint = new Column<number>({ type: "SMALLINT" });
/** 0 or 1. */
export const flag = new Column<number>({ type: "SMALLINT", format: "flag" });
/** The key of a table with one row. */
export const rowNumber = new Column<number>({ type: "INTEGER" });
export const blob = new Column<Uint8Array>({ type: "BLOB" });

/**
 * The stages of a tenant's deletion. `access`: tables that grant access or let new data arrive. The stages from
 * `runs` on are in the lock order of flows/runs/store/run-queues.ts.
 */
export const STAGES = ["access", "settings", "runs", "verdicts", "events", "usage"] as const;

/** Which rows of a table belong to a tenant. By default, `tenant_id` is their tenant. */
interface TenantRows {
  /** The kind of the rows in an export; undefined if they are not exported. */
  kind?: string;
  /** When the rows are deleted: default `settings`. `kept`: they are exported, but not deleted. */
  stage?: (typeof STAGES)[number] | "kept";
  /** Selects the rows of one tenant, with `params`. */
  where?: string;
  params?(tenant: string): Value[];
  /** The rows are exported and deleted in two parts, because deleted rows have a separate index. */
  hasDeleted?: true;
  /** The table is in the registry, if every tenant has its own object. */
  isInRegistry?: true;
}

/** The rows belong to rows of another table: to the one whose `id` is in the column `by`. */
interface OwnedRows {
  of: string;
  by: string;
  /** The kind of the rows in an export; undefined if they are not exported. */
  kind?: string;
}

interface Index {
  on: readonly string[];
  unique?: true;
  where?: string;
}

interface TableSpec {
  columns: Readonly<Record<string, Column<Value>>>;
  /** The primary key. */
  key: readonly string[];
  /** The table is stored in the order of its key, if the engine supports that. Only for small rows. */
  isClustered?: true;
  indexes?: Readonly<Record<string, Index>>;
}

/** Every table says to whom its rows belong, so that a deletion cannot forget one. */
type Ownership =
  | { tenant: TenantRows; owned?: OwnedRows; shared?: undefined }
  | { owned: OwnedRows; tenant?: undefined; shared?: undefined }
  /** The rows belong to no tenant. */
  | { shared: true; tenant?: undefined; owned?: undefined };

export type Table = TableSpec & Ownership & { name: string };

/** The row of a table. */
export type RowOf<T extends Table> = {
  -readonly [Name in keyof T["columns"]]: T["columns"][Name] extends Column<infer Type>
    ? Type
    : never;
};

type Named<Specs> = { [Name in keyof Specs & string]: Specs[Name] & { name: Name } };

const groups = new WeakSet<object>();

/** The tables of a capability, by their names. */
export function defineTables<const Specs extends Record<string, TableSpec & Ownership>>(
  specs: Specs,
): Named<Specs> {
  const entries = Object.entries(specs).map(([name, spec]) => [name, { ...spec, name }]);
  const tables = Object.fromEntries(entries) as Named<Specs>;
  groups.add(tables);
  return tables;
}

/** Returns the tables among the exports of some modules. */
export const tablesOf = (exports: object): Table[] =>
  Object.values(exports).flatMap((value: unknown) =>
    typeof value === "object" && value !== null && groups.has(value)
      ? (Object.values(value) as Table[])
      : [],
  );

type NameIn<T extends Table> = keyof T["columns"] & string;

/** The names of the columns of a table, except some. */
export const columnsOf = <T extends Table, Except extends NameIn<T> = never>(
  { columns }: T,
  except: readonly Except[] = [],
) =>
  (Object.keys(columns) as NameIn<T>[]).filter(
    (name): name is Exclude<NameIn<T>, Except> => !except.some((other) => other === name),
  );

/** The keywords that differ between the engines. */
export type Keywords = Pick<Dialect, "TEXT" | "BLOB" | "CLUSTERED">;

const literal = (value: string | number): string =>
  typeof value === "number" ? String(value) : `'${value}'`;

/** The statements that create the table and its indexes. */
export function createStatements(
  { name, columns, key, isClustered, indexes = {} }: Table,
  keywords: Keywords,
): string[] {
  const [only] = key.length === 1 ? key : [];
  const lines = Object.entries(columns).map(([column, { spec }]) => {
    const { type } = spec;
    const parts = [column, type === "TEXT" || type === "BLOB" ? keywords[type] : type];
    if (column === only) parts.push("PRIMARY KEY");
    else if (!spec.isNullable) parts.push("NOT NULL");
    if (spec.isUnique) parts.push("UNIQUE");
    if (spec.default !== undefined) parts.push(`DEFAULT ${literal(spec.default)}`);
    return parts.join(" ");
  });
  if (only === undefined) lines.push(`PRIMARY KEY (${key.join(", ")})`);
  const clustered = isClustered && keywords.CLUSTERED ? ` ${keywords.CLUSTERED}` : "";
  return [
    `CREATE TABLE ${name} (${lines.join(", ")})${clustered}`,
    ...Object.entries(indexes).map(
      ([index, { on, unique, where }]) =>
        `CREATE ${unique ? "UNIQUE " : ""}INDEX ${index} ON ${name} (${on.join(", ")})${where ? ` WHERE ${where}` : ""}`,
    ),
  ];
}

/** A change of the schema; see migrations.ts. */
export interface Migration {
  name: string;
  /** `TEXT`, `BLOB` and `CLUSTERED` are replaced by the engine's keywords; see `Dialect`. */
  statements: readonly string[];
  /** Skipped by engines without `CLUSTERED` tables. */
  onlyClustered?: true;
  /** Fills the new tables, after the statements. */
  fill?: () => Verb<void>;
}
