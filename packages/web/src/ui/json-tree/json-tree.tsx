/** Shows a JSON value as a virtualised tree, with search, marked values, and paths to copy. */
import type { Json } from "@signalbox/rules/json.ts";
import { isWithin, type Path } from "@signalbox/rules/match/path.ts";
import { useVirtualizer } from "@tanstack/react-virtual";
import { ChevronDown, ChevronUp, Search } from "lucide-react";
import {
  type KeyboardEvent,
  useCallback,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from "react";
import { IconButton } from "../button.tsx";
import { copyText } from "../clipboard.ts";
import { CopyButton } from "../copy-button.tsx";
import { cx } from "../cx.ts";
import { count } from "../format.ts";
import { toastError, toasts } from "../toast.tsx";
import { type Keys, keyOf, toPath } from "./path.ts";
import { PAGE, parentsOf, type Row, toRows } from "./rows.ts";
import { useJsonSearch } from "./use-json-search.ts";

export interface JsonTreeProps {
  value: Json;
  label: string;
  /** The values at these paths are marked, and their parents are open. */
  marked?: readonly Path[];
  /** Whether there is a search field. */
  searchable?: boolean;
  /** Called when the user chooses a value. Without it, the tree copies the path of the value. */
  onPick?: (path: string, keys: Keys) => void;
  /** The height follows the content up to this many rows. Without it, the tree fills its parent. */
  maxRows?: number;
}

const ROW_PX = 20;
/** The number of characters that are shown of a longer text. */
const INITIAL_TEXT_LENGTH = 300;
/** The number of characters that “Load more” adds. */
const TEXT_STEP = 4_000;
/** Values above this depth are open initially, if they have at most `OPEN_SIZE` children. */
const OPEN_DEPTH = 1;
const OPEN_SIZE = 30;
const NO_PATHS: readonly Path[] = [];
const UNHANDLED = Symbol("not a key of the tree");

export function JsonTree({
  value,
  label,
  marked = NO_PATHS,
  searchable = false,
  onPick,
  maxRows,
}: JsonTreeProps) {
  /** Whether the user has opened (true) or closed a value, by row id. */
  const [toggled, setToggled] = useState<ReadonlyMap<string, boolean>>(new Map());
  /** The numbers of children and of characters that are shown, by row id, if they are not the default. */
  const [limits, setLimits] = useState<ReadonlyMap<string, number>>(new Map());
  const [textLengths, setTextLengths] = useState<ReadonlyMap<string, number>>(new Map());
  const [text, setText] = useState("");
  const [hitNumber, setHitNumber] = useState(0);
  /** The id of the row that the keys act on. */
  const [active, setActive] = useState<string>();
  const scroller = useRef<HTMLDivElement>(null);
  const treeId = useId();

  const { hits, isTruncated, isSearching } = useJsonSearch(value, text);
  const hit = hits[hitNumber];
  const revealed = useMemo(() => {
    const markedKeys = marked.length > 0 ? locateMarked(value, marked) : [];
    return parentsOf(value, [...markedKeys, ...(hit ? [hit] : [])]);
  }, [value, marked, hit]);
  const rows = useMemo(
    () =>
      toRows(value, {
        isOpen: (id, depth, size) =>
          toggled.get(id) ?? (revealed.has(id) || (depth < OPEN_DEPTH && size <= OPEN_SIZE)),
        limit: (id) => limits.get(id) ?? PAGE,
        revealed: (id) => revealed.get(id),
      }),
    [value, toggled, limits, revealed],
  );

  // Memoized: a new function identity would make the virtualizer measure all rows again.
  const getItemKey = useCallback((index: number) => rows[index]?.id ?? index, [rows]);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    getItemKey,
    overscan: 20,
  });

  const hitId = hit && keyOf(hit);
  const hitIndex = useMemo(() => rows.findIndex(({ id }) => id === hitId), [rows, hitId]);
  const isHitShown = hitIndex >= 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs once for each hit, so that the user can close its parents again
  useEffect(() => {
    if (!hit || isHitShown) return;
    const parents = parentsOf(value, [hit]);
    setToggled((map) => new Map([...map].filter(([id, isOpen]) => isOpen || !parents.has(id))));
  }, [hitId]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls only when another hit is shown
  useEffect(() => {
    if (isHitShown) virtual.scrollToIndex(hitIndex, { align: "center" });
  }, [hitId, isHitShown]);

  const textLengthOf = (row: Row) => textLengths.get(row.id) ?? INITIAL_TEXT_LENGTH;
  const isTextTruncated = (row: Row) =>
    typeof row.value === "string" && row.value.length > textLengthOf(row);
  const showMoreText = (row: Row) =>
    setTextLengths((map) => new Map(map).set(row.id, textLengthOf(row) + TEXT_STEP));
  const copyPath = (row: Row) => {
    const path = toPath(row.keys);
    void copyText(path).then(() => toasts.add({ title: "Path copied", detail: path }), toastError);
  };
  const toggle = (row: Row, isOpen = !row.isOpen) =>
    setToggled((map) => new Map(map).set(row.id, isOpen));
  const showMoreChildren = (row: Row) => {
    const id = keyOf(row.keys);
    setLimits((map) => new Map(map).set(id, (map.get(id) ?? PAGE) + PAGE * 5));
  };
  const moveTo = (index: number) => {
    const row = rows[Math.max(0, Math.min(rows.length - 1, index))];
    if (!row) return;
    setActive(row.id);
    virtual.scrollToIndex(rows.indexOf(row));
  };
  const parentIndexOf = (child: number) =>
    rows.findLastIndex(({ depth }, index) => index < child && depth < (rows[child]?.depth ?? 0));
  const onKey = (event: KeyboardEvent) => {
    const index = rows.findIndex(({ id }) => id === active);
    const row = rows[index];
    const handleKey = (): unknown => {
      switch (event.key) {
        case "ArrowDown":
          return moveTo(index + 1);
        case "ArrowUp":
          return moveTo(index - 1);
        case "Home":
          return moveTo(0);
        case "End":
          return moveTo(rows.length - 1);
        case "ArrowRight":
          return row?.isOpen === false ? toggle(row, true) : moveTo(index + 1);
        case "ArrowLeft":
          if (row?.isOpen) return toggle(row, false);
          return moveTo(row?.depth ? parentIndexOf(index) : index);
        case "Enter":
          if (row?.more) return showMoreChildren(row);
          if (row && onPick) return onPick(toPath(row.keys), row.keys);
          if (row && isTextTruncated(row)) return showMoreText(row);
          return row?.isOpen !== undefined && toggle(row);
        case "c":
          return !row || row.more || onPick ? UNHANDLED : copyPath(row);
        default:
          return UNHANDLED;
      }
    };
    if (event.ctrlKey || event.metaKey || event.altKey || handleKey() === UNHANDLED) return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div className="flex min-h-0 flex-1 flex-col">
      {searchable && (
        <div className="mb-2 flex flex-none items-center gap-1">
          <label className="relative flex-1">
            <span className="sr-only">Search in {label}</span>
            <Search className="icon absolute top-2 left-2 text-ink-3" aria-hidden />
            <input
              type="search"
              className="input pl-8"
              placeholder="Search names and values"
              value={text}
              onChange={(event) => {
                setText(event.target.value);
                setHitNumber(0);
              }}
              onKeyDown={(event) => {
                if (event.key === "Enter" && hits.length > 0)
                  setHitNumber((hitNumber + (event.shiftKey ? hits.length - 1 : 1)) % hits.length);
              }}
            />
          </label>
          {text !== "" && (
            <>
              <span role="status" className="px-1 type-meta text-ink-2">
                {hits.length === 0
                  ? isSearching
                    ? "searching…"
                    : "not found"
                  : `${hitNumber + 1} of ${count(hits.length)}${isTruncated ? "+" : ""}`}
              </span>
              <IconButton
                size="small"
                icon={ChevronUp}
                label="Previous match"
                disabled={hits.length === 0}
                onClick={() => setHitNumber((hitNumber + hits.length - 1) % hits.length)}
              />
              <IconButton
                size="small"
                icon={ChevronDown}
                label="Next match"
                disabled={hits.length === 0}
                onClick={() => setHitNumber((hitNumber + 1) % hits.length)}
              />
            </>
          )}
        </div>
      )}
      <div
        ref={scroller}
        role="tree"
        aria-label={label}
        tabIndex={0}
        aria-activedescendant={active === undefined ? undefined : `${treeId}${active}`}
        onKeyDown={onKey}
        onFocus={() => active === undefined && setActive(rows[0]?.id)}
        className="min-h-0 flex-1 overflow-auto type-code leading-[19px] focus-visible:outline-offset-[-2px]"
        style={
          maxRows === undefined
            ? undefined
            : { height: Math.min(rows.length, maxRows) * ROW_PX + 4, flex: "none" }
        }
      >
        <div className="relative w-full" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start, key }) => {
            const row = rows[index];
            if (!row) return null;
            return (
              <div
                key={key}
                data-index={index}
                ref={virtual.measureElement}
                className="absolute top-0 left-0 w-full"
                style={{ transform: `translateY(${start}px)` }}
              >
                <TreeRow
                  domId={`${treeId}${row.id}`}
                  row={row}
                  isActive={row.id === active}
                  isMarked={!row.more && marked.some((path) => isWithin(row.keys, path))}
                  isHit={row.id === hitId}
                  shownLength={textLengthOf(row)}
                  onMoreText={() => showMoreText(row)}
                  onToggle={() => {
                    setActive(row.id);
                    if (row.isOpen !== undefined) toggle(row);
                  }}
                  onMoreChildren={() => showMoreChildren(row)}
                  onPick={onPick}
                />
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

function TreeRow({
  domId,
  row,
  isActive,
  isMarked,
  isHit,
  shownLength,
  onMoreText,
  onToggle,
  onMoreChildren,
  onPick,
}: {
  domId: string;
  row: Row;
  isActive: boolean;
  isMarked: boolean;
  isHit: boolean;
  shownLength: number;
  onMoreText: () => void;
  onToggle: () => void;
  onMoreChildren: () => void;
  onPick: JsonTreeProps["onPick"];
}) {
  const indent = { paddingLeft: row.depth * 14 };
  if (row.more)
    return (
      <div style={indent} id={domId} role="treeitem" tabIndex={-1} aria-level={row.depth + 1}>
        <button
          type="button"
          className="ml-4 text-blue underline"
          tabIndex={-1}
          onClick={onMoreChildren}
        >
          Load more ({count(row.more.hidden)} left)
        </button>
      </div>
    );
  const path = toPath(row.keys);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles the keys
    <div
      id={domId}
      role="treeitem"
      tabIndex={-1}
      aria-level={row.depth + 1}
      aria-expanded={row.isOpen}
      aria-selected={isActive}
      onClick={onToggle}
      style={indent}
      className={cx(
        "group relative flex min-h-5 items-start rounded-chip pr-8 hover:bg-hover",
        isActive && "bg-hover",
      )}
    >
      <span className="w-4 flex-none select-none text-ink-3" aria-hidden>
        {row.isOpen === undefined ? "" : row.isOpen ? "▾" : "▸"}
      </span>
      <span className={cx("flex min-w-0 flex-1 gap-2", isHit && "outline outline-focus")}>
        <span className={cx("flex min-w-0 gap-2 self-start", isMarked && "json-mark")}>
          {row.name !== undefined && (
            <bdi
              className={cx(
                "max-w-[45ch] truncate",
                typeof row.name === "number" ? "text-ink-3" : "json-key",
                "flex-none",
              )}
            >
              {row.name === "" ? '""' : row.name}
            </bdi>
          )}
          <Value row={row} shownLength={shownLength} onMoreText={onMoreText} />
        </span>
      </span>
      {path !== "" && (
        <span
          className={cx(
            "absolute top-[-3px] right-0 opacity-0 group-focus-within:opacity-100 group-hover:opacity-100",
            isActive && "opacity-100",
          )}
        >
          {onPick ? (
            <button
              type="button"
              tabIndex={-1}
              className="btn small"
              onClick={(event) => {
                event.stopPropagation();
                onPick(path, row.keys);
              }}
            >
              Insert
            </button>
          ) : (
            // biome-ignore lint/a11y/useKeyWithClickEvents: only keeps the row from toggling
            // biome-ignore lint/a11y/noStaticElementInteractions: only keeps the row from toggling
            <span onClick={(event) => event.stopPropagation()}>
              <CopyButton text={path} label={`Copy the path ${path}`} tabIndex={-1} />
            </span>
          )}
        </span>
      )}
    </div>
  );
}

function Value({
  row: { value, isOpen, size },
  shownLength,
  onMoreText,
}: {
  row: Row;
  shownLength: number;
  onMoreText: () => void;
}) {
  if (typeof value === "object" && value !== null) {
    const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
    return (
      <span className="text-ink-3">
        {isOpen === undefined ? `${open} ${close}` : `${open} ${count(size)} ${close}`}
      </span>
    );
  }
  if (typeof value !== "string") return <span className="json-number">{String(value)}</span>;
  const isTruncated = value.length > shownLength;
  return (
    <span className="wrap-anywhere json-string min-w-0 whitespace-pre-wrap">
      <bdi>
        "{isTruncated ? value.slice(0, shownLength) : value}
        {isTruncated ? "…" : '"'}
      </bdi>
      {isTruncated && (
        <button
          type="button"
          tabIndex={-1}
          className="ml-2 text-blue underline"
          onClick={(event) => {
            event.stopPropagation();
            onMoreText();
          }}
        >
          Load more ({count(value.length - shownLength)} characters left)
        </button>
      )}
    </span>
  );
}

const MAX_MARKED = 50;

/** Returns the locations of the first values at the paths. */
function locateMarked(root: Json, paths: readonly Path[]): Keys[] {
  const locations: Keys[] = [];
  for (const path of paths) {
    let reached: [Keys, Json][] = [[[], root]];
    for (const step of path)
      reached = reached.flatMap(([keys, value]): [Keys, Json][] => {
        if (typeof value !== "object" || value === null) return [];
        // The symbol is `[]` in a path, which stands for every item of an array.
        if (typeof step === "symbol")
          return Array.isArray(value)
            ? value
                .slice(0, MAX_MARKED)
                .map((item, index): [Keys, Json] => [[...keys, index], item])
            : [];
        const child = (value as Record<string | number, Json>)[step];
        return Object.hasOwn(value, step) && child !== undefined ? [[[...keys, step], child]] : [];
      });
    locations.push(...reached.map(([keys]) => keys));
  }
  return locations.slice(0, MAX_MARKED);
}
