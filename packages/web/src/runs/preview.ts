/** The beginning of a large value, which the hub returns instead of the whole value. */
export interface Preview {
  $preview: string;
  /** The size of the whole value as JSON; 0 if the size is not known. */
  bytes: number;
}

export function isPreview(value: unknown): value is Preview {
  if (typeof value !== "object" || value === null) return false;
  const { $preview, bytes } = value as Partial<Preview>;
  return (
    typeof $preview === "string" && typeof bytes === "number" && Object.keys(value).length === 2
  );
}

/** Replaces a value that the page does not keep in memory. It is loaded when it is shown. */
export const OMITTED: { $preview: string; bytes: number } = { $preview: "", bytes: 0 };

export const isOmitted = ({ $preview }: Preview): boolean => $preview === "";
