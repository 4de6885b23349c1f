import { createHash } from 'node:crypto';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { EMPTY_HISTORY, isImpossible } from '@runledger/contracts/fold/chain';
import { evolveRun } from '@runledger/contracts/fold/evolve-run';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import type { RunState } from '@runledger/contracts/fold/run';
import type { WebhookEvent } from '@runledger/contracts/events/webhook-event';
import { expect, it } from 'vitest';
import { IN_MEMORY, openDatabase } from '../../src/views/sqlite/database.ts';
import { storedRun, VIEW_VERSION } from '../../src/views/stored-run.decide.ts';
import { foldedWebhook, timeOf } from '../fixtures/runs/folded-runs.ts';

/** The digests of each version of the views. A line is added, and never changed. */
const RECORDED = join(import.meta.dirname, 'fixtures', 'view-digests.json');
const RECORD = 'ACCEPT_FIXTURES=1 npm test -- services/gateway/test/views/view-version.test.ts';
const GOLDEN = join(import.meta.dirname, '../../../../packages/contracts/test/events/fixtures');

interface Digests {
  readonly columns: string;
  readonly states: string;
}

const golden = new Map(
  globSync(join(GOLDEN, '{runs/*,webhooks}', '*.json')).map((file) => [
    basename(file, '.json'),
    JSON.parse(readFileSync(file, 'utf8')).event as RunEvent | WebhookEvent,
  ]),
);

const QUEUED = ['RunQueued.v1'];
const ASSIGNED = [...QUEUED, 'RunAssigned.v1'];
const STARTED = [...ASSIGNED, 'RunStarted.v1'];
const SUCCEEDED = [...STARTED, 'RunUploading.v1', 'RunSucceeded.v1'];
const GIVEN_UP = ['WebhookStarted.v1', 'WebhookGivenUp.v1'];

/** Histories of golden facts: those of a run, and of its notifications. */
const HISTORIES: readonly (readonly string[])[] = [
  ['RunQueued.v1.idempotent'],
  [...QUEUED, 'RunAssigned.v1.term'],
  [...QUEUED, 'RunAssigned.v1.fact_versions'],
  [...ASSIGNED, 'RunRequeued.v1'],
  [...ASSIGNED, 'RunAttemptFailed.v1.void'],
  [...STARTED, 'RunAttemptFailed.v1'],
  [...STARTED, 'RunCancelRequested.v1', 'RunCancelled.v1'],
  [...STARTED, 'RunCancelRequested.v1', 'RunCancelEnforced.v1'],
  [...STARTED, 'RunFailed.v1'],
  [...STARTED, 'RunTimedOut.v1'],
  [...STARTED, 'RunGivenUp.v1'],
  ['RunExpired.v1'],
  [...SUCCEEDED, 'WebhookStarted.v1', 'WebhookDelivered.v1'],
  [...SUCCEEDED, ...GIVEN_UP, 'WebhookRedeliveryRequested.v1'],
  [...SUCCEEDED, 'WebhookExpired.v1'],
  [...SUCCEEDED, 'RunOutputsDeleted.v1'],
  [...SUCCEEDED, 'RunDeleted.v1'],
];

const isOfWebhook = (event: RunEvent | WebhookEvent): event is WebhookEvent => 'round' in event;

/** What is stored after each fact of a history. */
const storedAfterEach = (names: readonly string[]): unknown[] => {
  const stored: unknown[] = [];
  let run: RunState | undefined;
  const told: WebhookEvent[] = [];
  for (const [index, name] of names.entries()) {
    const event = golden.get(name);
    if (!event) throw new Error(`there is no golden fact ${name}`);
    if (isOfWebhook(event)) told.push(event);
    else {
      const next = evolveRun(run, {
        event: withWebhook(event),
        sequence: index + 1,
        time: timeOf(index + 1),
      });
      if (isImpossible(next)) throw new Error(`${names.join(', ')}: ${next.impossible}`);
      run = next;
    }
    if (!run) throw new Error('a history begins with facts of the run');
    const webhook = told.length === 0 ? EMPTY_HISTORY : foldedWebhook(index + 1, ...told);
    const row = storedRun({ head: index + 1, run, webhook });
    stored.push({ ...row, run: JSON.parse(row.run), webhook: JSON.parse(row.webhook ?? 'null') });
  }
  return stored;
};

const withWebhook = (event: RunEvent): RunEvent =>
  event.type === 'RunQueued'
    ? { ...event, data: { ...event.data, webhook: 'https://a.example/hook' } }
    : event;

const columns = (): unknown => {
  using database = openDatabase(IN_MEMORY, VIEW_VERSION);
  return database
    .prepare(
      `SELECT tables.name AS "table", fields.name, fields.type, fields."notnull", fields.pk
         FROM sqlite_schema AS tables JOIN pragma_table_info(tables.name) AS fields WHERE tables.type = 'table'
         ORDER BY tables.name, fields.name`,
    )
    .all();
};

/** In the order of names, since the order of members means nothing. */
const sorted = (_name: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : value;

const digestOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value, sorted)).digest('hex');

it('has a digest for what this version of the views stores', () => {
  const recorded: Record<string, Digests> = JSON.parse(readFileSync(RECORDED, 'utf8'));
  const digests = { columns: digestOf(columns()), states: digestOf(HISTORIES.map(storedAfterEach)) };
  if (!recorded[VIEW_VERSION] && process.env['ACCEPT_FIXTURES']) {
    recorded[VIEW_VERSION] = digests;
    writeFileSync(RECORDED, `${JSON.stringify(recorded, null, 2)}\n`);
  }
  expect(recorded[VIEW_VERSION], `record what this version stores: ${RECORD}`).toBeDefined();
  const remedy = `What views store has changed, and gateways of the former release would read it: add 1 to VIEW_VERSION, then ${RECORD}`;
  expect(digests, remedy).toEqual(recorded[VIEW_VERSION]);
});

it.each([...golden.keys()])('has %s in a history', (name) => {
  expect(HISTORIES.flat()).toContain(name);
});
