/** The page of one flow: its desk, its node panel, and the runs of its draft. */
import { ReactFlowProvider, useReactFlow, useStore } from "@xyflow/react";
import { Cable, ClipboardPaste, Maximize, Minus, Plus, Search, TrainTrack } from "lucide-react";
import { useCallback, useEffect, useMemo, useState } from "react";
import type { Flow } from "../api/types.ts";
import { useKeys } from "../app/use-global-keys.ts";
import { usePageTitle } from "../app/use-page-title.ts";
import { NodePanel } from "../panel/node-panel.tsx";
import { nameOfSender } from "../triggers/senders.ts";
import { TriggersPanel } from "../triggers/triggers-panel.tsx";
import { useSenders } from "../triggers/use-senders.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Kbd } from "../ui/kbd.tsx";
import { toastError, toasts } from "../ui/toast.tsx";
import { copyNodes, readClip } from "./clip.ts";
import { DeskView, type Selection } from "./desk.tsx";
import { DeskContext, type Problem } from "./desk-context.ts";
import type { EditAction } from "./edit-model.ts";
import { EditorHeader } from "./editor-header.tsx";
import type { Graph, Point, Port } from "./graph.ts";
import { definitionOf, outPortsOf } from "./node-kinds.ts";
import { type PickerKind, Pickers } from "./pickers.tsx";
import { PublishDialog } from "./publish-dialog.tsx";
import { needsLayout, requestLayout } from "./request-layout.ts";
import { NO_ROUTE, routeFrom } from "./route.ts";
import { RunDialog } from "./run-dialog.tsx";
import { RunDock } from "./run-dock.tsx";
import { statesOf } from "./run-states.ts";
import { SaveBanner } from "./save-banner.tsx";
import { useDeskKeys } from "./use-desk-keys.ts";
import { useDraft } from "./use-draft.ts";
import { useDiff } from "./use-published.ts";
import { useDraftRun } from "./use-run.ts";
import { VersionsDialog } from "./versions-dialog.tsx";

const NOTHING: Selection = { nodes: new Set(), edges: new Set() };
const STEP: Point = { x: 278, y: 118 };
const newId = () => crypto.randomUUID();

export function Editor({ loaded }: { loaded: Flow }) {
  usePageTitle(loaded.name);
  return (
    <ReactFlowProvider>
      <EditorOf loaded={loaded} />
    </ReactFlowProvider>
  );
}

function problemsOf({ errors, warnings }: Pick<Flow, "errors" | "warnings">) {
  const found = [
    ...errors.map((each) => ({ ...each, isError: true })),
    ...warnings.map((each) => ({ ...each, isError: false })),
  ];
  const problems = new Map<string, Problem[]>();
  for (const { nodeId, message, isError } of found)
    if (nodeId) problems.set(nodeId, [...(problems.get(nodeId) ?? []), { message, isError }]);
  return problems;
}

/** To the right of the node that it follows, below what is there already. */
function spotAfter(graph: Graph, from: Port): Point {
  const source = graph.nodes.find(({ id }) => id === from.node);
  if (!source) return { x: 100, y: 100 };
  const spot = { x: source.position.x + STEP.x, y: source.position.y };
  const isTaken = () =>
    graph.nodes.some(
      ({ position }) =>
        Math.abs(position.x - spot.x) < STEP.x - 40 && Math.abs(position.y - spot.y) < STEP.y - 20,
    );
  while (isTaken()) spot.y += STEP.y;
  return spot;
}

