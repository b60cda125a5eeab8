/** Placeholders for rows that are not loaded yet. */
export function SkeletonRows({ rows = 8, height = 56 }: { rows?: number; height?: number }) {
  return (
    <div role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, index) => (
        <div
          // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all alike
          key={index}
          className="flex items-center gap-4 border-line border-b px-5"
          style={{ height }}
        >
          <div className="skeleton h-5 w-3" />
          <div className="skeleton h-3 w-16" />
          <div className="skeleton h-3 flex-1" style={{ maxWidth: 220 + ((index * 97) % 180) }} />
        </div>
      ))}
    </div>
  );
}
