/** The page of one flow: its desk, its node panel, and the runs of its draft. */
import { ReactFlowProvider, useReactFlow } from "@xyflow/react";
import { useCallback, useEffect, useMemo, useState } from "react";
import type { Flow } from "../api/types.ts";
import { useKeys } from "../app/use-global-keys.ts";
import { usePageTitle } from "../app/use-page-title.ts";
import { NodePanel } from "../panel/node-panel.tsx";
import { RenameDialog, renamesTool } from "../panel/rename-dialog.tsx";
import { nodeStatesOf } from "../runs/node-states.ts";
import { isEnded } from "../runs/run-data.ts";
import { nameOfSender } from "../triggers/senders.ts";
import { TriggersPanel } from "../triggers/triggers-panel.tsx";
import { useSenders } from "../triggers/use-senders.ts";
import { copyText, readClipboard } from "../ui/clipboard.ts";
import { plural } from "../ui/format.ts";
import { toastError, toasts } from "../ui/toast.tsx";
import { EditBar, EmptyCanvas, WHOLE_FLOW, ZoomBar } from "./canvas-bars.tsx";
import { CanvasContext } from "./canvas-context.ts";
import { copyNodes, readClip } from "./clip.ts";
import { DescriptionDialog } from "./description-dialog.tsx";
import { withRemoved } from "./diff.ts";
import { EditorHeader } from "./editor-header.tsx";
import { FlowCanvas, type Selection } from "./flow-canvas.tsx";
import { focusPanel, focusTile, hiddenWidth, isOnCanvas, leaveField, tileOf } from "./focus.ts";
import type { FlowNode, Graph, Port } from "./graph.ts";
import { definitionOf, outPortsOf } from "./node-kinds.ts";
import { newPosition, pasteOffset, unstack } from "./node-positions.ts";
import { type PickerKind, Pickers } from "./pickers.tsx";
import { useProblems } from "./problems.ts";
import { PublishDialog } from "./publish-dialog.tsx";
import { needsLayout, requestLayout } from "./request-layout.ts";
import { NO_ROUTE, routeFrom } from "./route.ts";
import { RunDialog } from "./run-dialog.tsx";
import { RunDock } from "./run-dock.tsx";
import { SaveBanner } from "./save-banner.tsx";
import { useCanvasKeys } from "./use-canvas-keys.ts";
import { useDraft } from "./use-draft.ts";
import { useDiff } from "./use-published.ts";
import { useDraftRun } from "./use-run.ts";
import { VersionsDialog } from "./versions-dialog.tsx";

const NOTHING: Selection = { nodes: new Set(), edges: new Set() };
const newId = () => crypto.randomUUID();

export function Editor({ loaded }: { loaded: Flow }) {
  return (
    <ReactFlowProvider>
      <EditorOf loaded={loaded} />
    </ReactFlowProvider>
  );
}

