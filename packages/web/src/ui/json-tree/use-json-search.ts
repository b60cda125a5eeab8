/** Searches a JSON value in time slices, so that the page stays responsive. */
import type { Json } from "@signalbox/rules/json.ts";
import { useEffect, useState } from "react";
import { type SearchResult, startSearch } from "./search.ts";

/** Less than the time of a frame at 60 Hz, which is 16 ms. */
const SLICE_MS = 12;
/** The clock is read after this many steps. */
const STEPS = 500;
const NO_HITS: SearchResult = { hits: [], isTruncated: false };

export function useJsonSearch(value: Json, text: string): SearchResult & { isSearching: boolean } {
  const [done, setDone] = useState<SearchResult & { value: Json; text: string }>();
  useEffect(() => {
    if (text === "") return;
    const search = startSearch(value, text);
    const runSlice = () => {
      const until = performance.now() + SLICE_MS;
      while (performance.now() < until)
        if (search.step(STEPS)) return setDone({ ...search.result(), value, text });
      timer = setTimeout(runSlice);
    };
    let timer = setTimeout(runSlice);
    return () => clearTimeout(timer);
  }, [value, text]);
  if (text === "") return { ...NO_HITS, isSearching: false };
  const isDone = done?.value === value && done.text === text;
  return { ...(isDone ? done : NO_HITS), isSearching: !isDone };
}
