import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSseParser, type SseMessage } from "./sse-parser.ts";

const parse = (...chunks: string[]): SseMessage[] => {
  const take = createSseParser();
  return chunks.flatMap((chunk) => take(chunk));
};

describe("createSseParser", () => {
  it("parses ids, event names, comments and multi-line data with any line ending", () => {
    expect(
      parse("\uFEFF: hi\nid: 3\nevent: x\ndata: a\ndata:b\n\ndata: c\r\n\r\ndata\r\r!"),
    ).toEqual([
      { id: "3", event: "x", data: "a\nb" },
      { id: undefined, event: "message", data: "c" },
      { id: undefined, event: "message", data: "" },
    ]);
  });

  it("ignores messages without data, and incomplete messages", () => {
    expect(parse("id: 3\n\nretry: 5\n\ndata: half\n")).toEqual([]);
  });

  it("parses the same messages for any chunk boundaries", () => {
    const line = fc.string({ unit: "grapheme" }).map((text) => text.replaceAll(/[\r\n]/g, ""));
    fc.assert(
      fc.property(
        fc.array(fc.record({ id: fc.nat(), data: line }), { maxLength: 8 }),
        fc.constantFrom("\n", "\r\n", "\r"),
        fc.infiniteStream(fc.integer({ min: 1, max: 7 })),
        (sent, end, cuts) => {
          const text = sent
            .map(({ id, data }) => `id: ${id}${end}data: ${data}${end}${end}`)
            .join("");
          const chunks: string[] = [];
          for (let at = 0; at < text.length; ) {
            const { value } = cuts.next();
            chunks.push(text.slice(at, at + value));
            at += value;
          }
          // A lone \r at the end may be half a line ending; the next chunk decides.
          const messages = parse(...chunks, ": end\n");
          expect(messages).toEqual(
            sent.map(({ id, data }) => ({ id: String(id), event: "message", data })),
          );
        },
      ),
    );
  });

  it("throws on a message above the limit", () => {
    const take = createSseParser();
    const flood = () => {
      for (let at = 0; at < 20; at += 1) take(`data: ${"x".repeat(1_000_000)}\n`);
    };
    expect(flood).toThrow("exceeds");
  });
});
