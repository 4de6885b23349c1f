import { nullable } from '@runledger/contracts/http/fields/optional';
import { RunLogCut, RunLogLine, RunLogNotice } from '@runledger/contracts/http/runs/run-logs';
import { Type, type Static } from 'typebox';

const Kind = <const Name extends string>(kind: Name) =>
  Type.Object({ kind: Type.Literal(kind), time: Type.String() });

const Change = Type.Object({
  member: Type.String(),
  before: Type.Unknown(),
  after: Type.Unknown(),
});

const Fact = Type.Object({
  ...Kind('fact').properties,
  sequence: Type.Integer(),
  type: Type.String(),
  writer: Type.String(),
  sentence: Type.String(),
  changes: nullable(Type.Array(Change)),
});
const Delivery = Type.Object({ ...Kind('delivery').properties, sentence: Type.String() });
const Log = Type.Object({
  ...Kind('log').properties,
  log: Type.Union([RunLogLine, RunLogCut, RunLogNotice]),
});
const Gap = Type.Object({
  ...Kind('gap').properties,
  sequence: nullable(Type.Integer()),
  reason: Type.String(),
  sentence: Type.String(),
});

/** What commands show of an entry. `--json` prints all members of the answer. */
const Entry = Type.Union([Fact, Delivery, Log, Gap]);
export type ShownEntry = Static<typeof Entry>;

export const ShownHistory = Type.Object({
  status: nullable(Type.String()),
  finished: Type.Boolean(),
  webhook_status: nullable(Type.String()),
  entries: Type.Array(Entry),
});
export type ShownHistory = Static<typeof ShownHistory>;