function EditorOf({ loaded }: { loaded: Flow }) {
  const draft = useDraft(loaded);
  const { graph, flow, dispatch } = draft;
  usePageTitle(graph.name);
  const [selection, setSelection] = useState(NOTHING);
  const [hovered, setHovered] = useState<string>();
  const [picker, setPicker] = useState<PickerKind>();
  const [layer, setLayer] = useState<"description" | "publish" | "versions" | "run">();
  const [renaming, setRenaming] = useState<{ node: FlowNode; name: string }>();
  const [isDiffShown, setDiffShown] = useState(false);
  const [isPanelOpen, setPanelOpen] = useState(true);
  const [isTriggersOpen, setTriggersOpen] = useState(false);
  const draftRun = useDraftRun(flow.id, draft.autosave, graph);
  const diff = useDiff(flow, graph);
  const { senders } = useSenders();
  const nameOf = useCallback((source: string) => nameOfSender(source, senders), [senders]);
  const view = useReactFlow();

  const showAll = useCallback(
    () => void setTimeout(() => void view.fitView(WHOLE_FLOW), 50),
    [view],
  );
  const tidy = (how: "move" | "place" = "move") =>
    requestLayout(graph).then((to) => {
      dispatch(how === "place" ? { do: how, to } : { do: how, to, at: Date.now() });
      showAll();
    }, toastError);
  // Nodes that arrive without a position, also later from an agent.
  // biome-ignore lint/correctness/useExhaustiveDependencies: follows the nodes only
  useEffect(() => {
    if (needsLayout(graph)) void tidy("place");
    else dispatch({ do: "place", to: unstack(graph.nodes) });
  }, [graph.nodes]);

  const selected = useMemo(
    () => graph.nodes.filter(({ id }) => selection.nodes.has(id)),
    [graph.nodes, selection.nodes],
  );
  const [only] = selected.length === 1 ? selected : [];

  const opened = isPanelOpen ? only?.id : undefined;
  useEffect(() => {
    if (opened === undefined) return;
    const frame = requestAnimationFrame(() => {
      const hidden = hiddenWidth(opened);
      const { x, y, zoom } = view.getViewport();
      if (hidden > 0) void view.setViewport({ x: x - hidden, y, zoom });
    });
    return () => cancelAnimationFrame(frame);
  }, [opened, view]);

  const add = (type: string, from?: Port) => {
    const id = newId();
    const middle = view.screenToFlowPosition({
      x: window.innerWidth / 2,
      y: window.innerHeight / 3,
    });
    const position = newPosition(graph, from, middle);
    dispatch({ do: "add", id, edgeId: newId(), type, position, from });
    setSelection({ nodes: new Set([id]), edges: new Set() });
    focusTile(id);
  };
  /** Agents know it. While the published version loads, this is assumed. */
  const isPublished = (node: FlowNode) => diff?.nodes.get(node.id) !== "added";
  const rename = (node: FlowNode, name: string) =>
    isPublished(node) && renamesTool(node, name)
      ? setRenaming({ node, name })
      : dispatch({ do: "rename", node: node.id, name });
  const remove = () => {
    const { nodes, edges } = selection;
    dispatch({ do: "remove", nodes: [...nodes], edges: [...edges] });
    setSelection(NOTHING);
    const neighbour = neighbourOf(graph, nodes);
    if (neighbour) focusTile(neighbour);
    if (nodes.size > 1)
      toasts.add({
        title: `Deleted ${plural(nodes.size, "node")}`,
        detail: "Undo brings them back.",
      });
  };
  const removeFromCanvas = ({ target }: KeyboardEvent) => {
    if (isOnCanvas(target)) remove();
  };
  const paste = (text: string): boolean => {
    const clip = readClip(text);
    if (!clip) return false;
    const ids = [...clip.nodes, ...clip.edges].map(newId);
    const visible = document.querySelector(".desk")?.getBoundingClientRect() ?? new DOMRect();
    const offset = pasteOffset(graph, clip.nodes, {
      from: view.screenToFlowPosition({ x: visible.left, y: visible.top }),
      to: view.screenToFlowPosition({ x: visible.right, y: visible.bottom }),
    });
    dispatch({ do: "paste", clip, ids, offset });
    setSelection({ nodes: new Set(ids.slice(0, clip.nodes.length)), edges: new Set() });
    return true;
  };
  const copyToClipboard = () =>
    copyText(copyNodes(graph, selection.nodes) ?? "").then(
      () => toasts.add({ title: `Copied ${plural(selected.length, "node")}` }),
      toastError,
    );
  const pasteFromClipboard = () =>
    readClipboard().then((text) => {
      if (!paste(text)) toasts.add({ title: "The clipboard has no nodes" });
    }, toastError);
  const openAdd = useCallback((from?: Port) => setPicker({ kind: "add", from }), []);
  const openPanel = useCallback(() => setPanelOpen(true), []);
  const editNode = () => {
    setPanelOpen(true);
    focusPanel();
  };
  const defaultPort = only && outPortsOf(only)[0];

  useKeys({
    n: () => openAdd(only && defaultPort ? { node: only.id, port: defaultPort } : undefined),
    c: () => only && setPicker({ kind: "connect", node: only.id }),
    delete: removeFromCanvas,
    backspace: removeFromCanvas,
    escape: () => setSelection(NOTHING),
    e: editNode,
    r: () => setLayer("run"),
    p: () => setLayer("publish"),
    t: () => void tidy(),
    "0": () => void view.fitView(WHOLE_FLOW),
    "+": () => void view.zoomIn(),
    "-": () => void view.zoomOut(),
  });
  const onSelectAll = () =>
    setSelection({ nodes: new Set(graph.nodes.map(({ id }) => id)), edges: new Set() });
  useCanvasKeys({
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
  const problems = useProblems(flow);
  const { run } = draftRun;
  const states = useMemo(() => nodeStatesOf(run?.steps ?? [], run && !isEnded(run)), [run]);
  const shownDiff = isDiffShown ? diff : undefined;
  /** What was deleted stays visible while the draft is compared. */
  const shown = useMemo(
    () => (shownDiff ? withRemoved(graph, shownDiff) : graph),
    [graph, shownDiff],
  );
  const removed = useMemo(() => new Set(diff?.removed.map(({ id }) => id)), [diff]);
  const canvasState = useMemo(
    () => ({
      route,
      problems,
      states,
      diff: shownDiff,
      pinned: new Set(Object.keys(draftRun.pins)),
      onAdd: openAdd,
      nameOf,
    }),
    [route, problems, states, shownDiff, draftRun.pins, openAdd, nameOf],
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
        onDescription={() => setLayer("description")}
        onVersions={() => setLayer("versions")}
        onTriggers={() => {
          setTriggersOpen(only !== undefined || !isTriggersOpen);
          setSelection(NOTHING);
        }}
      />
      <SaveBanner draft={draft} />
      <div className="flex min-h-0 flex-1">
        <CanvasContext value={canvasState}>
          <section
            aria-label="Desk"
            className="desk min-h-0 min-w-0 flex-1"
            onFocus={({ target }) => setHovered(tileOf(target))}
            onBlur={() => setHovered(undefined)}
          >
            <FlowCanvas
              graph={shown}
              removed={removed}
              selection={selection}
              onSelect={setSelection}
              onEdit={dispatch}
              onHover={setHovered}
              onOpen={openPanel}
              onDrawn={showAll}
              newId={newId}
            />
            {graph.nodes.length === 0 && <EmptyCanvas onAdd={(type) => add(type)} />}
            <div className="desk-bars @container">
              <ZoomBar onTidy={() => void tidy()} />
              <EditBar
                onEdit={only && !isPanelOpen ? editNode : undefined}
                onAdd={() => openAdd()}
                onFind={() => setPicker({ kind: "find" })}
                onConnect={only && (() => setPicker({ kind: "connect", node: only.id }))}
                onCopy={selected.length > 0 ? () => void copyToClipboard() : undefined}
                onPaste={() => void pasteFromClipboard()}
              />
            </div>
          </section>
        </CanvasContext>
        {only && isPanelOpen && (
          <NodePanel
            key={only.id}
            flow={flow}
            graph={graph}
            node={only}
            isPublished={isPublished(only)}
            draftRun={draftRun}
            onParameters={(parameters) =>
              dispatch({ do: "parameters", node: only.id, parameters, at: Date.now() })
            }
            onRename={(name) => rename(only, name)}
            onDelete={remove}
            onLeave={() => {
              leaveField();
              focusTile(only.id);
            }}
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
              dispatch({ do: "parameters", node, parameters, at: Date.now() })
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
      {layer === "description" && (
        <DescriptionDialog
          description={graph.description}
          onChange={(description) => dispatch({ do: "describe", name: graph.name, description })}
          onClose={() => setLayer(undefined)}
        />
      )}
      {layer === "versions" && <VersionsDialog draft={draft} onClose={() => setLayer(undefined)} />}
      {layer === "run" && (
        <RunDialog
          flow={flow.id}
          graph={graph}
          last={draftRun.request}
          preferred={only?.id}
          onRun={(request) => void draftRun.start(request)}
          onClose={() => setLayer(undefined)}
        />
      )}
      {renaming && (
        <RenameDialog
          {...renaming}
          flow={flow}
          graph={graph}
          onRename={() => dispatch({ do: "rename", node: renaming.node.id, name: renaming.name })}
          onClose={() => setRenaming(undefined)}
        />
      )}
      {picker && (
        <Pickers
          picker={picker}
          graph={graph}
          onClose={() => {
            setPicker(undefined);
            if (only) focusTile(only.id);
          }}
          onAdd={add}
          onShow={show}
          onConnect={(from, to) => dispatch({ do: "connect", id: newId(), from, to })}
        />
      )}
    </>
  );
}

/** Where the keyboard goes on after nodes were deleted. */
function neighbourOf(graph: Graph, gone: ReadonlySet<string>): string | undefined {
  if (gone.size === 0) return undefined;
  const before = graph.edges.find(({ source, target }) => gone.has(target) && !gone.has(source));
  return before?.source ?? graph.nodes.find(({ id }) => !gone.has(id))?.id;
}
