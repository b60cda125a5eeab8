/** An edge: a stretch of track with lamp slots, which light as a run passes. */
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
        diff?.edges.has(id) && "new",
        isRemovedEdge(id) && "gone",
      )}
    >
      <Rails id={id} path={path} />
    </g>
  );
});

/** Drawn again only if an end has moved, not when the track lights. */
const Rails = memo(function Rails({ id, path }: { id: string; path: string }) {
  return (
    <>
      <path className="rail" d={path} />
      <path className="slots" d={path} />
      <BaseEdge id={id} path={path} style={UNSEEN} interactionWidth={22} />
    </>
  );
});

const UNSEEN = { stroke: "transparent" };
