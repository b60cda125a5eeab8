import { type Rejection, rejection } from "./ingest-outcome.ts";

/**
 * Reads headers by name. If a header has several values, `header` returns the first one, and from then on
 * `rejectRepeated` returns a rejection that names the header.
 */
export function createHeaderReader(valuesOf: (name: string) => readonly string[]) {
  let repeatedName: string | undefined;
  return {
    header(name: string): string | undefined {
      const values = valuesOf(name);
      if (values.length > 1) repeatedName ??= name;
      return values[0];
    },
    rejectRepeated: (): Rejection | undefined =>
      repeatedName === undefined ? undefined : repeatedHeader(repeatedName),
  };
}

export const repeatedHeader = (name: string): Rejection =>
  rejection("duplicate_header", `The header ${name} occurs more than once.`);
