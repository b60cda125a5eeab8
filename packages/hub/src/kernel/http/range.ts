/** Supports the header `Range: bytes=…` (RFC 9110) with one range. */

export interface ByteRange {
  from: number;
  /** Inclusive. */
  to: number;
}

/**
 * Returns undefined if the whole content must be sent: the header is missing, or has another unit,
 * several ranges or an invalid syntax. Returns `unsatisfiable` if the range starts after the end.
 */
export function parseRange(
  header: string | null,
  size: number,
): ByteRange | "unsatisfiable" | undefined {
  const [, first = "", last = ""] =
    /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? "") ?? [];
  if (first === "" && last === "") return undefined;
  if (first === "") {
    const length = Math.min(Number(last), size);
    return length === 0 ? "unsatisfiable" : { from: size - length, to: size - 1 };
  }
  const from = Number(first);
  const to = last === "" ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== "" && Number(last) < from) return undefined;
  return from >= size ? "unsatisfiable" : { from, to };
}

/** Returns the response with the bytes, or with the requested range of them. */
export function rangeResponse(bytes: Uint8Array<ArrayBuffer>, type: string, header: string | null) {
  const size = bytes.byteLength;
  const range = parseRange(header, size);
  const headers = { "content-type": type, "accept-ranges": "bytes", "cache-control": "no-store" };
  if (range === undefined) return new Response(bytes, { headers });
  if (range === "unsatisfiable")
    return new Response(null, {
      status: 416,
      headers: { ...headers, "content-range": `bytes */${size}` },
    });
  const { from, to } = range;
  return new Response(bytes.subarray(from, to + 1), {
    status: 206,
    headers: { ...headers, "content-range": `bytes ${from}-${to}/${size}` },
  });
}
