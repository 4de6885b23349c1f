/**
 * What the projection costs for a run: its facts are folded into views in an SQLite file, a few at a time, as they come while 16 slots are
 * busy. In turns with a fixed piece of work, which parses and writes the same facts as JSON; the ratio of both is what to compare.
 * `node scripts/run.mjs services/gateway/bench/projection.ts [runs of a round] [rounds] [facts of a batch]`
 */
import { mkdtempDisposable, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import { runId } from '@runledger/contracts/ids';
import { lifecycleFilter, runEventSubject } from '@runledger/contracts/events/subjects';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { clock } from '../src/kit.ts';
import { projectRuns, runsIn } from '../src/views/fold-run.decide.ts';
import { beginningOf } from '../src/views/projection-start.decide.ts';
import { openSqliteRunViews } from '../src/views/sqlite/sqlite-run-views.ts';
import { median, microseconds, say } from './measure.ts';

const RUNS = Number(process.argv[2] ?? 2_000);
const ROUNDS = Number(process.argv[3] ?? 7);
const BATCH = Number(process.argv[4] ?? 8);
const SLOTS = 16;
const BEGIN = Date.UTC(2026, 5, 1);

const ORG = aRun().org_id;
const OUTPUTS = [
  {
    id: '01920000-0000-7000-8000-000000000002',
    output_id: 'out',
    data: { text: ['x'.repeat(1_000)] },
    node_meta: null,
    type: 'text',
    node_id: '1',
  },
];

/** As they are in the log: all runs are queued at first, then so many at a time are executed. */
const factsOf = (runs: number, after: number): StoredMessage[] => {
  const keys = Array.from({ length: runs }, () => aRun(ORG));
  const events: RunEvent[] = keys.map((key) => queued(key));
  for (let at = 0; at < runs; at += SLOTS) {
    const busy = keys.slice(at, at + SLOTS);
    for (const fact of [assigned, started]) events.push(...busy.map((key) => fact(key)));
    events.push(...busy.map((key) => succeeded(key, OUTPUTS)));
  }
  const heads = new Map<string, number>();
  return events.map((event, index) => {
    const sequence = after + index + 1;
    const expectedSequence = heads.get(event.run_id) ?? 0;
    heads.set(event.run_id, sequence);
    const time = new Date(BEGIN + sequence).toISOString();
    const fence = lifecycleFilter({ org_id: ORG, run_id: runId(event.run_id) });
    return { subject: runEventSubject(event), sequence, time, fence, expectedSequence, body: event };
  });
};

await using folder = await mkdtempDisposable(join(tmpdir(), 'runledger-bench-projection-'));
const path = join(folder.path, 'views.sqlite');
const views = openSqliteRunViews({ path, clock });
const beginning = beginningOf({ created: '2026-01-01T00:00:00Z', since: '2026-01-01T00:00:00Z' }, 1);
await views.resetTo(beginning);
let position = beginning;

const take = async (messages: readonly StoredMessage[]): Promise<void> => {
  const projected = projectRuns(await views.load(runsIn(messages)), messages);
  if (projected.kind !== 'projected' || projected.gaps.length + projected.refused.length > 0) {
    throw new Error('The facts of the bench do not follow one another.');
  }
  const last = messages.at(-1);
  const to = { ...position, sequence: last?.sequence ?? 0, event_id: null };
  if (!(await views.advance(projected.views, position, to))) throw new Error('The position was moved.');
  position = to;
};

const perRun: number[] = [];
const ratios: number[] = [];
for (let round = 0; round <= ROUNDS; round += 1) {
  const facts = factsOf(RUNS, position.sequence);
  const texts = facts.map(({ body }) => JSON.stringify(body));
  const fixed = await microseconds(() => {
    for (let again = 0; again < 4; again += 1) for (const text of texts) JSON.stringify(JSON.parse(text));
  });
  const projecting = await microseconds(async () => {
    for (let at = 0; at < facts.length; at += BATCH) await take(facts.slice(at, at + BATCH));
    await views.countQueued(ORG, 1);
  });
  if (round === 0) continue;
  perRun.push(projecting / RUNS);
  ratios.push(projecting / fixed);
  say(
    `round ${round}: ${(projecting / RUNS).toFixed(0)} µs of CPU for a run, ${(projecting / fixed).toFixed(2)} times the fixed work`,
  );
}
await views[Symbol.asyncDispose]();
const { size } = await stat(path);
say(
  `medians: ${median(perRun).toFixed(0)} µs, ratio ${median(ratios).toFixed(2)}; ${(size / RUNS / (ROUNDS + 1)).toFixed(0)} bytes of the file for a run`,
);
