/** The pinned output of a node: runs of the draft use it instead of executing the node. */
import type { Json } from "@signalbox/rules/json.ts";
import { Pin as PinIcon, PinOff } from "lucide-react";
import { useState } from "react";
import type { FlowNode } from "../canvas/graph.ts";
import { ERROR_PORT, outPortsOf } from "../canvas/node-kinds.ts";
import type { Pin } from "../canvas/pins.ts";
import { Button } from "../ui/button.tsx";
import { Field, SelectInput } from "../ui/field.tsx";
import { CodeField } from "./code-field.tsx";

export function PinSection({
  node,
  pin,
  onStart,
  onPin,
  onUnpin,
}: {
  node: FlowNode;
  pin: Pin | undefined;
  /** Pins the node's output in the run on the canvas, or an empty object if there is none. */
  onStart: () => void;
  onPin: (pin: Pin) => void;
  onUnpin: () => void;
}) {
  if (!pin)
    return (
      <div>
        <Button
          size="small"
          icon={PinIcon}
          onClick={onStart}
          title="Runs of the draft use pinned data instead of executing the node"
        >
          Pin data
        </Button>
      </div>
    );
  return <PinnedData node={node} pin={pin} onPin={onPin} onUnpin={onUnpin} />;
}

function PinnedData({
  node,
  pin,
  onPin,
  onUnpin,
}: {
  node: FlowNode;
  pin: Pin;
  onPin: (pin: Pin) => void;
  onUnpin: () => void;
}) {
  const [text, setText] = useState(() => JSON.stringify(pin.output, null, 2));
  const [error, setError] = useState<string>();
  const ports = outPortsOf(node).filter((port) => port !== ERROR_PORT);
  const change = (next: string) => {
    setText(next);
    try {
      onPin({ ...pin, output: JSON.parse(next) as Json });
      setError(undefined);
    } catch (parseError) {
      setError(`Not pinned yet: the text is not valid JSON. ${(parseError as Error).message}`);
    }
  };
  return (
    <section
      aria-label="Pinned data"
      className="flex flex-col gap-3 rounded-tile bg-sunk px-3 py-3"
    >
      <p className="flex items-center gap-2 type-meta">
        <span className="flex-1">
          The output of this node is pinned: runs of the draft use it instead of executing the node.
        </span>
        <Button size="small" icon={PinOff} onClick={onUnpin}>
          Unpin
        </Button>
      </p>
      <CodeField
        label="Pinned output"
        language="json"
        value={text}
        error={error}
        onChange={change}
      />
      {ports.length > 1 && (
        <Field label="The run continues at port">
          {(control) => (
            <SelectInput
              {...control}
              value={pin.port ?? ports[0] ?? ""}
              onChange={({ target }) => onPin({ ...pin, port: target.value })}
            >
              {ports.map((port) => (
                <option key={port}>{port}</option>
              ))}
            </SelectInput>
          )}
        </Field>
      )}
    </section>
  );
}
