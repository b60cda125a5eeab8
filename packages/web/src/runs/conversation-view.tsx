/** The conversation of an agent: its instructions, the answers of the model, and the tool calls. */
import type { Json } from "@signalbox/rules/json.ts";
import { Bot, MessageSquare, ScrollText, TriangleAlert, Wrench } from "lucide-react";
import { type ReactNode, useState } from "react";
import { durationOf, type Step } from "../canvas/run-states.ts";
import { Button } from "../ui/button.tsx";
import { Chip } from "../ui/chip.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { count, duration, plural } from "../ui/format.ts";
import { JsonTree } from "../ui/json-tree/json-tree.tsx";
import { SkeletonRows } from "../ui/skeleton.tsx";
import {
  conversationOf,
  type Entry,
  readAnswer,
  readCall,
  readPrompt,
  readResult,
} from "./conversation.ts";
import { isPreview } from "./preview.ts";
import { useWholeValue, type ValueKey } from "./use-value.ts";

export function ConversationView({ run, parts }: { run: string; parts: readonly Step[] }) {
  const entries = conversationOf(parts);
  return (
    <ol className="flex flex-col gap-4 pt-3 pb-6" aria-label="Conversation">
      {entries.map((entry) => (
        <li key={entry.step.item}>
          {entry.failed.map((step) => (
            <Failure key={step.nth} step={step} />
          ))}
          <EntryView run={run} entry={entry} />
        </li>
      ))}
    </ol>
  );
}

function EntryView({ run, entry: { kind, turn, step } }: { run: string; entry: Entry }) {
  if (step.error) return <Failure step={step} />;
  if (kind === "tool") return <ToolCall run={run} step={step} />;
  if (step.status !== "done")
    return (
      <Section icon={Bot} title={kind === "prompt" ? "Preparing" : `Turn ${turn}`}>
        <Chip tone="lunar" words>
          under way
        </Chip>
      </Section>
    );
  return (
    <RecordedValue run={run} step={step} field="output">
      {(output) =>
        kind === "prompt" ? (
          <PromptView output={output} />
        ) : kind === "turn" ? (
          <TurnView turn={turn} step={step} output={output} />
        ) : (
          <p className="type-meta text-ink-2">
            The agent ended here. The run was retried, and the model was asked again.
          </p>
        )
      }
    </RecordedValue>
  );
}

/** Passes a recorded value to its children. If the step has only a preview, the whole value is loaded first. */
function RecordedValue({
  run,
  step,
  field,
  children,
}: {
  run: string;
  step: Step;
  field: ValueKey["field"];
  children: (value: Json) => ReactNode;
}) {
  const value = step[field];
  const hasPreview = isPreview(value);
  const whole = useWholeValue({ run, nth: step.nth, field }, hasPreview);
  if (!hasPreview) return children(value);
  if (whole.error) return <ErrorState error={whole.error} onRetry={() => void whole.refetch()} />;
  return whole.data === undefined ? <SkeletonRows rows={1} height={28} /> : children(whole.data);
}

function Section({
  icon: Icon,
  title,
  note,
  children,
}: {
  icon: typeof Bot;
  title: string;
  note?: string;
  children: ReactNode;
}) {
  return (
    <div className="grid grid-cols-[20px_minmax(0,1fr)] gap-2">
      <Icon className="icon mt-[2px] text-ink-2" aria-hidden />
      <div className="flex min-w-0 flex-col gap-1">
        <p className="flex flex-wrap items-baseline gap-2">
          <b className="type-strong">{title}</b>
          {note && <span className="type-meta text-ink-3">{note}</span>}
        </p>
        {children}
      </div>
    </div>
  );
}

/** Longer texts are cut off until the user expands them. */
const MAX_COLLAPSED_LENGTH = 600;

