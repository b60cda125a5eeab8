/** An edge of the canvas: a track with lamp slots, which show where a run has passed. */
import { BaseEdge, type Edge, type EdgeProps, getSmoothStepPath } from "@xyflow/react";
import { memo } from "react";
import { cx } from "../ui/cx.ts";
import { useCanvasContext } from "./canvas-context.ts";
import { isRemovedEdge } from "./diff.ts";
import { edgeStateOf } from "./run-states.ts";

export type TrackEdge = Edge<Record<string, never>, "track">;

const RADIUS = 16;

export const TrackLine = memo(function TrackLine(props: EdgeProps<TrackEdge>) {
  const { id, source, target, sourceHandleId, sourceX, sourceY, targetX, targetY } = props;
  const { route, states, diff } = useCanvasContext();
  const [path] = getSmoothStepPath({
    sourceX,
    sourceY,
    targetX,
    targetY,
    sourcePosition: props.sourcePosition,
    targetPosition: props.targetPosition,
    borderRadius: RADIUS,
  });
  const state = edgeStateOf(states, { source, sourceHandle: sourceHandleId ?? "out", target });
  return (
    <g
      className={cx(
        "edge-track",
        route.edges.has(id) ? "route" : state,
        diff?.addedEdges.has(id) && "new",
        isRemovedEdge(id) && "gone",
      )}
    >
      <Rails id={id} path={path} />
    </g>
  );
});

/** Rendered again only if a node has moved, not if the state of the edge changes. */
const Rails = memo(function Rails({ id, path }: { id: string; path: string }) {
  return (
    <>
      <path className="rail" d={path} />
      <path className="slots" d={path} />
      <BaseEdge id={id} path={path} style={INVISIBLE} interactionWidth={22} />
    </>
  );
});

const INVISIBLE = { stroke: "transparent" };
