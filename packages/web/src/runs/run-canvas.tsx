/** The flow of a run, as it was when the run started, with the state of each node. It cannot be edited. */
import { ReactFlowProvider, useNodesInitialized, useReactFlow } from "@xyflow/react";
import { Maximize } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { CanvasContext } from "../canvas/canvas-context.ts";
import { FlowCanvas, type Selection } from "../canvas/flow-canvas.tsx";
import type { Graph, Point } from "../canvas/graph.ts";
import { needsLayout, requestLayout } from "../canvas/request-layout.ts";
import { NO_ROUTE } from "../canvas/route.ts";
import type { NodeState } from "../canvas/run-states.ts";
import { IconButton } from "../ui/button.tsx";
import { cx } from "../ui/cx.ts";
import { SkeletonRows } from "../ui/skeleton.tsx";
import { toastError } from "../ui/toast.tsx";

interface Props {
  graph: Pick<Graph, "nodes" | "edges">;
  states: ReadonlyMap<string, NodeState>;
  /** The node of the step that is shown. */
  chosen: string | undefined;
  onChoose: (node: string) => void;
}

const EMPTY_SET: ReadonlySet<string> = new Set();
const NO_PROBLEMS = new Map();
/** A larger flow has a minimap, because it is not readable as a whole. */
const MAX_NODES_WITHOUT_MINIMAP = 20;
/** After this time, the tiles have their final positions. */
const FIT_DELAY_MS = 50;
const FIT = { padding: 0.12, maxZoom: 1 };

export default function RunCanvas({ graph, ...props }: Props) {
  const laidOut = useLaidOut(graph);
  if (!laidOut) return <SkeletonRows rows={3} />;
  return (
    <ReactFlowProvider>
      <Canvas graph={laidOut} {...props} />
    </ReactFlowProvider>
  );
}

function Canvas({ graph, states, chosen, onChoose }: Props & { graph: Graph }) {
  const view = useReactFlow();
  const isDrawn = useNodesInitialized();
  useEffect(() => {
    if (!isDrawn) return;
    const timer = setTimeout(() => void view.fitView(FIT), FIT_DELAY_MS);
    return () => clearTimeout(timer);
  }, [isDrawn, view]);
  const selection = useMemo(
    (): Selection => ({
      nodes: chosen === undefined ? EMPTY_SET : new Set([chosen]),
      edges: EMPTY_SET,
    }),
    [chosen],
  );
  const canvasState = useMemo(
    () => ({
      route: NO_ROUTE,
      problems: NO_PROBLEMS,
      states,
      diff: undefined,
      pinned: EMPTY_SET,
      onAdd: undefined,
    }),
    [states],
  );
  return (
    <CanvasContext value={canvasState}>
      <section
        aria-label="Flow"
        className={cx(
          "desk h-full min-h-0 min-w-0",
          graph.nodes.length <= MAX_NODES_WITHOUT_MINIMAP && "mapless",
        )}
      >
        <FlowCanvas
          graph={graph}
          selection={selection}
          onSelect={(change) => {
            const node = [...change(selection).nodes].at(-1);
            if (node !== undefined && node !== chosen) onChoose(node);
          }}
          onHover={() => {}}
          onOpen={onChoose}
          newId={() => ""}
        />
        <div className="float-bar absolute bottom-4 left-4">
          <IconButton
            icon={Maximize}
            label="Show the whole flow"
            onClick={() => void view.fitView(FIT)}
          />
        </div>
      </section>
    </CanvasContext>
  );
}

/** Lays out a flow without a layout, as the editor does. Returns undefined until the positions are known. */
function useLaidOut(graph: Props["graph"]): Graph | undefined {
  const isMissingLayout = needsLayout(graph);
  const [positions, setPositions] = useState<Record<string, Point>>();
  useEffect(() => {
    let isCurrent = true;
    const place = (to: Record<string, Point>) => isCurrent && setPositions(to);
    if (isMissingLayout)
      requestLayout(graph).then(place, (error: unknown) => {
        toastError(error);
        place({});
      });
    return () => {
      isCurrent = false;
    };
  }, [graph, isMissingLayout]);
  return useMemo(() => {
    if (isMissingLayout && !positions) return undefined;
    return {
      name: "",
      description: "",
      edges: graph.edges,
      nodes: graph.nodes.map((node) => ({
        ...node,
        position: positions?.[node.id] ?? node.position,
      })),
    };
  }, [graph, positions, isMissingLayout]);
}
