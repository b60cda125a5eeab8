/** The hub returns the beginning of a large value instead of the value itself. */
export interface Preview {
  $preview: string;
  /** The size of the whole value as JSON; 0 if it is not known. */
  bytes: number;
}

export function isPreview(value: unknown): value is Preview {
  if (typeof value !== "object" || value === null) return false;
  const { $preview, bytes } = value as Partial<Preview>;
  return (
    typeof $preview === "string" && typeof bytes === "number" && Object.keys(value).length === 2
  );
}

/** Stands for a value that is not kept in the page, and is loaded when it is shown. */
export const NOT_KEPT: { $preview: string; bytes: number } = { $preview: "", bytes: 0 };
