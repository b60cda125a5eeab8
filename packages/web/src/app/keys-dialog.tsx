/** The list of all keyboard shortcuts, grouped by page. */
import { Dialog } from "../ui/dialog.tsx";
import { Kbd } from "../ui/kbd.tsx";
import { CONNECT_PAGE, NAV_PAGES } from "./pages.tsx";

const GROUPS: readonly { name: string; keys: readonly [string, string][] }[] = [
  {
    name: "Everywhere",
    keys: [
      ["mod+K", "Go to a page, a flow, or an action"],
      ["?", "List the keyboard shortcuts"],
      ...[...NAV_PAGES, CONNECT_PAGE].map(
        ({ key, name }) => [`G ${key.toUpperCase()}`, name] as [string, string],
      ),
    ],
  },
  {
    name: "Inbox",
    keys: [
      ["J", "Next event"],
      ["K", "Previous event"],
      ["/", "Search"],
      ["E", "Mark as processed, or as waiting again"],
      ["R", "Replay the event"],
      ["W", "Show why triggers fired or not"],
      ["X", "Select the event"],
      ["N", "Show new events"],
      ["Esc", "Close the event, or clear the selection"],
    ],
  },
  {
    name: "Payloads and values",
    keys: [
      ["↓", "Next line; ↑ previous line"],
      ["→", "Open; ← close"],
      ["Enter", "Open or close, or load more of a text"],
      ["C", "Copy the path"],
    ],
  },
  {
    name: "Runs",
    keys: [
      ["J", "Next run, or next step of a run"],
      ["K", "Previous run, or previous step"],
      ["X", "Select the run"],
      ["R", "Replay the run that is open"],
      ["Esc", "Close the step, or clear the selection"],
    ],
  },
  {
    name: "Canvas",
    keys: [
      ["Tab", "Next node; Enter selects it, arrows move it"],
      ["N", "Add a node, after the selected one"],
      ["C", "Connect the selected node"],
      ["E", "Edit the selected node; Esc returns to the canvas"],
      ["Del", "Delete the selection"],
      ["R", "Run the draft"],
      ["P", "Publish"],
      ["T", "Tidy: arrange the nodes"],
      ["0", "Show the whole flow"],
      ["mod+F", "Find a node"],
      ["mod+Z", "Undo; with Shift, redo"],
      ["mod+C", "Copy; X cuts, V pastes, also into other flows"],
    ],
  },
];

export default function KeysDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog open onClose={onClose} title="Keyboard shortcuts" className="w-[640px]">
      <div
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a long list must be scrollable by keyboard
        tabIndex={0}
        className="grid grid-cols-2 gap-8 max-[640px]:grid-cols-1"
      >
        {GROUPS.map(({ name, keys }) => (
          <section key={name}>
            <h3 className="mb-2 type-label text-ink-3">{name}</h3>
            <dl className="grid grid-cols-[auto_minmax(0,1fr)] items-center gap-x-4 gap-y-2">
              {keys.map(([key, description]) => (
                <div key={key} className="contents">
                  <dt className="flex gap-1">
                    {key.split(" ").map((name) => (
                      <Kbd key={name}>{name}</Kbd>
                    ))}
                  </dt>
                  <dd className="text-ink-2">{description}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