function EditorOf({ loaded }: { loaded: Flow }) {
  const draft = useDraft(loaded);
  const { graph, flow, dispatch } = draft;
  const [selection, setSelection] = useState(NOTHING);
  const [hovered, setHovered] = useState<string>();
  const [picker, setPicker] = useState<PickerKind>();
  const [layer, setLayer] = useState<"publish" | "versions" | "run">();
  const [isDiffShown, setDiffShown] = useState(false);
  const [isPanelOpen, setPanelOpen] = useState(true);
  const [isTriggersOpen, setTriggersOpen] = useState(false);
  const draftRun = useDraftRun(flow.id, draft.autosave, graph);
  const diff = useDiff(flow, graph);
  const { senders } = useSenders();
  const nameOf = useCallback((source: string) => nameOfSender(source, senders), [senders]);
  const view = useReactFlow();

  const showAll = () => setTimeout(() => void view.fitView({ padding: 0.15, maxZoom: 1 }), 50);
  const tidy = (how: "move" | "place" = "move") =>
    requestLayout(graph).then((to) => {
      dispatch(how === "place" ? { do: how, to } : { do: how, to, at: Date.now() });
      showAll();
    }, toastError);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when the flow opens
  useEffect(() => {
    if (needsLayout(graph)) void tidy("place");
    else showAll();
  }, []);

  const act = useCallback((action: EditAction) => dispatch(action), [dispatch]);
  const selected = useMemo(
    () => graph.nodes.filter(({ id }) => selection.nodes.has(id)),
    [graph.nodes, selection.nodes],
  );
  const [only] = selected.length === 1 ? selected : [];

  const add = (type: string, from?: Port) => {
    const id = newId();
    const { x, y } = view.screenToFlowPosition({
      x: window.innerWidth / 2,
      y: window.innerHeight / 3,
    });
    const position = from ? spotAfter(graph, from) : { x: Math.round(x), y: Math.round(y) };
    act({ do: "add", id, edgeId: newId(), type, position, from });
    setSelection({ nodes: new Set([id]), edges: new Set() });
    focusTile(id);
  };
  const remove = () => {
    const { size } = selection.nodes;
    act({ do: "remove", nodes: [...selection.nodes], edges: [...selection.edges] });
    setSelection(NOTHING);
    if (size > 1)
      toasts.add({ title: `Deleted ${size} nodes`, undo: () => dispatch({ do: "undo" }) });
  };
  /** The key in the panel means what has the focus there. */
  const removeFromDesk = ({ target }: KeyboardEvent) => {
    if (target instanceof Element && !target.closest("aside")) remove();
  };
  const paste = (text: string): boolean => {
    const clip = readClip(text);
    if (!clip) return false;
    const ids = [...clip.nodes, ...clip.edges].map(newId);
    act({ do: "paste", clip, ids, offset: { x: 40, y: 40 } });
    setSelection({ nodes: new Set(ids.slice(0, clip.nodes.length)), edges: new Set() });
    return true;
  };
  const openAdd = (from?: Port) => setPicker({ kind: "add", from });
  const defaultPort = only && outPortsOf(only)[0];

  useKeys({
    n: () => openAdd(only && defaultPort ? { node: only.id, port: defaultPort } : undefined),
    c: () => only && setPicker({ kind: "connect", node: only.id }),
    delete: removeFromDesk,
    backspace: removeFromDesk,
    escape: () => setSelection(NOTHING),
    e: () => {
      setPanelOpen(true);
      focusPanel();
    },
    r: () => setLayer("run"),
    p: () => setLayer("publish"),
    t: () => void tidy(),
    "0": () => void view.fitView({ padding: 0.15, maxZoom: 1 }),
    "+": () => void view.zoomIn(),
    "-": () => void view.zoomOut(),
  });
  const onSelectAll = () =>
    setSelection({ nodes: new Set(graph.nodes.map(({ id }) => id)), edges: new Set() });
  useDeskKeys({
    onUndo: () => dispatch({ do: "undo" }),
    onRedo: () => dispatch({ do: "redo" }),
    onSelectAll,
    onFind: () => setPicker({ kind: "find" }),
    onCopy: () => copyNodes(graph, selection.nodes),
    onCut: remove,
    onPaste: paste,
  });

  const hoveredNode = graph.nodes.find(({ id }) => id === hovered);
  const lit =
    hoveredNode && definitionOf(hoveredNode)?.kind === "trigger" ? hoveredNode.id : undefined;
  const route = useMemo(() => (lit ? routeFrom(graph, lit) : NO_ROUTE), [graph, lit]);
  const problems = useMemo(() => problemsOf(flow), [flow]);
  const steps = draftRun.run?.steps;
  const states = useMemo(() => statesOf(steps ?? []), [steps]);
  /** Deleted nodes stand where they stood while the draft is compared. */
  const shown = useMemo(
    () =>
      isDiffShown && diff && diff.removed.length > 0
        ? { ...graph, nodes: [...graph.nodes, ...diff.removed] }
        : graph,
    [graph, diff, isDiffShown],
  );
  const desk = useMemo(
    () => ({
      route,
      problems,
      states,
      diff: isDiffShown ? diff : undefined,
      pinned: new Set(Object.keys(draftRun.pins)),
      onAdd: (from: Port) => setPicker({ kind: "add", from }),
      nameOf,
    }),
    [route, problems, states, isDiffShown, diff, draftRun.pins, nameOf],
  );

  const show = (id: string) => {
    setSelection({ nodes: new Set([id]), edges: new Set() });
    void view.fitView({ nodes: [{ id }], maxZoom: 1, duration: 0 });
    focusTile(id);
  };

  return (
    <>
      <EditorHeader
        draft={draft}
        nameOf={nameOf}
        diff={diff}
        isDiffShown={isDiffShown}
        onDiff={() => setDiffShown(!isDiffShown)}
        onRun={() => setLayer("run")}
        onPublish={() => setLayer("publish")}
        onVersions={() => setLayer("versions")}
        onTriggers={() => {
          setTriggersOpen(only !== undefined || !isTriggersOpen);
          setSelection(NOTHING);
        }}
      />
      <SaveBanner draft={draft} />
      <div className="flex min-h-0 flex-1">
        <DeskContext value={desk}>
          <section
            aria-label="Desk"
            className="desk min-h-0 min-w-0 flex-1"
            onFocus={({ target }) => setHovered(tileOf(target))}
            onBlur={() => setHovered(undefined)}
          >
            <DeskView
              graph={shown}
              selection={selection}
              onSelect={setSelection}
              onEdit={act}
              onHover={setHovered}
              onOpen={() => setPanelOpen(true)}
              newId={newId}
            />
            <ZoomBar onTidy={() => void tidy()} />
            <div className="float-bar -translate-x-1/2 absolute bottom-4 left-1/2">
              <Button icon={Plus} onClick={() => openAdd()}>
                Add a node <Kbd>N</Kbd>
              </Button>
              <Button icon={Search} onClick={() => setPicker({ kind: "find" })}>
                Find <Kbd>mod+F</Kbd>
              </Button>
              {only ? (
                <Button icon={Cable} onClick={() => setPicker({ kind: "connect", node: only.id })}>
                  Connect <Kbd>C</Kbd>
                </Button>
              ) : (
                <Button
                  icon={ClipboardPaste}
                  onClick={() => void navigator.clipboard.readText().then(paste, toastError)}
                >
                  Paste <Kbd>mod+V</Kbd>
                </Button>
              )}
            </div>
          </section>
        </DeskContext>
        {only && isPanelOpen && (
          <NodePanel
            key={only.id}
            flow={flow}
            graph={graph}
            node={only}
            draftRun={draftRun}
            onParameters={(parameters) =>
              act({ do: "parameters", node: only.id, parameters, at: Date.now() })
            }
            onRename={(name) => act({ do: "rename", node: only.id, name })}
            onDelete={remove}
            onLeave={() => focusTile(only.id)}
            onClose={() => {
              setPanelOpen(false);
              focusTile(only.id);
            }}
          />
        )}
        {!only && isTriggersOpen && (
          <TriggersPanel
            flow={flow}
            graph={graph}
            onParameters={(node, parameters) =>
              act({ do: "parameters", node, parameters, at: Date.now() })
            }
            onAdd={() => openAdd()}
            onClose={() => setTriggersOpen(false)}
          />
        )}
      </div>
      <RunDock draftRun={draftRun} graph={graph} chosen={only?.id} onChoose={show} />
      {layer === "publish" && (
        <PublishDialog
          draft={draft}
          diff={diff}
          onClose={() => setLayer(undefined)}
          onShow={(id) => {
            setLayer(undefined);
            show(id);
          }}
        />
      )}
      {layer === "versions" && <VersionsDialog draft={draft} onClose={() => setLayer(undefined)} />}
      {layer === "run" && (
        <RunDialog
          graph={graph}
          last={draftRun.request}
          preferred={only?.id}
          onRun={(request) => void draftRun.start(request)}
          onClose={() => setLayer(undefined)}
        />
      )}
      {picker && (
        <Pickers
          picker={picker}
          graph={graph}
          onClose={() => setPicker(undefined)}
          onAdd={add}
          onShow={show}
          onConnect={(from, to) => act({ do: "connect", id: newId(), from, to })}
        />
      )}
    </>
  );
}

