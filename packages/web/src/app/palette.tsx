/** The command palette: pages, flows and actions by name. */

import { useQuery } from "@tanstack/react-query";
import { Command } from "cmdk";
import { LogOut, Moon, Send, Sun, Workflow } from "lucide-react";
import { Dialog } from "radix-ui";
import { useRef } from "react";
import { useLocation } from "wouter";
import { api } from "../api/client.ts";
import { toProblem } from "../api/problem.ts";
import { useSendTest } from "../inbox/send-test.tsx";
import { Kbd } from "../ui/kbd.tsx";
import { Modal } from "../ui/modal.tsx";
import { CONNECT_PAGE, pagesFor } from "./pages.tsx";
import { signOut, useIsAdmin } from "./session.ts";
import { setTheme, useIsDark } from "./theme.ts";

export default function Palette({ onClose }: { onClose: () => void }) {
  const [, navigate] = useLocation();
  const isDark = useIsDark();
  const sendTest = useSendTest();
  const isAdmin = useIsAdmin();
  const flows = useQuery({
    queryKey: ["flows", "palette"],
    queryFn: () => api.get("/api/flows", { query: { limit: 100 } }),
    enabled: isAdmin,
  });
  const chosenAction = useRef<() => void>(undefined);
  // The action runs after the palette has returned the focus: it may open a dialog, which later returns
  // the focus to the same element.
  const closeThen = (action: () => void) => () => {
    chosenAction.current = action;
    onClose();
  };
  return (
    <Modal
      onClose={onClose}
      onClosed={() => chosenAction.current?.()}
      aria-describedby={undefined}
      className="top-[14vh] w-[560px] max-w-[calc(100vw-32px)] overflow-hidden"
    >
      <Dialog.Title className="sr-only">Go to a page, a flow, or an action</Dialog.Title>
      <Command loop label="Go to a page, a flow, or an action">
        <Command.Input
          autoFocus
          placeholder="Go to a page, a flow, or an action"
          className="h-12 w-full border-line border-b bg-transparent px-4 text-[15px] outline-none placeholder:text-ink-3"
        />
        <Command.List className="max-h-[50vh] overflow-y-auto p-2">
          <Command.Empty className="px-3 py-6 text-ink-2">
            No page, flow or action has this name.
          </Command.Empty>
          <Group name="Pages">
            {[...pagesFor(isAdmin), CONNECT_PAGE].map(({ path, name, icon: Icon, key }) => (
              <Command.Item
                key={path}
                value={`page ${name}`}
                className="item"
                onSelect={closeThen(() => navigate(path))}
              >
                <Icon className="icon" aria-hidden />
                <span className="flex-1">{name}</span>
                <span className="flex gap-1">
                  <Kbd>G</Kbd>
                  <Kbd>{key.toUpperCase()}</Kbd>
                </span>
              </Command.Item>
            ))}
          </Group>
          {flows.data && flows.data.items.length > 0 && (
            <Group name="Flows">
              {flows.data.items.map((flow) => (
                <Command.Item
                  key={flow.id}
                  value={`flow ${flow.name} ${flow.id}`}
                  keywords={flow.exposed_tools.map(({ name }) => name)}
                  className="item"
                  onSelect={closeThen(() => navigate(`/flows/${flow.id}`))}
                >
                  <Workflow className="icon" aria-hidden />
                  <span className="flex-1 truncate">{flow.name}</span>
                  <span className="type-meta text-ink-3">{flow.app}</span>
                </Command.Item>
              ))}
            </Group>
          )}
          {flows.error && !flows.data && (
            <p role="alert" className="px-2 py-2 type-meta text-red">
              The flows could not be loaded: {toProblem(flows.error).title}.
            </p>
          )}
          <Group name="Actions">
            {isAdmin && (
              <Command.Item className="item" onSelect={closeThen(sendTest)}>
                <Send className="icon" aria-hidden />
                Send test event
              </Command.Item>
            )}
            <Command.Item
              className="item"
              onSelect={closeThen(() => setTheme(isDark ? "light" : "dark"))}
            >
              {isDark ? (
                <Sun className="icon" aria-hidden />
              ) : (
                <Moon className="icon" aria-hidden />
              )}
              {isDark ? "Use the light theme" : "Use the dark theme"}
            </Command.Item>
            <Command.Item className="item" onSelect={closeThen(() => void signOut())}>
              <LogOut className="icon" aria-hidden />
              Sign out
            </Command.Item>
          </Group>
        </Command.List>
      </Command>
    </Modal>
  );
}

const Group = ({ name, children }: { name: string; children: React.ReactNode }) => (
  <Command.Group
    heading={name}
    className="[&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:type-label [&_[cmdk-group-heading]]:text-ink-3"
  >
    {children}
  </Command.Group>
);
