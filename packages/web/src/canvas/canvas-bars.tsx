/** The toolbars at the bottom of the canvas, and the hint on an empty canvas. */
import { useReactFlow, useStore } from "@xyflow/react";
import {
  Cable,
  ClipboardPaste,
  Copy,
  Maximize,
  Minus,
  Pencil,
  Plus,
  Search,
  TrainTrack,
} from "lucide-react";
import { Button, IconButton } from "../ui/button.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { Kbd } from "../ui/kbd.tsx";
import { iconOf } from "./node-icon.tsx";
import { registry } from "./node-kinds.ts";

/** Options of `fitView` that show the whole flow. */
export const WHOLE_FLOW = { padding: 0.15, maxZoom: 1 } as const;

export function ZoomBar({ onTidy }: { onTidy: () => void }) {
  const view = useReactFlow();
  const zoom = useStore(({ transform: [, , scale] }) => scale);
  return (
    <div className="float-bar flex-none items-center">
      <IconButton icon={Minus} label="Zoom out" onClick={() => void view.zoomOut()} />
      <span className="w-12 text-center type-code">{Math.round(zoom * 100)} %</span>
      <IconButton icon={Plus} label="Zoom in" onClick={() => void view.zoomIn()} />
      <IconButton
        icon={Maximize}
        label="Show the whole flow"
        onClick={() => void view.fitView(WHOLE_FLOW)}
      />
      <Button icon={TrainTrack} onClick={onTidy}>
        Tidy
      </Button>
    </div>
  );
}

export function EditBar({
  onEdit,
  onAdd,
  onFind,
  onConnect,
  onCopy,
  onPaste,
}: {
  /** Set only if a node is selected and its panel is closed. */
  onEdit: (() => void) | undefined;
  onAdd: () => void;
  onFind: () => void;
  /** Set only if exactly one node is selected. */
  onConnect: (() => void) | undefined;
  /** Set only if a node is selected. */
  onCopy: (() => void) | undefined;
  onPaste: () => void;
}) {
  return (
    <div className="float-bar mx-auto max-w-full flex-wrap">
      {onEdit && (
        <Button icon={Pencil} onClick={onEdit}>
          Edit <Key>E</Key>
        </Button>
      )}
      <Button icon={Plus} onClick={onAdd}>
        Add a node <Key>N</Key>
      </Button>
      <Button icon={Search} onClick={onFind}>
        Find <Key>mod+F</Key>
      </Button>
      {onConnect && (
        <Button icon={Cable} onClick={onConnect}>
          Connect <Key>C</Key>
        </Button>
      )}
      {onCopy ? (
        <IconButton icon={Copy} label="Copy" onClick={onCopy} />
      ) : (
        <Button icon={ClipboardPaste} onClick={onPaste}>
          Paste <Key>mod+V</Key>
        </Button>
      )}
    </div>
  );
}

/** The key of a button. It is hidden if the bar is narrow. */
const Key = ({ children }: { children: string }) => (
  <span className="@max-[820px]:hidden">
    <Kbd>{children}</Kbd>
  </span>
);

/** Shown if the flow has no nodes. */
export function EmptyCanvas({ onAdd }: { onAdd: (type: string) => void }) {
  const triggers = [...registry.values()].filter(({ kind }) => kind === "trigger");
  return (
    <div className="pointer-events-none absolute inset-0 grid place-items-center">
      <div className="pointer-events-auto w-full">
        <EmptyState
          title="This flow has no nodes yet"
          actions={triggers.map(({ type, title }) => (
            <Button key={type} icon={iconOf(type)} onClick={() => onAdd(type)}>
              {title}
            </Button>
          ))}
        >
          A flow starts with a trigger. Choose one, then add the next node with the + at its port.
        </EmptyState>
      </div>
    </div>
  );
}
