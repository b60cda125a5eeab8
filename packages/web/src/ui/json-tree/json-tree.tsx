/** A JSON value as a tree: virtualised, searchable, with marked parts, paths to copy, by keyboard too. */
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
  /** Paths whose values are marked; their parents are open. */
  marked?: readonly Path[];
  /** Whether there is a search field. */
  searchable?: boolean;
  /** Calls this instead of copying when a path is chosen. */
  onPick?: (path: string, keys: Keys) => void;
  /** The height follows the content up to this many rows. Without it, the tree fills its parent. */
  maxRows?: number;
}

const ROW_PX = 20;
/** Longer texts are shown in parts. */
const TEXT_PART = 300;
const TEXT_STEP = 4_000;
/** Small values are open from the start. */
const OPEN_DEPTH = 1;
const OPEN_SIZE = 30;
const NO_PATHS: readonly Path[] = [];
const NOT_OURS = Symbol("not a key of the tree");

export function JsonTree({
  value,
  label,
  marked = NO_PATHS,
  searchable = false,
  onPick,
  maxRows,
}: JsonTreeProps) {
  const [toggled, setToggled] = useState<ReadonlyMap<string, boolean>>(new Map());
  const [limits, setLimits] = useState<ReadonlyMap<string, number>>(new Map());
  const [lengths, setLengths] = useState<ReadonlyMap<string, number>>(new Map());
  const [text, setText] = useState("");
  const [hitAt, setHitAt] = useState(0);
  const [active, setActive] = useState<string>();
  const scroller = useRef<HTMLDivElement>(null);
  const treeId = useId();

  const { hits, isCut, isSearching } = useJsonSearch(value, text);
  const hit = hits[hitAt];
  const revealed = useMemo(() => {
    const markedKeys = marked.length > 0 ? findMarked(value, marked) : [];
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

  // Another function makes the virtualizer measure all rows again.
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
  // biome-ignore lint/correctness/useExhaustiveDependencies: opens what the user has closed once for each hit
  useEffect(() => {
    if (!hit || isHitShown) return;
    const parents = parentsOf(value, [hit]);
    setToggled((map) => new Map([...map].filter(([id, isOpen]) => isOpen || !parents.has(id))));
  }, [hitId]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls when another hit is shown only
  useEffect(() => {
    if (isHitShown) virtual.scrollToIndex(hitIndex, { align: "center" });
  }, [hitId, isHitShown]);

  const lengthOf = (row: Row) => lengths.get(row.id) ?? TEXT_PART;
  const isTextCut = (row: Row) => typeof row.value === "string" && row.value.length > lengthOf(row);
  const showText = (row: Row) =>
    setLengths((map) => new Map(map).set(row.id, lengthOf(row) + TEXT_STEP));
  const copyPath = (row: Row) => {
    const path = toPath(row.keys);
    void copyText(path).then(() => toasts.add({ title: "Path copied", detail: path }), toastError);
  };
  const toggle = (row: Row, isOpen = !row.isOpen) =>
    setToggled((map) => new Map(map).set(row.id, isOpen));
  const showMore = (row: Row) => {
    const id = keyOf(row.keys);
    setLimits((map) => new Map(map).set(id, (map.get(id) ?? PAGE) + PAGE * 5));
  };
  const move = (index: number) => {
    const row = rows[Math.max(0, Math.min(rows.length - 1, index))];
    if (!row) return;
    setActive(row.id);
    virtual.scrollToIndex(rows.indexOf(row));
  };
  const parentOf = (at: number) =>
    rows.findLastIndex(({ depth }, index) => index < at && depth < (rows[at]?.depth ?? 0));
  const onKey = (event: KeyboardEvent) => {
    const at = rows.findIndex(({ id }) => id === active);
    const row = rows[at];
    const act = (): unknown => {
      switch (event.key) {
        case "ArrowDown":
          return move(at + 1);
        case "ArrowUp":
          return move(at - 1);
        case "Home":
          return move(0);
        case "End":
          return move(rows.length - 1);
        case "ArrowRight":
          return row?.isOpen === false ? toggle(row, true) : move(at + 1);
        case "ArrowLeft":
          if (row?.isOpen) return toggle(row, false);
          return move(row?.depth ? parentOf(at) : at);
        case "Enter":
          if (row?.more) return showMore(row);
          if (row && onPick) return onPick(toPath(row.keys), row.keys);
          if (row && isTextCut(row)) return showText(row);
          return row?.isOpen !== undefined && toggle(row);
        case "c":
          return !row || row.more || onPick ? NOT_OURS : copyPath(row);
        default:
          return NOT_OURS;
      }
    };
    if (event.ctrlKey || event.metaKey || event.altKey || act() === NOT_OURS) return;
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
                setHitAt(0);
              }}
              onKeyDown={(event) => {
                if (event.key === "Enter" && hits.length > 0)
                  setHitAt((hitAt + (event.shiftKey ? hits.length - 1 : 1)) % hits.length);
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
                  : `${hitAt + 1} of ${count(hits.length)}${isCut ? "+" : ""}`}
              </span>
              <IconButton
                size="small"
                icon={ChevronUp}
                label="Previous"
                disabled={hits.length === 0}
                onClick={() => setHitAt((hitAt + hits.length - 1) % hits.length)}
              />
              <IconButton
                size="small"
                icon={ChevronDown}
                label="Next"
                disabled={hits.length === 0}
                onClick={() => setHitAt((hitAt + 1) % hits.length)}
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
                  shownLength={lengthOf(row)}
                  onText={() => showText(row)}
                  onToggle={() => {
                    setActive(row.id);
                    if (row.isOpen !== undefined) toggle(row);
                  }}
                  onMore={() => showMore(row)}
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
  onText,
  onToggle,
  onMore,
  onPick,
}: {
  domId: string;
  row: Row;
  isActive: boolean;
  isMarked: boolean;
  isHit: boolean;
  shownLength: number;
  onText: () => void;
  onToggle: () => void;
  onMore: () => void;
  onPick: JsonTreeProps["onPick"];
}) {
  const indent = { paddingLeft: row.depth * 14 };
  if (row.more)
    return (
      <div style={indent} id={domId} role="treeitem" tabIndex={-1} aria-level={row.depth + 1}>
        <button type="button" className="ml-4 text-blue underline" tabIndex={-1} onClick={onMore}>
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
          <Value row={row} shownLength={shownLength} onText={onText} />
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
  onText,
}: {
  row: Row;
  shownLength: number;
  onText: () => void;
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
  const isCut = value.length > shownLength;
  return (
    <span className="wrap-anywhere json-string min-w-0 whitespace-pre-wrap">
      <bdi>
        "{isCut ? value.slice(0, shownLength) : value}
        {isCut ? "…" : '"'}
      </bdi>
      {isCut && (
        <button
          type="button"
          tabIndex={-1}
          className="ml-2 text-blue underline"
          onClick={(event) => {
            event.stopPropagation();
            onText();
          }}
        >
          Load more ({count(value.length - shownLength)} characters left)
        </button>
      )}
    </span>
  );
}

const MAX_MARKED = 50;

/** The keys of the values at the paths. */
function findMarked(root: Json, paths: readonly Path[]): Keys[] {
  const found: Keys[] = [];
  for (const path of paths) {
    let reached: [Keys, Json][] = [[[], root]];
    for (const step of path)
      reached = reached.flatMap(([keys, value]): [Keys, Json][] => {
        if (typeof value !== "object" || value === null) return [];
        if (typeof step === "symbol")
          return Array.isArray(value)
            ? value.slice(0, MAX_MARKED).map((item, at): [Keys, Json] => [[...keys, at], item])
            : [];
        const part = (value as Record<string | number, Json>)[step];
        return Object.hasOwn(value, step) && part !== undefined ? [[[...keys, step], part]] : [];
      });
    found.push(...reached.map(([keys]) => keys));
  }
  return found.slice(0, MAX_MARKED);
}
