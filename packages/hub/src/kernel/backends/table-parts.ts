/** The queries of `Dialect.tableParts`. */

/** The SQL of a table is not used: it depends on the order of the columns. */
export const sqliteTableParts =
  "WITH t AS (SELECT name FROM sqlite_master WHERE type = 'table' AND name = ?) " +
  `SELECT c.name || ' ' || c.type || iif(c."notnull", ' NOT NULL', '') || iif(c.pk, ' KEY ' || c.pk, '') AS part ` +
  "FROM t, pragma_table_info(t.name) c " +
  "UNION ALL SELECT i.sql FROM t, sqlite_master i WHERE i.type = 'index' AND i.tbl_name = t.name AND i.sql IS NOT NULL";

export const postgresTableParts =
  "WITH t AS (SELECT to_regclass(quote_ident(current_schema()) || '.' || quote_ident(?)) AS id) " +
  "SELECT a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END AS part " +
  "FROM pg_attribute a, t WHERE a.attrelid = t.id AND a.attnum > 0 AND NOT a.attisdropped " +
  "UNION ALL SELECT pg_get_constraintdef(c.oid) FROM pg_constraint c, t WHERE c.conrelid = t.id AND c.contype IN ('p', 'u') " +
  "UNION ALL SELECT pg_get_indexdef(i.indexrelid) FROM pg_index i, t WHERE i.indrelid = t.id " +
  "AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = i.indexrelid)";
