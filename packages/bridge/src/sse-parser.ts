/** Parses Server-Sent Events from chunks of text with arbitrary boundaries. */
export interface SseMessage {
  id: string | undefined;
  event: string;
  data: string;
}

/** In characters; larger than any message of a hub. */
const MAX_PENDING = 16 * 1024 * 1024;

export function createSseParser(): (chunk: string) => SseMessage[] {
  let rest = "";
  let data: string[] = [];
  let size = 0;
  let event = "";
  let id: string | undefined;
  let isStart = true;

  const finish = (): SseMessage[] => {
    const message = { id, event: event || "message", data: data.join("\n") };
    const empty = data.length === 0;
    [data, size, event, id] = [[], 0, "", undefined];
    return empty ? [] : [message];
  };

  const take = (line: string): SseMessage[] => {
    if (line === "") return finish();
    const colon = line.indexOf(":");
    if (colon === 0) return [];
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") {
      data.push(value);
      size += value.length;
    } else if (name === "event") event = value;
    else if (name === "id" && !value.includes("\0")) id = value;
    return [];
  };

  return (chunk) => {
    if (chunk === "") return [];
    rest += isStart ? chunk.replace(/^\uFEFF/, "") : chunk;
    isStart = false;
    // A carriage return at the end of a chunk may be half of a CRLF.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? "";
    const messages = lines.flatMap(take);
    if (rest.length + size > MAX_PENDING)
      throw new Error(`a message of the stream exceeds ${MAX_PENDING} characters`);
    return messages;
  };
}
