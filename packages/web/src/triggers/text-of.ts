/** A parameter that should be text: empty if it is anything else. */
export const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
