/** A small client for Server-Sent Events, based on fetch. */
interface SseMessage {
  id: string | undefined;
  event: string | undefined;
  data: Record<string, unknown>;
}

export interface SseReader {
  response: Response;
  messages: SseMessage[];
  /** The `seq` of each received event, in order. */
  seqs(): number[];
  lastId(): string | undefined;
  /** Resolves when the stream has ended or broken. */
  ended: Promise<void>;
  /** Whether the stream ended by an error, not by the server. */
  isBroken(): boolean;
  close(): void;
}

export async function openSse(
  url: string,
  headers: Record<string, string>,
  init: RequestInit = {},
): Promise<SseReader> {
  const abort = new AbortController();
  const response = await fetch(url, { headers, ...init, signal: abort.signal });
  const messages: SseMessage[] = [];
  let isBroken = false;
  const read = async () => {
    if (!response.ok || !response.body) return;
    let unparsed = "";
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      unparsed += chunk;
      const blocks = unparsed.split("\n\n");
      unparsed = blocks.pop() ?? "";
      for (const block of blocks) messages.push(parse(block));
    }
  };
  return {
    response,
    messages,
    seqs: () => messages.flatMap(({ data }) => (typeof data.seq === "number" ? [data.seq] : [])),
    lastId: () => messages.findLast(({ id }) => id !== undefined)?.id,
    ended: read().catch(() => {
      isBroken = true;
    }),
    isBroken: () => isBroken,
    close: () => abort.abort(),
  };
}

function parse(block: string): SseMessage {
  const field = (name: string) =>
    block
      .split("\n")
      .find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2);
  return {
    id: field("id"),
    event: field("event"),
    data: JSON.parse(field("data") ?? "{}") as Record<string, unknown>,
  };
}