function Text({ children: text }: { children: string }) {
  const [isOpen, setOpen] = useState(false);
  const isLong = text.length > MAX_COLLAPSED_LENGTH;
  return (
    <div>
      <p className="wrap-anywhere whitespace-pre-wrap" dir="auto">
        {isLong && !isOpen ? `${text.slice(0, MAX_COLLAPSED_LENGTH)}…` : text}
      </p>
      {isLong && (
        <Button size="small" look="ghost" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? "Show less" : `Show all ${count(text.length)} characters`}
        </Button>
      )}
    </div>
  );
}

function PromptView({ output }: { output: Json }) {
  const { system, user, tools } = readPrompt(output);
  return (
    <div className="flex flex-col gap-4">
      <Section icon={ScrollText} title="Instructions">
        <Text>{system}</Text>
        {tools.length > 0 && (
          <ul className="flex flex-wrap gap-1" aria-label="Tools of the agent">
            {tools.map((tool) => (
              <li key={tool} className="flex min-w-0">
                <Chip icon={Wrench}>{tool}</Chip>
              </li>
            ))}
          </ul>
        )}
      </Section>
      <Section icon={MessageSquare} title="Task">
        <Text>{user}</Text>
      </Section>
    </div>
  );
}

const FINISH_NOTES: Readonly<Record<string, string>> = {
  length: "The answer was cut off at the maximum length.",
  refused: "The provider of the model refused to answer.",
};

function TurnView({ turn, step, output }: { turn: number; step: Step; output: Json }) {
  const answer = readAnswer(output);
  const took = durationOf(step);
  const note = [
    `${plural(answer.inputTokens, "token")} in, ${count(answer.outputTokens)} out`,
    took !== undefined && duration(took),
  ];
  return (
    <Section icon={Bot} title={`Turn ${turn}`} note={note.filter(Boolean).join(" · ")}>
      {answer.reasoning && (
        <details className="type-meta text-ink-2">
          <summary>Reasoning</summary>
          <Text>{answer.reasoning}</Text>
        </details>
      )}
      {answer.text && <Text>{answer.text}</Text>}
      {!answer.text && answer.calls.length > 0 && (
        <p className="text-ink-3">calls {answer.calls.join(", ")}</p>
      )}
      {FINISH_NOTES[answer.finish] && <p className="text-amber">{FINISH_NOTES[answer.finish]}</p>}
    </Section>
  );
}

function ToolCall({ run, step }: { run: string; step: Step }) {
  const took = durationOf(step);
  return (
    <RecordedValue run={run} step={step} field="input">
      {(input) => {
        const { tool, arguments: args } = readCall(input);
        return (
          <div className="tile ml-7 flex flex-col gap-2 p-3">
            <p className="flex flex-wrap items-center gap-2">
              <Chip icon={Wrench}>{tool}</Chip>
              <span className="type-meta text-ink-3">
                {took === undefined ? "under way" : duration(took)}
              </span>
            </p>
            <JsonTree value={args} label={`Arguments of ${tool}`} maxRows={8} />
            {step.status === "done" && (
              <RecordedValue run={run} step={step} field="output">
                {(output) => <ToolResult tool={tool} output={output} />}
              </RecordedValue>
            )}
          </div>
        );
      }}
    </RecordedValue>
  );
}

function ToolResult({ tool, output }: { tool: string; output: Json }) {
  const { value, cut, isError } = readResult(output);
  return (
    <div className="border-line border-t pt-2">
      <p className="mb-1 flex items-center gap-2 type-label text-ink-3">
        Result
        {isError && (
          <Chip tone="amber" words>
            the call failed
          </Chip>
        )}
      </p>
      {typeof value === "string" ? (
        <Text>{value}</Text>
      ) : (
        <JsonTree value={value} label={`Result of ${tool}`} maxRows={10} />
      )}
      {cut > 0 && (
        <p className="type-meta text-ink-3">
          The model did not get the last {count(cut)} characters.
        </p>
      )}
    </div>
  );
}

const Failure = ({ step }: { step: Step }) => (
  <Section icon={TriangleAlert} title="Failed">
    <p className="wrap-anywhere text-red" dir="auto">
      {step.error?.message}
    </p>
  </Section>
);