const tileOf = (target: Element): string | undefined =>
  target.closest<HTMLElement>(".react-flow__node")?.dataset.id;

const focusPanel = () =>
  setTimeout(() => document.querySelector<HTMLElement>("#main aside input")?.focus(), 50);

/** Once the tile is there. */
const focusTile = (id: string) =>
  setTimeout(
    () => document.querySelector<HTMLElement>(`.react-flow__node[data-id="${id}"]`)?.focus(),
    50,
  );

function ZoomBar({ onTidy }: { onTidy: () => void }) {
  const view = useReactFlow();
  const zoom = useStore(({ transform: [, , scale] }) => scale);
  return (
    <div className="float-bar absolute bottom-4 left-4 items-center">
      <IconButton icon={Minus} label="Zoom out" onClick={() => void view.zoomOut()} />
      <span className="w-12 text-center type-code">{Math.round(zoom * 100)} %</span>
      <IconButton icon={Plus} label="Zoom in" onClick={() => void view.zoomIn()} />
      <IconButton
        icon={Maximize}
        label="Show the whole flow"
        onClick={() => void view.fitView({ padding: 0.15, maxZoom: 1 })}
      />
      <Button icon={TrainTrack} onClick={onTidy}>
        Tidy
      </Button>
    </div>
  );
}
