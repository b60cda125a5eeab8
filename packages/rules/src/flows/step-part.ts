/**
 * Names the parts of a step, such as the turns of an agent. Each part has its own step record. The
 * `item` of this record is the iteration of the step, followed by `#` and the name of the part.
 */
const SEPARATOR = "#";

const NAME = /^[\w.-]{1,100}$/;

export function partItem(iteration: string, part: string): string {
  if (!NAME.test(part))
    throw new Error(
      `Invalid name of a part: ${JSON.stringify(part)}. Use letters, digits, "_", "." and "-".`,
    );
  return `${iteration}${SEPARATOR}${part}`;
}

/** Returns the name of the part; undefined if the item belongs to a whole step. */
export function partOf(item: string): string | undefined {
  const at = item.indexOf(SEPARATOR);
  return at < 0 ? undefined : item.slice(at + SEPARATOR.length);
}
