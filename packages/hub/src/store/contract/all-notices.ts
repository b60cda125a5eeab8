import { expect, vi } from "vitest";
import { appendEvents, sampleEvent } from "./sample.ts";
import type { Subject } from "./subject.ts";

/**
 * Commits a change of another tenant, and returns what arrived before its notice: notices arrive in
 * the order of the commits, so these are all.
 */
export async function allNotices(
  { store, notices }: Pick<Subject, "store" | "notices">,
  marker = "the end",
) {
  await appendEvents(store, [sampleEvent()], marker);
  return await vi.waitFor(async () => {
    const received = await notices();
    const end = received.findIndex((one) => one.topic === "events" && one.tenant === marker);
    expect(end).not.toBe(-1);
    return received.slice(0, end);
  }, 60_000);
}
