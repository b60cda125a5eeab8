/** Searches while the page stays responsive. */
import type { Json } from "@signalbox/rules/json.ts";
import { useEffect, useState } from "react";
import { type Found, startSearch } from "./search.ts";

/** The page is blocked for no longer than this. */
const SLICE_MS = 12;
const STEP_PARTS = 500;
const NOTHING: Found = { hits: [], isCut: false };

export function useJsonSearch(value: Json, text: string): Found & { isSearching: boolean } {
  const [done, setDone] = useState<Found & { value: Json; text: string }>();
  useEffect(() => {
    if (text === "") return;
    const search = startSearch(value, text);
    const run = () => {
      const until = performance.now() + SLICE_MS;
      while (performance.now() < until)
        if (search.step(STEP_PARTS)) return setDone({ ...search.found(), value, text });
      timer = setTimeout(run);
    };
    let timer = setTimeout(run);
    return () => clearTimeout(timer);
  }, [value, text]);
  if (text === "") return { ...NOTHING, isSearching: false };
  const isDone = done?.value === value && done.text === text;
  return { ...(isDone ? done : NOTHING), isSearching: !isDone };
}
