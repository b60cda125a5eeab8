/**
 * Exports all data of a tenant as NDJSON: one line per row, without credentials. The rows are read in small
 * pages while the client reads the stream, so that memory is bounded.
 */
import { toBase64 } from "../kernel/lib/bytes.ts";
import type { Payload } from "../kernel/store/packs.ts";
import type { Table } from "../kernel/store/schema.ts";
import type { Row, Value } from "../kernel/store/sql.ts";
import type { Store } from "../store.ts";
import type { ExportPage } from "./model.ts";
import { exportedColumns, tenantTables } from "./tenant-tables.ts";

type ExportStore = Pick<Store, "exportRows" | "getPayload" | "tables">;

/**
 * The number of rows per page. It is small, because a row of a run or a step can have several
 * megabytes.
 */
const PAGE_SIZE = 20;
const CHUNK_CHARACTERS = 64 * 1024;

export function exportTenant(store: ExportStore, tenant: string, now: number): ReadableStream {
  const lines = exportLines(store, tenant, now);
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      let text = "";
      while (text.length < CHUNK_CHARACTERS) {
        const { done, value } = await lines.next();
        if (done) {
          if (text !== "") controller.enqueue(encoder.encode(text));
          controller.close();
          return;
        }
        text += `${value}\n`;
      }
      controller.enqueue(encoder.encode(text));
    },
    async cancel() {
      await lines.return(undefined);
    },
  });
}

/** The last line has the kind `end`. Without that line, the export is incomplete. */
async function* exportLines(store: ExportStore, tenant: string, now: number) {
  yield JSON.stringify({ kind: "export", format: 1, tenant, at: new Date(now).toISOString() });
  let rows = 0;
  for (const { id, kind, table, owned } of tenantTables(store.tables)) {
    if (!kind) continue;
    for await (const row of readRows(store, { tenant, table: id })) {
      rows += 1;
      const payload =
        kind === "event" ? await store.getPayload(tenant, row.seq as number) : undefined;
      yield lineOf(kind, table, row, payload);
      for (const child of owned) {
        if (!child.kind) continue;
        const ofRow = { tenant, table: child.table.name, owner: row.id as string };
        for await (const ownedRow of readRows(store, ofRow)) {
          rows += 1;
          yield lineOf(child.kind, child.table, ownedRow);
        }
      }
    }
  }
  yield JSON.stringify({ kind: "end", rows });
}

async function* readRows(
  store: ExportStore,
  page: Omit<ExportPage, "limit" | "after">,
): AsyncGenerator<Row> {
  let after: readonly Value[] | undefined;
  do {
    const { rows, next } = await store.exportRows({
      ...page,
      limit: PAGE_SIZE,
      ...(after && { after }),
    });
    yield* rows;
    after = next ?? undefined;
  } while (after);
}

function lineOf(kind: string, table: Table, row: Row, payload?: Payload): string {
  const members = exportedColumns(table).map(
    (name) => `${JSON.stringify(name)}:${memberOf(table, name, row[name] ?? null)}`,
  );
  const payloadMembers = payload ? [JSON.stringify(viewPayload(payload)).slice(1, -1)] : [];
  return `{${[`"kind":${JSON.stringify(kind)}`, ...members, ...payloadMembers].join(",")}}`;
}

function memberOf({ columns }: Table, name: string, value: unknown): string {
  const format = columns[name]?.spec.format;
  // The text of a large value is stored as it was received, possibly with line breaks.
  if (format === "json") return value === null ? "null" : String(value).replace(/[\r\n]/g, " ");
  if (format === "flag") return String(value === 1);
  const isTime = format === "time" && typeof value === "number";
  return JSON.stringify(isTime ? new Date(value).toISOString() : value);
}

/**
 * Returns the body as text, so that its signature can still be verified, or as Base64 if it is not
 * UTF-8.
 */
function viewPayload({ content_type, headers, body }: Payload) {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
    return { content_type, headers, body: text };
  } catch {
    return { content_type, headers, body_base64: toBase64(body) };
  }
}
