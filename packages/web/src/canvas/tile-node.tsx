/** A node on the canvas: a tile with its signal head, its ports and, below a trigger, its plate. */
import { Handle, type Node, type NodeProps, Position, useUpdateNodeInternals } from "@xyflow/react";
import { Pin, Plus, TriangleAlert } from "lucide-react";
import { memo, useEffect, useRef } from "react";
import { Chip } from "../ui/chip.tsx";
import { cx } from "../ui/cx.ts";
import { Plate } from "../ui/plate.tsx";
import { SignalHead } from "../ui/signal-head.tsx";
import { type CanvasState, type NodeProblem, useCanvasContext } from "./canvas-context.ts";
import { gistOf } from "./gist.ts";
import type { FlowNode } from "./graph.ts";
import { NodeIcon } from "./node-icon.tsx";
import { definitionOf, ERROR_PORT, inPortsOf, outPortsOf } from "./node-kinds.ts";
import { PLATE_ICONS, plateOf } from "./plates.ts";
import type { NodeState } from "./run-states.ts";

export type TileNode = Node<{ node: FlowNode }, "tile">;

const HEAD_Y = 37;
const FIRST_PORT_Y = 89;
const PORT_STEP = 22;

/** A selection or a route can change all tiles. Then only this element is rendered again, not `TileBody`. */
export const Tile = memo(function Tile({ id, data: { node }, selected }: NodeProps<TileNode>) {
  const { route, problems, states, diff, pinned, onAdd, nameOf } = useCanvasContext();
  const state = states.get(id);
  const change = diff?.nodes.get(id);
  return (
    <div
      className={cx(
        "node-tile",
        selected && "selected",
        (state?.status === "skipped" || change === "removed") && "skip",
        node.parameters.isActive === false && "off",
        route.nodes.has(id) && "lit",
      )}
    >
      <TileBody
        node={node}
        state={state}
        problems={problems.get(id)}
        change={change}
        isPinned={pinned.has(id)}
        onAdd={onAdd}
        nameOf={nameOf}
      />
    </div>
  );
});

const TileBody = memo(function TileBody({
  node,
  state,
  problems = [],
  change,
  isPinned,
  onAdd,
  nameOf,
}: {
  node: FlowNode;
  state: NodeState | undefined;
  problems: readonly NodeProblem[] | undefined;
  change: string | undefined;
  isPinned: boolean;
  onAdd: CanvasState["onAdd"];
  nameOf: CanvasState["nameOf"];
}) {
  const definition = definitionOf(node);
  const inputs = inPortsOf(node);
  const outputs = outPortsOf(node);
  const mainOutputs = outputs.filter((port) => port !== ERROR_PORT);
  useUpdatedPorts(node.id, outputs.join(" "));
  const plate = plateOf(node, nameOf);
  const isOff = node.parameters.isActive === false;
  const topOf = (index: number) =>
    mainOutputs.length > 1 ? FIRST_PORT_Y + index * PORT_STEP : HEAD_Y;
  return (
    <>
      {change && (
        <span className="diff-mark">
          <Chip words>{change}</Chip>
        </span>
      )}
      <div className="top">
        <NodeIcon type={node.type} />
        <span className="node-name">
          <b className="truncate" title={node.name}>
            {node.name}
          </b>
          <span className="truncate">{definition?.title ?? node.type}</span>
        </span>
        {isPinned && (
          <Pin className="icon text-ink-2" role="img" aria-label="its output is pinned" />
        )}
        {state && <SignalHead aspect={state.aspect} label={state.label} />}
      </div>
      <div className="gist-line">
        <code className="gist truncate">{gistOf(node)}</code>
        {state?.note && <span className="note">{state.note}</span>}
        {!state && isOff && <span className="note">off</span>}
      </div>
      {mainOutputs.length > 1 && (
        <div className="ports">
          {mainOutputs.map((port) => (
            <span key={port} className={cx("truncate", state?.port === port && "taken")}>
              {port}
            </span>
          ))}
        </div>
      )}
      {problems.length > 0 && (
        <div className="problem" role="note">
          <TriangleAlert className="icon" aria-hidden />
          <span className="line-clamp-3" title={problems.map(({ message }) => message).join("\n")}>
            {problems[0]?.text}
            {problems.length > 1 && ` (+${problems.length - 1})`}
          </span>
        </div>
      )}
      {inputs.map((port, index) => (
        <Handle
          key={port}
          id={port}
          type="target"
          position={Position.Left}
          style={{ top: HEAD_Y + index * PORT_STEP }}
          title={`input ${port}`}
          aria-hidden
        />
      ))}
      {mainOutputs.map((port, index) => (
        <Handle
          key={port}
          id={port}
          type="source"
          position={Position.Right}
          style={{ top: topOf(index) }}
          title={`output ${port}`}
          aria-hidden
        />
      ))}
      {outputs.includes(ERROR_PORT) && (
        <Handle
          id={ERROR_PORT}
          type="source"
          position={Position.Bottom}
          style={ERROR_PORT_STYLE}
          title="output error"
          aria-hidden
        />
      )}
      {onAdd &&
        outputs.map((port) => {
          const isError = port === ERROR_PORT;
          return (
            <button
              key={port}
              type="button"
              className={cx("port-plus nodrag", isError && "named")}
              style={
                isError
                  ? ERROR_PLUS_STYLE
                  : { left: "calc(100% + 10px)", top: topOf(mainOutputs.indexOf(port)) - 11 }
              }
              aria-label={isError ? "Add what happens on error" : `Add a node after ${port}`}
              onClick={(event) => {
                event.stopPropagation();
                onAdd({ node: node.id, port });
              }}
            >
              <Plus className="icon" aria-hidden />
              {isError && <span>error</span>}
            </button>
          );
        })}
      {plate && (
        <>
          <span className="plate-legs" aria-hidden />
          <Plate icon={PLATE_ICONS[plate.kind]} className={cx(isOff && "off")}>
            {plate.text}
          </Plate>
        </>
      )}
    </>
  );
});

const ERROR_PORT_STYLE = { left: 30 };
const ERROR_PLUS_STYLE = { left: 42, top: "calc(100% + 5px)" };

/** If a change of the parameters has changed the ports, xyflow must measure their positions again. */
function useUpdatedPorts(id: string, ports: string): void {
  const update = useUpdateNodeInternals();
  const measuredPorts = useRef(ports);
  useEffect(() => {
    if (measuredPorts.current !== ports) update(id);
    measuredPorts.current = ports;
  }, [id, ports, update]);
}
