/** The hub does not migrate the database, and has not changed it. The message contains the fix. */
export class SchemaRefused extends Error {
  readonly code:
    | "no_schema"
    | "foreign_table"
    | "database_too_new"
    | "migration_differs"
    | "unknown_schema";
  constructor(code: SchemaRefused["code"], message: string) {
    super(`${message} The database is unchanged.`);
    this.code = code;
  }
}
