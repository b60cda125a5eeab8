import { truncate } from "@signalbox/rules/truncate.ts";

const MAX_QUOTE = 300;

/** Shortens a server's text for an error message: one line, at most 300 characters, no markup. */
export function quote(text: string): string {
  const plain = /^\s*<(!doctype|html|\?xml)/i.test(text) ? describePage(text) : text;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it removes control characters
  const line = plain.replace(/[\s\u0000-\u001f\u007f]+/g, " ").trim();
  return line === "" ? "(an empty answer)" : truncate(line, MAX_QUOTE);
}

function describePage(html: string): string {
  const title = /<title[^>]*>([^<]{1,200})/i.exec(html)?.[1]?.trim();
  return title ? `a web page with the title "${title}"` : "a web page";
}
