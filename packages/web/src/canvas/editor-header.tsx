/** The header of the editor: the name of the flow, its triggers, the state of saving, and actions. */
import { History, Play, Radio, Redo2, Text, Undo2 } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import { AttentionMark } from "../flows/attention-mark.tsx";
import { attentionOf } from "../flows/flow-list.ts";
import { useApps } from "../flows/use-apps.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Chip } from "../ui/chip.tsx";
import { ago } from "../ui/format.ts";
import type { SaveState } from "./autosave.ts";
import type { Diff } from "./diff.ts";
import type { Graph } from "./graph.ts";
import { PLATE_ICONS, plateOf } from "./plates.ts";
import type { Draft } from "./use-draft.ts";

const MAX_PLATES = 4;

export function EditorHeader({
  draft: { graph, flow, saving, savedAt, state, dispatch },
  nameOf,
  diff,
  isDiffShown,
  onDiff,
  onRun,
  onPublish,
  onDescription,
  onVersions,
  onTriggers,
}: {
  draft: Draft;
  nameOf: (source: string) => string;
  diff: Diff | undefined;
  isDiffShown: boolean;
  onDiff: () => void;
  onRun: () => void;
  onPublish: () => void;
  onDescription: () => void;
  onVersions: () => void;
  onTriggers: () => void;
}) {
  const { data: apps } = useApps();
  const attention = attentionOf(flow);
  const nextVersion = (flow.version ?? 0) + 1;
  return (
    <header className="flex min-h-[60px] flex-none flex-wrap items-center gap-x-[14px] gap-y-2 border-line border-b bg-page py-2 pr-4 pl-5">
      <h1 className="flex min-w-0 items-center gap-2 type-h2">
        <Link
          href="/flows"
          className="flex max-w-[200px] flex-none gap-1 font-medium text-ink-3 hover:text-ink"
        >
          <span className="truncate">
            {apps?.items.find(({ slug }) => slug === flow.app)?.name ?? flow.app}
          </span>
          <span aria-hidden>/</span>
        </Link>
        <FlowName
          key={graph.name}
          name={graph.name}
          onRename={(name) => dispatch({ do: "describe", name, description: graph.description })}
        />
      </h1>
      {attention && <AttentionMark attention={attention} />}
      <Plates graph={graph} nameOf={nameOf} />
      <div className="ml-auto flex flex-none items-center gap-2 type-meta text-ink-2">
        <span role="status">{describeSaving(saving, savedAt)}</span>
        {diff && diff.count > 0 && flow.version !== null && (
          <button type="button" onClick={onDiff} aria-pressed={isDiffShown}>
            <Chip tone="amber" words title="Show the differences from the published version">
              {diff.count === 1 ? "1 change" : `${diff.count} changes`} since v{flow.version}
            </Chip>
          </button>
        )}
      </div>
      <div className="flex flex-none gap-1">
        <IconButton
          icon={Undo2}
          label="Undo"
          disabled={state.past.length === 0}
          onClick={() => dispatch({ do: "undo" })}
        />
        <IconButton
          icon={Redo2}
          label="Redo"
          disabled={state.future.length === 0}
          onClick={() => dispatch({ do: "redo" })}
        />
        <IconButton icon={Text} label="Description" onClick={onDescription} />
        <IconButton icon={Radio} label="Triggers" onClick={onTriggers} />
        <IconButton icon={History} label="Versions" onClick={onVersions} />
      </div>
      <Button icon={Play} onClick={onRun}>
        Run
      </Button>
      <Button look="primary" onClick={onPublish}>
        Publish v{nextVersion}
      </Button>
    </header>
  );
}

/** An input that looks like a heading. */
function FlowName({ name, onRename }: { name: string; onRename: (name: string) => void }) {
  const [text, setText] = useState(name);
  return (
    <input
      aria-label="Name of the flow"
      className="field-sizing-content min-w-[60px] max-w-[320px] truncate rounded-chip bg-transparent hover:bg-hover"
      value={text}
      maxLength={300}
      onChange={({ target }) => setText(target.value)}
      onBlur={() => (text.trim() === "" ? setText(name) : onRename(text.trim()))}
      onKeyDown={({ key, currentTarget }) => {
        if (key === "Enter") currentTarget.blur();
      }}
    />
  );
}

function Plates({ graph, nameOf }: { graph: Graph; nameOf: (source: string) => string }) {
  const plates = graph.nodes.flatMap((node) => {
    const plate = plateOf(node, nameOf);
    return plate && node.parameters.isActive !== false ? [{ id: node.id, ...plate }] : [];
  });
  const hidden = plates.slice(MAX_PLATES);
  return (
    <div className="flex min-w-0 flex-1 basis-0 gap-[6px] overflow-hidden">
      {plates.slice(0, MAX_PLATES).map(({ id, kind, text }) => (
        <Chip key={id} icon={PLATE_ICONS[kind]} title={text} className="max-w-[180px]">
          {text}
        </Chip>
      ))}
      {hidden.length > 0 && (
        <Chip title={hidden.map(({ text }) => text).join(", ")}>+{hidden.length}</Chip>
      )}
    </div>
  );
}

function describeSaving(saving: SaveState, savedAt: number | undefined): string {
  switch (saving.is) {
    case "saved":
      return savedAt === undefined ? "" : `Saved ${ago(new Date(savedAt).toISOString())}`;
    case "pending":
      return "Edited";
    case "saving":
      return "Saving…";
    case "failed":
      return "Not saved yet, trying again";
    case "rejected":
    case "emptied":
    case "conflict":
      return "Not saved";
  }
}
