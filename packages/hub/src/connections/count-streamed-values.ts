const LAST_CONTROL = 0x1f;
const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;

/**
 * Estimates the number of values in JSON, or in an event stream with JSON, from its bytes as they
 * arrive. It counts each `[`, `{` and `,` as one value, so an empty array or object in a list counts
 * twice.
 */
export function createValueCounter(): (bytes: Uint8Array) => number {
  let values = 0;
  let isString = false;
  let isEscaped = false;
  return (bytes) => {
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at] as number;
      // JSON strings contain no line breaks. So a quote in an event-stream line that is not JSON has
      // no effect on the lines after it.
      if (byte <= LAST_CONTROL) isString = isEscaped = false;
      else if (isEscaped) isEscaped = false;
      else if (byte === QUOTE) isString = !isString;
      else if (isString) isEscaped = byte === BACKSLASH;
      else if (byte === COMMA || byte === OPEN_ARRAY || byte === OPEN_OBJECT) values += 1;
    }
    return values;
  };
}
