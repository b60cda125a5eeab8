import { expect, vi } from "vitest";
import type { Subject } from "../../../kernel/store/contract/subject.ts";
import { appendEvents, sampleEvent } from "./sample.ts";

/**
 * Returns all notices of the commits so far. It commits a change of the tenant `marker`, and waits for
 * its notice. Notices arrive in the order of the commits, so all earlier ones have arrived then.
 */
export async function allNotices(
  { store, notices }: Pick<Subject, "store" | "notices">,
  marker = "the end",
) {
  await appendEvents(store, [sampleEvent()], marker);
  return await vi.waitFor(async () => {
    const received = await notices();
    const end = received.findIndex(
      (notice) => notice.topic === "events" && notice.tenant === marker,
    );
    expect(end).not.toBe(-1);
    return received.slice(0, end);
  }, 60_000);
}
