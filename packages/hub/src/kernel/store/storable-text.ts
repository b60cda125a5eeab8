/** Removes NUL characters, which PostgreSQL rejects in texts. A server may return them. */
export const storableText = (text: string): string => text.replaceAll("\0", "");
