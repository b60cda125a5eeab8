/** Returns a parameter that should be text; empty if it has another type. */
export const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
