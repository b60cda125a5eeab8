/** The tables of two legacy systems in which each flow was one tool. Every engine accepts the SQL. */

/** A hand-written schema. Its tables and index have the same names as the hub's. */
export const LEGACY_FLOWS = `
CREATE TABLE apps (id INTEGER PRIMARY KEY, slug TEXT NOT NULL, name TEXT NOT NULL, icon TEXT);
INSERT INTO apps VALUES (7, 'support-desk', 'Support Desk', 'bell');
CREATE TABLE flows (
  id TEXT PRIMARY KEY,
  app_id TEXT,
  name TEXT,
  description TEXT,
  tool_name TEXT,
  tool_description TEXT,
  parameters TEXT,
  is_active INTEGER,
  nodes TEXT,
  connections TEXT,
  owner_email TEXT,
  created_at TEXT
);
CREATE INDEX flows_app ON flows (app_id);
INSERT INTO flows VALUES
  ('twin', '7', 'Get Weather Data', NULL, 'getWeather', 'A copy of the other.', '[]', 1, '[]', '[]', NULL, '2025-03-01'),
  ('weather', '7', 'Get Weather Data', 'Asks the weather service.', 'getWeather', 'The weather of a city, now.',
    '[{"name":"city","type":"string","required":true}]', 1,
    '[{"id":"n1","type":"UserIntent","name":"Ask","slug":"ask","position":{"x":10,"y":20},"parameters":{}},
      {"id":"n2","type":"Return","name":"Answer","slug":"answer","position":{"x":200,"y":20},"parameters":{"value":"Fine in {{ ask.city }}"}}]',
    '[{"id":"c1","sourceNodeId":"n1","sourceHandle":"out","targetNodeId":"n2","targetHandle":"in"}]', NULL, '2025-01-01'),
  ('bare', '7', 'Bare flow', '', 'bare_flow', 'Says what it was told.', '[{"name":"n","type":"number"}]', 0,
    '[{"id":"n1","type":"Return","name":"End","parameters":{"value":"{{ trigger.n }}"}}]', '[]', NULL, '2025-02-01'),
  ('odd', 'billing', 'Odd one', NULL, 'odd one!', NULL, '"none"', 1, '[]', NULL, 'ada@example.com', '2025-04-01'),
  ('legacy', 'billing', 'Legacy', NULL, NULL, NULL, NULL, NULL,
    '[{"id":"x","type":"LegacyThing","name":"Legacy","position":{"x":0,"y":0},"parameters":{"a":1}}]', '[]', NULL, '2025-05-01'),
  ('hopeless', 'billing', '', NULL, 'hopeless', 'Has no name.', NULL, 1, '[]', '[]', NULL, '2025-06-01');
`;

/** The schema of an object-relational mapper: camel case, typed columns, and no apps. */
export const LEGACY_TYPED_FLOWS = `
CREATE TABLE flows (
  "id" INTEGER PRIMARY KEY,
  "name" TEXT NOT NULL,
  "toolName" TEXT,
  "toolDescription" TEXT,
  "parameters" JSONB,
  "isActive" BOOLEAN,
  "nodes" JSONB,
  "edges" JSONB,
  "createdAt" TIMESTAMP
);
INSERT INTO flows VALUES
  (2, 'Off', 'off', 'Is off.', '[]', false, '[]', '[]', '2025-01-01 00:00:00'),
  (1, 'Greet', 'greet', 'Says hello.', '[{"name":"who","type":"string"}]', true,
    '[{"id":"end","type":"Return","name":"End","parameters":{"value":"Hello {{ trigger.who }}"}}]', '[]', '2025-01-01 00:00:00');
`;
