/**
 * Estimates the bytes that an event takes in the database: its row with its index entries, its verdicts, and
 * its share of a payload pack. Retention limits the sum of a tenant.
 */
import type { PlannedVerdict } from "../../kernel/store/run-store.ts";
import type { NewEvent } from "../../kernel/store/store.ts";

/** Pages of rows and indexes are not full. */
const PER_FULL_BYTE = 1.15;
/** The numbers of an event, and the headers of its row and of its index entries. */
const EVENT_BYTES = 90;
/** The same for a verdict, with the JSON of a reason without its texts. */
const VERDICT_BYTES = 40;
const REASON_BYTES = 40;

const lengthOf = (text: string | null | undefined): number => text?.length ?? 0;

export function eventRowBytes(tenant: string, event: NewEvent): number {
  const { id, source, source_id, external_id, type } = event;
  const { action, repo, sender, title, url, check_result } = event;
  const once =
    source.length +
    lengthOf(action) +
    lengthOf(repo) +
    lengthOf(sender) +
    lengthOf(title) +
    lengthOf(url) +
    lengthOf(check_result?.head_branch);
  // These are also in an index, and the tenant is in five.
  const indexed = id.length + source_id.length + lengthOf(external_id) + type.length;
  return Math.round(PER_FULL_BYTE * (EVENT_BYTES + once + 2 * indexed + 6 * tenant.length));
}

export function verdictBytes(
  tenant: string,
  eventId: string,
  verdicts: readonly PlannedVerdict[],
): number {
  let bytes = 0;
  for (const { flow_id, node_id, reasons, matched } of verdicts) {
    const keys = tenant.length + eventId.length + flow_id.length + node_id.length;
    // The id of the run is as long as that of the event.
    bytes += VERDICT_BYTES + keys + (matched ? eventId.length : 0);
    for (const { message, path } of reasons)
      bytes += REASON_BYTES + message.length + lengthOf(path);
  }
  return Math.round(PER_FULL_BYTE * bytes);
}
