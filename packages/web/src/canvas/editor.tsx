/** The editor of a flow: its canvas, its panels, and the runs of its draft. */

import type { Flow } from "@signalbox/contract";
import { ReactFlowProvider, useReactFlow } from "@xyflow/react";
import { useCallback, useEffect, useMemo, useState } from "react";
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
import { focusPanel, focusTile, hiddenWidth, isOnCanvas, leaveField, nodeIdAt } from "./focus.ts";
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

const NO_SELECTION: Selection = { nodes: new Set(), edges: new Set() };
const newId = () => crypto.randomUUID();

export function Editor({ loaded }: { loaded: Flow }) {
  return (
    <ReactFlowProvider>
      <EditorContent loaded={loaded} />
    </ReactFlowProvider>
  );
}

function EditorContent({ loaded }: { loaded: Flow }) {
  const draft = useDraft(loaded);
  const { graph, flow, dispatch } = draft;
  usePageTitle(graph.name);
  const [selection, setSelection] = useState(NO_SELECTION);
  const [hovered, setHovered] = useState<string>();
  const [picker, setPicker] = useState<PickerKind>();
  const [dialog, setDialog] = useState<"description" | "publish" | "versions" | "run">();
  const [renaming, setRenaming] = useState<{ node: FlowNode; name: string }>();
  const [isDiffShown, setDiffShown] = useState(false);
  const [isPanelOpen, setPanelOpen] = useState(true);
  const [isTriggersOpen, setTriggersOpen] = useState(false);
  const draftRun = useDraftRun(flow.id, draft.autosave, graph);
  const diff = useDiff(flow, graph);
  const { senders } = useSenders();
  const nameOf = useCallback((source: string) => nameOfSender(source, senders), [senders]);
  const view = useReactFlow();

  // `fitView` needs the rendered nodes, so it is called after a short delay.
  const showAll = useCallback(
    () => void setTimeout(() => void view.fitView(WHOLE_FLOW), 50),
    [view],
  );
  const tidy = (action: "move" | "place" = "move") =>
    requestLayout(graph).then((to) => {
      dispatch(action === "place" ? { do: action, to } : { do: action, to, at: Date.now() });
      showAll();
    }, toastError);
  // Places nodes without a position, also those that an agent adds later.
  // biome-ignore lint/correctness/useExhaustiveDependencies: depends only on the nodes
  useEffect(() => {
    if (needsLayout(graph)) void tidy("place");
    else dispatch({ do: "place", to: unstack(graph.nodes) });
  }, [graph.nodes]);

  const selectedNodes = useMemo(
    () => graph.nodes.filter(({ id }) => selection.nodes.has(id)),
    [graph.nodes, selection.nodes],
  );
  /** Undefined unless exactly one node is selected. */
  const [selectedNode] = selectedNodes.length === 1 ? selectedNodes : [];

  // Moves the view if the panel covers the selected node.
  const panelNode = isPanelOpen ? selectedNode?.id : undefined;
  useEffect(() => {
    if (panelNode === undefined) return;
    const frame = requestAnimationFrame(() => {
      const hidden = hiddenWidth(panelNode);
      const { x, y, zoom } = view.getViewport();
      if (hidden > 0) void view.setViewport({ x: x - hidden, y, zoom });
    });
    return () => cancelAnimationFrame(frame);
  }, [panelNode, view]);

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
  /** Until the published version is loaded, every node counts as published. */
  const isPublished = (node: FlowNode) => diff?.nodes.get(node.id) !== "added";
  const rename = (node: FlowNode, name: string) =>
    isPublished(node) && renamesTool(node, name)
      ? setRenaming({ node, name })
      : dispatch({ do: "rename", node: node.id, name });
  const remove = () => {
    const { nodes, edges } = selection;
    dispatch({ do: "remove", nodes: [...nodes], edges: [...edges] });
    setSelection(NO_SELECTION);
    const neighbour = neighbourOf(graph, nodes);
    if (neighbour) focusTile(neighbour);
    if (nodes.size > 1)
      toasts.add({
        title: `Deleted ${plural(nodes.size, "node")}`,
        detail: "Undo restores them.",
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
      () => toasts.add({ title: `Copied ${plural(selectedNodes.length, "node")}` }),
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
  const defaultPort = selectedNode && outPortsOf(selectedNode)[0];

  useKeys({
    n: () =>
      openAdd(
        selectedNode && defaultPort ? { node: selectedNode.id, port: defaultPort } : undefined,
      ),
    c: () => selectedNode && setPicker({ kind: "connect", node: selectedNode.id }),
    delete: removeFromCanvas,
    backspace: removeFromCanvas,
    escape: () => setSelection(NO_SELECTION),
    e: editNode,
    r: () => setDialog("run"),
    p: () => setDialog("publish"),
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
  const hoveredTrigger =
    hoveredNode && definitionOf(hoveredNode)?.kind === "trigger" ? hoveredNode.id : undefined;
  const route = useMemo(
    () => (hoveredTrigger ? routeFrom(graph, hoveredTrigger) : NO_ROUTE),
    [graph, hoveredTrigger],
  );
  const problems = useProblems(flow);
  const { run } = draftRun;
  const states = useMemo(() => nodeStatesOf(run?.steps ?? [], run && !isEnded(run)), [run]);
  const shownDiff = isDiffShown ? diff : undefined;
  /** Includes removed nodes and edges while the draft is compared with the published version. */
  const shownGraph = useMemo(
    () => (shownDiff ? withRemoved(graph, shownDiff) : graph),
    [graph, shownDiff],
  );
  const removed = useMemo(() => new Set(diff?.removedNodes.map(({ id }) => id)), [diff]);
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

  const showNode = (id: string) => {
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
        onRun={() => setDialog("run")}
        onPublish={() => setDialog("publish")}
        onDescription={() => setDialog("description")}
        onVersions={() => setDialog("versions")}
        onTriggers={() => {
          setTriggersOpen(selectedNode !== undefined || !isTriggersOpen);
          setSelection(NO_SELECTION);
        }}
      />
      <SaveBanner draft={draft} />
      <div className="flex min-h-0 flex-1">
        <CanvasContext value={canvasState}>
          <section
            aria-label="Canvas"
            className="desk min-h-0 min-w-0 flex-1"
            onFocus={({ target }) => setHovered(nodeIdAt(target))}
            onBlur={() => setHovered(undefined)}
          >
            <FlowCanvas
              graph={shownGraph}
              removed={removed}
              selection={selection}
              onSelect={setSelection}
              onEdit={dispatch}
              onHover={setHovered}
              onOpen={openPanel}
              onRendered={showAll}
              newId={newId}
            />
            {graph.nodes.length === 0 && <EmptyCanvas onAdd={(type) => add(type)} />}
            <div className="desk-bars @container">
              <ZoomBar onTidy={() => void tidy()} />
              <EditBar
                onEdit={selectedNode && !isPanelOpen ? editNode : undefined}
                onAdd={() => openAdd()}
                onFind={() => setPicker({ kind: "find" })}
                onConnect={
                  selectedNode && (() => setPicker({ kind: "connect", node: selectedNode.id }))
                }
                onCopy={selectedNodes.length > 0 ? () => void copyToClipboard() : undefined}
                onPaste={() => void pasteFromClipboard()}
              />
            </div>
          </section>
        </CanvasContext>
        {selectedNode && isPanelOpen && (
          <NodePanel
            key={selectedNode.id}
            flow={flow}
            graph={graph}
            node={selectedNode}
            isPublished={isPublished(selectedNode)}
            draftRun={draftRun}
            onParameters={(parameters) =>
              dispatch({ do: "parameters", node: selectedNode.id, parameters, at: Date.now() })
            }
            onRename={(name) => rename(selectedNode, name)}
            onDelete={remove}
            onLeave={() => {
              leaveField();
              focusTile(selectedNode.id);
            }}
            onClose={() => {
              setPanelOpen(false);
              focusTile(selectedNode.id);
            }}
          />
        )}
        {!selectedNode && isTriggersOpen && (
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
      <RunDock draftRun={draftRun} graph={graph} chosen={selectedNode?.id} onChoose={showNode} />
      {dialog === "publish" && (
        <PublishDialog
          draft={draft}
          diff={diff}
          onClose={() => setDialog(undefined)}
          onShow={(id) => {
            setDialog(undefined);
            showNode(id);
          }}
        />
      )}
      {dialog === "description" && (
        <DescriptionDialog
          description={graph.description}
          onChange={(description) => dispatch({ do: "describe", name: graph.name, description })}
          onClose={() => setDialog(undefined)}
        />
      )}
      {dialog === "versions" && (
        <VersionsDialog draft={draft} onClose={() => setDialog(undefined)} />
      )}
      {dialog === "run" && (
        <RunDialog
          flow={flow.id}
          graph={graph}
          lastRequest={draftRun.request}
          preferredTrigger={selectedNode?.id}
          onRun={(request) => void draftRun.start(request)}
          onClose={() => setDialog(undefined)}
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
            if (selectedNode) focusTile(selectedNode.id);
          }}
          onAdd={add}
          onShow={showNode}
          onConnect={(from, to) => dispatch({ do: "connect", id: newId(), from, to })}
        />
      )}
    </>
  );
}

/** Returns the node that gets the focus after the nodes in `deleted` were deleted. */
function neighbourOf(graph: Graph, deleted: ReadonlySet<string>): string | undefined {
  if (deleted.size === 0) return undefined;
  const edge = graph.edges.find(
    ({ source, target }) => deleted.has(target) && !deleted.has(source),
  );
  return edge?.source ?? graph.nodes.find(({ id }) => !deleted.has(id))?.id;
}
