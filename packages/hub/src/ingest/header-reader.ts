import { type Rejection, rejection } from "./ingest-outcome.ts";

/** Reads the first value of headers. `repeated` rejects the first header that was read and has more. */
export function createHeaderReader(valuesOf: (name: string) => readonly string[]) {
  let found: string | undefined;
  return {
    header(name: string): string | undefined {
      const values = valuesOf(name);
      if (values.length > 1) found ??= name;
      return values[0];
    },
    repeated: (): Rejection | undefined =>
      found === undefined ? undefined : repeatedHeader(found),
  };
}

export const repeatedHeader = (name: string): Rejection =>
  rejection("duplicate_header", `The header ${name} occurs more than once.`);
