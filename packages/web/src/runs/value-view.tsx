/** Shows a value as a tree. A large value is shown as text at first, and loaded on demand. */
import type { Json } from "@signalbox/rules/json.ts";
import { Download } from "lucide-react";
import { useMemo, useState } from "react";
import { fileUrl } from "../api/client.ts";
import { Button } from "../ui/button.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { bytes } from "../ui/format.ts";
import { JsonTree } from "../ui/json-tree/json-tree.tsx";
import { SkeletonRows } from "../ui/skeleton.tsx";
import { isOmitted, isPreview, type Preview } from "./preview.ts";
import { useValueChunks, useWholeValue, type ValueKey, valuePath } from "./use-value.ts";
import { joinText, joinValue, loadedBytes, MAX_TREE_BYTES } from "./value-chunks.ts";

export function ValueView({
  value,
  valueKey,
  label,
}: {
  value: Json;
  valueKey: ValueKey;
  label: string;
}) {
  if (!isPreview(value)) return <Tree value={value} label={label} />;
  // The key resets the state for another value.
  return <LargeValue key={valuePath(valueKey)} preview={value} valueKey={valueKey} label={label} />;
}

const Tree = ({ value, label }: { value: Json; label: string }) => (
  <div className="flex h-full flex-col pt-2 pb-3">
    <JsonTree value={value} label={label} searchable />
  </div>
);

function LargeValue({
  preview,
  valueKey,
  label,
}: {
  preview: Preview;
  valueKey: ValueKey;
  label: string;
}) {
  const [shouldLoadChunks, setShouldLoadChunks] = useState(isOmitted(preview));
  const [shouldLoadWhole, setShouldLoadWhole] = useState(false);
  const chunks = useValueChunks(valueKey, shouldLoadChunks);
  const whole = useWholeValue(valueKey, shouldLoadWhole);
  const loaded = useMemo(() => chunks.data?.pages ?? [], [chunks.data]);
  const complete = useMemo(() => joinValue(loaded), [loaded]);
  const error = chunks.error ?? whole.error;
  if (whole.data !== undefined) return <Tree value={whole.data} label={label} />;
  if (complete) return <Tree value={complete.value} label={label} />;
  if (error)
    return (
      <ErrorState
        error={error}
        onRetry={() => void (shouldLoadWhole ? whole.refetch() : chunks.refetch())}
      />
    );
  if (isOmitted(preview) && loaded.length === 0) return <SkeletonRows rows={4} height={24} />;
  const size = loaded[0]?.size ?? preview.bytes;
  const text = loaded.length > 0 ? joinText(loaded) : preview.$preview;
  const shown = loaded.length > 0 ? loadedBytes(loaded) : new Blob([preview.$preview]).size;
  const hasMore = loaded.length === 0 || chunks.hasNextPage;
  return (
    <div className="flex flex-col gap-2 pt-2 pb-4">
      <div className="flex flex-wrap items-center gap-2">
        <p className="mr-auto type-meta text-ink-2" role="status">
          The first {bytes(shown)} of {bytes(size)}, as text
        </p>
        {hasMore && (
          <Button
            size="small"
            busy={chunks.isFetching}
            onClick={() =>
              shouldLoadChunks ? void chunks.fetchNextPage() : setShouldLoadChunks(true)
            }
          >
            Load more
          </Button>
        )}
        {size <= MAX_TREE_BYTES && (
          <Button size="small" busy={whole.isFetching} onClick={() => setShouldLoadWhole(true)}>
            Load all {bytes(size)}
          </Button>
        )}
        <a
          className="btn small square"
          href={fileUrl(valuePath(valueKey))}
          download={`${fileName(valueKey)}.json`}
          title="Download"
          aria-label={`Download all ${bytes(size)}`}
        >
          <Download className="icon" aria-hidden />
        </a>
      </div>
      <section
        // biome-ignore lint/a11y/noNoninteractiveTabindex: long text must be scrollable by keyboard
        tabIndex={0}
        aria-label={`Beginning of ${label}`}
        className="rounded-tile border border-line bg-sunk p-3"
      >
        <pre className="wrap-anywhere whitespace-pre-wrap type-code">{text}</pre>
      </section>
    </div>
  );
}

const fileName = ({ run, nth, field }: ValueKey): string =>
  [`run-${run}`, nth > 0 && `step-${nth}`, field].filter(Boolean).join("-");
