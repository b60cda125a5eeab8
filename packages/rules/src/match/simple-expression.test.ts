import { expect, it } from "vitest";
import type { Json } from "../json.ts";
import { compileExpression } from "./expression.ts";
import { isSimpleExpression } from "./simple-expression.ts";

const isSimple = (text: string) =>
  isSimpleExpression(JSON.parse(JSON.stringify(compileExpression(text).ast())) as Json);

it.each([
  'data.action = "opened"',
  'data.issue.number > 0 and $contains(data.repository.full_name, "/")',
  'data.action in ["opened", "reopened"] or (data.draft = false and data.number != -1)',
  '"bug" in data.issue.labels.name',
  "$exists(data.`odd name`) and $not(data.draft)",
  "$count(data.issue.labels) >= 2",
  '$lowercase(data.sender.login) = "mona"',
  "data.assignee = null",
  "true",
])("%s is simple", (text) => {
  expect(isSimple(text)).toBe(true);
});

it.each([
  "$contains(data.title, /bug/)",
  "$contains(data.title, data.body)",
  `$contains(data.title, "${"x".repeat(65)}")`,
  "data.labels[name = 'bug']",
  "data.labels[0].name = 'bug'",
  "data.labels{name: 1}",
  "data.**.name = 'bug'",
  "data.* = 1",
  "data.labels^(name)",
  "data.labels@$l.name = 'bug'",
  "data.labels#$i.name = 'bug'",
  "$sum([1..1000000]) > 0",
  "$map(data.labels, function($l) { $l.name })",
  "($f := function($x) { $f($x) }; $f(1))",
  "data.labels ~> $count",
  "data.a in data.b",
  "[data.a] = 1",
  "{ 'a': 1 } = data",
  "$eval(data.code)",
  "$length(data.title) > 5", // makes an array of all characters
  "data.a & data.b = 'x'",
  Array.from({ length: 60 }, (_, n) => `data.n = ${n}`).join(" or "),
])("%s is not simple", (text) => {
  expect(isSimple(text)).toBe(false);
});
