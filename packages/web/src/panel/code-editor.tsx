/** A CodeMirror editor for JSONata, JavaScript and JSON that marks syntax errors. */
import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { javascript } from "@codemirror/lang-javascript";
import { json } from "@codemirror/lang-json";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { linter, lintGutter } from "@codemirror/lint";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { type RefObject, useEffect, useLayoutEffect, useRef } from "react";
import { nonce } from "../app/nonce.ts";
import { findCodeErrors, type Language } from "./code-errors.ts";

const highlight = HighlightStyle.define([
  { tag: [tags.keyword, tags.propertyName], color: "var(--blue)" },
  { tag: tags.string, color: "var(--green)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--amber)" },
  { tag: tags.comment, color: "var(--ink-3)" },
]);

const theme = EditorView.theme({
  "&": {
    border: "1px solid var(--field)",
    borderRadius: "var(--r)",
    background: "var(--plate)",
    color: "var(--ink)",
    font: "var(--t-code)",
  },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "-1px" },
  ".cm-scroller": { font: "var(--t-code)", minHeight: "90px", maxHeight: "320px" },
  ".cm-gutters": { background: "var(--sunk)", color: "var(--ink-3)", border: "0" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-tooltip": {
    background: "var(--plate)",
    color: "var(--ink)",
    border: "1px solid var(--line)",
  },
});

// The JavaScript grammar is good enough to highlight JSONata. `findCodeErrors` uses JSONata's parser.
const grammarOf = (language: Language): Extension => (language === "json" ? json() : javascript());

export default function CodeEditor({
  id,
  label,
  language,
  value,
  onChange,
  insert,
}: {
  id: string;
  label: string;
  language: Language;
  value: string;
  onChange: (text: string) => void;
  /** The editor sets it to a function that inserts text at the cursor. */
  insert: RefObject<((text: string) => void) | undefined>;
}) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const latest = useRef({ value, onChange });
  latest.current = { value, onChange };
  useEffect(() => {
    const parent = host.current;
    if (!parent) return;
    const editor = new EditorView({
      parent,
      state: EditorState.create({
        doc: latest.current.value,
        extensions: [
          EditorView.cspNonce.of(nonce),
          EditorView.contentAttributes.of({ id, "aria-label": label }),
          EditorView.lineWrapping,
          lineNumbers(),
          history(),
          bracketMatching(),
          closeBrackets(),
          // Tab is not bound: it moves the focus out of the editor, as keyboard users expect.
          keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap]),
          grammarOf(language),
          syntaxHighlighting(highlight),
          theme,
          lintGutter(),
          linter(async ({ state }) =>
            (await findCodeErrors(language, state.doc.toString())).map((error) => ({
              ...error,
              severity: "error" as const,
            })),
          ),
          EditorView.updateListener.of(({ docChanged, state }) => {
            if (docChanged) latest.current.onChange(state.doc.toString());
          }),
        ],
      }),
    });
    view.current = editor;
    insert.current = (text) => {
      editor.dispatch(editor.state.replaceSelection(text));
      editor.focus();
    };
    return () => {
      insert.current = undefined;
      editor.destroy();
    };
  }, [id, label, language, insert]);
  // A layout effect runs before the user can type more. A plain effect could run later, and overwrite
  // newer text with this value.
  useLayoutEffect(() => {
    const editor = view.current;
    // They differ after an undo on the canvas, or a change in another tab.
    if (editor && editor.state.doc.toString() !== value)
      editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
  }, [value]);
  return <div ref={host} />;
}
