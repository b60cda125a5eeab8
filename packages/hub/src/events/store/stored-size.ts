import type { NewEvent } from "../model.ts";

/** Pages of rows and indexes are not full. */
export const PER_FULL_BYTE = 1.15;
/** The numbers of an event, and the headers of its row and of its index entries. */
const EVENT_BYTES = 90;

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
