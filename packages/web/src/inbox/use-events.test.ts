import type { EventItem } from "@signalbox/contract";
import { afterEach, expect, it } from "vitest";
import { queryClient } from "../app/query-client.ts";
import { findShownAs, patchEvents } from "./use-events.ts";

const item = (id: string, processed: boolean) => ({ id, processed }) as EventItem;
const LIST = ["event-list", "?view=all"];

afterEach(() => queryClient.clear());

it("patches events in the cached lists and details, and finds those with a state", () => {
  queryClient.setQueryData(LIST, {
    pages: [{ items: [item("a", false), item("b", true)], next_cursor: null }],
    pageParams: [],
  });
  queryClient.setQueryData(["events", "a"], item("a", false));
  queryClient.setQueryData(["events", "a", "headers"], { size: 1 });
  const ids = ["a", "b", "unknown"];
  expect([findShownAs(false, ids), findShownAs(true, ids)]).toEqual([["a"], ["b"]]);
  patchEvents(ids, { processed: true });
  expect([findShownAs(false, ids), findShownAs(true, ids)]).toEqual([[], ["a", "b"]]);
  expect(queryClient.getQueryData(["events", "a"])).toEqual(item("a", true));
  expect(queryClient.getQueryData(["events", "a", "headers"])).toEqual({ size: 1 });
  expect(queryClient.getQueryData(["events", "unknown"])).toBeUndefined();
});
