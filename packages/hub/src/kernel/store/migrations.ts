/**
 * What changes the schema of an existing database, in order. A new database is created from the tables
 * (schema.ts), and contains all migrations from the start. The list only grows: databases contain its entries,
 * with their checksums. To change the schema, change the table, and add an entry here with its line in
 * `migration-checksums.txt`; see migrate.ts.
 */
import { legacyMigrations } from "./legacy-migrations.ts";
import type { Migration } from "./schema.ts";

export const migrations: readonly Migration[] = [...legacyMigrations];
